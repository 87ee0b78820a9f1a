import numpy as np
import pytest

from pellucid import InputError
from pellucid.molecules import prepare

NAN = np.nan


def test_molecules_are_canonical_and_keep_their_values():
    table = prepare(["OCC", "c1ccccc1"], [[1, NAN], [0, 2.5]], targets=["a", "b"])
    assert table.smiles == ("CCO", "c1ccccc1")
    np.testing.assert_array_equal(table.y, [[1, NAN], [0, 2.5]])
    assert table.targets == ("a", "b")
    assert table.rows == ((1,), (2,))
    assert repr(table) == "Molecules(2 molecules with 2 targets (a, b))"


def test_of_salts_the_largest_organic_fragment_is_kept():
    table = prepare(["CC(=O)[O-].[Na+]", "Cl.CCN", "[O-][Cl](=O)(=O)=O.C[NH3+]"], [1, 2, 3])
    assert table.smiles == ("CC(=O)[O-]", "CCN", "C[NH3+]")
    assert table.stripped == 3
    assert "3 salts or mixtures" in table.summary()


def test_rows_of_one_molecule_are_merged_where_they_agree():
    table = prepare(["CCO", "OCC", "CCO.Cl"], [[1, NAN], [NAN, 5], [1, 5]])
    assert len(table) == 1
    np.testing.assert_array_equal(table.y, [[1, 5]])
    assert table.rows == ((1, 2, 3),)
    assert "2 rows merged" in table.summary()


def test_every_row_that_cannot_be_used_is_reported():
    smiles = ["CCO", "nonsense", "", "CCN", "NCC", "CCC", "[Na+].[Cl-]", None]
    y = [1, 1, 1, 0, 1, NAN, 1, 1]
    with pytest.raises(
        InputError, match=r"Got 7 of 8 that do not: row 2 \('nonsense'\): not a valid SMILES; row 3"
    ) as error:
        prepare(smiles, y)
    assert "reject them with `on_error='skip'`" in str(error.value)
    assert "and 2 more" in str(error.value)
    table = prepare(smiles, y, on_error="skip", first_row=2)
    assert table.smiles == ("CCO",)
    reasons = {rejection.row: rejection.reason for rejection in table.rejected}
    assert reasons == {
        3: "not a valid SMILES",
        4: "no SMILES",
        5: "'target 1' contradicts itself in rows 5, 6, all of one molecule",
        6: "'target 1' contradicts itself in rows 5, 6, all of one molecule",
        7: "no value for any target",
        8: "no carbon in the largest fragment",
        9: "no SMILES",
    }
    assert "7 rejected rows" in table.summary()


def test_unlabeled_molecules_need_no_values():
    table = prepare(["CCO", "CCN"])
    assert table.y.shape == (2, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"smiles": ["C"], "y": [1, 2]}, r"one row for each of the 1 SMILES. Got the shape \(2,\)"),
        ({"smiles": ["C"], "y": ["high"]}, "must be numbers, or blank. Got something else"),
        ({"smiles": ["C"], "y": [np.inf]}, "must be finite, or blank. Got inf for molecule 1, target 1"),
        ({"smiles": ["C"], "y": [1], "targets": ["a", "b"]}, "one name for each of the 1 target. Got a, b"),
        ({"smiles": ["C"], "y": [1], "on_error": "ignore"}, '`on_error` must be "raise" or "skip". Got \'ignore\''),
        ({"smiles": ["x"], "y": [1], "on_error": "skip"}, "Got 1 of 1 that do not.*correct them."),
    ],
)
def test_mistakes_are_told(arguments, message):
    with pytest.raises(InputError, match=message):
        prepare(**arguments)


