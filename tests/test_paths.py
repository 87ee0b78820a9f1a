"""What a path leads to."""

import os

import pytest

from pellucid import InputError
from pellucid.paths import files_in, kind_of


def test_whatever_can_be_read_is_a_file(tmp_path):
    (tmp_path / "a.csv").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    assert [kind_of(tmp_path / name) for name in ("a.csv", "pipe", "", "absent", "link", "a.csv/b")] == [
        "file", "file", "folder", None, None, None,
    ]  # fmt: skip
    assert kind_of("C" * 5000) is None
    assert kind_of("a\0b") is None


def test_files_are_matched_by_their_names(tmp_path):
    for name in ("b.csv", "a.csv", "c.txt", ".hidden.csv"):
        (tmp_path / name).touch()
    (tmp_path / "folder.csv").mkdir()
    assert [path.name for path in files_in(tmp_path, "*.csv")] == ["a.csv", "b.csv"]


@pytest.mark.parametrize("pattern", ["", "/etc/*", "a**b"])
def test_patterns_that_are_none_are_refused(tmp_path, pattern):
    with pytest.raises(InputError, match="must be a pattern of names in the folder. Got .*all files") as error:
        files_in(tmp_path, pattern)
    assert error.value.parameter == "pattern"
