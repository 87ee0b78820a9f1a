"""Tables of numbers."""

from pellucid.tables import read_columns


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_columns_without_names_are_numbered(tmp_path):
    columns = read_columns(write(tmp_path / "a.txt", "\n1 2\n3 nd\n"), unnamed="channel")
    assert columns.table.to_pydict() == {"channel 1": [1, 3], "channel 2": [2, None]}
    assert (columns.first_row, columns.named) == (2, False)
