"""The points of a long table as files that workers map into memory: features, predictions, and who is near whom."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import final

import numpy as np
import torch
from torch import Tensor

from pellucid._searched import PointSearch, SearchedNeighborhoods
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.writing import replacing

_loading = Lock()
_loaded: dict[tuple[str, str], StoredPoints] = {}


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class StoredPoints:
    """What an audit reads of a table, on the disk."""

    folder: Path
    digest: str
    """Of the content of the files."""
    x: Tensor
    """(N, P) features."""
    f: Tensor
    """(N, K) predictions."""
    search: PointSearch
    """The nearest rows, by their coordinates."""

    def part(self, begin: int, end: int, k: int | None) -> Neighborhoods:
        """Neighborhoods from `begin` to before `end`.

        Parameters
        ----------
        begin, end : int
            The range.
        k : int, optional
            The number of nearest rows; None where neighborhoods are stored, see `store_neighborhoods`.
        """
        if k is not None:
            return SearchedNeighborhoods(self.search, k, torch.arange(begin, end)).found
        members, offsets, centers = (_mapped(self.folder, name) for name in _LISTS)
        ends = torch.from_numpy(offsets[begin : end + 1].copy())
        some = torch.from_numpy(members[int(ends[0]) : int(ends[-1])].copy())
        whose = torch.from_numpy(centers[begin:end].copy())
        return Neighborhoods.checked(some, ends - ends[0], whose, len(self.x))


_LISTS = ("members", "offsets", "centers")


def store_points(folder: Path, x: np.ndarray, f: np.ndarray, coordinates: np.ndarray) -> StoredPoints:
    """Write points into a folder, and map them from there.

    Parameters
    ----------
    folder : Path
        The folder, which all workers must see.
    x : ndarray
        (N, P) features.
    f : ndarray
        (N, K) predictions.
    coordinates : ndarray
        (N, Q) what is compared to tell which rows are near.
    """
    digest = hashlib.sha256()
    for name, values in (("x", x), ("f", f), ("coordinates", coordinates)):
        _write(folder, name, values)
        digest.update(np.ascontiguousarray(values).data)
    return stored_points(folder, digest.hexdigest())


def store_neighborhoods(folder: Path, hoods: BaseNeighborhoods) -> None:
    """Write neighborhoods that are no nearest rows beside their points."""
    for name in _LISTS:
        _write(folder, name, getattr(hoods, name).numpy())


def stored_points(folder: Path, digest: str) -> StoredPoints:
    """The points in a folder: mapped when they are asked for first, and kept until others are.

    Parameters
    ----------
    folder : Path
        The folder.
    digest : str
        Of their content.
    """
    key = (str(folder), digest)
    with _loading:  # a worker of a cluster may have several threads
        if key not in _loaded:
            _loaded.clear()
            x, f = (torch.from_numpy(_mapped(folder, name)) for name in ("x", "f"))
            search = PointSearch(_mapped(folder, "coordinates"))
            _loaded[key] = StoredPoints(folder=folder, digest=digest, x=x, f=f, search=search)
        return _loaded[key]


def forget_points() -> None:
    """Let go of the files."""
    with _loading:
        _loaded.clear()


def _write(folder: Path, name: str, values: np.ndarray) -> None:
    with replacing(folder / f"{name}.npy") as draft, draft.open("wb") as stream:
        np.save(stream, values, allow_pickle=False)


def _mapped(folder: Path, name: str) -> np.ndarray:
    # Private copies of pages that are written to, of which there are none: torch wants arrays that could be.
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False))
