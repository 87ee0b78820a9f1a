"""Tables whose columns lie on the disk."""

import gzip

import pytest

from pellucid.errors import InputError
from pellucid.tables import is_long, read_table, store_table, stored


@pytest.fixture
def path(tmp_path):
    rows = [f'{i};"a; b\nc {i}";{i},5; ü' for i in range(25)]
    (tmp_path / "a.csv").write_text("n;text;number;blank\n" + "\n\n".join(rows) + "\n")
    return tmp_path / "a.csv"


def test_they_hold_what_tables_hold(path, tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.tables.reading.read_pieces.__defaults__", (7,))
    (tmp_path / "columns").mkdir()
    table, whole = store_table(path, tmp_path / "columns"), read_table(path)
    assert (table.header, table.numbers, table.comma, table.source) == (
        whole.header, whole.numbers, True, "a.csv",
    )  # fmt: skip
    for name in (*whole.header, whole.header[0]):
        assert table.column(name) == whole.column(name)
    with pytest.raises(InputError, match="'other'"):
        table.column("other")


def test_length_is_told_before_a_file_is_read(path, tmp_path, monkeypatch):
    packed, table = tmp_path / "a.csv.gz", tmp_path / "a.parquet"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    from pellucid.tables.parquet import write_parquet

    write_parquet(table, [["n"], *([i] for i in range(74))])
    assert not any(map(is_long, (path, packed, table)))
    monkeypatch.setattr(stored, "LONG", 73)
    assert all(map(is_long, (path, packed, table)))
    packed.write_bytes(b"not packed")
    assert not is_long(packed)
    with pytest.raises(InputError, match="does not exist"):
        is_long(tmp_path / "b.csv")
