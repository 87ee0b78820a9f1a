"""Tables that commands write: to a file, or to the terminal."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.output import say
from pellucid.cli.outputs import check_outputs, is_stdout, output
from pellucid.errors import InputError
from pellucid.text_tables import printable
from pellucid.writing import write_rows

TableFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="A CSV or Parquet file.", show_default="the terminal"),
]


# What tables may be called; text has no ending, or one of these.
_ENDINGS = ("", ".csv", ".txt")


def check_table(out: Path | None, *, inputs: Sequence[Path], force: bool, pages: bool = False) -> None:
    """Refuse a name that tables cannot have, and what `check_outputs` refuses.

    Parameters
    ----------
    out : Path, optional
        The file to write; None is the terminal.
    inputs : sequence of Path
        The files and folders to read.
    force : bool
        Whether a file may be replaced.
    pages : bool
        Whether the command writes pages, too.
    """
    from pellucid.tables.parquet import is_parquet

    if out is None:
        return
    check_outputs([out], inputs=inputs, force=force)
    if out.suffix.lower() not in _ENDINGS and not is_parquet(out):
        raise InputError(
            "The name of a table must end in .csv or .parquet" + (", that of a page in .html" if pages else ""),
            got=f"{out}",
            cure="other programs read these",
            parameter="out",
        )


def write_table(rows: Iterable[Sequence[Any]], out: Path | None, *, apart: bool = False) -> None:
    """Write a table as its rows come, however many there are.

    Parameters
    ----------
    rows : iterable of sequence
        The names of the columns, then the rows.
    out : Path, optional
        A file that `check_table` has let pass; None is the terminal.
    apart : bool
        Whether the sentence that it is written goes to stderr, as it does where the table goes to the output.
    """
    from pellucid.tables.parquet import is_parquet, write_parquet

    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(map(_printable, rows) if sys.stdout.isatty() else rows)
        return
    with output(out) as draft:
        (write_parquet if is_parquet(out) else write_rows)(draft, rows)
    say(f"written: {out}", apart=apart or is_stdout(out))


def _printable(row: Iterable[Any]) -> list[Any]:
    """A row for a terminal; files and programs get every character as it is."""
    return [printable(cell) if isinstance(cell, str) else cell for cell in row]
