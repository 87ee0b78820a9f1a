"""Tables as users have them: arrays, data frames of pandas and polars, and files, as columns of values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, final

import numpy as np

from pellucid.errors import InputError
from pellucid.tables import Table, value_of
from pellucid.tabular.dates import days_of_moment

# What pandas calls its missing values; it need not be installed.
_MISSING = ("NAType", "NaTType")
_NO_CELL = object()


@final
@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column: numbers, or objects that are None, texts or numbers."""

    name: str
    values: np.ndarray
    """(N,) float64 with NaN for blanks; or of objects, with None for blanks."""
    hint: str | None = None
    """"category", "boolean" or "date" where the type of the column says so."""
    numbers: np.ndarray | None = None
    """(N,) the number of each row in the user's table; None where they are 1, 2, ..."""

    def __len__(self) -> int:
        return len(self.values)

    def row(self, place: int) -> int:
        """The number of a row in the user's table."""
        return place + 1 if self.numbers is None else int(self.numbers[place])

    def select(self, places: np.ndarray) -> RawColumn:
        """Some of the rows."""
        numbers = np.arange(1, len(self) + 1) if self.numbers is None else self.numbers
        return RawColumn(self.name, self.values[places], self.hint, numbers[places])


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
        return Frame(tuple(column.select(places) for column in self.columns), len(places), self.named)

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
        _require_different(names)
        parts = x.get_columns() if hasattr(x, "get_columns") else [x.iloc[:, i] for i in range(len(names))]
        columns = (_of_series(name, part) for name, part in zip(names, parts, strict=True))
        return Frame(tuple(columns), len(x))
    array = np.asarray(x)
    columns = (_of_array(f"x{i}", array[:, i]) for i in range(array.shape[1]))
    return Frame(tuple(columns), len(array), named=False)


def is_data_frame(x: Any) -> bool:
    """Whether it is a table of pandas or polars."""
    return hasattr(x, "columns") and (hasattr(x, "iloc") or hasattr(x, "get_columns"))


def frame_of_cells(table: Table, names: Sequence[str]) -> Frame:
    """Columns of a file: numbers where every cell is one or blank, otherwise texts."""
    columns, numbers = [], np.array(table.numbers)
    for name in names:
        cells = table.column(name)
        values = [value_of(cell, table.comma) for cell in cells]
        if all(value is not None for value in values):
            columns.append(RawColumn(name, np.array(values, dtype=np.float64), None, numbers))
            continue
        # Numbers among texts are texts, such as the levels 1, 2 and 3a; a text among many numbers will be refused.
        numeric = _mostly_numbers(values)
        objects = np.empty(len(cells), dtype=object)
        objects[:] = [_of_text(c, v, numeric=numeric) for c, v in zip(cells, values, strict=True)]
        columns.append(RawColumn(name, objects, None, numbers))
    return Frame(tuple(columns), len(table.rows))


def _mostly_numbers(values: Sequence[float | None]) -> bool:
    numbers = [value for value in values if value is not None and not math.isnan(value)]
    return len(set(numbers)) >= 20 and sum(value is None for value in values) < len(numbers)


def _of_text(cell: str, value: float | None, *, numeric: bool) -> float | str | None:
    if value is None:
        return cell.strip()
    return None if math.isnan(value) else value if numeric else cell.strip()


def _require_different(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            "Every column must have its own name", got=f"{repeated[0]!r} twice", cure="rename one", parameter="X"
        )


def _of_series(name: str, series: Any) -> RawColumn:
    kind = str(getattr(series, "dtype", "")).lower()
    values = np.asarray(series.to_numpy())
    if kind.startswith(("category", "categorical", "enum")):
        column = _of_objects(name, values.astype(object))
        return RawColumn(name, column.values, "category")
    return _of_array(name, values)


def _of_array(name: str, values: np.ndarray) -> RawColumn:
    """Values as numbers, or as objects with None for blanks, and what their type says."""
    kind = values.dtype.kind
    if kind in "biuf":
        return RawColumn(name, values.astype(np.float64), "boolean" if kind == "b" else None)
    if kind in "mM":
        days = values.astype(f"{'datetime' if kind == 'M' else 'timedelta'}64[us]").astype(np.float64) / 86_400e6
        return RawColumn(name, np.where(np.isnat(values), np.nan, days), "date" if kind == "M" else None)
    return _of_objects(name, values.astype(object))


def _of_objects(name: str, values: np.ndarray) -> RawColumn:
    cells = [_cell(value) for value in values.tolist()]
    wrong = next((i for i, cell in enumerate(cells) if cell is _NO_CELL), None)
    if wrong is not None:
        raise InputError(
            f"Column {name!r} must hold numbers, texts, dates, yes or no, or blanks",
            got=f"{type(values[wrong]).__name__} in row {wrong + 1}",
            cure="make columns of what it holds, or leave it out",
            parameter="X",
        )
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, bool) for cell in present):
        return RawColumn(name, np.array([np.nan if c is None else float(c) for c in cells]), "boolean")
    if all(isinstance(cell, Real) for cell in present):
        return RawColumn(name, np.array([np.nan if c is None else float(c) for c in cells]))
    if all(isinstance(cell, date | datetime) for cell in present):
        return RawColumn(name, np.array([np.nan if c is None else days_of_moment(c) for c in cells]), "date")
    objects = np.empty(len(cells), dtype=object)
    objects[:] = cells
    return RawColumn(name, objects)


def _cell(value: Any) -> Any:
    """A number, a text, a date, None for a blank, or `_NO_CELL`; what else there may be is its text."""
    if value is None or type(value).__name__ in _MISSING:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | date | datetime):
        return value
    if isinstance(value, timedelta):
        return value / timedelta(days=1)
    if hasattr(value, "to_timestamp"):  # a period of pandas: its beginning
        return value.to_timestamp()
    if isinstance(value, Real | Decimal):
        return None if math.isnan(value) else float(value)
    if isinstance(value, complex | Mapping | Set | list | tuple | np.ndarray):
        return _NO_CELL
    text = (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip()
    blank = value_of(text, False)
    return None if blank is not None and math.isnan(blank) else text
