"""Time stamps, as text or as dates of Arrow, NumPy and pandas: seconds since the first of a column."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from pellucid.series._arrow import blanks, integers
from pellucid.tables import DATES

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
_DAY = 86_400.0


class Stamps(NamedTuple):
    """A column of times."""

    seconds: np.ndarray
    """Since the first stamp; blanks are NaN."""
    clock: bool = False
    """Whether these are times of day, without a date."""
    unit: str = "s"
    """Unit of `seconds`: numbers that are times may have another one, or "" if it is not known."""


def stamps_of(column: Any) -> Stamps | None:
    """The times in an Arrow column of times, dates or text; None if it holds none."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        return _from_text(compute.utf8_trim_whitespace(column))
    if not types.is_temporal(kind) or types.is_interval(kind) or column.null_count == len(column):
        return None
    times = column
    if types.is_time(kind):
        times = column.cast("time64[us]")
    elif types.is_date(kind):
        times = column.cast("timestamp[s]")
    # Whole numbers of the column's own unit: as seconds since 1970 a double knows no more than a quarter microsecond.
    unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[times.type.unit]
    blank, counts = blanks(column), integers(times)
    return Stamps(np.where(blank, np.nan, (counts - counts[np.argmin(blank)]) * unit), types.is_time(kind))


def times_of(columns: list[Stamps]) -> np.ndarray:
    """The time that columns of stamps tell together: a date and a clock, or the first of them.

    A clock without a date that falls to an earlier time has passed midnight.
    """
    dates = [column.seconds for column in columns if not column.clock]
    clocks = [column.seconds for column in columns if column.clock]
    if not dates:
        return _past_midnight(clocks[0])
    midnights = (dates[0][np.isfinite(dates[0])] % _DAY == 0).all()
    return dates[0] + clocks[0] if clocks and midnights else dates[0]


def _from_text(column: Any) -> Stamps | None:
    """The times in a column of text; None if it holds none."""
    from pyarrow import compute

    blank = blanks(column)
    if blank.all():
        return None
    first = column[int(np.argmin(blank))].as_py()
    for form in (form for form in DATES if re.match(form, first)):
        matches = compute.extract_regex(column, pattern=form)
        if matches.null_count > blank.sum():
            continue
        parts = {name: compute.struct_field(matches, name) for name in re.findall(r"\(\?P<(\w)>", form)}
        clock = _clock(parts, len(blank))
        if clock is None:
            continue
        if "a" not in parts:
            return Stamps(np.where(blank, np.nan, clock - clock[np.argmin(blank)]), clock=True)
        days = _days(parts, blank, clock)
        if days is not None:
            since = days - days[np.argmin(blank)]
            return Stamps(np.where(blank, np.nan, since * _DAY + clock - clock[np.argmin(blank)]))
    return None


def _numbers(part: Any) -> np.ndarray:
    """A part of a stamp as numbers; 0 where it is missing."""
    from pyarrow import compute

    filled = compute.fill_null(part, "0")
    return integers(compute.if_else(compute.equal(filled, ""), "0", filled))


def _clock(parts: dict[str, Any], rows: int) -> np.ndarray | None:
    """Seconds of the day; None if there is no such time."""
    if "h" not in parts:
        return np.zeros(rows)
    from pyarrow import compute

    hour, minute = _numbers(parts["h"]), _numbers(parts["m"])
    second = _numbers(parts["s"]) if "s" in parts else np.zeros(rows)
    if hour.max() > 24 or minute.max() > 59 or second.max() > 60:
        return None
    if "p" in parts:
        half = np.array(compute.utf8_lower(compute.fill_null(parts["p"], "")).to_pylist())
        hour = np.where(half == "p", hour % 12 + 12, np.where(half == "a", hour % 12, hour))
    clock = hour * 3600.0 + minute * 60.0 + second
    if "f" in parts:
        digits = compute.utf8_rpad(compute.fill_null(parts["f"], ""), width=9, padding="0")
        clock += _numbers(digits) * 1e-9
    if "z" in parts:
        zone = compute.replace_substring_regex(compute.fill_null(parts["z"], ""), pattern="[:+]", replacement="")
        offset = _numbers(zone)
        clock -= np.sign(offset) * (np.abs(offset) // 100 * 3600.0 + np.abs(offset) % 100 * 60.0)
    return clock


def _days(parts: dict[str, Any], blank: np.ndarray, clock: np.ndarray) -> np.ndarray | None:
    """Days since 1970; None if there is no such date. Day and month are told apart by what makes time rise."""
    from pyarrow import compute

    first, last = _numbers(parts["a"]), _numbers(parts["c"])
    middle = compute.utf8_lower(compute.fill_null(parts["b"], ""))
    text = [cell for cell in middle.unique().to_pylist() if cell]
    if any(cell.isalpha() for cell in text):
        if not all(cell in _MONTHS for cell in text):
            return None
        names = middle.to_pylist()
        orders = [(last, np.array([_MONTHS.get(cell, 1) for cell in names]), first)]
    else:
        second = _numbers(middle)
        orders = [(last, second, first), (last, first, second)]
        if first.max() > 31:
            orders = [(first, second, last)]
    present = ~blank
    candidates: list[np.ndarray] = []
    for year, month, day in orders:
        year = np.where(year < 100, np.where(year < 70, 2000, 1900) + year, year)
        m, d = month[present], day[present]
        if m.min() < 1 or m.max() > 12 or d.min() < 1 or d.max() > 31:
            continue
        months = (np.where(present, year, 1970) - 1970) * 12 + np.where(present, month, 1) - 1
        date = months.astype("M8[M]").astype("M8[D]") + (np.where(present, day, 1) - 1)
        candidates.append(date.astype(np.int64).astype(np.float64))
    if len(candidates) < 2:
        return candidates[0] if candidates else None

    def disorder(days: np.ndarray) -> tuple[int, float]:
        steps = np.diff((days * _DAY + clock)[present])
        return int((steps < 0).sum()), float(steps.std()) if len(steps) else 0.0

    return min(candidates, key=disorder)


def _past_midnight(clock: np.ndarray) -> np.ndarray:
    """Times of day that go on after midnight."""
    present = np.isfinite(clock)
    result = clock.copy()
    result[present] += _DAY * np.cumsum(np.diff(clock[present], prepend=clock[present][0]) < -_DAY / 2)
    return result
