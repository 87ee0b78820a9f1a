"""Decides what each column of a table is: a number, a category, yes or no, a date, or nothing to learn from."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from pellucid.errors import InputError
from pellucid.numbers import counted, number
from pellucid.tables import ID_NAMES, normalized, value_of
from pellucid.tabular.columns import BLANK, OTHER, Column, Kind, column_days, column_numbers, level_texts, number_in
from pellucid.tabular.dates import are_dates, is_day_first
from pellucid.tabular.frames import Frame, RawColumn

LEVELS = 24
"""Levels of a category that are told apart; the rarer ones together are "other"."""
_YES, _NO = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
# Whole numbers with at most so many different values are steps: sampled rows have no values between them.
_STEPS = 20
# Texts of which more than this share differ are names of rows; of fewer rows nothing is said.
_DIFFERENT, _FEWEST = 0.9, 20
# What a copy of the target misses, at most, as a share of its standard deviation: it may be rounded. A category tells
# the target if it does so for so many rows of each level.
_MISSED, _ROWS = 0.01, 10
_MOST = "as most of its cells do"
# Numbers as people write them, and how many different ones make it likely that they are meant.
_AS_WRITTEN = re.compile(r"[-+]?\s*[$€£]?\s*[-+]?\d{1,3}([ ,'’]?\d{3})*([.,]\d+)?\s*(%|€|£|\$)?")  # noqa: RUF001
_WRITTEN = 8


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


def _decide(column: RawColumn, *, named: bool) -> Column:
    if column.values.dtype == object and column.hint is None:
        present = [value for value in column.values.tolist() if value is not None]
        numbers = {value: number_in(value) for value in set(present)}
        texts = [value for value in present if math.isnan(numbers[value])]
        if not texts:
            return _decide_numbers(column, column_numbers(column, _MOST), named=named)
        strings = [str(value) for value in present]
        if are_dates(strings):
            return _decide_dates(column, strings)
        different = sum(not math.isnan(value) for value in numbers.values())
        if 2 * len(texts) < len(present) and different >= _STEPS:
            return _decide_numbers(column, column_numbers(column, _MOST), named=named)  # refuses the texts
    if column.values.dtype == object or column.hint in ("boolean", "category"):
        return _decide_levels(column)
    kind: Kind = "date" if column.hint == "date" else "number"
    return _decide_numbers(column, column_numbers(column, _MOST), named=named, kind=kind)


def _decide_dates(column: RawColumn, texts: Sequence[str]) -> Column:
    """Dates, with a note on which part is the day, where that had to be decided."""
    first = is_day_first(texts)
    decision = _decide_numbers(column, column_days(column, day_first=bool(first)), named=True, kind="date")
    order = {True: "the day comes first", False: "the month comes first", None: ""}[first]
    note = "; ".join(part for part in (order, decision.note) if part)
    return replace(decision, day_first=bool(first), note=note)


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
        note = counted(len(counts), "different text")
        return Column(name=column.name, kind="identifier", note=note, warning=_number_warning(counts))
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
        warning=_number_warning(counts),
    )


def _number_warning(texts: Iterable[str]) -> str:
    """What is said of texts that people read as numbers. Whether "1,234" is a thousand or a little more than one, only
    the user knows.
    """
    texts = list(texts)
    if len(texts) < _WRITTEN:
        return ""
    if all(value_of(text, True) is not None for text in texts):
        return "looks like numbers with commas: convert it before, to learn from it"
    if all(_AS_WRITTEN.fullmatch(text) for text in texts):
        return "looks like numbers with signs or separators, such as % or 1,234.5: convert it before, to learn from it"
    return ""


def _blank_note(blanks: int, filling: str) -> str:
    return f"{counted(blanks, 'blank cell')} filled with {filling}" if blanks else ""


def _warned(decision: Column, column: RawColumn, y: np.ndarray) -> Column:
    """The decision, with a warning where the column gives the answer away."""
    if not _gives_away(decision, column, y):
        return decision
    warning = "gives the answer away: leave it out, unless it is known before the answer is"
    return replace(decision, warning=warning)


def _gives_away(decision: Column, column: RawColumn, y: np.ndarray) -> bool:
    """Whether a number is a copy of the target in the rows where it is known, in any unit and perhaps rounded, or each
    level of a category, and each of a few numbers, goes with one class.
    """
    codes = decision.codes(column)
    known = ~np.isnan(codes)
    numeric = y.dtype.kind in "iuf"
    if numeric and not decision.has_levels and known.sum() >= _FEWEST:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            correlation = np.corrcoef(codes[known], y[known].astype(np.float64))[0, 1]
        if 1 - correlation**2 < _MISSED**2:
            return True
    classes = len(np.unique(y))
    if len(y) < _FEWEST or classes < 2 or (numeric and classes > LEVELS):
        return False
    codes = np.where(known, codes, np.inf)
    levels = len(np.unique(codes))
    pairs = len(set(zip(codes.tolist(), y.tolist(), strict=True)))
    return pairs == levels and (levels == classes or _ROWS * levels <= len(y))


def require_some(columns: Sequence[Column]) -> None:
    """Refuse a table in which no column says anything."""
    if not any(column.used for column in columns):
        raise InputError(
            "At least one column must vary, and not merely name the rows",
            got="; ".join(column.describe() for column in columns[:4]) or "no columns",
            cure="add columns to learn from",
        )
