"""Cells: what is a number, a blank, or neither."""

import math

import pytest

from pellucid.tables import number_of, value_of


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("-1.5", -1.5), ("+2", 2), (".5", 0.5), ("5.", 5), ("1e-3", 1e-3), ("1E+3", 1e3), ("007", 7), ("-0", 0)],
)
def test_numbers_are_read(text, number):
    assert number_of(text) == number
    assert value_of(f" {text} ", comma=False) == number
    assert value_of(text.replace(".", ","), comma=True) == number


@pytest.mark.parametrize(
    "text",
    [
        "5_6",
        "1_000",
        "infinity",
        "-inf",
        "0x10",
        "\uff11\uff12",
        "٣",
        "1e400",
        "1e",
        "e5",
        ".",
        "+",
        "1 2",
        "1.2.3",
        "5%",
        "1d3",
        "²",
    ],
)
def test_what_is_no_number_is_none(text):
    assert number_of(text) is None
    assert value_of(text, comma=False) is None


def test_blanks_are_no_numbers_either():
    for text in ("", "  ", "NA", "nan", "?"):
        assert math.isnan(value_of(text, comma=False))
    assert number_of("nan") is None
    assert value_of("1.234,5", comma=True) is None  # with a sign for thousands
