import datetime

import numpy as np
import pandas as pd
import pytest

from pellucid import InputError
from pellucid.tabular.columns import Column
from pellucid.tabular.deciding import decide
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.frames import frame_of


def kinds(x, y=None):
    return {column.name: column for column in decide(frame_of(x), y)}


def test_kinds_of_columns_are_decided(table):
    x, y = table
    columns = kinds(x, y.to_numpy())
    assert {name: column.kind for name, column in columns.items()} == {
        "rooms": "number", "age": "number", "colour": "category", "city": "boolean", "sold": "date",
        "number": "identifier", "country": "constant",
    }  # fmt: skip
    assert columns["colour"].levels == ("red", "blue", "green")
    assert columns["city"].levels == ("no", "yes")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "3"], "number"),
        ([1, None, 3], "number"),
        (["2024-05-01", "2024-06-01", None], "date"),
        ([datetime.date(2024, 5, 1), datetime.date(2024, 5, 2), None], "date"),
        (["yes", "no", "yes"], "boolean"),
        ([True, False, None], "category"),
        (["a", "b", "a"], "category"),
        (["a", "a", "a"], "constant"),
        ([None, None, None], "constant"),
    ],
)
def test_a_column_of_objects_is_read_by_what_it_holds(cells, kind):
    assert kinds(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))["x"].kind == kind


def test_texts_that_hardly_repeat_name_the_rows():
    column = kinds(pd.DataFrame({"who": [f"person {i}" for i in range(40)]}))["who"]
    assert column.kind == "identifier"
    assert "40 different texts" in column.describe()


def test_a_column_that_gives_the_answer_away_is_named():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    columns = kinds(pd.DataFrame({"copy": 3 * y - 1, "noisy": y + 0.1 * rng.normal(size=50)}), y)
    assert "gives the answer away" in columns["copy"].describe()
    assert not columns["noisy"].warning
    classes = np.array(["a", "b"] * 25)
    columns = kinds(
        pd.DataFrame({"same": np.where(classes == "a", "left", "right"), "other": ["u", "v", "w", "u", "v"] * 10}),
        classes,
    )
    assert columns["same"].warning
    assert not columns["other"].warning


def test_a_copy_may_be_rounded_have_blanks_or_tell_levels_apart_that_go_with_one_class():
    rng = np.random.default_rng(0)
    y = rng.normal(300, 80, size=200)
    blank = np.where(np.arange(200) % 4, 0.95 * y, np.nan)
    frame = pd.DataFrame({"euros": (0.95 * y).round(), "blank": blank, "close": y + 2 * rng.normal(size=200)})
    assert [bool(column.warning) for column in kinds(frame, y).values()] == [True, True, False]
    classes = np.array(["ill", "well"] * 100)
    code = np.where(classes == "ill", np.arange(200) % 3, 5)
    fine = pd.DataFrame({"code": code, "name": [f"c{c}" for c in code], "mostly": np.where(np.arange(200), code, 5)})
    assert [bool(column.warning) for column in kinds(fine, classes).values()] == [True, True, False]
    few = pd.DataFrame({"word": [f"w{i % 9}{name}" for i, name in enumerate(classes[:40])]})
    assert not kinds(few, classes[:40])["word"].warning  # two rows of each say nothing


def test_rare_levels_are_other_and_so_are_levels_never_seen():
    levels = [f"l{i}" for i in range(30) for _ in range(40 - i)]
    frame = frame_of(pd.DataFrame({"x": levels}))
    (column,) = decide(frame)
    assert len(column.levels) == 24
    assert column.levels[-1] == "other"
    assert sum(column.shares) == pytest.approx(1)
    codes = column.codes(frame_of(pd.DataFrame({"x": ["l0", "l29", "new"]})).columns[0])
    assert codes.tolist() == [0, 23, 23]


