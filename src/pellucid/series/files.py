"""Recordings from files: text, Parquet, NumPy's own, and folders of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from pellucid.errors import InputError
from pellucid.series._arrow import floats
from pellucid.series.recordings import Recordings, columns_of, default_names, names_of, tables_of
from pellucid.tables import number_of

_TABLES = (".parquet", ".pq")
_ARRAYS = (".npz", ".npy")
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")


def read(
    path: str | Path,
    *,
    channels: str | Sequence[str] | None = None,
    pattern: str = "*",
    header: bool | None = None,
    decimal: str = ".",
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
    header : whether the first line of text holds names; by default it does if none of its cells is a number.
    decimal : the decimal sign of text files, "." or ",".
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"The data must be a file or a folder. Got {path}, which does not exist; correct the path.")
    if decimal not in (".", ","):
        raise InputError(f'`decimal` must be "." or ",". Got {decimal!r}.')
    files = [path] if path.is_file() else sorted(p for p in path.glob(pattern) if p.is_file() and p.name[0] != ".")
    if not files:
        raise InputError(f"The folder must hold files that match {pattern!r}. Got none in {path}; change `pattern`.")
    wanted = None if channels is None else names_of(channels)
    values: list[np.ndarray] = []
    sources: list[str] = []
    names: list[str] | None = None
    for file in files:
        try:
            tables, origins, found = _read_file(file, wanted, header, decimal)
        except InputError as error:
            if len(files) == 1:
                raise
            raise InputError(f"{error} If {file.name} is no recording, leave it out with `pattern=`.") from None
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
    file: Path, wanted: list[str] | None, header: bool | None, decimal: str
) -> tuple[list[np.ndarray], list[str], list[str]]:
    """The recordings of one file, where each comes from, and the names of their channels."""
    if file.suffix in _ARRAYS:
        return _read_arrays(file, wanted)
    table, first_row = _read_parquet(file) if file.suffix in _TABLES else _read_text(file, header, decimal)
    names = [str(name) for name in table.column_names]
    columns = list(range(len(names))) if wanted is None else columns_of(wanted, names, file.name)
    values = [numbers_of(table.column(i), names[i], file.name, first_row) for i in columns]
    return [np.stack(values, axis=1)], [file.name], [names[i] for i in columns]


def _read_parquet(file: Path) -> tuple[Any, int]:
    from pyarrow import ArrowException, parquet

    try:
        return parquet.read_table(file), 1
    except ArrowException as error:
        raise InputError(f"{file.name} must be a Parquet file. Got one that cannot be read: {error}.") from None


def _read_text(file: Path, header: bool | None, decimal: str) -> tuple[Any, int]:
    """A table of a text file, and the line of its first row."""
    from pyarrow import ArrowException, BufferReader, string
    from pyarrow import csv as arrow

    head = _head(file, decimal)
    names = _names(head, file.name, header, decimal)
    body = head.text.split("\n", 1)[1] if names and "\n" in head.text else "" if names else head.text
    if not body:
        raise InputError(f"{file.name} must have rows of numbers. Got a line of names only; add the rows.")
    if head.separator == " ":
        body = re.sub(r"[ \t]+", "\t", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", body))

    def parse(types: dict[str, Any]) -> Any:
        return arrow.read_csv(
            BufferReader(body.encode()),
            arrow.ReadOptions(column_names=names or default_names(len(head.cells)), use_threads=False),
            arrow.ParseOptions(delimiter="\t" if head.separator == " " else head.separator, ignore_empty_lines=False),
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
            got = f"{cells} instead of {expected} in row {row + head.line + bool(names) - 1}; mend that row"
        raise InputError(f"{file.name} must have the same number of cells in every row. Got {got}.") from None
    return table, head.line + bool(names)


class _Head(NamedTuple):
    """How a text file begins."""

    text: str
    """All of it, with plain line ends and without blank lines around."""
    line: int
    """The number of its first line."""
    separator: str
    cells: list[str]
    """Of the first line."""


def _head(file: Path, decimal: str) -> _Head:
    raw = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if b"\0" in raw[:1024]:
        raise InputError(f"{file.name} must be a table of numbers. Got binary data; export it as text or Parquet.")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # whatever stands in the names: numbers are the same in both
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    blank = re.match(r"(?:[ \t]*\n)*", text)
    lead = blank.end() if blank else 0
    line = 1 + text[:lead].count("\n")
    text = re.sub(r"(?:\n[ \t]*)+\Z", "", text[lead:])
    if not text.strip():
        raise InputError(f"{file.name} must be a table of numbers. Got an empty file; leave it out.")
    first, *rest = text.split("\n", 2)
    second = rest[0] if rest else first
    for separator in ("\t", ";", ",", " "):
        if separator == decimal:
            continue
        cells, others = _split(first, separator), _split(second, separator)
        # A header of numpy's has a sign of its own before the names.
        if len(others) > 1 and len(cells) in (len(others), len(others) + (cells[0] == "#")):
            break
    else:
        separator = next((sign for sign in ("\t", ";", ",") if sign in first and sign != decimal), "\t")
        cells = _split(first, separator)
    if cells[0] == "#" and len(cells) > 1:
        cells = cells[1:]
    cells[0] = cells[0].removeprefix("#").strip()
    return _Head(text, line, separator, cells)


def _split(line: str, separator: str) -> list[str]:
    line = re.sub(r"[ \t]+", " ", line.strip()) if separator == " " else line
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [""])]


def _names(head: _Head, source: str, header: bool | None, decimal: str) -> list[str] | None:
    """The names of the first line; None if it holds numbers."""
    if header is False:
        return None
    kinds = ["missing" if c.lower() in _MISSING else "number" if _is_number(c, decimal) else "name" for c in head.cells]
    if header is None and "name" not in kinds:
        count = len(head.cells)
        if count > 1 and head.cells == [str(i) for i in range(count)]:
            raise InputError(
                f"The first line of {source} must be either names or numbers. Got {', '.join(head.cells)}, which "
                "may be both; read the file with `header=True` or `header=False`."
            )
        return None
    if header is None and "number" in kinds:
        raise InputError(
            f"The first line of {source} must be either names or numbers. Got both, {', '.join(head.cells[:6])}; read "
            "the file with `header=True` or `header=False`."
        )
    if "" in head.cells:
        raise InputError(
            f"Every column of {source} must have a name. Got none for column {head.cells.index('') + 1}; name it, or "
            "leave it out when the file is written (pandas: `index=False`)."
        )
    return head.cells


def _null_values() -> list[str]:
    return sorted({form for name in _MISSING for form in (name, name.upper(), name.capitalize())} | {"NaN", "#N/A"})


def _hexadecimal(column: Any) -> bool:
    """Whether a column of texts has a hexadecimal number in it."""
    return any(re.fullmatch(r"\s*[+-]?0[xX][0-9a-fA-F]+\s*", cell) for cell in column.to_pylist() if cell)


def _is_number(cell: str, decimal: str = ".") -> bool:
    return number_of(cell.strip().replace(decimal, ".")) is not None


def numbers_of(column: Any, name: str, source: str, first_row: int) -> np.ndarray:
    """A column of an Arrow table as finite numbers; whatever is none is named with its row."""
    from pyarrow import types

    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(
            f"Recordings must have no missing values. Got an empty cell in {source}, column {name!r}, row "
            f"{row + first_row} ({column.null_count} such in all); fill the gap, or split the recording there."
        )
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type):
        values = floats(column)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise InputError(
                f"Recordings must have no missing or infinite values. Got {values[bad[0]]} in {source}, column "
                f"{name!r}, row {bad[0] + first_row}; fill the gap, or split the recording there."
            )
        return values
    cells = [str(cell) for cell in column.to_pylist()]
    row = next((i for i, cell in enumerate(cells) if not _is_number(cell)), 0)
    cure = (
        " Numbers with a decimal comma are read with `decimal=','`." if re.fullmatch(r"-?\d+,\d+", cells[row]) else ""
    )
    raise InputError(
        f"Every cell must be a number. Got {cells[row]!r} in {source}, column {name!r}, row {row + first_row}; correct "
        f"it, or leave that column out with `channels=`.{cure}"
    )


def _read_arrays(file: Path, wanted: list[str] | None) -> tuple[list[np.ndarray], list[str], list[str]]:
    try:
        with file.open("rb") as stream:  # closed whatever happens
            content = np.load(stream, allow_pickle=False)
            entries = (
                {"x": content} if isinstance(content, np.ndarray) else {key: content[key] for key in content.files}
            )
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise InputError(
            f"{file.name} must be a file of plain NumPy arrays. Got one that cannot be read: {error}"
        ) from None
    numeric = [name for name, array in entries.items() if array.ndim in (2, 3) and array.dtype.kind in "fiu"]
    name = "x" if "x" in entries else numeric[0] if len(numeric) == 1 else None
    if name is None or name not in numeric:
        raise InputError(
            f"{file.name} must hold an array `x` of numbers, (time, channels) or (recordings, time, channels). Got "
            f"{', '.join(f'{key} {array.dtype} {array.shape}' for key, array in entries.items())}; save such an array, "
            "a single channel as (time, 1)."
        )
    array = entries[name]
    tables, sources = tables_of(array)
    own = [str(label) for label in np.ravel(entries.get("names", []))]
    labels = [f"{file.name}: {label}" for label in (own if len(own) == len(tables) else sources)]
    named = entries.get("channels")
    names = default_names(array.shape[-1]) if named is None else [str(label) for label in np.ravel(named)]
    if len(names) != array.shape[-1]:
        raise InputError(
            f"`channels` of {file.name} must name the {array.shape[-1]} channels of `x`. Got {len(names)} names."
        )
    columns = list(range(len(names))) if wanted is None else columns_of(wanted, names, file.name)
    return [t[:, columns] for t in tables], labels if len(tables) > 1 else [file.name], [names[i] for i in columns]
