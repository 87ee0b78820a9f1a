"""Recordings from files: text, Parquet, NumPy's own, and folders of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import InputError
from pellucid.series.recordings import Recordings, columns_of, default_names, is_number, tables_of

_TABLES = (".parquet", ".pq")
_ARRAYS = (".npz", ".npy")


def read(
    path: str | Path, *, channels: Sequence[str] | None = None, pattern: str = "*", decimal: str = "."
) -> Recordings:
    """Recordings from a file, or from a folder with one recording per file, in the order of their names.

    Parameters
    ----------
    path : text (cells separated by commas, semicolons, tabs or blanks, with or without a line of names),
        Parquet (.parquet), or NumPy's .npy and .npz. An .npz holds an array `x`, or one array of any name:
        (T, c), or (S, T, c) for S recordings; optionally `channels`, the names of the c channels, and `names`,
        those of the S recordings.
    channels : the columns to use, by default all of them; name them to leave out a column of times or labels.
    pattern : which files of a folder to read, as in "*.csv".
    decimal : the decimal sign of text files.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"The data must be a file or a folder. Got {path}, which does not exist; correct the path.")
    files = [path] if path.is_file() else sorted(p for p in path.glob(pattern) if p.is_file() and p.name[0] != ".")
    if not files:
        raise InputError(f"The folder must hold files that match {pattern!r}. Got none in {path}; change `pattern`.")
    values: list[np.ndarray] = []
    sources: list[str] = []
    names: list[str] | None = None
    for file in files:
        tables, origins, found = _read_file(file, channels, decimal)
        if names is not None and found != names:
            raise InputError(
                f"All files of a folder must have the same columns. Got {', '.join(found)} in {file.name} after "
                f"{', '.join(names)} in {files[0].name}; choose the common ones with `channels`, or the files with "
                "`pattern`."
            )
        names = found
        values += tables
        sources += origins
    return Recordings(values=tuple(values), channels=tuple(names or ()), sources=tuple(sources))


def _read_file(
    file: Path, channels: Sequence[str] | None, decimal: str
) -> tuple[list[np.ndarray], list[str], list[str]]:
    """The recordings of one file, where each comes from, and the names of their channels."""
    if file.suffix in _ARRAYS:
        return _readtables_of(file, channels)
    table, first_row = _read_parquet(file) if file.suffix in _TABLES else _read_text(file, decimal)
    names = [str(name) for name in table.column_names]
    columns = range(len(names)) if channels is None else columns_of(channels, names, file.name)
    values = [numbers_of(table.column(i), names[i], file.name, first_row) for i in columns]
    return [np.stack(values, axis=1)], [file.name], [names[i] for i in columns]


def _read_parquet(file: Path) -> tuple[Any, int]:
    from pyarrow import ArrowException, parquet

    try:
        return parquet.read_table(file), 1
    except ArrowException as error:
        raise InputError(
            f"{file.name} must be a Parquet file. It could not be read ({error}); export it again."
        ) from None


def _read_text(file: Path, decimal: str) -> tuple[Any, int]:
    """A table of a text file, and the line of its first row."""
    from pyarrow import ArrowException, BufferReader, csv

    text = file.read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip()
    head = text.split(b"\n", 1)[0].decode(errors="replace").strip("\r")
    if not head or "\0" in head:
        raise InputError(f"{file.name} must be a table of numbers. Got {'binary data' if head else 'an empty file'}.")
    delimiter = next((sign for sign in ("\t", ";", ",") if sign in head and sign != decimal), None)
    if delimiter is None and " " in head.strip():
        text, delimiter = re.sub(rb"[ ]+", b"\t", re.sub(rb"(?m)^[ ]+|[ ]+$", b"", text)), "\t"
        head = text.split(b"\n", 1)[0].decode(errors="replace")
    cells = [cell.strip().strip('"') for cell in head.split(delimiter or ",")]
    named = not all(is_number(cell.replace(decimal, ".")) for cell in cells)
    if named and b"\n" not in text:
        raise InputError(f"{file.name} must have rows of numbers. Got a line of names only; add the rows.")
    try:
        table = csv.read_csv(
            BufferReader(text),
            csv.ReadOptions(column_names=None if named else default_names(len(cells)), use_threads=False),
            csv.ParseOptions(delimiter=delimiter or ",", ignore_empty_lines=False),
            csv.ConvertOptions(decimal_point=decimal, strings_can_be_null=True),
        )
    except ArrowException as error:
        raise InputError(
            f"{file.name} must have the same number of cells in every row. Got a file that cannot be read: {error}"
        ) from None
    return table, 2 if named else 1


def numbers_of(column: Any, name: str, source: str, first_row: int) -> np.ndarray:
    """A column of a table as numbers; whatever is none is named with its row."""
    import pyarrow

    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise InputError(
            f"Recordings must have no missing values. Got an empty cell in {source}, column {name!r}, row "
            f"{row + first_row} ({column.null_count} such in all); fill the gap, or split the recording there."
        )
    kinds = pyarrow.types
    if kinds.is_integer(column.type) or kinds.is_floating(column.type) or kinds.is_decimal(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    cells = [str(cell) for cell in column.to_pylist()]
    row = next((i for i, cell in enumerate(cells) if not is_number(cell)), 0)
    raise InputError(
        f"Every cell must be a number. Got {cells[row] if cells else 'none'!r} in {source}, column {name!r}, row "
        f"{row + first_row}; correct it, or leave that column out with `channels=`."
    )


def _readtables_of(file: Path, channels: Sequence[str] | None) -> tuple[list[np.ndarray], list[str], list[str]]:
    try:
        content = np.load(file, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise InputError(f"{file.name} must be a file of plain NumPy arrays. It could not be read ({error}).") from None
    entries = {"x": content} if isinstance(content, np.ndarray) else {name: content[name] for name in content.files}
    numeric = [name for name, array in entries.items() if array.ndim in (2, 3) and array.dtype.kind in "fiu"]
    name = "x" if "x" in entries else numeric[0] if len(numeric) == 1 else None
    if name is None or name not in numeric:
        raise InputError(
            f"{file.name} must hold an array `x` of numbers, (T, c) or (S, T, c). Got "
            f"{', '.join(f'{key} {array.dtype} {array.shape}' for key, array in entries.items())}; save it as `x`."
        )
    array = entries[name]
    tables, sources = tables_of(array)
    own = [str(label) for label in entries.get("names", [])]
    labels = [f"{file.name}: {label}" for label in (own if len(own) == len(tables) else sources)]
    named = entries.get("channels")
    names = default_names(array.shape[-1]) if named is None else [str(label) for label in named]
    if len(names) != array.shape[-1]:
        raise InputError(
            f"`channels` of {file.name} must name the {array.shape[-1]} channels of `x`. Got {len(names)} names."
        )
    columns = list(range(len(names))) if channels is None else columns_of(channels, names, file.name)
    return [t[:, columns] for t in tables], labels if len(tables) > 1 else [file.name], [names[i] for i in columns]
