"""Tables of text, row by row."""

import pytest

from pellucid import InputError
from pellucid.tables import open_table, read_columns, read_table


def test_lines_of_smi_files_are_a_smiles_and_a_name(tmp_path):
    path = tmp_path / "a.smi"
    path.write_text("CCO ethanol, pure\nCCN\tethyl amine\n\n  CCC  \nC[C@H](N)O |&1:1| racemate\n")
    table = read_table(path)
    assert table.rows == [
        ["CCO", "ethanol, pure"],
        ["CCN", "ethyl amine"],
        ["CCC", ""],
        ["C[C@H](N)O |&1:1| racemate", ""],
    ]
    assert table.numbers == [1, 2, 4, 5]


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_a_comma_file_with_semicolons_in_quotes_is_one(tmp_path):
    table = read_table(write(tmp_path / "a.csv", 'smiles,"pIC50; human; 37 C"\nCCO,"1,5"\n'))
    assert table.header == ["smiles", "pIC50; human; 37 C"]
    assert table.rows == [["CCO", "1,5"]]
    assert not table.comma


def test_other_encodings_are_refused_unless_only_numbers_matter(tmp_path):
    path = write(tmp_path / "a.csv", "°C,smiles\n1,C\n2,CC\n", "latin-1")
    with pytest.raises(InputError, match="a.csv must be text in UTF-8. Got other bytes"):
        read_table(path)
    assert list(open_table(path, undecodable="replace")) == [(2, ["1", "C"]), (3, ["2", "CC"])]
    assert read_columns(path).table.column_names == ["°C", "smiles"]


def test_rows_have_the_number_of_the_line_on_which_they_begin(tmp_path):
    path = write(tmp_path / "a.csv", 'note,smiles\n"a\n\nb",CCO\n,\nx,CCN\n')
    assert read_table(path).numbers == [2, 6]
    assert [number for number, _ in open_table(path)] == [2, 6]
    write(path, 'note,smiles\n"a\nb",CCO\nx\n')
    with pytest.raises(InputError, match="must have 2 cells, separated by ','. Got 1 in row 4"):
        read_table(path)


def test_a_stream_reads_no_further_than_it_is_asked_to(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"smiles,y\n" + b"CCO,1\n" * 100_000 + b"\xff\n")  # which would be refused
    stream = open_table(path)
    assert [next(stream.rows) for _ in range(3)] == [(number, ["CCO", "1"]) for number in (2, 3, 4)]
    with pytest.raises(InputError, match="must be text in UTF-8"):
        list(stream)


@pytest.mark.parametrize(
    ("name", "text", "header", "rows"),
    [
        ("a.txt", "CCO ethanol\nCCN\n", ["smiles", "name"], [(1, ["CCO", "ethanol"]), (2, ["CCN", ""])]),
        ("a.smi", "SMILES\tName\nCCO\tethanol\n", ["smiles", "name"], [(2, ["CCO", "ethanol"])]),
        ("a.smi", "id,smiles\n7,CCO\n", ["id", "smiles"], [(2, ["7", "CCO"])]),
        ("a.txt", "SMILES\tid\nCCO\t7\n", ["SMILES", "id"], [(2, ["CCO", "7"])]),
        ("a.txt", "id;smiles\n7;CCO;x\n8\n", ["id", "smiles"], [(2, ["7", "CCO", "x"]), (3, ["8"])]),
    ],
)
def test_lists_of_smiles_are_told_from_tables(tmp_path, name, text, header, rows):
    stream = open_table(write(tmp_path / name, text), bare=True)
    assert stream.header == header
    assert list(stream) == rows


def test_columns_of_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n1,5;2\n-3;oops\n4;\n")
    assert read_table(path).values("x") == [1.5, -3.0, 4.0]
    with pytest.raises(
        InputError, match=r"Every cell must be a number. Got 'oops' in a.csv, column 'y', row 3; correct"
    ):
        read_table(path).values("y")
    path.write_text("x;y\n1,5;2\n4;\n")
    with pytest.raises(InputError, match="Got '' in a.csv, column 'y', row 3"):
        read_table(path).values("y")


@pytest.mark.parametrize(
    "text",
    [
        '"' + "C" * 200_000 + '",1\n',
        '"CCO,1\n' + "CCO,2\n" * 40_000,  # a quotation mark that is never closed
        "CCO," + "9" * 10_000_000 + "\n",
    ],
)
def test_cells_that_are_too_long_are_refused(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\n" + text)
    with pytest.raises(InputError, match="a.csv must be a table whose cells have at most 131,072 letters"):
        read_table(path)


@pytest.mark.slow
def test_long_lines_of_many_cells_are_read(tmp_path):
    path = tmp_path / "a.csv"
    names = [f"column {i}" for i in range(20_000)]
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    assert read_table(path).header == names


def test_numbers_of_rows_that_r_writes_are_a_column(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text('"a","b"\n"1",3,x\n"2",4,y\n"3",5,z\n')
    table = read_table(path)
    assert table.header == ["row", "a", "b"]
    assert table.rows == [["1", "3", "x"], ["2", "4", "y"], ["3", "5", "z"]]
    path.write_text("row,b\n7,3,x\n8,4,y\n")
    assert read_table(path).header == ["number of the row", "row", "b"]
    path.write_text("a,b\n1,3,x\n7,4,y\n")
    with pytest.raises(InputError, match="Every row of r.csv must have 2 cells, separated by ','. Got 3 in row 2"):
        read_table(path)
