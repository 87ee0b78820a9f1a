"""What a path that a user typed leads to, whatever the text is."""

from __future__ import annotations

import stat
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


def files_in(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder whose names match a pattern, as in "*.csv", sorted by name; hidden ones do not count."""
    try:
        paths = list(folder.glob(pattern))
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(
            f"{Parameter('pattern')} must be a pattern of names in the folder",
            got=f"{pattern!r} ({error})",
            cure='"*.csv" takes all files that end so, "*" all files, and "**/*" those of folders inside, too',
            parameter="pattern",
        ) from None
    return sorted(path for path in paths if path.is_file() and path.name[0] != ".")
