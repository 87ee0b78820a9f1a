"""One process at a time in a folder."""

import os
import signal

import pytest

from pellucid import InputError
from pellucid.locking import FILE, locked, require_unused


def test_a_folder_has_one_user(tmp_path):
    with locked(tmp_path):
        with pytest.raises(InputError, match="used by one run at a time. Got .*, where another one is at work; wait"):
            locked(tmp_path).__enter__()
        assert (tmp_path / FILE).exists()
    assert not (tmp_path / FILE).exists()
    with locked(tmp_path), locked_elsewhere(tmp_path) as refused:
        assert refused


def test_who_only_asks_removes_nothing(tmp_path):
    require_unused(tmp_path)
    assert not (tmp_path / FILE).exists()
    with locked(tmp_path), pytest.raises(InputError, match="where another one is at work"):
        require_unused(tmp_path)
    (tmp_path / FILE).write_text("of somebody else")
    require_unused(tmp_path)
    assert (tmp_path / FILE).read_text() == "of somebody else"


class locked_elsewhere:  # noqa: N801 - reads as a function
    """Whether another process is refused."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        child = os.fork()
        if not child:
            try:
                locked(self.folder).__enter__()
            except InputError:
                os._exit(1)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1

    def __exit__(self, *_):
        pass


def test_the_lock_of_a_process_that_was_killed_is_no_obstacle(tmp_path):
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        with locked(tmp_path):
            os.write(tell, b"x")
            signal.pause()
    os.read(ready, 1)
    with pytest.raises(InputError, match="at work"):
        locked(tmp_path).__enter__()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / FILE).exists()
    with locked(tmp_path):
        pass
    assert not (tmp_path / FILE).exists()
