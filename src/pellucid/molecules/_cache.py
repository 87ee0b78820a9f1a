"""Results that take long, kept in a folder under a key of everything that they depend on. A cache never stops work:
what cannot be read is made anew, what cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from pellucid._files import cache_folder

Arrays: TypeAlias = dict[str, np.ndarray]
Cache: TypeAlias = Literal["default", "none"] | Path


def remembered(cache: Cache, kind: str, depends: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
    """The arrays that `make` gives, or those that it gave before.

    Parameters
    ----------
    cache : Cache
        A folder; "default" is in the user's cache, "none" keeps nothing.
    kind : str
        What they are: part of the file's name.
    depends : mapping of str to object
        All that they depend on, ready for JSON.
    make : callable
        Computes them.
    """
    if cache == "none":
        return make()
    key = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:32]
    file = (cache_folder() / "molecules" if cache == "default" else Path(cache)) / f"{kind}-{key}.npz"
    try:
        with np.load(file, allow_pickle=False) as content:
            return dict(content)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(f"{file} could not be read and is made anew: {error}", stacklevel=2)
    arrays = make()
    draft = file.with_name(f"draft-{os.getpid()}-{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(draft, allow_pickle=False, **arrays)
        draft.replace(file)
    except OSError as error:
        warnings.warn(f"{file} could not be written, so this will be made again next time: {error}", stacklevel=2)
    return arrays


def as_bytes(texts: list[str]) -> np.ndarray:
    """Lines of text as an array."""
    return np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)


def as_texts(array: np.ndarray) -> list[str]:
    """What `as_bytes` was given."""
    return array.tobytes().decode().split("\n")
