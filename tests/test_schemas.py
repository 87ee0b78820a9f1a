"""Content of files is what it must be, or it is said what is wrong with it, and where."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest

from pellucid.errors import InputError
from pellucid.schemas import Between, Measured, SchemaError, Share, Size, as_written, checked, json_from, json_of
from pellucid.stored_arrays import array_of, check_array


class Pair(NamedTuple):
    weight: float | None
    loss: Measured


@dataclass(frozen=True, kw_only=True)
class Inner:
    level: Share
    count: Size = 3


@dataclass(frozen=True, kw_only=True)
class Outer:
    kind: Literal["a", "b"]
    inner: Inner
    pairs: tuple[Pair, ...] = ()
    names: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    anything: Any = None
    title: str | None = None


WHOLE = {
    "kind": "a",
    "inner": {"level": 1, "count": None},
    "pairs": [{"weight": None, "loss": None}, {"weight": 1, "loss": 2.5}],
    "names": {"x": [1, None]},
    "anything": [1, [2, {"a": [3]}]],
    "unheard": 1,
}


def test_a_record_is_read_by_its_annotations():
    outer = checked(Outer, WHOLE)
    assert outer.inner == Inner(level=1.0, count=3)
    assert math.isnan(outer.pairs[0].loss)
    assert outer.pairs[0].weight is None
    assert outer.pairs[1] == Pair(1.0, 2.5)
    assert outer.names == {"x": (1.0, None)}
    assert outer.anything == (1, (2, {"a": [3]}))
    assert outer.title is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "c"}, "kind is 'c', not one of 'a', 'b'"),
        ({"kind": ["a"]}, "kind is \\['a'\\], not one of"),
        ({"inner": None}, "inner is absent"),
        ({"inner": []}, "inner is \\[\\], not an object"),
        ({"inner": {"count": 1}}, "inner.level is absent"),
        ({"inner": {"level": 1.5}}, "inner.level is 1.5, not between 0 and 1"),
        ({"inner": {"level": True}}, "inner.level is True, not a number"),
        ({"inner": {"level": math.nan}}, "inner.level is nan, not a number"),
        ({"inner": {"level": 1, "count": 2.0}}, "inner.count is 2.0, not a whole number"),
        ({"inner": {"level": 1, "count": 2**63}}, "inner.count is 9223372036854775808, not a whole number"),
        ({"pairs": {"weight": 1}}, "pairs is .*, not a list"),
        ({"pairs": [{"loss": "x"}]}, "pairs\\[0\\].loss is 'x', not a number"),
        ({"names": {"x": [[1]]}}, "names.x\\[0\\] is \\[1\\], not a number"),
        ({"title": 1}, "title is 1, not a text"),
        ({"title": 10**30}, "title is a number of very many digits, not a text"),
    ],
)
def test_it_is_said_what_is_wrong_and_where(change, message):
    with pytest.raises(SchemaError, match=message):
        checked(Outer, {**WHOLE, **change})


def test_lengths_are_bounded_too():
    kind = Annotated[tuple[int, ...], Between(1, 2)]
    assert checked(kind, [1, 2]) == (1, 2)
    for content in ([], [1, 2, 3]):
        with pytest.raises(SchemaError, match="the length of it is [03], not between 1 and 2"):
            checked(kind, content)
    with pytest.raises(SchemaError, match="a is .*, not a list of 2"):
        checked(tuple[int, str], [1], "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[" * 100 + "]" * 100, "nested too deeply"),
        ("1" * 10_000_000, "a number of more than 4,300 digits"),
        (f"[{10**200}]", "a number of very many digits"),
        ('["\\ud800"]', "signs that no text can have"),
        ('{"\\ud800": 1}', "signs that no text can have"),
        (b"\xff\xfe\x00", "no text in UTF-8|no JSON"),
        (b"\x80abc", "no text in UTF-8"),
        ("{", "no JSON"),
        ("", "no JSON"),
    ],
)
def test_json_that_would_break_what_reads_it_is_refused(text, message):
    with pytest.raises(SchemaError, match=message):
        json_from(text)


def test_json_is_read_from_files_of_a_sensible_size(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text('{"é": [1, 2.5, null, "\\ud83d\\ude00"]}', encoding="utf-8")
    assert json_of(path) == {"é": [1, 2.5, None, "\U0001f600"]}
    monkeypatch.setattr("pellucid.schemas._MOST_BYTES", 10)
    with pytest.raises(SchemaError, match="it has 38 bytes, more than 10"):
        json_of(path)


def test_arrays_have_their_shape_and_finite_numbers():
    assert array_of([[1, 2], [3, 4.5]], [None, 2], "y").tolist() == [[1, 2], [3, 4.5]]
    assert array_of([], [0, 3], "y").shape == (0, 3)
    assert array_of([], [None, 3], "y").shape == (0, 3)
    assert np.isnan(array_of([1, None], [2], "y", blanks=True)).tolist() == [False, True]
    for content in ("12", None, 1.0, {"a": 1}, ["1", "2"], [True, "x"], [[1], [2, 3]], [1, 10**400], [{}]):
        with pytest.raises(SchemaError, match="y is .*, not a list"):
            array_of(content, [2], "y")
    with pytest.raises(SchemaError, match="y has the shape \\(3,\\), not 2"):
        array_of([1, 2, 3], [2], "y")
    for content in ([1, None], [1, math.inf], [1, math.nan], [1, 1e200]):
        with pytest.raises(SchemaError, match="y has values outside"):
            array_of(content, [2], "y")
    with pytest.raises(SchemaError, match="y has values outside of 0 to"):
        array_of([1, -1], [2], "y", low=0.0, blanks=True)


def test_arrays_of_files_have_their_type():
    check_array(np.arange(3), [None], "ends", kinds="iu", low=0, high=2)
    with pytest.raises(SchemaError, match="ends has the type float64"):
        check_array(np.ones(3), [3], "ends", kinds="iu")
    with pytest.raises(SchemaError, match="ends has values outside of 0 to 1"):
        check_array(np.arange(3), [3], "ends", kinds="iu", low=0, high=1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("scale"), "'scale' is absent"),
        (ValueError("first line:\n\tsecond line.\nthird"), "first line: second line"),
        (RuntimeError(), "RuntimeError"),
        (OSError("gone"), "gone"),
    ],
)
def test_whatever_is_wrong_with_a_file_becomes_a_sentence(error, reason):
    with pytest.raises(InputError) as caught, as_written("It must be whole", where="a.json", cure="write it again"):
        raise error
    assert str(caught.value) == f"It must be whole. Got a.json, where something is not: {reason}; write it again."
