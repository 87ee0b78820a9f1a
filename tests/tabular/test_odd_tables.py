"""Tables as people have them: what cannot be used is refused in a sentence with a cure, and nothing is lost quietly."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from pellucid import InputError
from pellucid.tabular import TransparentClassifier, TransparentRegressor
from pellucid.tabular.columns import column_days
from pellucid.tabular.deciding import decide
from pellucid.tabular.frames import frame_of
from pellucid.tabular.rows import rows_of_file

ROWS = 40
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=ROWS), "b": RNG.normal(size=ROWS)})
Y = (X.a + X.b).to_numpy()
FAST = {"epochs": 1, "width": 4, "ensemble": 1, "witness": "linear", "random_state": 0, "neighbors": 4, "members": 8}


def at(place, value, of=Y):
    values = np.array(of, dtype=object)
    values[place] = value
    return values


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:1], Y[:1], "There must be at least 2 rows. Got 1 sample"),
        (pd.DataFrame({"a": [np.nan] * ROWS}), Y, "At least one column must vary.*Got a: constant, left out; always"),
        (X.set_axis(["a", "a"], axis=1), Y, "Every column must have its own name. Got 'a' twice; rename one"),
        (X.assign(a=at(2, 1e300, X.a).astype(float)), Y, r"'a' must hold finite numbers, up to 1e\+30. Got 1e\+300 in"),
        (X.assign(a=at(2, np.inf, X.a).astype(float)), Y, "'a' must hold finite.*Got an infinite one in row 3; corr"),
        (X.assign(m=at(5, "n/k")), Y, "'m' must hold numbers, as most of its cells do. Got 'n/k' in row 6; correct it"),
        (X.assign(m=[{"k": 1}] * ROWS), Y, "'m' must hold numbers, texts, dates.*Got dict in row 1; make columns of"),
        (X.assign(m=X.a + 1j), Y, "'m' must hold numbers, texts, dates, yes or no, or blanks. Got complex in row 1"),
        (X, at(3, np.nan), r"number to learn \(Input y contains NaN\). Got nan in row 4; leave such rows out"),
        (X, at(3, np.inf), "Every row must have a number to learn.*Got inf in row 4"),
        (X, at(3, "high"), "Every row must have a number to learn. Got 'high' in row 4; correct them, or learn class"),
        (
            X,
            Y * 1e300,
            r"The target must hold finite numbers up to 1e\+100. Got .*e\+30\d; correct it, or pass",
        ),
        (X, None, "requires y to be passed, but the target y is None; pass what was measured"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_a_cure(x, y, message):
    with pytest.raises(InputError, match=message):
        TransparentRegressor(**FAST).fit(x, y)


@pytest.mark.parametrize("blank", [None, np.nan])
def test_a_blank_class_is_refused(blank):
    with pytest.raises(InputError, match="Every row must have a class.*Got a blank in row 3; leave such rows out"):
        TransparentClassifier(**FAST).fit(X, at(2, blank, ["x", "y"] * (ROWS // 2)))


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (pd.to_timedelta([1.0, 2.5] * 20, "D"), "number", [1.0, 2.5]),
        ([decimal.Decimal("1.5"), decimal.Decimal(3)] * 20, "number", [1.5, 3.0]),
        (pd.period_range("1970-01", periods=ROWS, freq="M"), "date", [0.0, 31.0]),
        (pd.array([1, None] * 20, dtype="Int64"), "number", [1.0, np.nan]),
        (pd.date_range("1970-01-01", periods=ROWS, tz="UTC"), "date", [0.0, 1.0]),
        ([datetime.time(8, 30), datetime.time(9, 0)] * 20, "category", [0.0, 1.0]),
        (pd.cut([0.5, 1.5] * 20, [0, 1, 2]), "category", [0.0, 1.0]),
        ([1.5, "two"] * 20, "category", [0.0, 1.0]),
    ],
)
def test_cells_of_every_type_are_read(cells, kind, values):
    frame = frame_of(pd.DataFrame({"x": cells}))
    (column,) = decide(frame)
    assert (column.kind, column.blanks) == (kind, 20 * np.isnan(values[1]))
    np.testing.assert_allclose(column.codes(frame.columns[0])[:2], values)


def test_which_part_of_a_date_is_the_day_is_decided_once():
    (column,) = decide(frame_of(pd.DataFrame({"d": ["13/1/1970", "2/1/1970"] * 10})))
    assert "the day comes first" in column.describe()
    # One date alone does not say it: the second of January, as in the table that was learned from.
    assert column.codes(frame_of(pd.DataFrame({"d": ["2/1/1970"]})).columns[0]).tolist() == [1.0]
    (column,) = decide(frame_of(pd.DataFrame({"d": ["1/2/1970", "1/3/1970"] * 10})))
    assert "the month comes first" in column.describe()
    with pytest.raises(InputError, match=r"'d' must hold dates \(where .* the month comes first\). Got '13/1"):
        column.codes(frame_of(pd.DataFrame({"d": ["1/2/1970", "13/1/1970"]})).columns[0])
    with pytest.raises(InputError, match="must hold dates.*Got 'soon' in row 2; correct it, or leave it blank"):
        column_days(frame_of(pd.DataFrame({"d": ["1/2/1970", "soon"]})).columns[0], day_first=True)


def test_numbers_with_commas_are_not_guessed_but_named():
    (column,) = decide(frame_of(pd.DataFrame({"x": [f"1,{i:03}" for i in range(ROWS)]})))
    assert column.kind == "identifier"
    assert "looks like numbers with commas: convert it before" in column.describe()


def test_long_levels_are_cut_where_they_are_listed():
    (column,) = decide(frame_of(pd.DataFrame({"x": ["x" * 5000, "y" * 5000] * 10})))
    assert len(column.describe()) < 200
    assert column.levels == ("x" * 5000, "y" * 5000)


@pytest.mark.slow
def test_names_of_columns_cannot_reach_the_terminal(capsys):
    TransparentRegressor(**FAST, verbose=True).fit(X.rename(columns={"a": "red\x1b[31m\n"}), Y)
    printed = capsys.readouterr().out
    assert "\x1b[31m" not in printed
    assert "red\\x1b[31m\\n: number" in printed


@pytest.mark.parametrize(("value", "shown"), [("4", "4"), ("same", "'same'")])
def test_a_column_that_never_varies_cannot_be_learned(value, shown, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{value}\n" for i in range(40)))
    with pytest.raises(InputError, match=f"'y' must vary.*Got {shown} in every row; is it the right column?"):
        rows_of_file(path, "y")


def test_rows_are_numbered_as_in_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i + i / 7 if i != 30 else 'oops'},{i}\n" for i in range(40)))
    with pytest.raises(InputError, match="'a' must hold numbers, as most of its cells do. Got 'oops' in row 32"):
        decide(rows_of_file(path, "y").frame)


def test_dates_of_a_file_are_dates_and_codes_are_levels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "when,code,y\n" + "".join(f"{1 + i % 28}/1/1970,{('007', '7', '3a')[i % 3]},{i}\n" for i in range(40))
    )
    when, code = decide(rows_of_file(path, "y").frame)
    assert (when.kind, when.lowest, when.highest) == ("date", 0.0, 27.0)
    assert (code.kind, set(code.levels)) == ("category", {"007", "7", "3a"})


def test_a_typing_error_among_numbers_with_decimal_commas_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;y\n" + "".join(f"{i},5;{i}\n" for i in range(40)) + "4O,5;3\n")
    with pytest.raises(InputError, match="'a' must hold numbers, as most of its cells do. Got '4O,5' in row 42"):
        decide(rows_of_file(path, "y").frame)
