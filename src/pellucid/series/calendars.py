"""Clocks that several columns tell together: year, month, ..., microsecond."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pellucid.series.clock_names import ALIASES, BESIDE_OTHERS, CALENDAR, SECONDS
from pellucid.series.rising import all_runs, mostly_even, never_falls, share_alike, variation

MANY = 1000
"""Rows from which on columns without names are a clock if they rise with every row: wear and encoders do so, too, but
seldom stand first in a file."""
# Clocks at the beginning of files without names.
_LEADING = (
    ("year", "month", "day", "hour", "minute", "second"),
    ("year", "month", "day"),
    ("hour", "minute", "second"),
)
# How often seconds, or days, must begin anew in a clock whose steps vary.
_CARRIES = 3


class Clock(NamedTuple):
    """Columns that tell the time."""

    columns: tuple[int, ...]
    reason: str
    times: list[np.ndarray] | None
    """Times of each recording, which may start anew; None if the columns do not tell the time by themselves."""
    unit: str = ""
    """Unit of the times, such as "s" or "ms"; "" if it is not known."""


def calendar_part(name: str, *, beside_others: bool = False) -> str | None:
    """The part of a calendar that the name of a column stands for; None if it is none.

    >>> calendar_part("Hour [UTC]"), calendar_part("Année")
    ('hour', 'year')
    >>> calendar_part("Std"), calendar_part("Std", beside_others=True)
    (None, 'hour')
    """
    letters = unicodedata.normalize("NFKD", name.replace("µ", "u")).lower()
    plain = re.sub(r"[^a-z]", "", re.sub(r"[\[(].*?[\])]", "", letters))
    if plain in CALENDAR:
        return plain
    return ALIASES.get(plain) or (BESIDE_OTHERS.get(plain) if beside_others else None)


def calendar_clock(names: Sequence[str], tables: Sequence[np.ndarray]) -> Clock | None:
    """Columns called year, month, ..., microsecond that tell one time together."""
    for beside_others in (True, False):  # with the short names there are more parts, if these are one clock
        kinds: dict[str, int] = {}
        for column, name in enumerate(names):
            kind = calendar_part(name, beside_others=beside_others)
            if kind is not None and kind not in kinds and all(_within(table[:, column], kind) for table in tables):
                kinds[kind] = column
        if len(kinds) < 2 or not _is_complete(kinds):
            continue
        if beside_others and not _in_order(kinds):
            continue
        times = [_time_of({k: np.asarray(table[:, c], dtype=np.float64) for k, c in kinds.items()}) for table in tables]
        complete = [time for time in times if time is not None]
        if len(complete) < len(times) or not never_falls(complete):
            continue
        if beside_others and len(kinds) < 3 and not all_runs(complete, mostly_even):
            continue
        columns = ", ".join(names[column] for column in kinds.values())
        return Clock(tuple(sorted(kinds.values())), f"belongs to the clock {columns}", complete, _unit_of(kinds))
    return None


def _is_complete(kinds: Iterable[str]) -> bool:
    """Whether no part is missing between others: minutes and milliseconds without seconds tell no time.

    >>> [_is_complete(kinds) for kinds in (["hour", "minute"], ["minute", "millisecond"], ["second", "microsecond"])]
    [True, False, True]
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


def carries(clock: Clock, tables: Sequence[np.ndarray]) -> bool:
    """Whether columns of a clock begin anew, where the time goes on in steps like all others."""
    any_carry = False
    for table, time in zip(tables, clock.times or (), strict=True):
        steps = np.diff(time)
        low, high = np.quantile(steps, [0.02, 0.98]) * [0.9, 1.1]
        falls = (np.diff(table[:, list(clock.columns[1:])].astype(np.float64), axis=0) < 0).any(axis=1)
        if falls.any() and ((low <= steps[falls]) & (steps[falls] <= high)).mean() < 0.8:
            return False
        any_carry = any_carry or bool(falls.any())
    return any_carry


def leading_clock(tables: Sequence[np.ndarray]) -> Clock | None:
    """The columns of a calendar at the beginning of rows without names: whole numbers, and together an even time."""
    for kinds in _LEADING:
        count = len(kinds)
        if any(table.shape[1] <= count for table in tables):
            continue
        if not all(_within(table[:, k], kind) and (table[:, k] % 1 == 0).all()
                   for table in tables for k, kind in enumerate(kinds)):  # fmt: skip
            continue
        # A further column may be a fraction of the second, from tenths to billionths: whatever makes the time even.
        units = (None, 1e6, 1e3, 1e2, 1e1, 1e9)
        options = [(unit, [_with_fraction(table, kinds, unit) for table in tables]) for unit in units]
        even = [
            (min(share_alike(time) for time in times if time is not None), unit, times)
            for unit, times in options
            if all(time is not None and mostly_even(time) and time[-1] > time[0] for time in times)
        ]
        if not even and sum(map(len, tables)) >= MANY:
            # Only a clock rises with every row and carries this often: its steps may vary, as little as can be.
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


def _with_fraction(table: np.ndarray, kinds: Sequence[str], unit: float | None) -> np.ndarray | None:
    """The time that the first columns tell; the next one holds fractions of a second, if there is a `unit`."""
    time = _time_of({kind: np.asarray(table[:, k], dtype=np.float64) for k, kind in enumerate(kinds)})
    if unit is None or time is None:
        return time
    if table.shape[1] <= len(kinds) + 1:  # a clock alone is no recording
        return None
    part = np.asarray(table[:, len(kinds)], dtype=np.float64)
    return time + part / unit if part.min() >= 0 and part.max() < unit and np.ptp(part) > 0 else None


def _within(column: np.ndarray, kind: str) -> bool:
    """Whether all values are in the range of this part of a calendar."""
    low, high = CALENDAR[kind]
    return bool(np.isfinite(column).all() and column.min() >= low and column.max() <= high)


def _time_of(parts: dict[str, np.ndarray]) -> np.ndarray | None:
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


def cycles(column: np.ndarray, low: float, high: float) -> bool:
    """Whether values within the range rise, and fall only from the upper half of theirs to the lower one."""
    if column.min() < low or column.max() > high:
        return False
    middle = (column.min() + column.max()) / 2
    falls = np.flatnonzero(np.diff(column) < 0)
    return bool((column[falls] > middle).all() and (column[falls + 1] <= middle).all())
