"""What each column of a table is: a number, a category, yes or no, a date, or nothing to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np

from pellucid.errors import InputError
from pellucid.numbers import counted, listed, number
from pellucid.schemas import LARGEST, SchemaError, Share, Size, checked
from pellucid.tables import ID_NAMES, normalized
from pellucid.tabular.dates import are_dates, date_text, days_of
from pellucid.tabular.frames import Frame, RawColumn

Kind: TypeAlias = Literal["number", "category", "boolean", "date", "constant", "identifier"]
LEFT_OUT = ("constant", "identifier")
"""Kinds of columns that nothing is learned from."""
LEVELS = 24
"""Levels of a category that are told apart; the rarer ones together are "other"."""
BLANK, OTHER = "blank", "other"
_YES, _NO = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
# Whole numbers with at most so many different values are steps: sampled rows have no values between them.
_STEPS = 20
# Texts of which more than this share differ are names of rows; of fewer rows nothing is said.
_DIFFERENT, _FEWEST = 0.9, 20


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
            return days_of([None if value is None else str(value) for value in column.values])
        return _numbers(column)

    def text(self, code: float) -> str:
        """A value as people read it."""
        if self.has_levels:
            return self.levels[int(code)] if code >= 0 else "never seen"
        if np.isnan(code):
            return BLANK
        if self.kind == "date":
            return date_text(code)
        return f"{code:.0f}" if self.whole and abs(code) < 1e15 and code == int(code) else number(float(code), 4)

    def describe(self) -> str:
        """The decision in one line."""
        parts = [self.kind if self.used else f"{self.kind}, left out"]
        if self.kind == "category":
            parts.append(f"{len(self.levels)} levels: {listed(self.levels, 4)}")
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


def decide(frame: Frame, y: np.ndarray | None = None) -> tuple[Column, ...]:
    """What each column is.

    Parameters
    ----------
    frame : Frame
        The rows to learn from.
    y : ndarray, optional
        (N,) numbers or classes to learn: columns that give them away are named.
    """
    columns = [_decide(column, named=frame.named) for column in frame.columns]
    if y is not None:
        columns = [
            _warned(decision, column, y) if decision.used else decision
            for decision, column in zip(columns, frame.columns, strict=True)
        ]
    return tuple(columns)


def level_texts(column: RawColumn) -> list[str | None]:
    """The cells as names of levels; None for blanks."""
    if column.values.dtype != object:
        names = {0.0: "no", 1.0: "yes"} if column.hint == "boolean" else {}
        return [None if np.isnan(v) else names.get(v, number(v, 12)) for v in column.values.tolist()]
    return [None if v is None else v if isinstance(v, str) else _level(v) for v in column.values.tolist()]


def _level(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, 12) if isinstance(value, float) else str(value)


def _numbers(column: RawColumn) -> np.ndarray:
    """(N,) the numbers of a column of numbers, with NaN for blanks; texts are refused."""
    if column.values.dtype != object:
        values = column.values
    else:
        values = np.array([np.nan if value is None else _number(value, column, row)
                           for row, value in enumerate(column.values.tolist())])  # fmt: skip
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(large.argmax())
        raise InputError(
            f"Column {column.name!r} must hold finite numbers, dates, or texts that repeat",
            got=f"{'an infinite one' if np.isinf(values[row]) else f'{values[row]:g}'} in row {row + 1}",
            cure="correct it, or leave it blank",
        )
    return values


def _number(value: Any, column: RawColumn, row: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"Column {column.name!r} must hold numbers, as most of its cells do",
            got=f"{str(value)[:40]!r} in row {row + 1}",
            cure="correct it, or leave it blank",
        ) from None


def _decide(column: RawColumn, *, named: bool) -> Column:
    if column.values.dtype == object and column.hint is None:
        present = [value for value in column.values.tolist() if value is not None]
        texts = [value for value in present if isinstance(value, str) and not _is_number(value)]
        if not texts:
            return _decide_numbers(column, _numbers(column), named=named)
        if are_dates([str(value) for value in present]):
            return _decide_numbers(column, days_of(column.values.tolist()), named=named, kind="date")
        different = len({value for value in present if value not in texts})
        if 2 * len(texts) < len(present) and different >= _STEPS:
            return _decide_numbers(column, _numbers(column), named=named)  # refuses the texts
    if column.values.dtype == object or column.hint in ("boolean", "category"):
        return _decide_levels(column)
    return _decide_numbers(column, _numbers(column), named=named, kind="date" if column.hint == "date" else "number")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decide_numbers(column: RawColumn, values: np.ndarray, *, named: bool, kind: Kind = "number") -> Column:
    present = values[~np.isnan(values)]
    blanks = len(values) - len(present)
    different = np.unique(present)
    if len(different) < 2 and not (blanks and len(different)):
        only = f"always {number(float(different[0]), 4)}" if len(different) else "always blank"
        return Column(name=column.name, kind="constant", note=only)
    whole = bool((present == np.round(present)).all())
    if named and kind == "number" and whole and not blanks and len(present) >= _FEWEST:
        numbering = (np.diff(present) == 1).all()
        is_name = normalized(column.name) in ID_NAMES or normalized(column.name).endswith("_id")
        if numbering or (is_name and len(different) == len(present)):
            return Column(name=column.name, kind="identifier", note="it numbers the rows")
    median = float(np.median(present))
    return Column(
        name=column.name,
        kind=kind,
        median=median,
        lowest=float(different[0]),
        highest=float(different[-1]),
        blanks=blanks,
        whole=whole,
        steps=len(different) == 2 or (whole and kind == "number" and len(different) <= _STEPS),
        note=_blank_note(blanks, f"the median, {number(median, 4)}" if kind == "number" else "the median"),
    )


def _decide_levels(column: RawColumn) -> Column:
    texts = level_texts(column)
    counts = Counter(text for text in texts if text is not None)
    blanks = sum(text is None for text in texts)
    rows = len(texts)
    if len(counts) + bool(blanks) < 2:
        return Column(name=column.name, kind="constant", note=f"always {next(iter(counts), BLANK)}")
    if len(counts) > _DIFFERENT * rows and rows >= _FEWEST:
        return Column(name=column.name, kind="identifier", note=f"{counted(len(counts), 'different text')}")
    levels = sorted(counts, key=lambda level: (-counts[level], level))
    boolean = len(levels) == 2 and not blanks and {level.lower() for level in levels} <= {*_YES, *_NO}
    if boolean:
        levels.sort(key=lambda level: level.lower() in _YES)
    notes = []
    if len(levels) > LEVELS:
        kept = [level for level in levels[: LEVELS - 1] if level != OTHER]
        notes.append(f"{len(levels)} levels, the {len(levels) - len(kept)} rarest are {OTHER!r}")
        levels = [*kept, OTHER]
    if blanks:
        levels = [*(level for level in levels if level != BLANK), BLANK]
        notes.append(f"{counted(blanks, 'blank cell')}: a level like others")
    kept_counts = [counts[level] for level in levels]
    rest = sum(count for level, count in counts.items() if level not in levels)
    shares = [
        (count + (blanks if level == BLANK else 0) + (rest if level == OTHER else 0)) / rows
        for level, count in zip(levels, kept_counts, strict=True)
    ]
    return Column(
        name=column.name,
        kind="boolean" if boolean else "category",
        levels=tuple(levels),
        shares=tuple(shares),
        blanks=blanks,
        note="; ".join(notes),
    )


def _blank_note(blanks: int, filling: str) -> str:
    return f"{counted(blanks, 'blank cell')} filled with {filling}" if blanks else ""


def _warned(decision: Column, column: RawColumn, y: np.ndarray) -> Column:
    """The decision, with a warning where the column gives the answer away."""
    if not _gives_away(decision, column, y):
        return decision
    warning = "gives the answer away: leave it out, unless it is known before the answer is"
    return Column(**{**decision.to_dict(), "levels": decision.levels, "shares": decision.shares, "warning": warning})


def _gives_away(decision: Column, column: RawColumn, y: np.ndarray) -> bool:
    codes = decision.codes(column)
    numeric = y.dtype.kind in "iuf"
    if numeric and not decision.has_levels and not np.isnan(codes).any() and len(y) >= _FEWEST:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            correlation = np.corrcoef(codes, y.astype(np.float64))[0, 1]
        if abs(correlation) > 1 - 1e-9:
            return True
    if numeric and len(np.unique(y)) > LEVELS:
        return False
    pairs = len(set(zip(codes.tolist(), y.tolist(), strict=True)))
    classes = len(np.unique(y))
    return len(y) >= _FEWEST and pairs == classes == len(np.unique(codes)) and classes > 1


def require_some(columns: Sequence[Column]) -> None:
    """Refuse a table in which no column says anything."""
    if not any(column.used for column in columns):
        raise InputError(
            "At least one column must vary, and not merely name the rows",
            got="; ".join(column.describe() for column in columns[:4]) or "no columns",
            cure="add columns to learn from",
        )
