"""The user's cache on disk: results that take long, under a key of everything that they depend on.

What is kept is whole or not there: it is written beside its path and moved there when it is complete. A cache never
stops work: what cannot be read, is not as it was written or belongs to another key is discarded and made anew, what
cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import io
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

from pellucid.writing import draft_of, flush

Content = TypeVar("Content")
# Bytes of the digest at the end of a file of arrays.
_DIGEST = 32
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


def cached_path(name: str, cache: Cache = "default", *, below: str = "") -> Path:
    """The path of something in a cache.

    Parameters
    ----------
    name : str
        Name of the file or folder, with its key.
    cache : Cache
        Which cache; not "none".
    below : str
        A folder in the user's cache; folders that users name have none below them.
    """
    return (cache_folder() / below if cache == "default" else Path(cache)) / name


def read_cached(path: Path, read: Callable[[Path], Content]) -> Content | None:
    """Read something from a cache; None if it is not there. What is damaged is discarded with a warning.

    Parameters
    ----------
    path : Path
        A file or a folder of the cache, not one that users named.
    read : callable
        Reads it; raises OSError, ValueError, EOFError or BadZipFile (or an `InputError`, which is a ValueError) where
        that cannot be done.
    """
    try:
        if not path.exists():
            return None
        return read(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(f"{path} could not be read and is made anew: {str(error).rstrip('.')}", stacklevel=3)
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    return None


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A draft to be written, in a folder of its own, moved to its path at the end; a crash leaves no half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="draft-", dir=path.parent, ignore_cleanup_errors=True) as folder:
        draft = Path(folder) / path.name
        yield draft
        flush(draft)
        draft.replace(path)


@contextmanager
def new_folder(path: Path, complete: str) -> Iterator[Path]:
    """A draft of a folder to be filled, moved to its path at the end; a crash leaves no half of it.

    Parameters
    ----------
    path : Path
        The path of the folder: nothing is there yet, or an empty folder.
    complete : str
        A file of it: if it is there at the end, another process was faster, and its folder stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path)
    draft.mkdir()
    try:
        yield draft
        for file in draft.iterdir():
            flush(file)
        try:
            os.replace(draft, path)
        except OSError:
            if not (path / complete).exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def cached_arrays(cache: Cache, kind: str, settings: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
    """The arrays that `make` returns, or returned before with the same settings.

    Parameters
    ----------
    cache : Cache
        Which cache.
    kind : str
        What they are, as in "molecules/neighborhoods": a folder of the user's cache, and the beginning of the file's
        name.
    settings : mapping of str to object
        All that they depend on, ready for JSON.
    make : callable
        Computes the arrays.
    """
    if cache == "none":
        return make()
    below, _, name = kind.rpartition("/")
    key = key_of(settings)
    path = cached_path(f"{name}-{key}.npz", cache, below=below)
    arrays = read_cached(path, lambda file: _read_arrays(file, key))
    if arrays is not None:
        return arrays
    arrays = make()
    try:
        with new_file(path) as draft:
            np.savez_compressed(draft, allow_pickle=False, **arrays)
            with draft.open("rb+") as stream:
                digest = _digest(key, stream.read())
                stream.write(digest)
    except OSError as error:
        warn_unwritten(path, error)
    return arrays


def warn_unwritten(path: Path, error: OSError) -> None:
    """Say that a result could not be kept, which stops nothing."""
    warnings.warn(f"{path} could not be written, so this will be made again next time: {error}", stacklevel=3)


def _read_arrays(path: Path, key: str) -> Arrays:
    """The arrays of a file that ends in the digest of its key and of all before it: anything else is not believed."""
    raw = path.read_bytes()
    content, digest = raw[:-_DIGEST], raw[-_DIGEST:]
    if digest != _digest(key, content):
        raise ValueError("it is not as it was written, or belongs to another key")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def as_bytes(texts: list[str]) -> np.ndarray:
    """Lines of text as an array."""
    return np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)


def as_texts(array: np.ndarray) -> list[str]:
    """The lines of text that `as_bytes` made an array of."""
    return array.tobytes().decode().split("\n")
