"""Options: descriptions of fields, and values from wherever users write them."""

from dataclasses import dataclass
from typing import Literal

import pytest

from pellucid.errors import InputError
from pellucid.options import Options, names_in, option, options_of, updated


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    decimal: Literal[".", ","] = option(".", "The decimal sign.", "--decimal", "-d")
    targets: tuple[str, ...] | None = option(None, "Columns to predict.", saved=False)
    rows: int | None = option(None, "Rows to read.", minimum=1)
    hidden: int = 3


def test_options_are_the_fields_that_were_described():
    decimal, targets, rows = options_of(Reading)
    assert (decimal.name, decimal.choices, decimal.default, decimal.flags) == (
        "decimal",
        (".", ","),
        ".",
        ("--decimal", "-d"),
    )
    assert (targets.type, targets.repeated, targets.choices, targets.saved) == (tuple[str, ...], True, (), False)
    assert (rows.type, rows.repeated, rows.minimum, rows.saved) == (int, False, 1, True)


def test_values_that_are_there_replace_others():
    reading = Reading(rows=5)
    changed = updated(reading, {"decimal": None, "targets": ["a", "b"], "rows": None, "hidden": 7, "other": 1})
    assert changed == Reading(rows=5, targets=("a", "b"))
    assert reading == Reading(rows=5)


def test_names_of_columns_may_be_repeated_or_listed():
    assert names_in(None, "drop") is None
    assert names_in([], "drop") == []
    assert names_in(["a,b", " c ", ",", "dose, mg"], "drop", ["dose, mg"]) == ["a", "b", "c", "dose, mg"]
    assert names_in(["dose, mg"], "drop") == ["dose", "mg"]
    with pytest.raises(InputError, match="`drop` must name columns. Got ' , '"):
        names_in([" ", ""], "drop")
