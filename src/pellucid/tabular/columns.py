"""What a column of a table was decided to be, and its cells as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, final

import numpy as np

from pellucid.errors import InputError
from pellucid.numbers import listed, number
from pellucid.schemas import SchemaError, Share, Size, checked
from pellucid.tables import LARGEST, value_of
from pellucid.tabular.dates import date_text, days_of
from pellucid.tabular.frames import RawColumn

Kind: TypeAlias = Literal["number", "category", "boolean", "date", "constant", "identifier"]
LEFT_OUT = ("constant", "identifier")
"""Kinds of columns that nothing is learned from."""
BLANK, OTHER = "blank", "other"
# Letters of a cell that are shown.
_SHOWN = 40


@final
@dataclass(frozen=True, kw_only=True)
class Column:
    """What was decided about one column.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "number", "category", "boolean" or "date"; "constant" or "identifier" if nothing is learned from it.
    levels : tuple of str
        The levels of a category or boolean that are told apart, the commonest first, or no before yes.
    shares : tuple of float
        The share of the rows that each level has. A level that was never seen counts as the average of them.
    median : float
        What stands for blanks among numbers and dates.
    lowest, highest : float
        The smallest and the largest number.
    blanks : int
        The number of blanks; where there are some, whether a number is blank is a feature, too.
    whole : bool
        Whether all numbers are whole.
    steps : bool
        Whether the numbers are a few whole ones, or two in all, with nothing between them.
    day_first : bool
        Whether 3/4/2024 is a day of April; otherwise it is one of March.
    note : str
        What else was decided, in words.
    warning : str
        What a reader should know, such as that the column gives the answer away.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    shares: tuple[Share, ...] = ()
    median: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    blanks: Size = 0
    whole: bool = False
    steps: bool = False
    day_first: bool = False
    note: str = ""
    warning: str = ""

    @property
    def used(self) -> bool:
        """Whether anything is learned from it."""
        return self.kind not in LEFT_OUT

    @property
    def has_levels(self) -> bool:
        """Whether it is a category or boolean."""
        return self.kind in ("category", "boolean")

    def codes(self, column: RawColumn) -> np.ndarray:
        """(N,) numbers: those of the column, days, or the positions of levels; NaN for blanks, -1 for levels that were
        never seen.
        """
        if self.has_levels:
            places = {level: float(i) for i, level in enumerate(self.levels)}
            unseen = places.get(OTHER, -1.0)
            blank = places.get(BLANK, -1.0)
            return np.array([blank if t is None else places.get(t, unseen) for t in level_texts(column)])
        if self.kind == "date" and column.values.dtype == object:
            return column_days(column, day_first=self.day_first)
        return column_numbers(column, "as it did when the model was trained")

    def text(self, code: float) -> str:
        """A value as people read it."""
        if self.has_levels:
            return self.levels[int(code)] if code >= 0 else self._without_level()
        if np.isnan(code):
            return BLANK
        if self.kind == "date":
            return date_text(code)
        return f"{code:.0f}" if self.whole and abs(code) < 1e15 and code == int(code) else number(float(code), 4)

    def _without_level(self) -> str:
        """What a cell with none of the levels is: a new text where blanks have a level, and the other way round."""
        if BLANK in self.levels:
            return "never seen"
        return BLANK if OTHER in self.levels else "blank or never seen"

    def describe(self) -> str:
        """The decision in one line."""
        parts = [self.kind if self.used else f"{self.kind}, left out"]
        if self.kind == "category":
            shown = [level if len(level) <= _SHOWN else f"{level[:_SHOWN]}..." for level in self.levels[:5]]
            parts.append(f"{len(self.levels)} levels: {listed([*shown, *self.levels[5:]], 4)}")
        elif self.kind == "boolean":
            parts.append(" or ".join(self.levels))
        elif self.used:
            parts.append(f"{self.text(self.lowest)} to {self.text(self.highest)}")
        return f"{self.name}: {'; '.join(part for part in (*parts, self.note, self.warning) if part)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Column:
        """What `to_dict` gave."""
        column = checked(cls, content)
        if len(column.levels) != len(column.shares) or len({*column.levels}) < len(column.levels):
            raise SchemaError(f"{column.name}: its levels are not as many as its shares, or one is there twice")
        if column.has_levels and len(column.levels) < 2:
            raise SchemaError(f"{column.name}: it has fewer than two levels")
        return column


def level_texts(column: RawColumn) -> list[str | None]:
    """The cells as names of levels; None for blanks."""
    if column.values.dtype != object:
        names = {0.0: "no", 1.0: "yes"} if column.hint == "boolean" else {}
        return [None if np.isnan(v) else names.get(v, f"{v:.12g}") for v in column.values.tolist()]
    return [None if v is None else v if isinstance(v, str) else _level(v) for v in column.values.tolist()]


def _level(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def column_numbers(column: RawColumn, reason: str) -> np.ndarray:
    """(N,) the numbers of a column of numbers, with NaN for blanks; texts are refused.

    Parameters
    ----------
    column : RawColumn
        The column.
    reason : str
        Why it must hold numbers.
    """
    values = column.values
    if values.dtype == object:
        values = np.array([np.nan if value is None else number_in(value) for value in values.tolist()])
        texts = np.array([value is not None for value in column.values]) & np.isnan(values)
        if texts.any():
            raise _refusal(column, int(texts.argmax()), f"numbers, {reason}")
    large = np.abs(values) > LARGEST
    if large.any():
        place = int(large.argmax())
        raise InputError(
            f"Column {column.name!r} must hold finite numbers, up to {LARGEST:g}",
            got=f"{'an infinite one' if np.isinf(values[place]) else f'{values[place]:g}'} in row {column.row(place)}",
            cure="correct it, or leave it blank",
        )
    return values


def column_days(column: RawColumn, *, day_first: bool) -> np.ndarray:
    """(N,) the days of a column of dates, with NaN for blanks; what is no date is refused."""
    texts = [None if value is None else str(value) for value in column.values.tolist()]
    days = days_of(texts, day_first=day_first)
    wrong = np.isnan(days) & np.array([text is not None for text in texts])
    if wrong.any():
        order = "day" if day_first else "month"
        raise _refusal(column, int(wrong.argmax()), f"dates (where it is unclear, the {order} comes first)")
    return days


def number_in(value: Any) -> float:
    """The number that a cell holds; NaN if it is none.

    Examples
    --------
    >>> number_in("1.5"), number_in(2), number_in("-inf"), number_in("1,5"), number_in("5_6")
    (1.5, 2.0, -inf, nan, nan)
    """
    if not isinstance(value, str):
        return float(value) if isinstance(value, Real) else math.nan
    parsed = value_of(value, False)
    if parsed is None and value.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(value)
    return math.nan if parsed is None else parsed


def _refusal(column: RawColumn, place: int, what: str) -> InputError:
    return InputError(
        f"Column {column.name!r} must hold {what}",
        got=f"{str(column.values[place])[:_SHOWN]!r} in row {column.row(place)}",
        cure="correct it, or leave it blank",
    )
