import numpy as np
import pytest

from pellucid import InputError
from pellucid.molecules import nav17, read
from pellucid.tables import read_table

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
        ("", {}, "must have a line of names and at least one row. Got nothing"),
        ("a,b\nCCO,1\n", {}, "must have a column of SMILES.*Got a, b; say which one it is with `smiles=`"),
        ("smiles,y\nCCO\n", {}, "must have 2 cells, separated by ','. Got 1 in row 2"),
        (
            "smiles,y\nCCO,1\n",
            {"smiles": "z"},
            "`smiles=` must be a column of a.csv. Got 'z'; its columns are smiles, y",
        ),
        ("smiles,y\nCCO,1\n", {"targets": ["z"]}, "Every target must be a column of a.csv. Got 'z'"),
        ("smiles,pIC50\nCCO,1\n", {"targets": ["PIC50"]}, "Got 'PIC50'; did you mean 'pIC50'. Its columns are smiles,"),
        ("smiles,y\nCCO,>1\nCCN,2\n", {"targets": ["y"]}, "'y' is '>1', not a number"),
        (
            "smiles,name\nCCO,ethanol\nCCN,\n",
            {"targets": ["name"]},
            "Got 'name' of a.csv, a column of text: row 2 is 'ethanol'; choose another column",
        ),
        ("smiles,y\nCCO,5_6\nCCN,2\n", {"targets": ["y"]}, "'y' is '5_6', not a number"),
        (
            "smiles,y\nCCO,1.5\nCCN,1e308\nCCC,2\n",
            {},
            r"row 3 \('CCN'\): 'y' is '1e308', beyond 1e\+30; correct them",
        ),
        ('smiles,y\nCCO,1\n"CC\nN",2\n', {}, r"row 3 \('CC\\nN'\): white space inside, so that only 'CC' would be"),
        ("smiles,y\nCC O,1\nCCN,2\n", {}, r"row 2 \('CC O'\): white space inside"),
        ("smiles,y\nCCO,1\n", {"targets": ["smiles"]}, "Got 'smiles', the column of SMILES"),
        ("CCO,1.5\nCCN,2\n", {}, "must begin with a line of names. Got CCO, 1.5; write one above it"),
        ("c1ccccc1O\nCCN\n", {}, "must begin with a line of names. Got c1ccccc1O; .*or call the file .smi"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "a.csv", text), **options)


def test_molecules_have_the_names_of_all_their_rows(tmp_path):
    path = write(
        tmp_path / "a.csv", "cas,smiles,Compound Name,y\n7,OCC,ethanol,1\n8,CCN,,1\n9,CCO,spirit,1\n9,CCO,spirit,1\n"
    )
    table = read(path, targets="y")
    assert table.labels() == ["ethanol, spirit (row 2, 4, 5)", "row 3"]
    assert table.select([1, 0]).names == ("", "ethanol, spirit")
    assert read(path, targets="y", names="cas").labels() == ["7, 9 (row 2, 4, 5)", "8 (row 3)"]
    assert read(read_table(path), targets="y").labels() == table.labels()  # parsed before
    with pytest.raises(InputError, match="`names=` must be a column of a.csv. Got 'CAS'; did you mean 'cas'"):
        read(path, names="CAS")
    assert read(write(tmp_path / "b.csv", "smiles\nCCO\n")).labels() == ["row 2"]


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"a.csv, which does not exist; correct the path"):
        read(tmp_path / "a.csv")
    with pytest.raises(InputError, match="which is a folder; name a file in it"):
        read(tmp_path)


@pytest.mark.slow
def test_the_embedded_series():
    table = nav17()
    assert len(table) + len(table.rejected) + sum(len(rows) - 1 for rows in table.rows) == 1017
    assert len(table) > 950
    assert table.targets == ("activity",)
    assert 3 < table.y.min() < table.y.max() < 12


@pytest.mark.slow
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
    skipped = read(path, targets="y", on_error="skip")
    assert skipped.rejected == ((2, "CCO", "'y' is '>10', not a number"),)
    assert skipped.y.tolist() == [[7]]


