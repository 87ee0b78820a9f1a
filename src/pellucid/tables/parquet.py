"""Parquet files as tables of cells: read and written piece by piece."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.errors import InputError
from pellucid.numbers import listed
from pellucid.writing import replacing

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
# Rows that are in memory at a time.
_PIECE = 10_000
# Texts that are numbers; those with zeros before them are codes, and so are digits beyond what numbers hold.
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?")


def is_parquet(path: Path) -> bool:
    """Whether a file is one of these, by the end of its name."""
    return path.suffix.lower() == SUFFIX


def parquet_rows(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns, and the rows with their numbers, from 1; cells as text, blank where there is no value.

    Parameters
    ----------
    path : Path
        The file.
    """
    from pyarrow import types

    file = _opened(path)
    with readable(path):
        names = list(file.schema_arrow.names)
        kinds = zip(names, file.schema_arrow.types, strict=True)
    nested = [name for name, kind in kinds if types.is_nested(kind) or types.is_binary(kind)]
    if nested:
        raise InputError(
            f"Every column of {path.name} must hold numbers, texts, dates or true and false",
            got=f"{listed(nested, 6)}, of another type",
            cure="leave it out when the file is written",
        )
    return names, _rows(file, path)


def parquet_count(path: Path) -> int:
    """The number of rows, blank ones included."""
    return int(_opened(path).metadata.num_rows)


def parquet_cells(path: Path) -> int:
    """The number of cells."""
    return int(_opened(path).metadata.num_rows * _opened(path).metadata.num_columns)


def parquet_range(path: Path, begin: int, end: int) -> Iterator[tuple[int, list[str]]]:
    """The rows from `begin` to before `end`, blank ones not, with their numbers, from 1; groups before are not read."""
    file = _opened(path)
    groups: list[int] = []
    first = before = 0
    for group in range(file.num_row_groups):
        after = before + file.metadata.row_group(group).num_rows
        if before < end and after > begin:
            first = first if groups else before
            groups.append(group)
        before = after
    yield from _rows(file, path, groups, first, begin, end)


def _opened(path: Path) -> Any:
    from pyarrow import parquet

    with readable(path):
        return parquet.ParquetFile(path)


def _rows(
    file: Any, path: Path, groups: list[int] | None = None, number: int = 0, begin: int = 0, end: float = math.inf
) -> Iterator[tuple[int, list[str]]]:
    with readable(path):
        for batch in file.iter_batches(batch_size=_PIECE, row_groups=groups):
            after = number + batch.num_rows
            skipped = min(max(begin - number, 0), batch.num_rows)
            number += skipped
            taken = batch.slice(skipped, max(int(min(end, after)) - number, 0))
            for cells in zip(*(_texts(column) for column in taken.columns), strict=True):
                number += 1
                if any(cell.strip() for cell in cells):
                    yield number, list(cells)
            number = after


def _texts(column: pa.Array) -> list[str]:
    """Cells as they would be written into a text file."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_floating(kind) or types.is_decimal(kind):
        return ["" if value is None else repr(value) for value in column.cast(pa.float64()).to_pylist()]
    return ["" if value is None else str(value) for value in column.to_pylist()]


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say of a damaged file that it is one; what the system says of any file has a number, and stays.

    Parameters
    ----------
    path : Path
        The file that is read meanwhile.
    """
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(
            f"{path.name} must be a Parquet file",
            got=f"one that cannot be read: {' '.join(str(error).split()).rstrip('.')}",
        ) from None


def write_parquet(path: str | Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write a Parquet file, whole or not at all; of the rows, the first holds the names.

    A column in which all cells are numbers, or texts that are numbers, is one of numbers, whole ones if they all are;
    others are texts, and so are numbers with zeros before them, such as codes. Blanks are nulls. Where the first rows
    have numbers alone and a later one has none, those before are written as Python writes them.

    Parameters
    ----------
    path : str or Path
        The file.
    rows : iterable of sequence
        Texts and numbers.
    """
    import pyarrow as pa
    from pyarrow import parquet

    rest = iter(rows)
    names = [str(name) for name in next(rest)]
    kinds: list[pa.DataType] = [pa.null()] * len(names)
    writer: parquet.ParquetWriter | None = None
    with replacing(path) as draft:
        try:
            for piece in iter(lambda: list(islice(rest, _PIECE)), []):
                columns = list(zip(*piece, strict=True))
                wider = [_wider(kind, _kind(cells)) for kind, cells in zip(kinds, columns, strict=True)]
                if writer is None or wider != kinds:
                    earlier = None if writer is None else _put_aside(writer, draft)
                    kinds, writer = wider, _writer(draft, names, wider, earlier)
                arrays = [_array(cells, kind) for cells, kind in zip(columns, kinds, strict=True)]
                writer.write_batch(pa.record_batch(arrays, schema=writer.schema))
            writer = _writer(draft, names, kinds, None) if writer is None else writer
        finally:
            if writer is not None:
                writer.close()


def _put_aside(writer: Any, draft: Path) -> Path:
    """End a file, and put it aside."""
    writer.close()
    return draft.replace(draft.with_name(f"{draft.name}.narrow"))


def _writer(draft: Path, names: Sequence[str], kinds: Sequence[pa.DataType], earlier: Path | None) -> Any:
    """A file to be written, with the rows of an earlier one whose columns were narrower."""
    import pyarrow as pa
    from pyarrow import parquet

    # Nothing is known of a column without values.
    schema = pa.schema([(name, _written(kind)) for name, kind in zip(names, kinds, strict=True)])
    writer = parquet.ParquetWriter(draft, schema)
    if earlier is not None:
        with parquet.ParquetFile(earlier) as file:
            for batch in file.iter_batches(batch_size=_PIECE):
                arrays = [_recast(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        earlier.unlink()
    return writer


def _written(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return pa.string() if kind == pa.null() else kind


def _recast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values of a wider kind; numbers in their shortest form. Columns of nulls were texts."""
    import pyarrow as pa

    if column.type == kind:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    if kind == pa.string():
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], kind)
    return column.cast(kind)


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The kind that holds the values of both: nothing, whole numbers, numbers, texts."""
    import pyarrow as pa

    order = [pa.null(), pa.int64(), pa.float64(), pa.string()]
    return order[max(order.index(one), order.index(other))]


def _kind(cells: Sequence[Any]) -> pa.DataType:
    """What kind of column holds these cells."""
    import pyarrow as pa

    values = [cell for cell in cells if cell not in ("", None)]
    if not values:
        return pa.null()
    if not all(_is_number(value) for value in values):
        return pa.string()
    whole = all(_WHOLE.fullmatch(value) if isinstance(value, str) else isinstance(value, int) for value in values)
    return pa.int64() if whole else pa.float64()


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return not isinstance(value, bool)


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    convert = {pa.int64(): int, pa.float64(): float}.get(kind, str)
    return pa.array([None if cell in ("", None) else convert(cell) for cell in cells], _written(kind))
