"""Columns of numbers that are times and no signals: what rises or repeats like a clock, by behavior and name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pellucid.series.clock_names import (
    ALIASES,
    BESIDE,
    BESIDE_OTHERS,
    CALENDAR,
    COUNTS,
    CYCLES,
    EPOCHS,
    SECONDS,
    TIMES,
    UNITS,
    WRAPS,
)
from pellucid.series.rising import (
    all_runs,
    even,
    jittered,
    modulus_of,
    mostly_alike,
    mostly_even,
    never_falls,
    rises_evenly,
    share_alike,
    steady,
    steady_but_gaps,
    unwrapped,
    variation,
)

# Clocks at the beginning of files without names.
_LEADING = (
    ("year", "month", "day", "hour", "minute", "second"),
    ("year", "month", "day"),
    ("hour", "minute", "second"),
)
# Rows that a column without a name must have before it is called a clock, and before it is one that rises anyhow: wear
# and encoders rise with every row, too, but seldom stand first in a file.
_FEWEST, _MANY = 10, 1000
# How often seconds, or days, begin anew in a clock whose steps vary.
_CARRIES = 3


class Clock(NamedTuple):
    """Columns that tell the time."""

    columns: tuple[int, ...]
    reason: str
    times: list[np.ndarray] | None
    """Of each recording, where time may start anew; None if the columns do not tell it by themselves."""
    unit: str = ""
    """Of the times, such as "s" or "ms"; "" if it is not known."""


def clocks_of(names: Sequence[str], tables: Sequence[np.ndarray], *, named: bool) -> list[Clock]:
    """The columns of tables (T, c) that are clocks in all of them.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    tables : sequence of ndarray
        Recordings (T, c).
    named : bool
        Whether the columns have names. If not, only clocks at the beginning of the rows are recognised, by what they
        do.
    """
    if sum(map(len, tables)) < (3 if named else _FEWEST):
        return []
    whole = _leading(tables)
    if named:
        # Names tell the parts of a clock; where they do not, a carry from column to column does.
        whole = _calendar(names, tables) or (whole if whole and _carries(whole, tables) else None)
    taken = set(whole.columns) if whole else set()
    result = [whole] if whole else []
    for column, name in enumerate(names):
        if column in taken or not (named or column == 0):
            continue
        clock = None
        for part in (tables[:1], tables):  # most columns are no clock in the first recording already
            values = [np.asarray(table[:, column], dtype=np.float64) for table in part]
            finite = all(np.isfinite(value).all() for value in values)
            clock = None if not finite else _named(name, values) if named else _unnamed(values)
            if clock is None:
                break
        if clock:
            result.append(Clock((column,), *clock, unit=_unit(name if named else "", clock[1])))
    # What tells the time comes first, and of several what is whole.
    return sorted(result, key=lambda clock: clock.times is None)


def _words(name: str) -> set[str]:
    """The words of a name; a capital T is a temperature.

    >>> sorted(_words("TimeStamp [ms]")), _words("T"), _words("t")
    (['ms', 'stamp', 'time'], {'T'}, {'t'})
    """
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {word if word == "T" else word.lower() for word in found}


def _named(name: str, values: list[np.ndarray]) -> tuple[str, list[np.ndarray] | None] | None:
    """Why a column of this name is a clock, and the time that it tells; None if it is a signal."""
    words, kind = _words(name), _kind(name)
    only = bool(words) and words <= TIMES | COUNTS | BESIDE  # no word of anything else that rises
    falls = any((np.diff(part) < 0).any() for part in values)
    if only and falls and words & WRAPS and all(modulus_of(part) for part in values):
        return "counts evenly and begins anew like a clock", [unwrapped(part) for part in values]
    if kind in CYCLES and all(_cycles(part, *CALENDAR[kind]) for part in values):
        return f"goes through the values of a calendar's {kind}", None
    if (words & TIMES or (only and words & COUNTS)) and rises_evenly(values):
        return "rises evenly like a time", values
    if only and words & TIMES and never_falls(values):
        return "never falls and is called like a time", values
    if only and words & COUNTS and all_runs(values, jittered if "t" in words else mostly_alike):
        return "rises like a time", values
    return None


def _unit(name: str, times: list[np.ndarray] | None) -> str:
    """The unit of a time: as its name says, or seconds and their fractions since 1970; "" if it is not known."""
    units = {unit for word in _words(name) for unit, words in UNITS.items() if word in words}
    if len(units) == 1:
        return units.pop()
    return "" if units or times is None else _since_1970(times)


def _since_1970(times: list[np.ndarray]) -> str:
    """The unit of times since 1970; "" if they are not."""
    low, high = min(part.min() for part in times), max(part.max() for part in times)
    return next((unit for unit, size in EPOCHS.items() if 9e8 * size <= low and high < 4e9 * size), "")


def _unnamed(values: list[np.ndarray]) -> tuple[str, list[np.ndarray]] | None:
    """The same of the first column of a file without names."""
    if all(even(part) and steady(part) for part in values):
        return "rises evenly like a time", values
    if all(steady_but_gaps(part) for part in values):
        return "rises evenly but for gaps, like a time", values
    first = np.concatenate(values)
    if _since_1970(values) and all((np.diff(part) >= 0).all() for part in values) and first.min() < first.max():
        return "rises like a time since 1970", values
    if len(first) >= _MANY and first.min() >= 0 and all((np.diff(part) > 0).all() for part in values):
        return "stands first and rises with every row, like a time", values
    return None


# -- calendars ---------------------------------------------------------------------------------------------------------


def _kind(name: str, *, beside_others: bool = False) -> str | None:
    """What a column of a calendar is called, whatever stands around it.

    >>> _kind("Hour [UTC]"), _kind("Année"), _kind("Std"), _kind("Std", beside_others=True)
    ('hour', 'year', None, 'hour')
    """
    letters = unicodedata.normalize("NFKD", name.replace("µ", "u")).lower()
    plain = re.sub(r"[^a-z]", "", re.sub(r"[\[(].*?[\])]", "", letters))
    if plain in CALENDAR:
        return plain
    return ALIASES.get(plain) or (BESIDE_OTHERS.get(plain) if beside_others else None)


def _calendar(names: Sequence[str], tables: Sequence[np.ndarray]) -> Clock | None:
    """Columns called year, month, ..., microsecond that tell one time together."""
    for beside_others in (True, False):  # the former has more parts, if it is one
        kinds: dict[str, int] = {}
        for column, name in enumerate(names):
            kind = _kind(name, beside_others=beside_others)
            if kind is not None and kind not in kinds and all(_within(table[:, column], kind) for table in tables):
                kinds[kind] = column
        if len(kinds) < 2 or not _is_whole(kinds):
            continue
        if beside_others and not _in_order(kinds):
            continue
        times = [_told_by({k: np.asarray(table[:, c], dtype=np.float64) for k, c in kinds.items()}) for table in tables]
        told = [time for time in times if time is not None]
        if len(told) < len(times) or not never_falls(told):
            continue
        if beside_others and len(kinds) < 3 and not all_runs(told, mostly_even):
            continue
        shown = ", ".join(names[column] for column in kinds.values())
        return Clock(tuple(sorted(kinds.values())), f"belongs to the clock {shown}", told, _unit_of(kinds))
    return None


def _is_whole(kinds: Iterable[str]) -> bool:
    """Whether no part of the clock lacks between others: minutes and milliseconds without seconds tell no time.

    >>> _is_whole(["hour", "minute"]), _is_whole(["minute", "millisecond"]), _is_whole(["second", "microsecond"])
    (True, False, True)
    """
    parts = ["day" if kind == "yearday" else kind for kind in kinds]
    depths = [[*SECONDS].index(kind) for kind in parts if kind in ("hour", "minute", "second")]
    if set(parts) & {"millisecond", "microsecond", "nanosecond"} and depths:
        depths.append(3)
    if "day" in parts and depths:
        depths.append(-1)
    return not depths or len(set(depths)) == max(depths) - min(depths) + 1


def _in_order(kinds: dict[str, int]) -> bool:
    """Whether the parts of a clock stand side by side, the largest first."""
    order = [kinds[kind] for kind in CALENDAR if kind in kinds]
    return order == list(range(order[0], order[0] + len(order)))


def _carries(clock: Clock, tables: Sequence[np.ndarray]) -> bool:
    """Whether columns of a clock begin anew, and the time goes on there as ever: in steps like all others."""
    carries = False
    for table, time in zip(tables, clock.times or (), strict=True):
        steps = np.diff(time)
        low, high = np.quantile(steps, [0.02, 0.98]) * [0.9, 1.1]
        falls = (np.diff(table[:, list(clock.columns[1:])].astype(np.float64), axis=0) < 0).any(axis=1)
        if falls.any() and ((low <= steps[falls]) & (steps[falls] <= high)).mean() < 0.8:
            return False
        carries = carries or bool(falls.any())
    return carries


def _leading(tables: Sequence[np.ndarray]) -> Clock | None:
    """The same at the beginning of rows without names: whole numbers, and together an even time."""
    for kinds in _LEADING:
        count = len(kinds)
        if any(table.shape[1] <= count for table in tables):
            continue
        if not all(_within(table[:, k], kind) and (table[:, k] % 1 == 0).all()
                   for table in tables for k, kind in enumerate(kinds)):  # fmt: skip
            continue
        # A further column may be a fraction of the second, from tenths to billionths: whatever makes the time even.
        units = (None, 1e6, 1e3, 1e2, 1e1, 1e9)
        options = [(unit, [_upon(table, kinds, unit) for table in tables]) for unit in units]
        even = [
            (min(share_alike(time) for time in times if time is not None), unit, times)
            for unit, times in options
            if all(time is not None and mostly_even(time) and time[-1] > time[0] for time in times)
        ]
        if not even and sum(map(len, tables)) >= _MANY:
            # Nothing but a clock rises with every row and has so many carries: its steps may vary, as little as can be.
            even = [
                (-max(variation(time) for time in times if time is not None), unit, times)
                for unit, times in options
                if all(time is not None and (np.diff(time) > 0).all() for time in times)
                and sum(int((np.diff(table[:, count - 1]) < 0).sum()) for table in tables) >= _CARRIES
            ]
        if even:
            _, unit, times = max(even, key=lambda option: option[0])
            width = count + (unit is not None)
            reason = f"belongs to a clock in the first {width} columns"
            return Clock(tuple(range(width)), reason, [time for time in times if time is not None], "s")
    return None


def _upon(table: np.ndarray, kinds: Sequence[str], unit: float | None) -> np.ndarray | None:
    """The time that the first columns tell, with so many fractions of a second in the next one."""
    time = _told_by({kind: np.asarray(table[:, k], dtype=np.float64) for k, kind in enumerate(kinds)})
    if unit is None or time is None:
        return time
    if table.shape[1] <= len(kinds) + 1:  # a clock alone is no recording
        return None
    part = np.asarray(table[:, len(kinds)], dtype=np.float64)
    return time + part / unit if part.min() >= 0 and part.max() < unit and np.ptp(part) > 0 else None


def _within(column: np.ndarray, kind: str) -> bool:
    low, high = CALENDAR[kind]
    return bool(np.isfinite(column).all() and column.min() >= low and column.max() <= high)


def _told_by(parts: dict[str, np.ndarray]) -> np.ndarray | None:
    """The time that columns of a calendar tell: seconds, or quarters or months where there are no days."""
    clock: np.ndarray | float = sum((parts[kind] * unit for kind, unit in SECONDS.items() if kind in parts), 0.0)
    zero = np.zeros(len(next(iter(parts.values()))))
    if "year" in parts and ("yearday" in parts or {"month", "day"} <= set(parts)):
        months = (parts["year"] - 1970) * 12 + (parts["month"] - 1 if "month" in parts else 0)
        days = np.floor(months).astype(np.int64).astype("M8[M]").astype("M8[D]").astype(np.float64)
        days = days + (parts["day"] if "day" in parts else parts["yearday"]) - 1
        return np.asarray(days * 86_400 + clock)
    if "year" in parts and "month" in parts:
        return None if set(parts) & set(SECONDS) else np.asarray(parts["year"] * 12 + parts["month"])
    if "year" in parts and "quarter" in parts:
        return None if set(parts) & set(SECONDS) else np.asarray(parts["year"] * 4 + parts["quarter"])
    if set(parts) <= set(SECONDS):
        # Without a date the largest unit begins anew by itself.
        period = {"hour": 86_400.0, "minute": 3600.0, "second": 60.0}.get(next(k for k in SECONDS if k in parts), 1.0)
        time = zero + clock
        return np.asarray(time + period * np.cumsum(np.diff(time, prepend=time[0]) < -period / 2))
    return None


def _unit_of(kinds: Iterable[str]) -> str:
    """The unit of what `_told_by` tells."""
    return "s" if set(kinds) & {*SECONDS, "day", "yearday"} else ""


def _cycles(column: np.ndarray, low: float, high: float) -> bool:
    """Whether values within the range rise, and fall only from the upper half of theirs to the lower one."""
    if column.min() < low or column.max() > high:
        return False
    middle = (column.min() + column.max()) / 2
    falls = np.flatnonzero(np.diff(column) < 0)
    return bool((column[falls] > middle).all() and (column[falls + 1] <= middle).all())