def test_molecules_are_selected_by_place_or_mask():
    table = prepare(["CCO", "CCN.Cl", "CCC", "no"], [1, 2, 3, 4], on_error="skip")
    assert table.select([2, 0]).smiles == ("CCC", "CCO")
    masked = table.select(table.y[:, 0] > 1)
    assert masked.smiles == ("CCN", "CCC")
    assert masked.rows == ((2,), (3,))
    assert masked.summary() == "2 molecules with 1 target (target 1)"
    with pytest.raises(InputError, match=r"one entry for each of the 3 molecules. Got \(2,\)"):
        table.select(np.array([True, False]))
    with pytest.raises(InputError, match="those of 3 molecules. Got 0 to 3"):
        table.select([0, 3])


def test_targets_are_named_by_a_tables_columns_and_only_once():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, None]})
    assert prepare(["CCO", "CCN"], frame).targets == ("a", "b")
    assert prepare(["CCO", "CCN"], frame["a"]).targets == ("a",)
    assert prepare(["CCO", "CCN"], [1, 2], targets="logP").targets == ("logP",)
    with pytest.raises(InputError, match="name of its own. Got 'a' twice"):
        prepare(["CCO", "CCN"], frame, targets=["a", "a"])
    with pytest.raises(InputError, match="must be a list of SMILES. Got one text"):
        prepare("CCO")


def test_a_dot_does_not_make_a_mixture():
    assert prepare(["C1.CC1"]).stripped == 0


@pytest.mark.parametrize("white", [" ", "\t", "\n", " \n"])
def test_a_smiles_is_read_whole_or_not_at_all(white):
    text = f"CC{white}O"
    with pytest.raises(
        InputError, match=r"row 2 \('CC.*O'\): white space inside, so that only 'CC' would be read; take"
    ):
        prepare(["CCN", text], [1, 2])
    table = prepare(["CCN", text, " CCC\n"], [1, 2, 3], on_error="skip")
    assert table.smiles == ("CCN", "CCC")  # white space around is nobody's harm
    assert table.rejected[0].row == 2


def test_extensions_of_smiles_are_refused():
    # Half of such molecules are the mirror image: without the extension, it would be another substance.
    with pytest.raises(InputError, match=r"row 1 .*: a CXSMILES extension, '\|&1:1\|', which is not understood; write"):
        prepare(["C[C@H](N)O |&1:1|"], [1])


def test_values_that_would_overflow_are_refused():
    assert prepare(["CCO", "CCN"], [1e30, -1e30]).y.tolist() == [[1e30], [-1e30]]
    with pytest.raises(
        InputError, match=r"at most 1e\+30, or blank. Got -1e\+308 for molecule 2, target 1; fix it, or pass"
    ):
        prepare(["CCO", "CCN"], [1, -1e308])


def test_texts_are_numbers_as_in_files():
    np.testing.assert_array_equal(prepare(["CCO", "CCN"], ["1.5", "NA"], on_error="skip").y, [[1.5]])
    np.testing.assert_array_equal(prepare(["CCO", "CCN"], [["1", None], ["", 2.0]]).y, [[1, NAN], [NAN, 2]])
    with pytest.raises(InputError, match="`y` must be numbers, or blank.*could not convert '5_6' to a number"):
        prepare(["CCO", "CCN"], ["1.5", "5_6"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("C" * 20_000, "a text of 20,000 letters, of which 10,000 are allowed"),
        ("C" * 1_001, "a molecule of 1,001 atoms, of which 1,000 are allowed"),
        ("[13CH2]" * 1_200, "a molecule of 1,200 atoms, of which 1,000 are allowed"),
    ],
)
def test_molecules_that_would_overflow_the_stack_are_refused_before_they_are_parsed(text, reason):
    with pytest.raises(InputError, match=reason) as caught:
        prepare([text, "CCO"], [1.0, 2.0])
    assert len(str(caught.value)) < 500
    assert [r.reason for r in prepare([text, "CCO"], [1.0, 2.0], on_error="skip").rejected] == [reason]


def test_the_largest_molecules_are_read():
    assert prepare(["C" * 1_000, "c1ccccc1" * 160], [1.0, 2.0]).smiles[0] == "C" * 1_000
