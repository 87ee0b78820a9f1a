"""`pellucid data`: which data sets there are, and where; download them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pellucid.cli.options import Command

if TYPE_CHECKING:
    from pellucid.datasets import DataSet, Published

app = typer.Typer(help="List data sets and download them.", no_args_is_help=True)


@app.command("list", cls=Command)
def list_() -> None:
    """Show the data sets that Pellucid knows: name, size, what it is, where it is on this computer."""
    from pellucid import datasets

    for data in datasets.DATA_SETS:
        path = data.find()
        hint = f"; pellucid data get {data.name}" if data.published() else ""
        typer.echo(f"{data.name:<9}{data.size:>8}  {data.what}")
        typer.echo(f"{'':<19}{path or f'not here{hint}'}")


@app.command(cls=Command)
def get(
    name: str = typer.Argument(metavar="NAME", help="Which data set; `pellucid data list` shows them."),
    source: Path | None = typer.Option(
        None, "--from", metavar="FOLDER", help="bearing: the folder 2nd_test of the unpacked archive."
    ),
) -> None:
    """Download a data set into the cache, unless it is on this computer already, and say where it is."""
    from pellucid import datasets

    sets = {data.name: data for data in datasets.DATA_SETS if data.published()}
    if name not in sets:
        *others, last = sets
        raise typer.BadParameter(f"must be {', '.join(others)} or {last}. Got {name!r}.", param_hint="NAME")
    data = sets[name]
    if source is not None and data.packed_folder is None:
        raise typer.BadParameter(f"is not for {name}, which is downloaded as a file.", param_hint="--from")
    if data.packed_folder is None:
        for published in data.published():
            _fetch(published)
    else:
        _fetch_archive(data, source)


def _fetch(published: Published) -> Path:
    existing = published.find()
    if existing is not None:
        typer.echo(f"Already here: {existing}")
        return existing
    typer.echo(f"Downloading {published.address}", err=True)
    path = published.fetch()
    typer.echo(f"Downloaded: {path}")
    return path


def _fetch_archive(data: DataSet, source: Path | None) -> None:
    """Download an archive, or pack the folder unpacked from it by the user: Python cannot read its formats."""
    if source is not None:
        from pellucid.registry import pack_bearing

        typer.echo("Reading and comparing the recordings, about a minute ...", err=True)
        typer.echo(f"Packed: {pack_bearing(source)}")
        return
    packed = data.find()
    if packed is not None:
        typer.echo(f"Already here: {packed}")
        return
    (published,) = data.published()
    archive = _fetch(published)  # about 1 GB
    typer.echo(
        f"Now unpack it (unzip {archive.name}, then 7z x on the .7z and on {data.packed_folder}.rar inside), and run: "
        f"pellucid data get {data.name} --from {data.packed_folder}"
    )
