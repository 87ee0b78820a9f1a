"""`pellucid data`: which data sets there are, and where; download them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pellucid.cli.options import Command

if TYPE_CHECKING:
    from pellucid.datasets import Published

app = typer.Typer(help="Data sets: what there is, and where it is on this computer.", no_args_is_help=True)


class Downloadable(StrEnum):
    """Data sets that `get` downloads."""

    TOX21 = "tox21"
    MOSES = "moses"
    BEARING = "bearing"


@app.command("list", cls=Command)
def list_() -> None:
    """Show the data sets that Pellucid knows: name, size, what it is, where it is on this computer."""
    from pellucid import datasets

    for data in datasets.DATA_SETS:
        path = data.find()
        hint = f"; pellucid data get {data.name}" if data.name in list(Downloadable) else ""
        typer.echo(f"{data.name:<9}{data.size:>8}  {data.what}")
        typer.echo(f"{'':<19}{path or f'not here{hint}'}")


@app.command(cls=Command)
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
    existing = published.find()
    if existing is not None:
        typer.echo(f"Already here: {existing}")
        return existing
    typer.echo(f"Downloading {published.address}", err=True)
    path = published.fetch()
    typer.echo(f"Downloaded: {path}")
    return path


def _bearing(source: Path | None) -> None:
    """Download the archive, or pack the folder unpacked from it by the user: Python cannot read its formats."""
    from pellucid import datasets

    if source is not None:
        from pellucid.registry import pack_bearing

        typer.echo("Reading and comparing the recordings, about a minute ...", err=True)
        typer.echo(f"Packed: {pack_bearing(source)}")
        return
    packed = datasets.DATA_SETS[-1].find()
    if packed is not None:
        typer.echo(f"Already here: {packed}")
        return
    archive = _fetch(datasets.BEARING)  # about 1 GB
    typer.echo(
        f"Now unpack it (unzip {archive.name}, then 7z x on the .7z and on 2nd_test.rar inside), and run: pellucid "
        "data get bearing --from 2nd_test"
    )
