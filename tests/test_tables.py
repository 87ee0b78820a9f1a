import gzip
import math

import pytest

from pellucid import InputError
from pellucid.tables import number_of, open_table, read_columns, read_table, value_of
from pellucid.tables.text import separator_of


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("-1.5", -1.5), ("+2", 2), (".5", 0.5), ("5.", 5), ("1e-3", 1e-3), ("1E+3", 1e3), ("007", 7), ("-0", 0)],
)
def test_numbers_are_read(text, number):
    assert number_of(text) == number
    assert value_of(f" {text} ", comma=False) == number
    assert value_of(text.replace(".", ","), comma=True) == number


@pytest.mark.parametrize(
    "text",
    [
        "5_6",
        "1_000",
        "infinity",
        "-inf",
        "0x10",
        "\uff11\uff12",
        "٣",
        "1e400",
        "1e",
        "e5",
        ".",
        "+",
        "1 2",
        "1.2.3",
        "5%",
        "1d3",
        "²",
    ],
)
def test_what_is_no_number_is_none(text):
    assert number_of(text) is None
    assert value_of(text, comma=False) is None


def test_blanks_are_no_numbers_either():
    for text in ("", "  ", "NA", "nan", "?"):
        assert math.isnan(value_of(text, comma=False))
    assert number_of("nan") is None
    assert value_of("1.234,5", comma=True) is None  # with a sign for thousands


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


def test_a_comma_file_with_semicolons_in_quotes_is_one(tmp_path):
    table = read_table(write(tmp_path / "a.csv", 'smiles,"pIC50; human; 37 C"\nCCO,"1,5"\n'))
    assert table.header == ["smiles", "pIC50; human; 37 C"]
    assert table.rows == [["CCO", "1,5"]]
    assert not table.comma


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_are_those_of_all_programs(tmp_path, encoding, end):
    text = end.join(["Größe;y", "µ;1,5", "", "Ω;2", ""])
    table = read_table(write(tmp_path / "a.csv", text, encoding))
    assert table == (["Größe", "y"], [["µ", "1,5"], ["Ω", "2"]], [2, 4], True, "a.csv")
    columns = read_columns(tmp_path / "a.csv", decimal=",")
    assert columns.table.to_pydict() == {"Größe": ["µ", None, "Ω"], "y": [1.5, None, 2.0]}
    assert (columns.first_row, columns.named) == (2, True)


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


def test_columns_without_names_are_numbered(tmp_path):
    columns = read_columns(write(tmp_path / "a.txt", "\n1 2\n3 nd\n"), unnamed="channel")
    assert columns.table.to_pydict() == {"channel 1": [1, 3], "channel 2": [2, None]}
    assert (columns.first_row, columns.named) == (2, False)


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
