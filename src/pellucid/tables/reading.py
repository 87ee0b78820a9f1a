"""Tables of text: a line of names, then rows of cells; read row by row, or as a whole."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, Protocol, final

from pellucid.errors import InputError, Parameter
from pellucid.paths import kind_of
from pellucid.schemas import shown
from pellucid.tables.cells import value_of
from pellucid.tables.names import ROW_NAMES, SMILES_NAMES, normalized, require_column, smiles_index
from pellucid.tables.parquet import is_parquet, parquet_rows
from pellucid.tables.text import Undecodable, lines_of, rows_of, separator_of, unreadable

# Lines in which the first two rows are looked for: a quoted cell may go on over several.
_HEAD = 50
# The least number of rows that shows whether they begin with their numbers.
_NUMBERED = 2


class Cells(Protocol):
    """A table whose cells are asked for column by column."""

    @property
    def header(self) -> list[str]:
        """The names of the columns."""

    @property
    def numbers(self) -> list[int]:
        """The number of each row, as in `Table`."""

    @property
    def comma(self) -> bool:
        """Whether numbers may have a decimal comma."""

    @property
    def source(self) -> str:
        """The name of the file, for messages."""

    def column(self, name: str) -> list[str]:
        """The cells of one column."""


class Table(NamedTuple):
    """The cells of a file, as text."""

    header: list[str]
    rows: list[list[str]]
    numbers: list[int]
    """The number of each row: that of the line of the file on which it begins, the first being 1."""
    comma: bool
    """Whether numbers may have a decimal comma."""
    source: str
    """The name of the file, for messages."""

    def column(self, name: str) -> list[str]:
        """The cells of one column; an error names the columns where there is none of this name."""
        require_column(name, self.header, self.source, "What is read")
        index = self.header.index(name)
        return [row[index] for row in self.rows]

    def values(self, name: str) -> list[float]:
        """The numbers of one column; an error names the first cell that holds none."""
        cells = self.column(name)
        values = []
        for number, cell in zip(self.numbers, cells, strict=True):
            value = value_of(cell, self.comma)
            if value is None or math.isnan(value):
                raise InputError(
                    "Every cell must be a number",
                    got=f"{shown(cell.strip())} in {self.source}, column {name!r}, row {number}",
                    cure="correct it, or leave that row out",
                )
            values.append(value)
        return values


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RowStream:
    """The rows of a file, read as they are asked for, once."""

    header: list[str]
    separator: str
    """A comma, semicolon or tab; a blank in files of SMILES and names."""
    source: str
    """The name of the file, for messages."""
    rows: Iterator[tuple[int, list[str]]]
    """The number of each row, as in `Table`, and its cells: fewer or more than names where the file is so."""

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self.rows


def open_table(path: str | Path, *, bare: bool = False, undecodable: Undecodable = "refuse") -> RowStream:
    """The rows of a text file, one after the other: however long it is, memory does not fill up.

    Cells are separated by commas, semicolons or tabs, see `pellucid.tables.text.separator_of`. Blank lines do not
    count as rows, but keep their numbers. A file that ends in .smi has no line of names: each line is a SMILES, a blank
    or tab, and a name, in columns called "smiles" and "name". A file that ends in .gz is gzipped. A file that ends in
    .parquet is one, and its cells are turned into text. Where rows have one cell more than there are names and begin
    with their numbers, as R writes tables, that column is called "row".

    Parameters
    ----------
    path : str or Path
        The file.
    bare : bool
        Whether a file without a line of names is one of SMILES and names, too, whatever it is called.
    undecodable : {"refuse", "replace"}
        What is done about bytes that are no text.
    """
    path = Path(path)
    if is_parquet(path):
        header, cells = parquet_rows(path)
        return RowStream(header=header, separator=",", source=path.name, rows=cells)
    rest = lines_of(path, undecodable)
    head = list(islice(rest, _HEAD))
    separator = separator_of(head)
    first = (row for row in rows_of(head, separator) if any(row))
    header = next(first, [])
    with suppress(InputError):  # of a damaged row, which is said when it is read
        some = list(first)
        header = _with_numbers(header, some[:-1] if len(head) == _HEAD else some)  # the last one may go on
    lines = chain(head, rest)
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    if _is_list(header, separator, smi=suffix.lower() == ".smi", bare=bare):
        return RowStream(header=["smiles", "name"], separator=" ", source=path.name, rows=listed_from(lines))
    rows = rows_from(lines, separator, path.name)
    next(rows, None)
    return RowStream(header=header, separator=separator, source=path.name, rows=rows)


def _with_numbers(header: list[str], first: Sequence[list[str]]) -> list[str]:
    """The names of the columns; R writes the numbers of the rows before the cells, in a column without a name."""
    if len(first) < _NUMBERED or not first[0][0].isdecimal():
        return header
    numbers = range(int(first[0][0]), int(first[0][0]) + len(first))
    if any(len(row) != len(header) + 1 or row[0] != str(i) for row, i in zip(first, numbers, strict=True)):
        return header
    return ["row" if "row" not in header else "number of the row", *header]


def _is_list(header: list[str], separator: str, *, smi: bool, bare: bool) -> bool:
    """Whether a file holds a SMILES and a name on each line, and not a table with a line of names."""
    named = smiles_index(header) is not None
    if smi:
        return not (named and len(header) > 1 and separator in ",;")
    return bare and not named


def rows_from(lines: Iterator[str], separator: str, source: str, line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text with their numbers, of which the first is on this line."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    number = line
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = reader.line_num + line
    except csv.Error as error:
        raise unreadable(source, error, number) from None


def listed_from(lines: Iterator[str], first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """The SMILES and names of a list with their numbers, of which the first is on this line."""
    beginning = first == 1
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        cells = smi_line(line)
        if not (beginning and normalized(cells[0]) in SMILES_NAMES):  # some programs write a line of names
            yield number, list(cells)
        beginning = False


def read_table(path: str | Path | Table) -> Table:
    """The cells of a text file with a line of names, see `open_table`; a table that was read before is given back.

    Where semicolons separate the cells, numbers may have a decimal comma. Every column must have its own name, and
    every row as many cells as there are names.
    """
    if isinstance(path, Table):
        return path
    if not isinstance(path, str | Path):
        raise InputError("The table must be a CSV or Parquet file", got=f"{type(path).__name__}", cure="pass its path")
    stream = open_table(existing(path))
    return checked_rows(stream, list(stream))


def read_pieces(path: str | Path, size: int = 10_000) -> Iterator[Table]:
    """The same as `read_table`, in tables of at most `size` rows: however long a file is, memory does not fill up.

    Parameters
    ----------
    path : str or Path
        The file.
    size : int
        The most rows of a piece.
    """
    stream = open_table(existing(path))
    yield checked_rows(stream, list(islice(stream, size)))
    while counted := list(islice(stream, size)):
        yield checked_rows(stream, counted)


def existing(path: str | Path) -> Path:
    """The path of a table, if there is a file."""
    path = Path(path)
    kind = kind_of(path)
    if kind == "file":
        return path
    raise InputError(
        "The table must be a CSV or Parquet file",
        got=f"{path}, which {'does not exist' if kind is None else 'is a folder'}",
        cure="correct the path" if kind is None else "name a file in it",
    )


def checked_rows(stream: RowStream, counted: list[tuple[int, list[str]]]) -> Table:
    """Rows of a file as a table, if there are some, and all have as many cells as there are names."""
    header, source = stream.header, stream.source
    if stream.separator == " " and not counted:
        raise InputError(f"{source} must hold a SMILES on each line", got="none", cure="is it the right file?")
    if not counted:
        raise InputError(
            f"{source} must have a line of names and at least one row",
            got="names alone" if header else "nothing",
            cure="is it the right file?",
        )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(
            f"Every column of {source} must have its own name", got=f"{twice[0]!r} twice", cure="rename one"
        )
    for number, row in counted:
        if len(row) != len(header):
            raise InputError(
                f"Every row of {source} must have {len(header)} cells, separated by {stream.separator!r}",
                got=f"{len(row)} in row {number}",
                cure="fix it, put texts that contain the separator in quotes, and name every column",
            )
    return Table(
        header=header,
        rows=[row for _, row in counted],
        numbers=[number for number, _ in counted],
        comma=stream.separator == ";",
        source=source,
    )


def smi_line(line: str) -> tuple[str, str]:
    """SMILES and name of a line of a .smi file, which must not be blank.

    An extension (CXSMILES) stays with its SMILES, for whoever reads that to refuse: without it, it would be another
    molecule.

    Examples
    --------
    >>> smi_line("CCO ethanol"), smi_line("C[C@H](N)O |&1:1| racemate")
    (('CCO', 'ethanol'), ('C[C@H](N)O |&1:1| racemate', ''))
    """
    smiles, *rest = line.strip().split(maxsplit=1)
    if rest and rest[0].startswith("|"):
        return line.strip(), ""
    return smiles, rest[0] if rest else ""


def row_names(table: Table, column: str | None = None) -> list[str]:
    """What each row is called, "" where it has no name.

    Parameters
    ----------
    table : Table
        What was read.
    column : str, optional
        Where the names are; by default in a column whose own name says so.
    """
    if column is not None:
        require_column(column, table.header, table.source, f"{Parameter('names'):=}", parameter="names")
    else:
        column = next((title for title in table.header if normalized(title) in ROW_NAMES), None)
    return [""] * len(table.rows) if column is None else [cell.strip() for cell in table.column(column)]
