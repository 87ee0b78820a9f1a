"""Text of files: separators, encodings, line ends, and packed ones."""

import gzip

import pytest

from pellucid import InputError
from pellucid.tables import read_columns, read_table
from pellucid.tables.text import separator_of


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ('smiles,"pIC50; human; 37 C"\nCCO,5.5\n', ","),
        ('smiles;"a,b,c"\nCCO;5\n', ";"),
        ("a,b;c\n1,5;2\n", ";"),  # commas between digits are decimal ones
        ("smiles,name; synonyms,y\nCCO,ethanol; spirit,1\n", ","),
        ("0,5;1,5\n1,5;2,5\n", ";"),
        ("a\tb, c\n1\t2, 3\n", "\t"),
        ('"a\n;b",c\n1,2\n', ","),
        ("\n \nsmiles,y\nCCO\n", ","),
        ("smiles\nCCO,ethanol\n", ","),
        ("smiles\nCCO\n", "\t"),
        ("x\n2,5\n", "\t"),
    ],
)
def test_separators_are_those_outside_of_quotes(text, separator):
    assert separator_of(text.splitlines(keepends=True)) == separator


def test_blanks_separate_where_nothing_else_does():
    for lines, separator in ((["1  2", "3 4"], " "), (["2024-05-01 12:30,1", "2024-05-01 12:31,2"], ",")):
        assert separator_of(lines, blanks=True) == separator
    assert separator_of(["1,5 2", "3,5 4"], decimal=",", blanks=True) == " "


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_are_those_of_all_programs(tmp_path, encoding, end):
    text = end.join(["Größe;y", "µ;1,5", "", "Ω;2", ""])
    table = read_table(write(tmp_path / "a.csv", text, encoding))
    assert table == (["Größe", "y"], [["µ", "1,5"], ["Ω", "2"]], [2, 4], True, "a.csv")
    columns = read_columns(tmp_path / "a.csv", decimal=",")
    assert columns.table.to_pydict() == {"Größe": ["µ", None, "Ω"], "y": [1.5, None, 2.0]}
    assert (columns.first_row, columns.named) == (2, True)


def test_gzipped_files_are_read_too(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n3,4\n"))
    assert read_table(tmp_path / "a.csv.gz").rows == [["1", "2"], ["3", "4"]]
    assert read_columns(tmp_path / "a.csv.gz").table.to_pydict() == {"x": [1, 3], "y": [2, 4]}
    (tmp_path / "a.smi.gz").write_bytes(gzip.compress(b"CCO ethanol\n"))
    assert read_table(tmp_path / "a.smi.gz").rows == [["CCO", "ethanol"]]
    (tmp_path / "b.gz").write_bytes(b"x,y\n")
    for read in (read_table, read_columns):
        with pytest.raises(InputError, match="a gzipped one if it is called .gz"):
            read(tmp_path / "b.gz")
