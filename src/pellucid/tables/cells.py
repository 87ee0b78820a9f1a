"""What a cell of a table says: a number, a blank, a date, or neither."""

from __future__ import annotations

import math
import re

LARGEST = 1e30
"""Numbers to learn from are not larger: their squares and sums would overflow the precision that networks have."""
BLANKS = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "nd", "n.d.")
"""What people and programs write for nothing; capitals do not matter."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?(?:\s*(?P<p>[AaPp])\.?[Mm]\.?)?"
_ZONE = r"(?:\s*(?:Z|UTC|GMT|(?P<z>[+-]\d{2}:?\d{2})))?"
DATES = (
    rf"^(?P<a>\d{{4}}|\d{{1,2}})[-/.](?P<b>\d{{1,2}})[-/.](?P<c>\d{{4}}|\d{{1,2}})(?:(?:T|,? +){_CLOCK})?{_ZONE}$",
    rf"^(?P<a>\d{{1,2}})[-/. ] ?(?P<b>[A-Za-z]{{3}})[a-z]*[-/. ] ?(?P<c>\d{{4}}|\d{{2}})(?:,? +{_CLOCK})?{_ZONE}$",
    rf"^{_CLOCK}$",
    r"^(?P<h>\d{1,2})\.(?P<m>\d{2})\.(?P<s>\d{2})$",
    r"^(?P<a>\d{4})\.(?P<b>\d{2})\.(?P<c>\d{2})\.(?P<h>\d{2})\.(?P<m>\d{2})\.(?P<s>\d{2})$",
    r"^(?P<a>\d{4})(?P<b>\d{2})(?P<c>\d{2})[T_ ](?P<h>\d{2}):?(?P<m>\d{2}):?(?P<s>\d{2})?(?:[.,](?P<f>\d{1,9}))?Z?$",
)
"""Forms of dates with or without a clock, of a clock alone, and of both with one sign throughout.

Groups: a, b, c are the parts of the date in their order; h, m, s, f, p those of the clock (f the fraction, p am or pm);
z is the zone.
"""


def value_of(cell: str, comma: bool) -> float | None:
    """A number, NaN for a blank, None for anything else.

    Parameters
    ----------
    cell : str
        What is written, with or without white space around it.
    comma : bool
        Whether numbers may have a decimal comma.
    """
    text = cell.strip()
    if text.lower() in BLANKS:
        return math.nan
    return number_of(text.replace(",", ".") if comma else text)


def number_of(text: str) -> float | None:
    """A finite number, written with a decimal point or none; None for anything else.

    Python's own `float` takes more for a number: 5_6 for 56, the digits of all scripts, infinity.

    Examples
    --------
    >>> number_of("-1.5e3"), number_of("5_6"), number_of("1e400")
    (-1500.0, None, None)
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a finite number with this decimal sign."""
    return number_of(cell.strip().replace(decimal, ".")) is not None


def is_date(cell: str) -> bool:
    """Whether a cell is a date, a time of day, or both.

    Examples
    --------
    >>> is_date("2024-05-01 12:30"), is_date("1.5.2024"), is_date("9:05:00.25"), is_date("left")
    (True, True, True, False)
    """
    return any(re.match(form, cell.strip()) for form in DATES)
