"""What a path that a user typed leads to, whatever the text is."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pellucid.errors import InputError, Parameter


def kind_of(path: str | Path) -> Literal["file", "folder"] | None:
    """Whether there is a file or a folder; None for neither. What can be read like a file, such as a pipe, is one.

    A text may be no path at all: too long for one, or with characters that none has.

    Examples
    --------
    >>> kind_of("/dev/null"), kind_of("/"), kind_of("C" * 300)
    ('file', 'folder', None)
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return "folder" if stat.S_ISDIR(mode) else "file"


@contextmanager
def readable_again(path: str | Path) -> Iterator[Path]:
    """A path whose content can be read as often as need be: a pipe is copied to a private file of the same name first.

    Files, folders and what does not exist stay as they are; devices without an end are refused.

    Parameters
    ----------
    path : str or Path
        What a user typed.

    Examples
    --------
    >>> with readable_again("/dev/null") as file:
    ...     file.name, file.read_text()
    ('null', '')
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        mode = stat.S_IFREG
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        yield path
        return
    with path.open("rb") as source:
        # A terminal ends when its user says so, and nothing is in the null device; others go on for ever.
        if not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode) and not source.isatty() and source.read(1):
            raise InputError(
                "What is read must be a file, a folder or a pipe", got=f"{path}, a device", cure="correct the path"
            )
        with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
            copy = Path(folder) / path.name
            with copy.open("wb") as target:
                shutil.copyfileobj(source, target)
            yield copy


def files_in(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder whose names match a pattern, as in "*.csv", sorted by name; hidden ones do not count."""
    try:
        if ".." in Path(pattern).parts:
            raise ValueError("it leads out of the folder")
        paths = list(folder.glob(pattern))
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(
            f"{Parameter('pattern')} must be a pattern of names in the folder",
            got=f"{pattern!r} ({error})",
            cure='"*.csv" takes all files that end so, "*" all files, and "**/*" those of folders inside, too',
            parameter="pattern",
        ) from None
    return sorted(path for path in paths if path.is_file() and path.name[0] != ".")
