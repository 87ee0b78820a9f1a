"""Fingerprints on the disk, sorted by their number of bits, which programs read without having them all in memory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import InputError
from pellucid.molecules.fingerprints import Fingerprints
from pellucid.writing import replacing, write_text

Array: TypeAlias = NDArray[Any]

FORMAT = 1
_ABOUT = "about.json"
_ARRAYS = ("words", "folds", "counts", "lost", "rows")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class FingerprintFile:
    """N bit sets in a folder, those with the fewest bits first; arrays are mapped from the disk when they are read."""

    folder: Path
    count: int
    digest: str
    """Of the sets and their order: shards of other ones are not taken for theirs."""

    def __len__(self) -> int:
        return self.count

    @classmethod
    def write(cls, folder: str | Path, fingerprints: Fingerprints) -> FingerprintFile:
        """Write fingerprints into a folder, which is made; it is usable when all of it is there.

        Parameters
        ----------
        folder : str or Path
            The folder.
        fingerprints : Fingerprints
            The sets; pairs will name them by their rows.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _ABOUT).unlink(missing_ok=True)
        order = np.argsort(fingerprints.counts, kind="stable")
        part = Fingerprints(np.ascontiguousarray(fingerprints.words[order]))
        lost = part.counts - np.bitwise_count(part.folds).sum(1, dtype=np.int64)
        arrays = (part.words, part.folds, part.counts.astype(np.int32), lost.astype(np.int32), order)
        digest = hashlib.sha256(str(part.words.shape).encode())
        for name, array in zip(_ARRAYS, arrays, strict=True):
            with replacing(folder / f"{name}.npy") as draft, draft.open("wb") as stream:
                np.save(stream, array)
            if name in ("words", "rows"):
                digest.update(np.ascontiguousarray(array).data)
        about = {"format": FORMAT, "count": len(part), "digest": digest.hexdigest()}
        write_text(folder / _ABOUT, json.dumps(about))
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> FingerprintFile:
        """The fingerprints that `write` has put into a folder."""
        folder = Path(folder)
        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            known = about["format"] == FORMAT
            result = cls(folder=folder, count=int(about["count"]), digest=str(about["digest"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                "The folder must hold fingerprints as `FingerprintFile.write` writes them",
                got=f"{folder}, where {_ABOUT} is missing or damaged",
                cure="write them again",
            ) from error
        if not known or len(result.words) != result.count:
            raise InputError(
                "The folder must hold fingerprints of this version",
                got=f"{folder}, whose {_ABOUT} says otherwise",
                cure="write them again",
            )
        return result

    def _array(self, name: str) -> Array:
        # As a plain array: compiled kernels know no maps.
        return np.asarray(np.load(self.folder / f"{name}.npy", mmap_mode="r"))

    @cached_property
    def words(self) -> Array:
        """(N, size / 64) uint64."""
        return self._array("words")

    @cached_property
    def folds(self) -> Array:
        """(N, 4) uint64, the words combined by `or` into four."""
        return self._array("folds")

    @cached_property
    def counts(self) -> Array:
        """(N,) the number of bits set, rising."""
        return self._array("counts")

    @cached_property
    def lost(self) -> Array:
        """(N,) bits that fall onto others in the folds."""
        return self._array("lost")

    @cached_property
    def rows(self) -> Array:
        """(N,) the row that each had among the fingerprints that were written."""
        return self._array("rows")
