"""Fingerprints on the disk, sorted by their number of bits, which programs read without having them all in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import InputError
from pellucid.molecules.fingerprints import Fingerprints, SimilarityHits, SortedSets, similar_in
from pellucid.writing import replacing, write_text

Array: TypeAlias = NDArray[Any]

FORMAT = 1
_ABOUT = "about.json"


# Sets that are in memory at a time, and words of the folds.
_BLOCK, _FOLDS = 65_536, 4


def _sorted_words(path: Path, parts: Iterable[Array], place: Array) -> Array:
    """Write the words of all parts into a file, each set at its place; mapped from there."""
    begin, result = 0, None
    for words in parts:
        if result is None:
            result = np.lib.format.open_memmap(path, "w+", dtype=np.uint64, shape=(len(place), words.shape[1]))
        result[place[begin : begin + len(words)]] = words
        begin += len(words)
    if result is None:
        raise InputError("There must be fingerprints to write", got="none", cure="pass some")
    result.flush()
    return np.asarray(result)


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
        return cls.write_parts(folder, lambda: [fingerprints.words])

    @classmethod
    def write_parts(cls, folder: str | Path, parts: Callable[[], Iterable[Array]]) -> FingerprintFile:
        """The same from sets that come in parts: sorted on the disk, with some 60 bytes of memory for each set.

        Parameters
        ----------
        folder : str or Path
            The folder.
        parts : callable
            Gives the words (n, size / 64) of one part of the sets after the other; called twice.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _ABOUT).unlink(missing_ok=True)
        counts = np.concatenate([np.bitwise_count(words).sum(1, dtype=np.int32) for words in parts()])
        order = np.argsort(counts, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        with replacing(folder / "words.npy") as draft:
            words = _sorted_words(draft, parts(), place)
        digest = hashlib.sha256(str(words.shape).encode())
        folds, lost = np.empty((len(words), _FOLDS), dtype=np.uint64), np.empty(len(words), dtype=np.int32)
        for begin in range(0, len(words), _BLOCK):
            block = Fingerprints(np.ascontiguousarray(words[begin : begin + _BLOCK]))
            digest.update(block.words.data)
            folds[begin : begin + _BLOCK] = block.folds
            lost[begin : begin + _BLOCK] = block.counts - np.bitwise_count(block.folds).sum(1, dtype=np.int64)
        digest.update(order.data)
        for name, array in (("folds", folds), ("counts", counts[order]), ("lost", lost), ("rows", order)):
            with replacing(folder / f"{name}.npy") as draft, draft.open("wb") as stream:
                np.save(stream, array)
        write_text(folder / _ABOUT, json.dumps({"format": FORMAT, "count": len(order), "digest": digest.hexdigest()}))
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

    def similar_to(self, queries: Fingerprints, *, threshold: float = 0.6) -> SimilarityHits:
        """What `Fingerprints.similar_to` finds, in the rows of those that were written; they stay on the disk."""
        counts, lost = (np.asarray(array, dtype=np.int64) for array in (self.counts, self.lost))
        return similar_in(SortedSets(self.words, counts, self.folds, lost, self.rows), queries, threshold)

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
