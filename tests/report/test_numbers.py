"""Numbers with the signs of typography."""

import pytest

from pellucid.report import numbers
from pellucid.report.numbers import typeset


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-1.5", "\u22121.5"),
        ("-3e-07", "\u22123e\u221207"),
        ("-inf", "\u2212\u221e"),
        ("-", "\u2013"),
        ("5 %", "5\u00a0%"),
        ("held-out", "held-out"),
    ],
)
def test_signs_of_programs_become_those_of_books(text, shown):
    assert typeset(text) == shown


def test_every_way_to_write_a_number_is_typeset():
    assert numbers.number(-0.25, 2) == "\u22120.25"
    assert numbers.fixed(-2.0, 1) == "\u22122.0"
    assert numbers.percent(0.5).endswith("\u00a0%")
    assert numbers.number(None) == "\u2013"
