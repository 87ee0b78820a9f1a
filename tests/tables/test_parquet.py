"""Parquet files as tables of cells."""

import datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from pellucid.errors import InputError
from pellucid.tables import open_table, read_pieces, read_table
from pellucid.tables.parquet import write_parquet


def test_cells_are_those_of_a_text_file(tmp_path):
    columns = {
        "mass": pa.array([1.5, None, 1e-7]),
        "count": pa.array([1, 2, None]),
        "name": pa.array(["a", "", "b;c"]),
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
        "day": pa.array([datetime.date(2020, 1, 2)] * 3),
        "good": pa.array([True, False, None]),
        "small": pa.array([0.1, 0.2, 0.3], pa.float32()),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.header == list(columns)
    assert [row[:6] for row in table.rows] == [
        ["1.5", "1", "a", "x", "2020-01-02", "True"],
        ["", "2", "", "y", "2020-01-02", "False"],
        ["1e-07", "", "b;c", "x", "2020-01-02", ""],
    ]
    assert table.values("small") == pytest.approx([0.1, 0.2, 0.3], rel=1e-7)
    assert table.numbers == [1, 2, 3]


def test_what_was_written_is_read_again(tmp_path):
    rows = [["name", "value", "note"], *([f"n{i}", i / 7, ""] for i in range(25_000))]
    write_parquet(tmp_path / "t.parquet", rows)
    table = parquet.read_table(tmp_path / "t.parquet")
    assert [str(kind) for kind in table.schema.types] == ["string", "double", "string"]
    assert table["value"].to_pylist() == [i / 7 for i in range(25_000)]
    assert table["note"].null_count == 25_000
    assert [row for _, row in open_table(tmp_path / "t.parquet")][-1] == ["n24999", repr(24999 / 7), ""]


def test_texts_that_are_numbers_become_numbers(tmp_path):
    head = ["whole", "number", "code", "mixed", "blank", "date", "yes"]
    cells = [["1", "1.50", "007", "3", "", "2020-01-02", True], ["-20", ".5e3", "12", "many", "", "", False]]
    write_parquet(tmp_path / "t.parquet", [head, *cells, ["", "-0", "8", "nan", None, "x", True]])
    table = parquet.read_table(tmp_path / "t.parquet")
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", *["string"] * 5]
    assert table["whole"].to_pylist() == [1, -20, None]
    assert table["number"].to_pylist() == [1.5, 500.0, 0.0]
    assert table["code"].to_pylist() == ["007", "12", "8"]
    assert table["mixed"].to_pylist() == ["3", "many", "nan"]


def test_a_column_is_as_wide_as_its_last_cell_needs(tmp_path):
    count = 20_000
    rows = [["x", "y", "z", "late"], *([i, str(i), str(i), ""] for i in range(count)), [0.5, "many", "2.5", "7"]]
    write_parquet(tmp_path / "t.parquet", rows)
    table = parquet.read_table(tmp_path / "t.parquet")
    assert [str(kind) for kind in table.schema.types] == ["double", "string", "double", "int64"]
    assert table["x"].to_pylist() == [*range(count), 0.5]
    assert table["y"].to_pylist() == [*map(str, range(count)), "many"]
    assert table["z"].to_pylist() == [*range(count), 2.5]
    assert table["late"].to_pylist() == [None] * count + [7]
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_names_alone_are_a_table(tmp_path):
    write_parquet(tmp_path / "t.parquet", [["a", "b"]])
    assert parquet.read_table(tmp_path / "t.parquet").to_pydict() == {"a": [], "b": []}


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"smiles,y\nC,1\n")
    with pytest.raises(InputError, match="t.parquet must be a Parquet file. Got one that cannot be read"):
        read_table(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"a": [[1, 2]], "b": [b"x"]}), tmp_path / "n.parquet")
    with pytest.raises(InputError, match="Every column of n.parquet must hold numbers, texts, dates.* Got a, b"):
        read_table(tmp_path / "n.parquet")
    content = bytearray(parquet_bytes(tmp_path))
    content[100:140] = bytes(40)
    (tmp_path / "cut.parquet").write_bytes(content)
    with pytest.raises(InputError, match="cut.parquet must be a Parquet file"):
        read_table(tmp_path / "cut.parquet")


def parquet_bytes(folder):
    parquet.write_table(pa.table({"a": [f"text {i}" for i in range(1000)]}), folder / "whole.parquet")
    return (folder / "whole.parquet").read_bytes()


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_pieces_are_the_whole(tmp_path, size):
    (tmp_path / "t.csv").write_text("a;b\n1;x\n\n2;y\n3;z\n4;\n")
    whole, pieces = read_table(tmp_path / "t.csv"), list(read_pieces(tmp_path / "t.csv", size))
    assert [len(piece.rows) for piece in pieces] == [min(size, 4 - start) for start in range(0, 4, size)]
    assert [row for piece in pieces for row in piece.rows] == whole.rows
    assert [number for piece in pieces for number in piece.numbers] == whole.numbers == [2, 4, 5, 6]
    assert all(piece.header == whole.header and piece.comma for piece in pieces)


def test_a_row_of_a_later_piece_is_checked(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5\n")
    pieces = read_pieces(tmp_path / "t.csv", 2)
    next(pieces)
    with pytest.raises(InputError, match="must have 2 cells, separated by ','. Got 1 in row 4"):
        next(pieces)
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="must have a line of names and at least one row"):
        next(read_pieces(tmp_path / "t.csv"))
