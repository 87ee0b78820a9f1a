"""Long tables whose columns lie on the disk: one of them is in memory at a time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import final

from pellucid.tables.names import require_column
from pellucid.tables.parquet import is_parquet, parquet_count
from pellucid.tables.reading import existing, read_pieces

LONG = 100_000
"""Rows up to which a table is read into memory."""
# Bytes that are looked at together.
_BLOCK = 2**20


def is_long(path: str | Path) -> bool:
    """Whether a file has more rows than are read into memory, by its lines; those within quotes count, too.

    Parameters
    ----------
    path : str or Path
        A table in text, compressed or not, or a Parquet file.
    """
    path = existing(path)
    if is_parquet(path):
        return parquet_count(path) > LONG
    lines = 0
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            while lines <= LONG and (block := stream.read(_BLOCK)):
                lines += block.count(b"\n")
    except (OSError, EOFError):  # damaged: whoever reads it says so
        return False
    return lines > LONG


@final
class StoredTable:
    """The cells of a file, as `Table` has them, each column in a file of its own; see `store_table`.

    Parameters
    ----------
    header : list of str
        The names of the columns.
    numbers : list of int
        The number of each row.
    comma : bool
        Whether numbers may have a decimal comma.
    source : str
        The name of the file, for messages.
    folder : Path
        Where the columns are.
    """

    def __init__(self, header: list[str], numbers: list[int], comma: bool, source: str, folder: Path) -> None:
        self.header, self.numbers, self.comma, self.source, self.folder = header, numbers, comma, source, folder
        self._last: tuple[str, list[str]] | None = None

    def column(self, name: str) -> list[str]:
        """The cells of one column; an error names the columns where there is none of this name."""
        require_column(name, self.header, self.source, "What is read")
        if self._last is None or self._last[0] != name:  # several questions in a row are about one column
            self._last = None
            with _file(self.folder, self.header.index(name)).open("rb") as lines:
                self._last = name, [cell for line in lines for cell in json.loads(line)]
        return self._last[1]


def store_table(path: str | Path, folder: Path) -> StoredTable:
    """Read a file once, piece by piece, and write its columns into a folder; refuses what `read_table` refuses.

    Parameters
    ----------
    path : str or Path
        The file.
    folder : Path
        An empty folder.
    """
    numbers: list[int] = []
    for piece in read_pieces(path):
        numbers += piece.numbers
        header, comma, source = piece.header, piece.comma, piece.source
        for index, cells in enumerate(zip(*piece.rows, strict=True)):
            with _file(folder, index).open("ab") as stream:  # one after the other: a table may have thousands
                stream.write(json.dumps(cells).encode() + b"\n")
    return StoredTable(header, numbers, comma, source, folder)


def _file(folder: Path, index: int) -> Path:
    return folder / f"column-{index}.json"
