"""Numbers as text, for terminals and files; `pellucid.report.numbers` writes the same for pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NOTHING = "-"
"""What stands where there is no number."""


def number(value: float | None, digits: int = 3) -> str:
    """A number, rounded to significant digits; integers are written without decimals.

    Parameters
    ----------
    value : float, optional
        None and NaN are no number.
    digits : int
        The number of significant digits.

    Examples
    --------
    >>> [number(v) for v in (0.13579, 0.5, 12345.6, 60, 60.0, 1e-7, -2.5, None)]
    ['0.136', '0.500', '12346', '60', '60', '1e-7', '-2.50', '-']
    """
    if value is None or math.isnan(value):
        return NOTHING
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    text = f"{value:.0f}" if 10**digits <= abs(value) < 1e7 else f"{value:#.{digits}g}".rstrip(".")
    if "e" in text:
        mantissa, exponent = f"{value:.{digits}g}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text


def decimals(values: Iterable[float | None]) -> int:
    """The number of decimals that tells these values apart: two digits of their spread, at most six.

    Examples
    --------
    >>> decimals([5.1, 6.3, 7.9]), decimals([1200, 3400]), decimals([0.011, 0.013])
    (2, 0, 5)
    """
    finite = [float(v) for v in values if v is not None and math.isfinite(v)]
    spread = max(finite, default=0.0) - min(finite, default=0.0) or max(map(abs, finite), default=0.0)
    return min(6, max(0, 2 - math.floor(math.log10(spread)))) if spread > 0 else 2


def fixed(value: float | None, places: int) -> str:
    """A number with a fixed number of decimals.

    Examples
    --------
    >>> fixed(-1.0, 2), fixed(None, 2)
    ('-1.00', '-')
    """
    return NOTHING if value is None or math.isnan(value) else f"{value:.{places}f}"


def significant(value: float, digits: int = 6) -> float:
    """A number with so many significant digits, for files.

    Examples
    --------
    >>> significant(0.123456789), significant(1234567.8), significant(2.0)
    (0.123457, 1234570.0, 2.0)
    """
    return float(f"{value:.{digits}g}")


def trimmed(text: str) -> str:
    """A number as text, without zeros at the end of its decimals: measured values have no more digits than the data.

    Examples
    --------
    >>> trimmed("7.7700"), trimmed("5.0000"), trimmed("500")
    ('7.77', '5', '500')
    """
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float | None, places: int | None = None) -> str:
    """A share in per cent.

    Parameters
    ----------
    share : float, optional
        None and NaN are no share.
    places : int, optional
        The number of decimals; by default as many as it has, with four digits in all at most. A confidence of 99.5 %
        must not read as 100 %.

    Examples
    --------
    >>> percent(0.9), percent(0.995), percent(0.876, 0), percent(0.876, 1), percent(-0.0001, 1), percent(-1234.5, 0)
    ('90 %', '99.5 %', '88 %', '87.6 %', '0.0 %', 'below -9999 %')
    """
    if share is None or math.isnan(share):
        return NOTHING
    if share < -100:  # what is far below zero says no more than that
        return "below -9999 %"
    text = f"{100 * share:.4g}" if places is None else f"{100 * share:.{places}f}"
    return f"{text.removeprefix('-') if not float(text) else text} %"


def change(old: float | None, new: float | None) -> str:
    """The way from old to new in per cent of the old, with a sign; nothing where that has no meaning.

    Examples
    --------
    >>> change(0.2, 0.15), change(2, 2.5), change(0, 1), change(-0.25, -0.23), change(1, 0.99999)
    ('-25.0 %', '+25.0 %', '-', '-', '0.0 %')
    """
    if old is None or new is None or not (0 < old < math.inf and 0 <= new < math.inf):
        return NOTHING
    ratio = (new - old) / old
    return "0.0 %" if abs(ratio) < 0.0005 else f"{100 * ratio:+.1f} %"


def counted(count: int, one: str, several: str | None = None) -> str:
    """A number and what it counts.

    Parameters
    ----------
    count : int
        The number.
    one : str
        What one of them is called.
    several : str, optional
        What several are called; by default with an s.

    Examples
    --------
    >>> counted(1, "row"), counted(1017, "row"), counted(2, "salt or mixture", "salts or mixtures")
    ('1 row', '1,017 rows', '2 salts or mixtures')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def listed(texts: Sequence[str], most: int) -> str:
    """Texts separated by commas; of many the first, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"], 2), listed(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def duration(seconds: float | None) -> str:
    """A time as people say it.

    Examples
    --------
    >>> duration(4.21), duration(147), duration(7300)
    ('4.2 s', '2 min 27 s', '2 h 1 min')
    """
    if seconds is None:
        return NOTHING
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
