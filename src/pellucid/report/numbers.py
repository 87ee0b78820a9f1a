"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any

MINUS = "\u2212"
NOTHING = "\u2013"


def number(value: Any, digits: int = 3) -> str:
    """So many significant digits, and whole numbers whole.

    Examples
    --------
    >>> [number(v) for v in (0.13579, 12345.6, 60, 1e-7, None, float("nan"))]
    ['0.136', '12346', '60', '1e\u22127', '\u2013', '\u2013']
    """
    if value is None or isinstance(value, str | bool):
        return NOTHING if value is None else str(value)
    if isinstance(value, int):
        return str(value).replace("-", MINUS)
    value = float(value)
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else f"{MINUS if value < 0 else ''}\u221e"
    text = f"{value:.0f}" if 10**digits <= abs(value) < 1e7 else f"{value:#.{digits}g}".rstrip(".")
    if "e" in text:
        mantissa, exponent = f"{value:.{digits}g}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    elif value == int(value):
        text = str(int(value))
    return text.replace("-", MINUS)


def decimals(values: Any) -> int:
    """Decimals that tell these values apart: two digits of their spread, at most six.

    Examples
    --------
    >>> decimals([5.1, 6.3, 7.9]), decimals([1200, 3400]), decimals([0.011, 0.013])
    (2, 0, 5)
    """
    finite = [float(v) for v in values if v is not None and math.isfinite(v)]
    spread = max(finite, default=0.0) - min(finite, default=0.0) or max(map(abs, finite), default=0.0)
    return min(6, max(0, 2 - math.floor(math.log10(spread)))) if spread > 0 else 2


def fixed(value: Any, places: int) -> str:
    """With so many decimals.

    Examples
    --------
    >>> fixed(-1.0, 2), fixed(None, 2)
    ('\u22121.00', '\u2013')
    """
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:.{places}f}".replace("-", MINUS) if math.isfinite(value) else "\u221e"


def percent(share: Any, places: int = 0) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.9), percent(0.876, 1)
    ('90\u00a0%', '87.6\u00a0%')
    """
    if share is None or math.isnan(share):
        return NOTHING
    if share < -100:  # what is far below zero says no more than that
        return f"below {MINUS}9999\u00a0%"
    return f"{100 * share:.{places}f}\u00a0%".replace("-", MINUS)


def change(old: float | None, new: float | None) -> str:
    """From old to new in per cent of the old, with a sign; nothing where that has no meaning.

    Examples
    --------
    >>> change(0.2, 0.15), change(2, 2.5), change(0, 1), change(1, 0.99999)
    ('\u221225.0\u00a0%', '+25.0\u00a0%', '\u2013', '0.0\u00a0%')
    """
    if old is None or new is None or not old or not (math.isfinite(old) and math.isfinite(new)):
        return NOTHING
    ratio = (new - old) / abs(old)
    text = "0.0%" if abs(ratio) < 0.0005 else f"{ratio:+.1%}"
    return text.replace("%", "\u00a0%").replace("-", MINUS)


def counted(count: int, noun: str) -> str:
    """A number and what it counts.

    Examples
    --------
    >>> counted(1, "sequence"), counted(12, "sequence")
    ('1 sequence', '12 sequences')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: Any) -> str:
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
