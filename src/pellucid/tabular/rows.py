"""Rows of a file with the column to learn: what the command line trains on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.numbers import counted
from pellucid.tables import LARGEST, Table, read_table, require_column, row_names, value_of
from pellucid.tabular.fitting import LabeledRows
from pellucid.tabular.frames import Frame, RawColumn, frame_of, frame_of_cells

# Numbers with at most so many different whole values are classes, if nobody says otherwise.
_CLASSES = 10
_FEWEST = 30
# Letters of a rejected row that are shown.
_SHOWN = 60
# Values of a row that was typed that its name has.
_TYPED = 3


@final
@dataclass(frozen=True, eq=False)
class TableRows:
    """N rows, what was measured there, and what they are called."""

    frame: Frame
    y: np.ndarray
    """(N,) numbers or texts, NaN or None where a row to predict has none; empty where there are none at all."""
    target: str
    numbers: np.ndarray
    """(N,) the line of each row in its file."""
    names: tuple[str, ...]
    """(N,) what the rows are called, "" where they have no name."""
    rejected: tuple[tuple[Any, ...], ...] = ()
    """Rows that cannot be used: line, beginning and reason."""

    def __len__(self) -> int:
        return len(self.frame)

    def select(self, index: np.ndarray) -> TableRows:
        """Some of the rows."""
        names = tuple(self.names[i] for i in index)
        y = self.y[index] if len(self.y) else self.y
        return TableRows(self.frame.select(index), y, self.target, self.numbers[index], names, self.rejected)

    @property
    def labeled(self) -> LabeledRows:
        """The rows as models learn from them."""
        return LabeledRows(self.frame, self.y, None, self.numbers)

    def labels(self) -> list[str]:
        """What each row is called, with its line."""
        return [f"{name} (row {number})" if name else f"row {number}"
                for name, number in zip(self.names, self.numbers.tolist(), strict=True)]  # fmt: skip

    def summary(self) -> str:
        """What there is, in a few words."""
        skipped = f"; {counted(len(self.rejected), 'row')} without {self.target!r} left out" if self.rejected else ""
        columns = counted(len(self.frame.columns), "column")
        return f"{counted(len(self), 'row')} of {columns} to learn {self.target!r} from{skipped}"

    def measured(self, numeric: bool) -> TableRows:
        """The rows where the target is known, of a file that a model reads.

        Parameters
        ----------
        numeric : bool
            Whether it must be a number.
        """
        texts = self.y.dtype == object
        known = np.array([value is not None for value in self.y]) if texts else ~np.isnan(self.y)
        if not known.any() or (numeric and texts):
            raise InputError(
                f"Models are measured on rows with {'numbers' if numeric else 'values'} in {self.target!r}",
                got="texts" if known.any() else "none",
                cure="pass a table with that column",
            )
        return self.select(np.flatnonzero(known))

    def with_whole_classes(self) -> TableRows:
        """The same rows, whose classes are called 0 and 1, not 0.0 and 1.0."""
        if self.y.dtype == object or (self.y != np.round(self.y)).any():
            return self
        return replace(self, y=self.y.astype(np.int64))

    @property
    def kind(self) -> Literal["regression", "classification"]:
        """What there is to learn: texts, and a few whole numbers from 0 or 1 on, are classes."""
        if self.y.dtype == object:
            return "classification"
        different = np.unique(self.y)
        few = len(different) <= _CLASSES and (different == np.arange(len(different)) + different[0]).all()
        return "classification" if few and different[0] in (0, 1) and len(different) < 6 else "regression"


def rows_of_file(
    path: str | Path | Table,
    target: str | None,
    *,
    leave_out: Sequence[str] = (),
    names: str | None = None,
    columns: Sequence[str] | None = None,
) -> TableRows:
    """The rows of a file.

    Parameters
    ----------
    path : str or Path or Table
        The file, with a line of names.
    target : str, optional
        The column to learn; None for rows to predict.
    leave_out : sequence of str
        Columns that nothing is to be learned from.
    names : str, optional
        The column of the rows' names.
    columns : sequence of str, optional
        The columns that a model reads; those that the file lacks are blank.
    """
    table = read_table(path)
    for name in leave_out:
        require_column(name, table.header, table.source, f"{Parameter('leave_out'):=}", parameter="leave_out")
    called = row_names(table, names)
    numbers = np.array(table.numbers)
    if columns is not None:
        return TableRows(_columns(table, columns), _known(table, target), target or "", numbers, tuple(called))
    if target is None:
        raise InputError(
            "The column to learn must be named",
            got="none",
            cure=f"pass {Parameter('target')}; the columns are {', '.join(table.header)}",
            parameter="target",
        )
    require_column(target, table.header, table.source, f"{Parameter('target'):=}", parameter="target")
    cells = table.column(target)
    values = [value_of(cell, table.comma) for cell in cells]
    texts = any(value is None for value in values)
    for value, number in zip(values, numbers, strict=True):
        if not texts and value is not None and abs(value) > LARGEST:
            raise InputError(
                f"{target!r} must hold numbers up to {LARGEST:g}, to learn them",
                got=f"{value:g} in row {number} of {table.source}",
                cure="correct it, or use another unit",
            )
    blank = np.array([value is not None and np.isnan(value) for value in values])
    kept = np.flatnonzero(~blank)
    inputs = [name for name in table.header if name != target and name not in leave_out and name != names]
    frame = frame_of_cells(table, inputs).select(kept)
    y: np.ndarray
    if texts:
        y = np.array([cells[i].strip() for i in kept], dtype=object)
    else:
        y = np.array([values[i] for i in kept], dtype=np.float64)
    rejected = tuple(
        (int(numbers[i]), ", ".join(table.rows[i])[:_SHOWN], f"{target!r} is blank") for i in np.flatnonzero(blank)
    )
    rows = TableRows(frame, y, target, numbers[kept], tuple(called[i] for i in kept), rejected)
    _require_enough(rows, table.source)
    return rows


def _known(table: Table, target: str | None) -> np.ndarray:
    """What is known of the target in rows to predict."""
    if target is None or target not in table.header:
        return np.zeros(0)
    cells = table.column(target)
    values = [value_of(cell, table.comma) for cell in cells]
    if any(value is None for value in values):
        return np.array([cell.strip() or None for cell in cells], dtype=object)
    return np.array(values, dtype=np.float64)


def rows_of_text(text: str, columns: Sequence[str]) -> TableRows:
    """One row as it is typed: "rooms=6; colour=red". Columns that are not named are blank."""
    cells = {}
    for part in _typed_parts(text):
        name, sign, value = part.partition("=")
        if not sign:
            raise InputError(
                'A row must be a file, or values such as "rooms=6; colour=red"',
                got=f"{text[:60]!r}, where {part.strip()[:40]!r} has no sign =",
                cure="correct the path, or the values",
            )
        require_column(name.strip(), columns, "the table", "What is typed")
        if name.strip() in cells:
            raise InputError("A row has one value in each column", got=f"two for {name.strip()!r}", cure="drop one")
        cells[name.strip()] = value.strip()
    names = list(columns)
    table = Table([*names], [[cells.get(name, "") for name in names]], [1], False, "the row")
    return TableRows(_columns(table, names), np.zeros(0), "", np.array([1]), ("",))


def typed_label(text: str) -> str:
    """What a row is called that was typed: its first values, if there are many.

    Examples
    --------
    >>> typed_label("rooms=6; colour=red"), typed_label("a=1; b=2; c=3; d=4; e=5")
    ('rooms=6; colour=red', 'a=1; b=2; c=3; and 2 more')
    """
    parts = _typed_parts(text)
    return "; ".join(parts if len(parts) <= _TYPED + 1 else [*parts[:_TYPED], f"and {len(parts) - _TYPED} more"])


def _typed_parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _columns(table: Table, columns: Sequence[str]) -> Frame:
    present = [name for name in columns if name in table.header]
    if not present:
        raise InputError(
            f"{table.source} must have columns that the model was trained on, {', '.join(columns[:6])}",
            got=", ".join(table.header[:6]),
            cure="is it the right file?",
        )
    frame = frame_of_cells(table, present)
    absent = tuple(
        RawColumn(name, np.full(len(frame), None, dtype=object)) for name in columns if name not in table.header
    )
    return Frame((*frame.columns, *absent), len(frame))


def _require_enough(rows: TableRows, source: str) -> None:
    if len(rows) < _FEWEST:
        blank = f", besides {len(rows.rejected)} without {rows.target!r}" if rows.rejected else ""
        raise InputError(
            f"At least {_FEWEST} rows are needed, to learn from, to validate on and to test on",
            got=f"{len(rows)} in {source}{blank}",
            cure="is it the right column?" if len(rows.rejected) >= _FEWEST else "add more, hundreds if you can",
        )
    if len(set(rows.y.tolist())) == 1:
        raise InputError(
            f"{rows.target!r} must vary, to be learned from the other columns",
            got=f"{rows.y[0]!r} in every row" if rows.y.dtype == object else f"{rows.y[0]:g} in every row",
            cure="is it the right column?",
            parameter="target",
        )


def bundled(name: Literal["diabetes", "breast_cancer"]) -> TableRows:
    """A table that comes with scikit-learn."""
    from sklearn import datasets

    if name == "diabetes":
        x, y = datasets.load_diabetes(return_X_y=True, as_frame=False, scaled=False)
        columns = ["age", "sex", "body mass index", "blood pressure", "total cholesterol", "LDL", "HDL",
                   "cholesterol / HDL", "log triglycerides", "blood sugar"]  # fmt: skip
        target, values = "disease progression", y.astype(np.float64)
    else:
        data = datasets.load_breast_cancer()
        x, columns, target = data.data, list(data.feature_names), "diagnosis"
        values = np.array([str(data.target_names[i]) for i in data.target], dtype=object)
    frame = frame_of(x)
    named = tuple(RawColumn(str(n), c.values, c.hint) for n, c in zip(columns, frame.columns, strict=True))
    count = len(values)
    return TableRows(Frame(named, count), values, target, np.arange(1, count + 1), ("",) * count)
