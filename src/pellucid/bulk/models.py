"""The model of a job in shards: known by its content, and loaded once in each process."""

from __future__ import annotations

import hashlib
from pathlib import Path
from threading import Lock
from typing import Any

from pellucid.row_domains import RowDomain

_loading = Lock()
_loaded: dict[tuple[str, str, str], Any] = {}


def folder_digest(folder: Path) -> str:
    """A digest of the names and the content of all files of a folder; hidden ones do not count."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def loaded_model(domain: RowDomain[Any, Any], folder: Path, digest: str) -> Any:
    """The model in a folder; loaded when it is asked for first, and kept until another one is.

    Parameters
    ----------
    domain : RowDomain
        The domain of the model.
    folder : Path
        The folder.
    digest : str
        Of its content.
    """
    key = (domain.name, str(folder), digest)
    with _loading:  # a worker of a cluster may have several threads
        if key not in _loaded:
            _loaded.clear()
            _loaded[key] = domain.load(folder)
        return _loaded[key]
