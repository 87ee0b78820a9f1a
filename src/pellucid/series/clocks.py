"""Columns of numbers that are times, not signals: recognised by their names and by how they rise or repeat."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pellucid.series.calendars import MANY, Clock, calendar_clock, calendar_part, carries, cycles, leading_clock
from pellucid.series.clock_names import BESIDE, CALENDAR, COUNTS, CYCLES, EPOCHS, TIMES, UNITS, WRAPS
from pellucid.series.rising import (
    all_runs,
    even,
    jittered,
    modulus_of,
    mostly_alike,
    never_falls,
    rises_evenly,
    steady,
    steady_but_gaps,
    unwrapped,
)

# Rows that a column without a name must have to be a clock.
_FEWEST = 10


def clocks_of(names: Sequence[str], tables: Sequence[np.ndarray], *, named: bool) -> list[Clock]:
    """The columns of tables (T, c) that are clocks in all of them.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    tables : sequence of ndarray
        Recordings (T, c).
    named : bool
        Whether the columns have names. If not, only clocks at the beginning of the rows are recognised, by how they
        rise.
    """
    if sum(map(len, tables)) < (3 if named else _FEWEST):
        return []
    calendar = leading_clock(tables)
    if named:
        # Names tell the parts of a clock; where they do not, a carry from column to column does.
        calendar = calendar_clock(names, tables) or (calendar if calendar and carries(calendar, tables) else None)
    taken = set(calendar.columns) if calendar else set()
    result = [calendar] if calendar else []
    for column, name in enumerate(names):
        if column in taken or not (named or column == 0):
            continue
        clock = None
        for part in (tables[:1], tables):  # most columns are ruled out by the first recording
            values = [np.asarray(table[:, column], dtype=np.float64) for table in part]
            finite = all(np.isfinite(value).all() for value in values)
            clock = None if not finite else _named(name, values) if named else _unnamed(values)
            if clock is None:
                break
        if clock:
            result.append(Clock((column,), *clock, unit=_unit(name if named else "", clock[1])))
    # Columns that tell the time come first, and of several the calendar.
    return sorted(result, key=lambda clock: clock.times is None)


def _words(name: str) -> set[str]:
    """The words of a name; a capital T is a temperature.

    >>> sorted(_words("TimeStamp [ms]")), _words("T"), _words("t")
    (['ms', 'stamp', 'time'], {'T'}, {'t'})
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {word if word == "T" else word.lower() for word in words}


def _named(name: str, values: list[np.ndarray]) -> tuple[str, list[np.ndarray] | None] | None:
    """Why a column of this name is a clock, and the time that it tells; None if it is a signal."""
    words, kind = _words(name), calendar_part(name)
    only = bool(words) and words <= TIMES | COUNTS | BESIDE  # no word for anything else that rises
    falls = any((np.diff(part) < 0).any() for part in values)
    if only and falls and words & WRAPS and all(modulus_of(part) for part in values):
        return "counts evenly and begins anew like a clock", [unwrapped(part) for part in values]
    if kind in CYCLES and all(cycles(part, *CALENDAR[kind]) for part in values):
        return f"goes through the values of a calendar's {kind}", None
    if (words & TIMES or (only and words & COUNTS)) and rises_evenly(values):
        return "rises evenly like a time", values
    if only and words & TIMES and never_falls(values):
        return "never falls and has a name like that of a time", values
    if only and words & COUNTS and all_runs(values, jittered if "t" in words else mostly_alike):
        return "rises like a time", values
    return None


def _unit(name: str, times: list[np.ndarray] | None) -> str:
    """The unit of a time, from its name, or from its size if it counts from 1970; "" if it is not known."""
    units = {unit for word in _words(name) for unit, words in UNITS.items() if word in words}
    if len(units) == 1:
        return units.pop()
    return "" if units or times is None else _since_1970(times)


def _since_1970(times: list[np.ndarray]) -> str:
    """The unit of times since 1970; "" if they are not."""
    low, high = min(part.min() for part in times), max(part.max() for part in times)
    return next((unit for unit, size in EPOCHS.items() if 9e8 * size <= low and high < 4e9 * size), "")


def _unnamed(values: list[np.ndarray]) -> tuple[str, list[np.ndarray]] | None:
    """Why the first column of a file without names is a clock, and the time that it tells; None if it is a signal."""
    if all(even(part) and steady(part) for part in values):
        return "rises evenly like a time", values
    if all(steady_but_gaps(part) for part in values):
        return "rises evenly but for gaps, like a time", values
    first = np.concatenate(values)
    if _since_1970(values) and all((np.diff(part) >= 0).all() for part in values) and first.min() < first.max():
        return "rises like a time since 1970", values
    if len(first) >= MANY and first.min() >= 0 and all((np.diff(part) > 0).all() for part in values):
        return "stands first and rises with every row, like a time", values
    return None
