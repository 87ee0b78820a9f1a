"""Numbers as pages write them: those of `pellucid.numbers`, with the signs of typography."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from pellucid import numbers
from pellucid.numbers import counted, decimals, trimmed

__all__ = ["MINUS", "NOTHING", "change", "counted", "decimals", "duration", "fixed", "number", "percent", "trimmed"]

MINUS = "\u2212"
NOTHING = "\u2013"
# Not those of dates, of names such as "covid-19", nor the letters of "inflation".
_HYPHEN = re.compile(r"(?<!\w)-(?=\d|\.\d|inf\b)|(?<=\de)-(?=\d)")
_INFINITE = re.compile(r"\binf\b")
_Arguments = ParamSpec("_Arguments")


def typeset(text: str) -> str:
    """A number as a page shows it: a true minus sign, a dash for nothing, and no line break before the per cent sign.

    Examples
    --------
    >>> typeset("-12 %"), typeset("1e-7"), typeset("-"), typeset("-inf"), typeset("inflation on 2020-01-02")
    ('\u221212\u00a0%', '1e\u22127', '\u2013', '\u2212\u221e', 'inflation on 2020-01-02')
    """
    if text == numbers.NOTHING:
        return NOTHING
    return _INFINITE.sub("\u221e", _HYPHEN.sub(MINUS, text)).replace(" %", "\u00a0%")


def _typeset(write: Callable[_Arguments, str]) -> Callable[_Arguments, str]:
    @wraps(write)
    def written(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> str:
        return typeset(write(*args, **kwargs))

    return written


number = _typeset(numbers.number)
fixed = _typeset(numbers.fixed)
percent = _typeset(numbers.percent)
change = _typeset(numbers.change)
duration = _typeset(numbers.duration)
