"""Ranges of rows of a file: where each begins is looked up once, so that anybody can read any of them alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, final

from pellucid.errors import InputError
from pellucid.tables.parquet import is_parquet, parquet_count, parquet_range
from pellucid.tables.reading import (
    RowStream,
    Table,
    checked_rows,
    existing,
    listed_from,
    open_table,
    rows_from,
)
from pellucid.tables.text import encoding_of, lines_from


class RowRange(NamedTuple):
    """Rows from `begin` to before `end`, and where the first of them is in the file."""

    begin: int
    end: int
    offset: int
    """The number of bytes before it, in the text as it is without compression; 0 in Parquet files."""
    line: int
    """The number of its line."""


@final
@dataclass(frozen=True, kw_only=True)
class TableRanges:
    """The ranges of a file, and what must not change while they are read."""

    path: Path
    header: Sequence[str]
    ranges: Sequence[RowRange]
    digest: str
    """SHA-256 of the file."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.ranges[-1].end

    def place(self, part: RowRange) -> Mapping[str, Any]:
        """What `read_range` needs to know."""
        return {"path": self.path, "part": tuple(part), "stamp": _stamp(self.path)}


def table_ranges(path: str | Path, size: int) -> TableRanges:
    """Read a file once, refuse what `read_table` refuses, and note where each `size` rows begin.

    Parameters
    ----------
    path : str or Path
        A table in text, compressed or not, a list of SMILES, or a Parquet file.
    size : int
        The number of rows of a range; blank rows of Parquet files count.
    """
    path = existing(path).resolve()
    stream = open_table(path)
    if is_parquet(path):
        count = parquet_count(path)
        ranges = [RowRange(a, min(a + size, count), 0, a + 1) for a in range(0, count, size)]
        checked_rows(stream, list(islice(stream, 1)))
    else:
        ranges = list(_text_ranges(path, stream, size))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return TableRanges(path=path, header=stream.header, ranges=ranges, digest=digest)


def _text_ranges(path: Path, stream: RowStream, size: int) -> Iterator[RowRange]:
    encoding, offset = encoding_of(path)
    place = [offset, 1]  # behind the lines that the reader has taken

    def passed() -> Iterator[str]:
        for line in lines_from(path, (encoding, offset)):
            place[0] += len(line.encode(encoding))
            place[1] += 1
            yield line

    rows = _numbered(passed(), stream, 1)
    if stream.separator != " ":
        next(rows, None)  # the names
    begin, start = 0, (place[0], place[1])
    while counted := list(islice(rows, size)):
        checked_rows(stream, counted)
        yield RowRange(begin, begin + len(counted), *start)
        begin, start = begin + len(counted), (place[0], place[1])
    if not begin:
        checked_rows(stream, [])


def _numbered(lines: Iterator[str], stream: RowStream, line: int) -> Iterator[tuple[int, list[str]]]:
    if stream.separator == " ":
        return listed_from(lines, line)
    return rows_from(lines, stream.separator, stream.source, line)


def read_range(path: Path, part: Sequence[int], stamp: Sequence[int]) -> Table:
    """The rows of a range, as `read_table` has them; there may be none in a Parquet file with blank rows.

    Parameters
    ----------
    path : Path
        The file.
    part : sequence of int
        A `RowRange`.
    stamp : sequence of int
        What was known of the file when its ranges were looked up.
    """
    part = RowRange(*part)
    if tuple(stamp) != _stamp(path):
        raise InputError(
            "A file must not change while it is read", got=f"{path}, which has changed", cure="start again"
        )
    stream = open_table(path)
    if is_parquet(path):
        rows = parquet_range(path, part.begin, part.end)
    else:
        encoding, _ = encoding_of(path)
        rows = _numbered(lines_from(path, (encoding, part.offset)), stream, part.line)
    counted = list(islice(rows, part.end - part.begin))
    if not counted:
        return Table(list(stream.header), [], [], False, stream.source)
    return checked_rows(stream, counted)


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of a file, which change when it does."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
