"""Large tables of numbers: the dialect is found in the first rows, and Arrow reads the columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from pellucid.errors import InputError, Parameter
from pellucid.tables.cells import BLANKS, is_date, is_number
from pellucid.tables.text import rows_of, separator_of, text_of

# Lines in which the first two rows are looked for.
_HEAD = 50


class Columns(NamedTuple):
    """The columns of a file."""

    table: Any
    """An Arrow table: columns of numbers where every cell is one, or blank; of text otherwise."""
    first_row: int
    """The number of its first row, which is that of its line in the file; each has a line."""
    named: bool
    """Whether the names were there, or made up."""


class _Head(NamedTuple):
    """How a text begins."""

    text: str
    """All of it, without blank lines around."""
    line: int
    """The number of its first line."""
    separator: str
    cells: list[str]
    """Of the first line."""


def read_columns(
    path: str | Path, *, header: bool | None = None, decimal: str = ".", unnamed: str = "column"
) -> Columns:
    """The columns of a text file, whose cells are separated by commas, semicolons, tabs or blanks.

    Parameters
    ----------
    path : str or Path
        The file.
    header : bool, optional
        Whether the first line holds names; by default it does if none of its cells is a number or a date.
    decimal : str
        The decimal sign, "." or ",".
    unnamed : str
        Name of columns without names, followed by a number.
    """
    path = Path(path)
    head = _head(path, decimal)
    names = _names(head, path.name, header, decimal)
    body = head.text.partition("\n")[2] if names else head.text
    if not body:
        raise InputError(f"{path.name} must have rows of numbers", got="a line of names only", cure="add the rows")
    separator = head.separator
    if separator == " ":
        separator, body = "\t", re.sub(r"[ \t]+", "\t", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", body))
    first_row = head.line + bool(names)
    titles = names or [f"{unnamed} {i + 1}" for i in range(len(head.cells))]
    return Columns(_parse(body, titles, separator, decimal, path.name, first_row), first_row, bool(names))


def _head(path: Path, decimal: str) -> _Head:
    text = text_of(path)
    blank = re.match(r"(?:[ \t]*\n)*", text)
    lead = blank.end() if blank else 0
    line = 1 + text[:lead].count("\n")
    text = re.sub(r"(?:\n[ \t]*)+\Z", "", text[lead:])
    if not text.strip():
        raise InputError(f"{path.name} must be a table of numbers", got="an empty file", cure="leave it out")
    lines = text.split("\n", _HEAD)[:_HEAD]
    separator = separator_of(lines, decimal=decimal, blanks=True)
    cells = next(rows_of(lines[:1], separator))
    if cells[0] == "#" and len(cells) > 1:  # as numpy writes a line of names
        cells = cells[1:]
    cells[0] = cells[0].removeprefix("#").strip()
    return _Head(text, line, separator, cells)


def _names(head: _Head, source: str, header: bool | None, decimal: str) -> list[str] | None:
    """The names of the first line; None if it holds numbers."""
    if header is False:
        return None
    kinds = {
        "blank" if c.lower() in BLANKS else "value" if is_number(c, decimal) or is_date(c) else "name"
        for c in head.cells
    }
    if header is None and ("name" not in kinds or "value" in kinds):
        numbered = len(head.cells) > 1 and head.cells == [str(i) for i in range(len(head.cells))]
        if "name" not in kinds and not numbered:
            return None
        first = ", ".join(head.cells[:6])
        raise InputError(
            f"The first line of {source} must be either names or numbers",
            got=f"{', '.join(head.cells)}, which may be both" if numbered else f"both, {first}",
            cure=f"read the file with {Parameter('header', True)} or {Parameter('header', False)}",
            parameter="header",
        )
    if "" in head.cells:
        raise InputError(
            f"Every column of {source} must have a name",
            got=f"none for column {head.cells.index('') + 1}",
            cure="name it, or leave it out when the file is written (pandas: `index=False`)",
        )
    return head.cells


def _parse(body: str, names: list[str], separator: str, decimal: str, source: str, first_row: int) -> Any:
    from pyarrow import ArrowException, BufferReader, string
    from pyarrow import csv as arrow

    def parse(types: dict[str, Any]) -> Any:
        return arrow.read_csv(
            BufferReader(body.encode()),
            arrow.ReadOptions(column_names=names, use_threads=False),
            arrow.ParseOptions(delimiter=separator, ignore_empty_lines=False),
            arrow.ConvertOptions(
                decimal_point=decimal, strings_can_be_null=True, null_values=_null_values(), column_types=types
            ),
        )

    try:
        table = parse({})
        if "0x" in body or "0X" in body:  # Arrow takes 0x10 for 16
            texts = parse(dict.fromkeys(table.column_names, string()))
            table = parse({name: string() for name in texts.column_names if _hexadecimal(texts.column(name))})
    except ArrowException as error:
        ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        got = f"a file that cannot be read: {error}"
        if ragged:
            row, expected, cells = map(int, ragged.groups())
            got = f"{cells} instead of {expected} in row {row + first_row - 1}; fix that row"
        raise InputError(f"{source} must have the same number of cells in every row", got=got) from None
    return table


def _null_values() -> list[str]:
    return sorted({form for text in BLANKS for form in (text, text.upper(), text.capitalize())} | {"NaN"})


def _hexadecimal(column: Any) -> bool:
    """Whether a column of texts has a hexadecimal number in it."""
    return any(re.fullmatch(r"\s*[+-]?0[xX][0-9a-fA-F]+\s*", cell) for cell in column.to_pylist() if cell)