def test_a_cell_that_is_no_number_costs_a_row_only_if_nothing_is_left_of_it(tmp_path):
    path = write(tmp_path / "a.csv", "smiles,y,z\nCCO,>10,1\nCCN,7,2\nCCC,<1,\nOCC,,1\n")
    table = read(path, targets=["y", "z"], on_error="skip")
    assert table.smiles == ("CCO", "CCN")
    np.testing.assert_array_equal(table.y, [[NAN, 1], [7, 2]])
    assert table.rejected == (
        (2, "CCO", "'y' is '>10', not a number: left blank"),
        (4, "CCC", "'y' is '<1', not a number"),
    )
    assert "1 rejected row and 1 cell left blank" in table.summary()
    counts, first = table.rejection_text().split("; ")
    assert counts == "1 of 4 rows cannot be used and 1 cell is left blank"
    assert first == "the first is row 2: 'y' is '>10', not a number: left blank"
    with pytest.raises(InputError, match=r"row 2 \('CCO'\): 'y' is '>10', not a number; row 4"):
        read(path, targets=["y", "z"])


def test_numberings_and_constants_are_no_targets_unless_asked_for(tmp_path):
    path = write(
        tmp_path / "a.csv",
        "smiles,assay_id,cas,batch,count,index,y\nCCO,3,64,5,2,1.5,1\nCCN,3,75,5,2,2.5,2\nCCC,4,74,5,3,2.5,2.5\n",
    )
    table = read(path)
    assert table.targets == ("count", "y")
    assert table.ignored == (
        "assay_id (a name or number of the rows)",
        "cas (whole numbers, all different; name it among the targets if it is measured)",
        "batch (always 5)",
        "index (a name or number of the rows)",
    )
    assert read(path, targets=["cas", "assay_id"]).y.tolist() == [[64, 3], [75, 3], [74, 4]]


@pytest.mark.parametrize("head", ["", "SMILES Name\n"])
def test_lines_of_smiles_and_names_are_read(tmp_path, head):
    table = read(write(tmp_path / "a.smi", head + "OCC ethanol\n\nc1ccccc1\tthe benzene ring\nCCN\n"))
    assert table.smiles == ("CCO", "c1ccccc1", "CCN")
    assert table.targets == ()
    first = 2 if head else 1
    assert table.rows == ((first,), (first + 2,), (first + 3,))
    assert table.names == ("ethanol", "the benzene ring", "")
    assert table.labels() == [f"ethanol (row {first})", f"the benzene ring (row {first + 2})", f"row {first + 3}"]
    with pytest.raises(InputError, match="must hold a SMILES on each line"):
        read(write(tmp_path / "b.smi", "smiles\n"))


def test_files_that_are_no_text_and_names_that_are_twice_there(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match="must be text in UTF-8. Got other bytes: an Excel"):
        read(tmp_path / "a.csv")
    with pytest.raises(InputError, match="must have its own name. Got 'y' twice"):
        read(write(tmp_path / "b.csv", "smiles,y,y\nCCO,1,2\n"))


def test_extensions_in_smi_files_are_refused(tmp_path):
    path = write(tmp_path / "a.smi", "CCO ethanol\nC[C@H](N)O |&1:1| racemate\n")
    with pytest.raises(InputError, match=r"row 2 .*a CXSMILES extension"):
        read(path)
    assert read(path, on_error="skip").smiles == ("CCO",)


def test_a_number_that_would_overflow_is_left_blank_where_rows_are_skipped(tmp_path):
    path = write(tmp_path / "a.csv", "smiles,y,z\nCCO,0.5,1.5\nCCN,1e308,2.5\nCCC,2,3.5\n")
    table = read(path, on_error="skip")
    np.testing.assert_array_equal(table.y, [[0.5, 1.5], [NAN, 2.5], [2, 3.5]])
    assert table.rejected[0].reason == "'y' is '1e308', beyond 1e+30: left blank"
