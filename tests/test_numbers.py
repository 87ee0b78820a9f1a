import math

import pytest

from pellucid import numbers
from pellucid.report import numbers as typeset


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0.13579, 3, "0.136"),
        (0.5, 3, "0.500"),
        (99.96, 3, "100"),
        (1234.5, 3, "1234"),
        (-2.0, 3, "-2"),
        (1e-7, 3, "1e-7"),
        (2.5e9, 2, "2.5e9"),
        (3e8, 2, "3e8"),
        (12_345_678, 3, "12345678"),
        (0.52301, 4, "0.5230"),
        (None, 3, "-"),
        (math.nan, 3, "-"),
        (-math.inf, 3, "-inf"),
    ],
)
def test_numbers_have_the_digits_asked_for(value, digits, expected):
    assert numbers.number(value, digits) == expected


def test_a_confidence_is_never_rounded_to_certainty():
    assert [numbers.percent(level) for level in (0.5, 0.9, 0.95, 0.995, 0.9999)] == [
        "50 %", "90 %", "95 %", "99.5 %", "99.99 %"
    ]  # fmt: skip


def test_shares_are_rounded_and_have_no_negative_zero():
    assert [numbers.percent(v, 1) for v in (0.4849, -0.0001, -0.2, None, math.nan, -101)] == [
        "48.5 %", "0.0 %", "-20.0 %", "-", "-", "below -9999 %"
    ]  # fmt: skip


def test_counts_have_their_noun():
    assert numbers.counted(0, "row") == "0 rows"
    assert numbers.counted(12_000, "row") == "12,000 rows"
    assert numbers.listed(["a", "b", "c"], 3) == "a, b, c"
    assert numbers.listed(["a", "b", "c"], 1) == "a and 2 more"


def test_pages_write_the_same_with_signs_of_typography():
    assert typeset.number(-0.25) == "\u22120.250"
    assert typeset.number(2e-9) == "2e\u22129"
    assert typeset.number(math.inf) == "\u221e"
    assert typeset.number(None) == typeset.fixed(math.nan, 2) == typeset.percent(None) == typeset.NOTHING == "\u2013"
    assert typeset.percent(0.995) == "99.5\u00a0%"
    assert typeset.percent(-0.2, 0) == "\u221220\u00a0%"
    assert typeset.change(0.2, 0.15) == "\u221225.0\u00a0%"
    assert typeset.duration(147) == numbers.duration(147) == "2 min 27 s"
