"""Where the shards of a command are until its output is written."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pellucid.errors import InputError
from pellucid.locking import locked
from pellucid.sharding import discard

SUFFIX = ".parts"
# Files in a folder with a single shard: that, and the lock.
_FEW = 2


@contextmanager
def shards_beside(out: Path | None) -> Iterator[Path]:
    """A folder for shards beside a file that is to be written; gone when it has been, left if there is an error.

    A single shard is not left where the file is refused: it is soon made again.

    Parameters
    ----------
    out : Path, optional
        The file; for None, or what is no file on a disk, a private folder that never stays.
    """
    if out is None or not _is_on_disk(out):
        with tempfile.TemporaryDirectory(prefix="pellucid-") as private:
            yield Path(private)
        return
    out = out.resolve()
    folder = out.with_name(f"{out.name}{SUFFIX}")
    folder.mkdir(exist_ok=True)
    try:
        with locked(folder):
            try:
                yield folder
            except InputError as error:
                if error.parameter == "out" and len(list(folder.iterdir())) <= _FEW:
                    discard(folder)
                raise
            discard(folder)
    finally:
        with suppress(OSError):  # where there are shards to go on from
            folder.rmdir()


def _is_on_disk(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True
