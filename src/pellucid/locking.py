"""One process at a time in a folder: a lock that ends with the process that holds it, however that ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pellucid.errors import InputError

FILE = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is refused while another process holds it; the file that is left by one that was
    killed is no obstacle. File systems without locks have none.

    Parameters
    ----------
    folder : Path
        The folder, which must exist.
    """
    path = folder / FILE
    descriptor = _acquired(path)
    try:
        yield
    finally:
        with suppress(OSError):  # while it is held: whoever waits for it notices that it is another file
            path.unlink()
        os.close(descriptor)


def require_unused(folder: Path) -> None:
    """Refuse a folder whose lock another process holds. Nothing is removed: it may be the file of somebody else."""
    if (folder / FILE).is_file():
        os.close(_acquired(folder / FILE))


def _acquired(path: Path) -> int:
    """A descriptor that holds the lock, unless another process does."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                os.close(descriptor)
                raise InputError(
                    "A folder is used by one run at a time",
                    got=f"{path.parent}, where another one is at work",
                    cure="wait until it has ended, or choose another folder",
                ) from None
        if _is_same(path, descriptor):
            return descriptor
        os.close(descriptor)  # its holder has just ended, and removed it


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
