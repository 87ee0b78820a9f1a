"""`pellucid data`: which data sets there are, and where; download them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pellucid.datasets import Published

app = typer.Typer(help="Data sets: what there is, and where it is on this computer.", no_args_is_help=True)


class Downloadable(StrEnum):
    """What `get` knows."""

    TOX21 = "tox21"
    MOSES = "moses"
    BEARING = "bearing"


@app.command("list")
def list_() -> None:
    """Show the data sets that Pellucid knows: name, size, what it is, where it is on this computer."""
    from pellucid import datasets

    for data in datasets.DATA_SETS:
        place = data.find()
        gettable = data.name in list(Downloadable)
        where = str(place) if place else f"not here{f'; pellucid data get {data.name}' if gettable else ''}"
        typer.echo(f"{data.name:<9}{data.size:>8}  {data.what}")
        typer.echo(f"{'':<19}{where}")


@app.command()
def get(
    name: Downloadable = typer.Argument(metavar="|".join(Downloadable), help="Which data set."),
    source: Path | None = typer.Option(
        None, "--from", metavar="FOLDER", help="bearing: the folder 2nd_test of the unpacked archive."
    ),
) -> None:
    """Download a data set into the cache, unless it is on this computer already, and say where it is."""
    from pellucid import datasets

    if source is not None and name is not Downloadable.BEARING:
        raise typer.BadParameter("only the bearing data are read from a folder.", param_hint="--from")
    if name is Downloadable.TOX21:
        _fetch(datasets.TOX21)
    elif name is Downloadable.MOSES:
        for published in datasets.MOSES.values():
            _fetch(published)
    else:
        _bearing(source)


def _fetch(published: Published) -> Path:
    found = published.find()
    if found is not None:
        typer.echo(f"Already here: {found}")
        return found
    typer.echo(f"Downloading {published.address}", err=True)
    path = published.fetch()
    typer.echo(f"Downloaded: {path}")
    return path


def _bearing(source: Path | None) -> None:
    """The archive is packed threefold, in formats that Python cannot read: the user unpacks it."""
    from pellucid import datasets

    if source is not None:
        from pellucid.registry import pack_bearing

        typer.echo("Reading and comparing the recordings, about a minute ...", err=True)
        typer.echo(f"Packed: {pack_bearing(source)}")
        return
    found = datasets.DATA_SETS[-1].find()
    if found is not None:
        typer.echo(f"Already here: {found}")
        return
    archive = _fetch(datasets.BEARING)  # about 1 GB
    typer.echo(
        f"Now unpack it (unzip {archive.name}, then 7z x on the .7z and on 2nd_test.rar inside), and run: pellucid "
        "data get bearing --from 2nd_test"
    )
