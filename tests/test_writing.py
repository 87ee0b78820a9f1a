"""Files are written whole or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest

from pellucid.writing import remove_drafts, replace_together, replacing, write_rows, write_text


@pytest.fixture
def mask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_file_is_there_when_it_is_whole(tmp_path):
    path = tmp_path / "a.csv"
    with replacing(path) as draft:
        assert draft.parent == tmp_path
        assert draft.suffix == ".csv"
        draft.write_text("half")
        assert not path.exists()
    assert path.read_text() == "half"
    write_rows(path, [["a", "b"], [1, 'x"y']])
    assert path.read_text() == 'a,b\n1,"x""y"\n'
    assert os.listdir(tmp_path) == ["a.csv"]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as draft:
            draft.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_errors_name_the_file_and_not_the_draft(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: .*a.txt") as caught:
        write_text(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(FileNotFoundError) as absent:
        write_text(tmp_path / "no" / "b.txt", "new")
    assert absent.value.filename == str(tmp_path / "no" / "b.txt")
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path, "new")


def test_permissions_are_those_of_any_file_or_of_the_one_replaced(tmp_path, mask):
    def mode(path):
        return stat.S_IMODE(path.stat().st_mode)

    (tmp_path / "neighbor").write_text("")
    with replacing(tmp_path / "new") as draft:
        draft.write_text("x")
        draft.chmod(0o600)  # as some libraries have it
    assert mode(tmp_path / "new") == mode(tmp_path / "neighbor") == 0o640
    (tmp_path / "new").chmod(0o604)
    write_text(tmp_path / "new", "y")
    assert mode(tmp_path / "new") == 0o604


def test_links_stay_and_pipes_are_written_to(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    texts = []
    reader = threading.Thread(target=lambda: texts.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join()
    assert texts == ["through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    write_text("/dev/null", "nothing")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_files_that_belong_together_are_never_mixed(tmp_path, monkeypatch):
    """Wherever the process is stopped, where `last` is, all others are of the same time."""
    names = ["a", "b", "last"]
    real, moves = os.replace, 0

    def files(text):
        return {tmp_path / name: text.encode() for name in names}

    for stop in range(4):
        replace_together(files("old"), last=tmp_path / "last")
        moves = 0

        def replace(source, target, stop=stop):
            nonlocal moves
            moves += 1
            if moves > stop:
                raise KeyboardInterrupt
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
        if stop < 3:
            with pytest.raises(KeyboardInterrupt):
                replace_together(files("new"), last=tmp_path / "last")
            assert not (tmp_path / "last").exists()
        else:
            replace_together(files("new"), last=tmp_path / "last")
            assert {(tmp_path / name).read_text() for name in names} == {"new"}
        monkeypatch.setattr(os, "replace", real)


def test_what_a_kill_left_is_removed(tmp_path):
    (tmp_path / ".draft-0123456789ab.ckpt").write_text("half")
    (tmp_path / "draft.txt").write_text("mine")
    remove_drafts(tmp_path)
    assert os.listdir(tmp_path) == ["draft.txt"]
