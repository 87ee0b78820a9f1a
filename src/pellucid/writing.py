"""Files are written whole or not at all: a draft beside the file, flushed to the disk, takes its place in one step.

A crash, a kill or a full disk leaves what stood there before.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from textwrap import indent
from typing import Any

# Where operating systems keep what is no file on a disk: /dev/stdout may be one, and still must not be replaced.
_DEVICES = ("/dev/", "/proc/")
_PREFIX = ".draft-"
# Programs tell formats apart by the end of the name, so a draft has that of its file.
_LONGEST_SUFFIX = 16


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A draft to be written; at the end it takes the place of the file, and where an error is raised it is deleted.

    The permissions are those of the file that is replaced, or of any new file. A link stays, and what it leads to is
    replaced. A pipe or a device is written to. Errors of the operating system name the file, not the draft.

    Parameters
    ----------
    path : str or Path
        The file.

    Examples
    --------
    >>> with replacing("/dev/null") as draft:
    ...     _ = draft.write_text("nothing is lost")
    """
    path = Path(path)
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if os.path.abspath(path).startswith(_DEVICES) or not (mode is None or stat.S_ISREG(mode)):
        with _into_device(path) as draft:
            yield draft
        return
    target = Path(os.path.realpath(path))
    draft = draft_of(target)
    with _errors_named(path, draft):
        try:
            # As any file is made; whoever writes the draft may have another idea of its permissions.
            descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            permissions = stat.S_IMODE(os.fstat(descriptor).st_mode if mode is None else mode)
            os.close(descriptor)
            yield draft
            draft.chmod(permissions)
            flush(draft)
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink()
    flush(target.parent)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(path, text.encode())


def write_rows(path: str | Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write a CSV file, whole or not at all."""
    with replacing(path) as draft, draft.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def json_list(items: Iterable[Any], depth: int = 0) -> Iterator[str]:
    """A list in JSON, in pieces, as `json.dumps(..., indent=1)` writes it: however long it is, memory does not fill up.

    Parameters
    ----------
    items : iterable of object
        The items, ready for JSON.
    depth : int
        How many lists and objects it is in.

    Examples
    --------
    >>> "".join(json_list([{"a": 1}, 2])) == json.dumps([{"a": 1}, 2], indent=1)
    True
    """
    yield "["
    some = False
    for item in items:
        yield f"{',' if some else ''}\n{indent(json.dumps(item, indent=1), ' ' * (depth + 1))}"
        some = True
    yield f"\n{' ' * depth}]" if some else "]"


def write_pieces(path: str | Path, pieces: Iterable[str]) -> None:
    """Write a text file as its pieces come, whole or not at all."""
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(pieces)


def replace_together(drafts: dict[Path, bytes], *, last: Path) -> None:
    """Write several files that belong together; a crash leaves the old ones, the new ones, or none called `last`.

    Parameters
    ----------
    drafts : dict of Path to bytes
        The content of each file.
    last : Path
        The file without which the others are not used: where it is, all others are of the same time.
    """
    with ExitStack() as stack:
        # The first to be entered is the last to be moved.
        for path in sorted(drafts, key=lambda each: each != last):
            draft = stack.enter_context(replacing(path))
            draft.write_bytes(drafts[path])
            flush(draft)  # the disk may turn out to be full only now, while the old files are all there
        last.unlink(missing_ok=True)


def remove_drafts(folder: Path) -> None:
    """Remove drafts that a kill left in a folder where nobody else is writing."""
    for draft in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            draft.unlink()


def is_draft(path: Path) -> bool:
    """Whether a file is a draft that a kill left."""
    return path.name.startswith(_PREFIX)


def flush(path: Path) -> None:
    """Have the operating system write what it holds of a file to the disk; or of a folder, where it can."""
    if not path.is_dir():
        descriptor = os.open(path, os.O_RDWR)
    elif os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
    else:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # not every file system can do this with folders
            raise
    finally:
        os.close(descriptor)


def _mode(path: Path) -> int | None:
    """What is there, as `os.stat` tells; None for nothing."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def draft_of(path: Path) -> Path:
    """A new path beside this one, with the same end."""
    suffix = path.suffix if len(path.suffix) <= _LONGEST_SUFFIX else ""
    return path.with_name(f"{_PREFIX}{secrets.token_hex(6)}{suffix}")


@contextmanager
def _into_device(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
        draft = draft_of(Path(folder) / path.name)
        with _errors_named(path, draft):
            yield draft
            with draft.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)


@contextmanager
def _errors_named(path: Path, draft: Path) -> Iterator[None]:
    """Let errors of the operating system that are about the draft, or name nothing, name the file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(draft), os.fspath(draft)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
