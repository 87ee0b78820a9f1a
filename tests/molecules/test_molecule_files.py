import numpy as np
import pytest

from pellucid import InputError
from pellucid.molecules import nav17, read

NAN = np.nan


def write(path, text):
    path.write_text(text)
    return path


def test_columns_are_found(tmp_path):
    path = write(tmp_path / "a.csv", "id,SMILES,tox,log P,note\nm1,OCC,1,,good\nm2,c1ccccc1,NA,2.5,\n")
    table = read(path)
    assert table.smiles == ("CCO", "c1ccccc1")
    assert table.targets == ("tox", "log P")
    np.testing.assert_array_equal(table.y, [[1, NAN], [NAN, 2.5]])
    assert table.rows == ((2,), (3,))


def test_columns_are_chosen(tmp_path):
    path = write(tmp_path / "a.csv", "drug,number,y\nCCO,7,1\nCCN,8,0\n")
    table = read(path, smiles="drug", targets=["y"])
    assert table.targets == ("y",)
    assert read(path, smiles="drug", targets="y").targets == ("y",)
    assert read(write(tmp_path / "b.csv", "smiles,name\nCCO,a\n")).y.shape == (1, 0)


def test_rows_are_numbered_as_in_the_file(tmp_path):
    path = write(tmp_path / "a.csv", "smiles,y\nCCO,1\nnone such,1\nCCN,\n")
    with pytest.raises(InputError, match=r"row 3 \('none such'\): not a valid SMILES; row 4 \('CCN'\): no value"):
        read(path)
    assert len(read(path, on_error="skip")) == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "must have a line of names and at least one row. Got 0 lines"),
        ("a,b\nCCO,1\n", {}, "must have a column of SMILES.*Got a, b; say which one it is with `smiles=`"),
        ("smiles,y\nCCO\n", {}, "must have 2 cells, separated by ','. Got 1 in row 2"),
        (
            "smiles,y\nCCO,1\n",
            {"smiles": "z"},
            "`smiles` must be a column of a.csv. Got 'z'; its columns are smiles, y",
        ),
        ("smiles,y\nCCO,1\n", {"targets": ["z"]}, "Every target must be a column of a.csv. Got 'z'"),
        ("smiles,y\nCCO,high\n", {"targets": ["y"]}, "'y' is 'high', not a number"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "a.csv", text), **options)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="which is none; correct the path"):
        read(tmp_path / "a.csv")


def test_the_embedded_series():
    table = nav17()
    assert len(table) + len(table.rejected) + sum(len(rows) - 1 for rows in table.rows) == 1017
    assert len(table) > 950
    assert table.targets == ("activity",)
    assert 3 < table.y.min() < table.y.max() < 12


def test_tox21_has_twelve_labels(real_data):
    table = read(real_data / "molecules" / "tox21.csv", on_error="skip")
    assert len(table.targets) == 12
    assert set(np.unique(table.y[~np.isnan(table.y)])) == {0, 1}
    rows = sum(len(rows) for rows in table.rows) + len(table.rejected)
    assert rows == 7831
    assert len(table) > 7000


def test_semicolons_decimal_commas_tabs_and_blank_lines(tmp_path):
    table = read(write(tmp_path / "a.csv", "smiles;y\nCCO;1,5\n\nCCN;-\nCCC;2\n"), on_error="skip")
    np.testing.assert_array_equal(table.y, [[1.5], [2.0]])
    assert table.rows == ((2,), (5,))
    assert table.rejected == ((4, "CCN", "no value for any target"),)
    assert read(write(tmp_path / "b.csv", "smiles\ty\nCCO\t2.5\n")).y.tolist() == [[2.5]]


def test_columns_that_are_no_targets_are_told(tmp_path):
    path = write(tmp_path / "a.csv", "smiles,id,y,z,empty\nCCO,A1,>10,1,\nCCN,A2,7,2,\n")
    table = read(path)
    assert table.targets == ("z",)
    assert table.ignored == ("id ('A1' in row 2)", "y ('>10' in row 2)", "empty (blank)")
    assert "1 target (z); columns that are not targets: id ('A1' in row 2), y" in table.summary()
    skipped = read(path, targets=["y", "z"], on_error="skip")
    assert skipped.rejected == ((2, "CCO", "'y' is '>10', not a number"),)
    assert skipped.y.tolist() == [[7, 2]]


def test_files_that_are_no_text_and_names_that_are_twice_there(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match="must be text in UTF-8. Got other bytes: an Excel"):
        read(tmp_path / "a.csv")
    with pytest.raises(InputError, match="must have its own name. Got 'y' twice"):
        read(write(tmp_path / "b.csv", "smiles,y,y\nCCO,1,2\n"))
