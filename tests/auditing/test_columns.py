import numpy as np
import pytest

from pellucid import InputError
from pellucid.auditing.columns import LEVELS, is_category, is_date, read_column


def read(name, cells, comma=False):
    return read_column(name, cells, range(2, 2 + len(cells)), comma, "a.csv")


def test_numbers_are_numbers_and_blanks_their_median():
    column = read("dose", ["1", "", "3", "10", "NA"])
    assert column.features == ("dose",)
    assert column.values[:, 0].tolist() == [1, 3, 3, 10, 3]
    assert np.isnan(column.codes).tolist() == [False, True, False, False, True]
    assert column.note == "2 blank cells filled with the median, 3"
    whole = read("dose", ["1,5", "2"], comma=True)
    assert (whole.values[:, 0].tolist(), whole.note) == ([1.5, 2], "")


def test_a_category_is_compared_with_its_commonest_level():
    column = read("colour", ["red", "blue", "red ", "green", "blue", "red"])
    assert column.features == ("(colour = blue)", "(colour = green)")
    assert column.values.tolist() == [[0, 0], [1, 0], [0, 0], [0, 1], [1, 0], [0, 0]]
    assert column.note == "blue or green against red"
    assert column.levels


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("True", "False"), ("Y", "N")])
def test_yes_is_compared_with_no_however_common(yes, no):
    column = read("smoker", [yes, yes, yes, no])
    assert column.features == (f"(smoker = {yes})",)
    assert column.values[:, 0].tolist() == [1, 1, 1, 0]
    # With a third level it is a category like others.
    assert read("smoker", [yes, yes, no, no, yes, "gave up"]).note == f"{no} or gave up against {yes}"


def test_blanks_of_a_category_are_a_level():
    column = read("grade", ["I", "", "II", "I", "NA"])
    assert column.features == ("(grade = blank)", "(grade = II)")
    assert column.note == "blank or II against I; 2 blank cells: a level like others"
    assert column.values[:, 0].tolist() == [0, 1, 0, 0, 1]
    named = read("severity", ["mild", "none", "severe", "none", "mild", "mild"])
    assert named.features == ("(severity = none)", "(severity = severe)")
    assert read("smoker", ["yes", "no", "", "yes"]).features == ("(smoker = yes)", "(smoker = blank)")


def test_rare_levels_are_joined():
    cells = [f"site {i}" for i in range(12) for _ in range(20 - i)]
    column = read("site", cells)
    assert len(column.features) == LEVELS - 1
    assert column.features[-1] == "(site = other)"
    assert column.values[:, -1].sum() == sum(20 - i for i in range(7, 12))
    assert "12 levels, the 5 rarest are 'other'" in column.note
    assert column.values.sum(1).max() == 1


def test_what_is_a_category():
    assert is_category(["1", "2", "unknown", "2"], False)
    assert not is_category([*map(str, range(20)), "<5"], False)  # numbers with a slip
    assert not is_category(["0", "1", "inf"], False)
    assert not is_category(["1", "", "3"], False)


@pytest.mark.parametrize(
    "cell",
    ["2021-03-01", "1.3.2021", "03/01/21", "2021-03-01T12:30:00Z", "2021/3/1 12:30", "1 Mar 2021", "March 1, 2021",
     "12:30", "12:30:05.25"],
)  # fmt: skip
def test_dates_are_known(cell):
    assert is_date([cell, ""], False)


@pytest.mark.parametrize("cell", ["red", "1-2", "10:1 mix", "may", "3/4", "version 1.2.3"])
def test_what_is_no_date(cell):
    assert not is_date([cell], False)


def test_cells_that_cannot_be_read_are_named():
    with pytest.raises(InputError, match=r"'dose' of a\.csv must hold finite numbers.*Got '<5' in row 22: fix it"):
        read("dose", [*map(str, range(20)), "<5"])
    with pytest.raises(InputError, match=r"Got '2021-01-02' in row 2: a date; write it as a number, such as days"):
        read("visit", ["2021-01-02", "2021-01-03", "2021-01-03"])
