"""Tables as users have them: arrays, data frames of pandas and polars, and files, as columns of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any, final

import numpy as np

from pellucid.tables import Table, value_of
from pellucid.tabular.dates import days_of_moment

# What pandas calls its missing values; it need not be installed.
_MISSING = ("NAType", "NaTType")


@final
@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column: numbers, or objects that are None, texts or numbers."""

    name: str
    values: np.ndarray
    """(N,) float64 with NaN for blanks; or of objects, with None for blanks."""
    hint: str | None = None
    """"category", "boolean" or "date" where the type of the column says so."""

    def __len__(self) -> int:
        return len(self.values)


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """N rows of named columns."""

    columns: tuple[RawColumn, ...]
    rows: int
    named: bool = True
    """Whether the columns have names of their own."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return self.rows

    def select(self, index: Any) -> Frame:
        """Some of the rows."""
        places = np.arange(self.rows)[index]
        columns = (RawColumn(column.name, column.values[places], column.hint) for column in self.columns)
        return Frame(tuple(columns), len(places), self.named)

    def without(self, names: Sequence[str]) -> Frame:
        """The same rows without some columns."""
        return Frame(tuple(column for column in self.columns if column.name not in names), self.rows, self.named)


def frame_of(x: Any) -> Frame:
    """A table of pandas or polars, or a two-dimensional array, as columns.

    Columns of an array are called x0, x1, ...
    """
    if isinstance(x, Frame):
        return x
    if is_data_frame(x):
        names = [str(name) for name in x.columns]
        parts = x.get_columns() if hasattr(x, "get_columns") else [x.iloc[:, i] for i in range(len(names))]
        columns = (_of_series(name, part) for name, part in zip(names, parts, strict=True))
        return Frame(tuple(columns), len(x))
    array = np.asarray(x)
    columns = (RawColumn(f"x{i}", *_plain(array[:, i])) for i in range(array.shape[1]))
    return Frame(tuple(columns), len(array), named=False)


def is_data_frame(x: Any) -> bool:
    """Whether it is a table of pandas or polars."""
    return hasattr(x, "columns") and (hasattr(x, "iloc") or hasattr(x, "get_columns"))


def frame_of_cells(table: Table, names: Sequence[str]) -> Frame:
    """Columns of a file: numbers where every cell is one or blank, otherwise texts."""
    columns = []
    for name in names:
        cells = table.column(name)
        values = [value_of(cell, table.comma) for cell in cells]
        if all(value is not None for value in values):
            columns.append(RawColumn(name, np.array(values, dtype=np.float64)))
            continue
        texts = [None if v is not None and math.isnan(v) else c.strip() for c, v in zip(cells, values, strict=True)]
        objects = np.empty(len(texts), dtype=object)
        # Numbers among texts are texts, such as the levels 1, 2 and 3a.
        objects[:] = texts
        columns.append(RawColumn(name, objects, _hint_of_cells(values, cells)))
    return Frame(tuple(columns), len(table.rows))


def _hint_of_cells(values: Sequence[float | None], cells: Sequence[str]) -> str | None:
    """A column of texts is one of categories if there are many of them, or few different numbers."""
    numbers = {value for value in values if value is not None and not math.isnan(value)}
    texts = [cell for cell, value in zip(cells, values, strict=True) if value is None]
    return "category" if len(numbers) < 20 or 2 * len(texts) >= len(cells) else None


def _of_series(name: str, series: Any) -> RawColumn:
    kind = str(getattr(series, "dtype", ""))
    values = np.asarray(series.to_numpy())
    if kind.lower().startswith(("category", "categorical", "enum")):
        return RawColumn(name, _plain(values.astype(object))[0], "category")
    return RawColumn(name, *_plain(values))


def _plain(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Values as numbers, or as objects with None for blanks, and what their type says."""
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.float64), "boolean"
    if kind in "iuf":
        return values.astype(np.float64), None
    if kind == "M":
        days = values.astype("datetime64[us]").astype(np.float64) / 86_400e6
        return np.where(np.isnat(values), np.nan, days), "date"
    return _of_objects(values.astype(object))


def _of_objects(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    cells = [_cell(value) for value in values.tolist()]
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, bool) for cell in present):
        return np.array([np.nan if c is None else float(c) for c in cells]), "boolean"
    if all(isinstance(cell, Real) for cell in present):
        return np.array([np.nan if c is None else float(c) for c in cells]), None
    if all(isinstance(cell, date | datetime) for cell in present):
        return np.array([np.nan if c is None else days_of_moment(c) for c in cells]), "date"
    objects = np.empty(len(cells), dtype=object)
    objects[:] = cells
    return objects, None


def _cell(value: Any) -> Any:
    """A number, a text, a date, or None for a blank; what else there may be is a blank, too."""
    if value is None or type(value).__name__ in _MISSING:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | date | datetime):
        return value
    if isinstance(value, Real):
        return None if math.isnan(float(value)) else float(value)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        text = value.strip()
        blank = value_of(text, False)
        return None if blank is not None and math.isnan(blank) else text
    return None
