"""What Pellucid wrote, known by its content: only that may be replaced, and only where a user asks for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

CREATOR = "Pellucid"
"""What pictures say of their origin."""
# Bytes at the beginning of a file that tell what it is.
_BEGINNING = 65_536
_RECORD = re.compile(rb'\s*\{\s*"format": *\d+,\s*"pellucid": *"')
_SUMMARY = re.compile(rb'\s*\{\s*"kind": *"')


def is_page(path: Path) -> bool:
    """Whether a file is one of our pages."""
    return b"\xc2\xb7 Pellucid</title>" in _beginning(path)


def is_picture(path: Path) -> bool:
    """Whether a file is one of our pictures."""
    return CREATOR.encode() in _beginning(path)


def is_record(path: Path) -> bool:
    """Whether a file is the JSON file of a saved model."""
    return _RECORD.match(_beginning(path)) is not None


def is_model(folder: Path) -> bool:
    """Whether a folder holds a saved model."""
    return any(is_record(path) for path in folder.glob("*.json"))


def is_summary(path: Path) -> bool:
    """Whether a file is the summary of a run."""
    content = _json(path) if _SUMMARY.match(_beginning(path)) else None
    return isinstance(content, dict) and {"kind", "models", "measures"} <= content.keys()


def same_kind(old: Path, new: Path) -> bool:
    """Whether a file is of the kind of another that is to take its place: a page, a picture, or with the same names.

    Parameters
    ----------
    old : Path
        A file of any origin.
    new : Path
        One of ours: a page, a picture, JSON, or a table.
    """
    kind = new.suffix.lower()
    if kind == ".html":
        return is_page(old)
    if kind in (".svg", ".png"):
        return is_picture(old)
    if kind == ".json":
        names = _names(_json(old))
        return names is not None and names == _names(_json(new))
    return _beginning(old).splitlines()[:1] == _beginning(new).splitlines()[:1]


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_BEGINNING) if path.is_file() else b""
    except OSError:
        return b""


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError):
        return None


def _names(content: Any) -> set[str] | None:
    """The keys of an object, or of the first of a list of objects."""
    first = content[0] if isinstance(content, list) and content else content
    return set(first) if isinstance(first, dict) else None
