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
    from pellucid.registry import data_sets

    for data in data_sets().values():
        path = data.find()
        hint = f"; pellucid data get {data.name}" if data.published() else ""
        typer.echo(f"{data.name:<9}{data.size:>8}  {data.what}")
        typer.echo(f"{'':<19}{path or f'not here{hint}'}")


@app.command(cls=Command)
def get(
    name: str = typer.Argument(metavar="NAME", help="Which data set; `pellucid data list` shows them."),
    source: Path | None = typer.Option(
        None,
        "--from",
        metavar="FOLDER",
        help="The folder of an archive that was unpacked by hand, such as 2nd_test of bearing.",
    ),
) -> None:
    """Download a data set into the cache, unless it is on this computer already, and say where it is."""
    from pellucid.registry import data_sets

    sets = {name: data for name, data in data_sets().items() if data.published()}
    if name not in sets:
        *others, last = sets
        raise typer.BadParameter(f"must be {', '.join(others)} or {last}. Got {name!r}.", param_hint="NAME")
    data = sets[name]
    if source is not None:
        if data.pack is None:
            raise typer.BadParameter(f"is not for {name}, which is downloaded as a file.", param_hint="--from")
        typer.echo("Reading and comparing the files, about a minute ...", err=True)
        typer.echo(f"Packed: {data.pack(source)}")
    elif data.packed_folder is None:
        for published in data.published():
            _fetch(published)
    else:
        _fetch_archive(data)


def _fetch(published: Published) -> Path:
    existing = published.find()
    if existing is not None:
        typer.echo(f"Already here: {existing}")
        return existing
    typer.echo(f"Downloading {published.address}", err=True)
    path = published.fetch()
    typer.echo(f"Downloaded: {path}")
    return path


def _fetch_archive(data: DataSet) -> None:
    """Download an archive that the user unpacks: Python cannot read its formats."""
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
