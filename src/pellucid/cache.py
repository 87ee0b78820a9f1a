"""The user's cache on disk: results that take long, under a key of everything that they depend on.

What is kept is whole or not there: it is written beside its place and moved there when it is complete. A cache never
stops work: what cannot be read is discarded and made anew, what cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

Kept = TypeVar("Kept")
Arrays: TypeAlias = dict[str, np.ndarray]
Cache: TypeAlias = Literal["default", "none"] | Path
"""A folder; "default" is the user's cache, "none" keeps nothing."""


def cache_folder() -> Path:
    """Where everything is kept: the folder for caches of this operating system."""
    import pooch

    return Path(pooch.os_cache("pellucid"))


def key_of(settings: Mapping[str, Any] | str, content: Iterable[bytes] = ()) -> str:
    """A key of what a result depends on: 32 hexadecimal digits of SHA-256.

    Parameters
    ----------
    settings : mapping of str to object, or str
        Ready for JSON, or as text: the settings, and the versions of the format and of libraries that matter.
    content : iterable of bytes
        The data, in blocks.
    """
    text = settings if isinstance(settings, str) else json.dumps(settings, sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for block in content:
        digest.update(block)
    return digest.hexdigest()[:32]


def place_of(name: str, cache: Cache = "default", *, below: str = "") -> Path:
    """Where something of this name is kept.

    Parameters
    ----------
    name : str
        With its key.
    cache : Cache
        Not "none".
    below : str
        A folder in the user's cache; folders that users name have none below them.
    """
    return (cache_folder() / below if cache == "default" else Path(cache)) / name


def recall(place: Path, read: Callable[[Path], Kept]) -> Kept | None:
    """What is kept, or None: what is damaged is discarded with a warning.

    Parameters
    ----------
    place : Path
        A file or a folder of the cache, not one that users named.
    read : callable
        Reads it; raises OSError, ValueError, EOFError or BadZipFile (or an `InputError`, which is a ValueError) where
        that cannot be done.
    """
    if not place.exists():
        return None
    try:
        return read(place)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(f"{place} could not be read and is made anew: {str(error).rstrip('.')}", stacklevel=3)
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink()
    return None


@contextmanager
def new_file(place: Path) -> Iterator[Path]:
    """A draft to be written, in a folder of its own, which then takes its place; nothing is left of half of it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="draft-", dir=place.parent, ignore_cleanup_errors=True) as folder:
        draft = Path(folder) / place.name
        yield draft
        draft.replace(place)


@contextmanager
def new_folder(place: Path, complete: str) -> Iterator[Path]:
    """A draft of a folder to be filled, which then takes its place; nothing is left of half of it.

    Parameters
    ----------
    place : Path
        Where it goes: nothing, or an empty folder.
    complete : str
        A file of it: if it is there at the end, another process was faster, and its folder stays.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{place.name}-draft-", dir=place.parent))
    try:
        yield draft
        try:
            os.replace(draft, place)
        except OSError:
            if not (place / complete).exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remembered(cache: Cache, kind: str, settings: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
    """The arrays that `make` gives, or those that it gave before.

    Parameters
    ----------
    cache : Cache
        Where they are kept.
    kind : str
        What they are, as in "molecules/neighborhoods": a folder of the user's cache, and the beginning of the file's
        name.
    settings : mapping of str to object
        All that they depend on, ready for JSON.
    make : callable
        Makes them.
    """
    if cache == "none":
        return make()
    below, _, name = kind.rpartition("/")
    place = place_of(f"{name}-{key_of(settings)}.npz", cache, below=below)
    arrays = recall(place, _read_arrays)
    if arrays is not None:
        return arrays
    arrays = make()
    try:
        with new_file(place) as draft:
            np.savez_compressed(draft, allow_pickle=False, **arrays)
    except OSError as error:
        warnings.warn(f"{place} could not be written, so this will be made again next time: {error}", stacklevel=2)
    return arrays


def _read_arrays(place: Path) -> Arrays:
    with place.open("rb") as stream, np.load(stream, allow_pickle=False) as content:  # closed whatever happens
        return dict(content)


def as_bytes(texts: list[str]) -> np.ndarray:
    """Lines of text as an array."""
    return np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)


def as_texts(array: np.ndarray) -> list[str]:
    """What `as_bytes` was given."""
    return array.tobytes().decode().split("\n")
