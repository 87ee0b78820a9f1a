"""What a path leads to."""

import os
import threading

import pytest

from pellucid import InputError
from pellucid.paths import files_in, kind_of, readable_again


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


@pytest.mark.parametrize("pattern", ["", "/etc/*", "a**b", "../*", "a/../../*"])
def test_patterns_that_are_none_are_refused(tmp_path, pattern):
    with pytest.raises(InputError, match="must be a pattern of names in the folder. Got .*all files") as error:
        files_in(tmp_path, pattern)
    assert error.value.parameter == "pattern"


def test_a_pipe_is_read_once_and_kept_as_long_as_need_be(tmp_path):
    os.mkfifo(tmp_path / "in.csv")
    writer = threading.Thread(target=(tmp_path / "in.csv").write_text, args=["a,b\n" * 50_000])
    writer.start()
    with readable_again(tmp_path / "in.csv") as file:
        writer.join()
        assert file.name == "in.csv"
        assert file.read_text() == file.read_text() == "a,b\n" * 50_000
    assert not file.exists()


def test_files_folders_and_texts_stay_as_they_are(tmp_path):
    (tmp_path / "a.csv").touch()
    for path in (tmp_path / "a.csv", tmp_path, tmp_path / "absent", "C" * 5000):
        with readable_again(path) as file:
            assert str(file) == str(path)


def test_a_device_without_an_end_is_refused():
    with (
        pytest.raises(InputError, match="must be a file, a folder or a pipe. Got /dev/zero, a device"),
        readable_again("/dev/zero"),
    ):
        pass
