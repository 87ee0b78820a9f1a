"""Tables as they were read, before it is decided which columns are channels, times, or names of units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from torch import Tensor

from pellucid.errors import InputError, Parameter
from pellucid.schemas import shown
from pellucid.series._arrow import floats
from pellucid.series.stamps import Stamps, stamps_of
from pellucid.tables import is_number


class TextColumn(NamedTuple):
    """A column that holds no numbers."""

    cells: np.ndarray
    """(T,) text; None where a cell is blank."""
    stamps: Stamps | None
    """The times that it holds, if it does."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnTable:
    """T rows of named columns, some of which are numbers."""

    file: str
    names: tuple[str, ...]
    """Names of all columns, in their order."""
    numeric: tuple[str, ...]
    """Names of the columns of numbers."""
    values: np.ndarray
    """(T, len(numeric)); blanks are NaN."""
    texts: dict[str, TextColumn] = field(default_factory=dict)
    """The other columns."""
    rows: Sequence[int] | np.ndarray
    """(T,) numbers of the rows, as messages name them."""
    named: bool = True
    """Whether the names come from the file, or were made up."""
    unit: str = ""
    """The name of the unit, where a file holds several recordings."""
    blank: str = "an empty cell"
    """A blank in words."""
    pivot: str = ""
    """The column of the file whose levels are the channels, if it was a long table."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def label(self) -> str:
        return f"{self.file}: {self.unit}" if self.unit else self.file

    def column_text(self, name: str) -> str:
        """A channel as the file knows it: a column, or a level of the column that was pivoted."""
        return f"{self.pivot} {name!r}" if self.pivot and name in self.numeric else f"column {name!r}"

    def column(self, name: str) -> np.ndarray:
        """(T,) the cells of a column: numbers, or texts."""
        if name in self.numeric:
            return self.values[:, self.numeric.index(name)]
        return self.texts[name].cells

    def take(self, rows: np.ndarray, unit: str = "") -> ColumnTable:
        """These of its rows."""
        texts = {
            name: TextColumn(
                column.cells[rows], column.stamps and column.stamps._replace(seconds=column.stamps.seconds[rows])
            )
            for name, column in self.texts.items()
        }
        numbers = np.asarray(self.rows)[rows]
        return replace(self, values=self.values[rows], texts=texts, rows=numbers, unit=unit or self.unit)

    def without(self, names: Iterable[str]) -> ColumnTable:
        """The table without these columns."""
        dropped = set(names)
        keep = [i for i, name in enumerate(self.numeric) if name not in dropped]
        return replace(
            self,
            names=tuple(name for name in self.names if name not in dropped),
            numeric=tuple(self.numeric[i] for i in keep),
            values=self.values if len(keep) == len(self.numeric) else self.values[:, keep],
            texts={name: column for name, column in self.texts.items() if name not in dropped},
        )

    def not_numeric(self, name: str) -> InputError:
        """The error that a column holds no numbers, with the first cell that is none."""
        cells = ["" if cell is None else str(cell) for cell in self.texts[name].cells]
        row = next((i for i, cell in enumerate(cells) if cell and not is_number(cell)), 0)
        comma = re.fullmatch(r"-?\d+,\d+", cells[row])
        cure = f". Numbers with a decimal comma are read with {Parameter('decimal', ',')}" if comma else ""
        return InputError(
            "Every cell must be a number",
            got=f"{shown(cells[row])} in {self.file}, column {name!r}, row {self.rows[row]}",
            cure=f"correct it, or leave that column out with {Parameter('drop'):=}{cure}",
            parameter="drop",
        )


def from_arrow(
    table: Any, file: str, *, first_row: int, names: Sequence[str] | None = None, named: bool = True
) -> ColumnTable:
    """The columns of an Arrow table.

    Parameters
    ----------
    table : pyarrow.ColumnTable
        The Arrow table.
    file : str
        Its name in messages.
    first_row : int
        The number of its first row in messages.
    names : sequence of str, optional
        Names of the columns; by default those of the table.
    named : bool
        Whether the names come from the file, or were made up.
    """
    from pyarrow import types

    names = [str(name) for name in table.column_names] if names is None else list(names)
    numeric, values, texts = [], [], {}
    for name, column in zip(names, table.columns, strict=True):
        kind = column.type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
            numeric.append(name)
            values.append(floats(column))
        else:
            texts[name] = TextColumn(np.array(_texts(column), dtype=object), stamps_of(column))
    return ColumnTable(
        file=file,
        names=tuple(names),
        numeric=tuple(numeric),
        values=np.stack(values, axis=1) if values else np.empty((table.num_rows, 0)),
        texts=texts,
        rows=range(first_row, first_row + table.num_rows),
        named=named,
    )


def _texts(column: Any) -> list[str | None]:
    """The cells as text, without a Python object of each date on the way, where Arrow can write them."""
    from pyarrow import ArrowException

    try:
        return list(column.cast("string").to_pylist())
    except ArrowException:
        return [None if cell is None else str(cell) for cell in column.to_pylist()]


def from_frame(data: Any, names: Sequence[str]) -> ColumnTable:
    """A table of pandas', polars' or the like; an index of dates is a column, too."""
    from pyarrow import ArrowException, array

    columns = dict(zip(names, (data[label].to_numpy() for label in data.columns), strict=True))
    index = getattr(data, "index", None)
    kind = getattr(getattr(index, "dtype", None), "kind", "")
    if index is not None and kind in ("m", "M") and "index" not in columns:
        columns = {"index": index.to_numpy(), **columns}
    numeric, values, texts = [], [], {}
    for name, column in columns.items():
        cells = np.asarray(column)
        if cells.dtype.kind not in "fiu" and cells.dtype.kind not in "mM":
            plain = [None if cell is None or str(cell) in ("<NA>", "NaT") else cell for cell in cells.tolist()]
            if all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in plain):
                cells = np.array([np.nan if cell is None else float(cell) for cell in plain])
            else:
                try:
                    stamps = stamps_of(array(plain))
                except (ArrowException, TypeError, ValueError):  # cells of several kinds
                    stamps = None
                text = [None if cell is None else str(cell) for cell in plain]
                texts[name] = TextColumn(np.array(text, dtype=object), stamps)
                continue
        if cells.dtype.kind in "mM":
            blank = np.isnat(cells)
            text = [None if b else str(cell) for cell, b in zip(cells, blank, strict=True)]
            texts[name] = TextColumn(
                np.array(text, dtype=object), stamps_of(array(cells.astype(f"{cells.dtype.kind}8[ns]")))
            )
            continue
        numeric.append(name)
        values.append(cells.astype(np.float64))
    count = len(next(iter(columns.values()))) if columns else 0
    return ColumnTable(
        file="the table",
        names=tuple(columns),
        numeric=tuple(numeric),
        values=np.stack(values, axis=1) if values else np.empty((count, 0)),
        texts=texts,
        rows=range(1, count + 1),
        named=list(names) != [f"channel {i + 1}" for i in range(len(names))],
    )


def tables_of(data: Any) -> tuple[list[np.ndarray], list[str]]:
    """Tables (T, c) from an array of two or three dimensions, or from a list of arrays."""
    try:
        if isinstance(data, np.ndarray | Tensor):
            parts = list(array_of(data)) if data.ndim == 3 else [array_of(data)]
        elif isinstance(data, Iterable) and any(isinstance(part, np.ndarray | Tensor) for part in data):
            parts = [array_of(part) for part in data]
        elif isinstance(data, Iterable):
            array = array_of(list(data))
            parts = list(array) if array.ndim == 3 else [array] if array.size else []
        else:
            parts = []
    except (ValueError, TypeError) as error:
        raise InputError(
            "`data` must be tables of numbers, (time, channels)", got=f"one that is not: {error}", parameter="data"
        ) from None
    for i, table in enumerate(parts):
        if table.dtype.kind == "f" and table.dtype.itemsize not in (4, 8):
            raise InputError(
                "A recording must be of float32, float64 or whole numbers",
                got=f"{table.dtype}",
                cure="convert it with `.astype('float64')`",
            )
        if table.ndim != 2 or table.dtype.kind not in "fiu":
            raise InputError(
                "A recording must be a table of numbers (time, channels)",
                got=f"{table.dtype} of shape {table.shape} as recording {i}",
                cure="a single channel has the shape (time, 1)",
            )
    if not parts:
        raise InputError(
            "`data` must be a path, a table, an array (time, channels) or a list of these",
            got=f"{type(data).__name__}",
            cure="pass one of these",
            parameter="data",
        )
    return parts, ["the array"] if len(parts) == 1 else [f"recording {i}" for i in range(len(parts))]


def array_of(values: Any) -> np.ndarray:
    """Values as a NumPy array; masked ones are missing."""
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    return np.asarray(values)