def test_a_level_never_seen_counts_as_the_average_of_the_levels():
    frame = frame_of(pd.DataFrame({"x": ["a"] * 5 + ["b"] * 3 + ["c"] * 2}))
    encoding = Encoding.of(decide(frame), frame)
    new = encoding.features(encoding.codes(frame_of(pd.DataFrame({"x": ["d", "b"]}))))
    np.testing.assert_allclose(new, [[0.5, 0.3, 0.2], [0, 1, 0]])


def test_blanks_are_the_median_and_a_feature_of_their_own():
    frame = frame_of(pd.DataFrame({"x": [1.0, 2.0, np.nan, 7.0], "y": [1.0, 2.0, 3.0, 4.0]}))
    encoding = Encoding.of(decide(frame), frame)
    assert encoding.feature_names == ["x", "(x is blank)", "y"]
    np.testing.assert_allclose(encoding.features(encoding.codes(frame))[:, :2], [[1, 0], [2, 0], [2, 1], [7, 0]])


def test_columns_of_polars_are_those_of_pandas(table):
    pl = pytest.importorskip("polars")
    x, _ = table
    same = pl.DataFrame({name: x[name].to_list() for name in x.columns})
    first, second = ([column.to_dict() for column in decide(frame_of(frame))] for frame in (x, same))
    assert first == second


def test_a_typing_error_among_numbers_is_refused():
    cells = [*map(str, range(30)), "3O"]
    with pytest.raises(InputError, match="Column 'x' must hold numbers, as most of its cells do. Got '3O' in row 31"):
        kinds(pd.DataFrame({"x": cells}))


def test_infinite_numbers_are_refused():
    with pytest.raises(InputError, match=r"must hold finite numbers, up to 1e\+30. Got an infinite one in row 2"):
        kinds(np.array([[1.0], [np.inf], [2.0]]))


def test_numbers_with_which_nothing_can_be_computed_are_refused():
    with pytest.raises(InputError, match="Column 'x' must hold finite numbers.* Got 1e\\+200 in row 3"):
        decide(frame_of(pd.DataFrame({"x": [1.0, 2.0, 1e200]})))
    frame = frame_of(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))
    encoding = Encoding.of(decide(frame), frame)
    with pytest.raises(InputError, match="Column 'x' must hold numbers such as were learned from, 1 to 4. Got 1e30 in"):
        encoding.read(frame_of(pd.DataFrame({"x": [1.0, 1e30]})))


def test_a_decision_survives_json(table):
    for column in decide(frame_of(table[0])):
        assert Column.from_dict(column.to_dict()) == column


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda i: f"{1000 + 37 * i:,}.50", "identifier"),
        (lambda i: f"{i % 12}%", "category"),
        (lambda i: f"$ {1000 + i % 9}", "category"),
    ],
)
def test_numbers_as_people_write_them_are_named(write, kind):
    (column,) = decide(frame_of(pd.DataFrame({"x": [write(i) for i in range(60)]})))
    assert column.kind == kind
    assert "looks like numbers with signs or separators" in column.describe()


def test_levels_that_are_no_numbers_are_not_taken_for_some():
    for texts in (["10-20", "20-30"] * 30, [f"{i % 12} a" for i in range(60)], [f"A{i % 12}" for i in range(60)]):
        (column,) = decide(frame_of(pd.DataFrame({"x": texts})))
        assert not column.warning


def test_a_cell_without_a_level_is_said_to_be_blank_or_new():
    many = [f"l{i % 30}" for i in range(300)]
    few = ["u", "v"] * 150
    some = ["u", None] * 150
    columns = kinds(pd.DataFrame({"many": many, "few": few, "some": some}))
    new = frame_of(pd.DataFrame({"many": ["new", None], "few": ["new", None], "some": ["new", None]}))
    words = {
        column.name: [column.text(code) for code in column.codes(raw)]
        for column, raw in zip(columns.values(), new.columns, strict=True)
    }
    assert words == {
        "many": ["other", "blank"],
        "few": ["blank or never seen"] * 2,
        "some": ["never seen", "blank"],
    }
