"""Dates of a column as days, a number that laws can weigh."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np

from pellucid.tables import DATES, is_date

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates, with or without a time of day; times of day alone are none.

    Examples
    --------
    >>> are_dates(["2024-05-01", "2024-05-02 12:30"]), are_dates(["12:30"]), are_dates(["red"])
    (True, False, False)
    """
    return bool(texts) and all(is_date(text) and _parts(text) is not None for text in texts)


def is_day_first(texts: Sequence[str]) -> bool | None:
    """Whether the day comes first in texts such as 3/4/2024: if one of them has a first part above 12. None if there
    are no such texts; with dots between the parts the day always comes first.

    Examples
    --------
    >>> is_day_first(["3/4/2024", "13/1/2024"]), is_day_first(["3/4/2024"]), is_day_first(["2024-04-03", "3.4.2024"])
    (True, False, None)
    """
    parts = [parts for parts in map(_parts, texts) if parts is not None]
    unclear = [p for p in parts if len(p["a"]) < 3 and p["b"].isdigit() and p["dotted"] != "True"]
    return any(int(p["a"]) > 12 for p in unclear) if unclear else None


def days_of(texts: Sequence[str | None], *, day_first: bool = False) -> np.ndarray:
    """(N,) days since the beginning of 1970, with fractions for times of day; NaN for None and for what is no date.

    Parameters
    ----------
    texts : sequence of str
        The dates, None for blanks.
    day_first : bool
        Whether 3/4/2024 is a day of April; with dots between the parts, the day comes first in any case.

    Examples
    --------
    >>> days_of(["1970-01-02", "1970-01-01 12:00", None]).tolist()
    [1.0, 0.5, nan]
    >>> days_of(["2.1.1970", "1/2/1970"]).tolist(), days_of(["2/1/1970"], day_first=True).tolist()
    ([1.0, 1.0], [1.0])
    """
    parts = [None if text is None else _parts(text) for text in texts]
    return np.array([np.nan if p is None else _days(p, day_first) for p in parts], dtype=np.float64)


def days_of_moment(moment: date | datetime) -> float:
    """Days since the beginning of 1970 of a date or a moment; without a zone it is one of UTC."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) / timedelta(days=1)


def date_text(days: float) -> str:
    """A number of days as a date, with the time of day where it has one.

    Examples
    --------
    >>> date_text(1.0), date_text(0.5)
    ('1970-01-02', '1970-01-01 12:00')
    """
    moment = _EPOCH + timedelta(days=float(days))
    return f"{moment:%Y-%m-%d}" if abs(days - round(days)) < 1e-6 else f"{moment:%Y-%m-%d %H:%M}"


def _parts(text: str) -> dict[str, str] | None:
    for form in DATES:
        match = re.match(form, text.strip())
        if match and match.groupdict().get("a"):
            return {name: value or "" for name, value in match.groupdict().items()} | {"dotted": str("." in text)}
    return None


def _days(parts: dict[str, str], day_first: bool) -> float:
    a, b, c = parts["a"], parts["b"], parts["c"]
    if not b.isdigit():
        day, month, year = int(a), 1 + _MONTHS.index(b.lower()) if b.lower() in _MONTHS else 0, int(c)
    elif len(a) == 4:
        year, month, day = int(a), int(b), int(c)
    else:
        first, second, year = int(a), int(b), int(c)
        day, month = (first, second) if day_first or parts["dotted"] == "True" else (second, first)
    year += 0 if year > 99 else 2000 if year < 70 else 1900
    hour, minute, second = (int(parts.get(name) or 0) for name in ("h", "m", "s"))
    if parts.get("p"):
        hour = hour % 12 + (12 if parts["p"].lower() == "p" else 0)
    zone = parts.get("z", "")
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) * (-1 if zone[0] == "-" else 1) if zone else None
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC if offset is None else timezone(offset))
    except ValueError:
        return float("nan")
    return days_of_moment(moment)
