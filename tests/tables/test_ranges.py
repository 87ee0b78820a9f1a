"""Ranges of rows: read alone, they are what the whole file holds there."""

import gzip
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

from pellucid.errors import InputError
from pellucid.tables import read_range, read_table, table_ranges

QUOTED = 'id;text\n\n1;"two\nlines; one cell"\n2;ä€𝄞\n\n   \n3;"a ""word"""\n4;\n5;last'
LIST = "smiles name\nCCO ethanol\n\nCCN\nc1ccccc1 benzene ring\nO"
FILES = {
    "a.csv": QUOTED.encode(),
    "mark.csv": b"\xef\xbb\xbf" + QUOTED.encode(),
    "windows.csv": QUOTED.replace("\n", "\r\n").encode(),
    "old mac.csv": b"id,text\r1,a\r2,b\r\r3,c\r",
    "le.csv": b"\xff\xfe" + QUOTED.encode("utf-16-le"),
    "be.csv": b"\xfe\xff" + QUOTED.encode("utf-16-be"),
    "a.csv.gz": gzip.compress(QUOTED.encode()),
    "a.smi": LIST.encode(),
    "bare.smi": LIST.partition("\n")[2].encode(),
}


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("name", FILES)
def test_ranges_of_a_text_file_are_its_rows(name, size, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    whole = read_table(tmp_path / name)
    ranges = table_ranges(tmp_path / name, size)
    parts = [read_range(**ranges.place(part)) for part in reversed(ranges.ranges)][::-1]
    assert [row for part in parts for row in part.rows] == whole.rows
    assert [number for part in parts for number in part.numbers] == whole.numbers
    assert {(tuple(part.header), part.comma, part.source) for part in parts} == {
        (tuple(whole.header), whole.comma, whole.source)
    }
    assert ranges.count == len(whole.rows)
    assert [part.end - part.begin for part in ranges.ranges[:-1]] == [size] * (len(ranges.ranges) - 1)


@pytest.mark.parametrize("groups", [1, 3, 100])
def test_ranges_of_parquet_are_its_rows_whatever_its_groups(groups, tmp_path):
    numbers = [None if i in (4, 5, 6) else i / 8 for i in range(20)]
    table = pa.table({"x": numbers, "name": [None if x is None else f"row {x}" for x in numbers]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=groups)
    whole = read_table(tmp_path / "a.parquet")
    ranges = table_ranges(tmp_path / "a.parquet", 3)
    assert [(part.begin, part.end) for part in ranges.ranges] == [(i, min(i + 3, 20)) for i in range(0, 20, 3)]
    parts = [read_range(**ranges.place(part)) for part in ranges.ranges]
    assert [row for part in parts for row in part.rows] == whole.rows
    assert [number for part in parts for number in part.numbers] == whole.numbers


def test_a_flaw_anywhere_is_found_before_the_first_range_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 50 + "1\n")
    with pytest.raises(InputError, match="Every row of a.csv must have 2 cells.* Got 1 in row 52"):
        table_ranges(tmp_path / "a.csv", 8)
    (tmp_path / "b.csv").write_text("x,y\n")
    with pytest.raises(InputError, match="b.csv must have a line of names and at least one row. Got names alone"):
        table_ranges(tmp_path / "b.csv", 8)


def test_a_file_that_changes_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    ranges = table_ranges(tmp_path / "a.csv", 1)
    place = ranges.place(ranges.ranges[1])
    assert read_range(**place).rows == [["3", "4"]]
    os.utime(tmp_path / "a.csv", ns=(1, 1))
    with pytest.raises(InputError, match="must not change while it is read. Got .*a.csv, which has changed"):
        read_range(**place)
