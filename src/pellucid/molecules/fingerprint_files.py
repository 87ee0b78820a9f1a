"""Fingerprints on the disk, sorted by their number of bits, which programs read without having them all in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import InputError
from pellucid.molecules.fingerprints import MOST_BITS, Fingerprints, SimilarityHits, SortedSets, similar_in
from pellucid.schemas import Between, SchemaError, as_written, checked, json_of
from pellucid.stored_arrays import check_array, map_array
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


def _blocks(words: Array) -> Iterator[tuple[int, Fingerprints]]:
    """The sets, so many at a time, each with the number of the first."""
    for begin in range(0, len(words), _BLOCK):
        yield begin, Fingerprints(np.ascontiguousarray(words[begin : begin + _BLOCK]))


def _lost(block: Fingerprints) -> Array:
    """(n,) bits that fall onto others in the folds."""
    return np.asarray(block.counts - np.bitwise_count(block.folds).sum(1, dtype=np.int64))


@final
@dataclass(frozen=True, kw_only=True)
class _About:
    """The JSON file beside the arrays."""

    format: Literal[1]
    count: Annotated[int, Between(0, 2**40)]
    digest: str


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
        for begin, block in _blocks(words):
            digest.update(block.words.data)
            folds[begin : begin + _BLOCK] = block.folds
            lost[begin : begin + _BLOCK] = _lost(block)
        digest.update(order.data)
        for name, array in (("folds", folds), ("counts", counts[order]), ("lost", lost), ("rows", order)):
            with replacing(folder / f"{name}.npy") as draft, draft.open("wb") as stream:
                np.save(stream, array)
        write_text(folder / _ABOUT, json.dumps({"format": FORMAT, "count": len(order), "digest": digest.hexdigest()}))
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> FingerprintFile:
        """The fingerprints that `write` has put into a folder; compiled code, which checks nothing, may read them."""
        folder = Path(folder)
        with as_written(
            "The folder must hold fingerprints as `FingerprintFile.write` writes them",
            where=folder,
            cure="write them again",
        ):
            about = checked(_About, json_of(folder / _ABOUT))
            result = cls(folder=folder, count=about.count, digest=about.digest)
            result._check()
        return result

    def verify(self) -> None:
        """Refuse sets that are not those that were written, as their digest tells; reads all of them."""
        digest = hashlib.sha256(str(self.words.shape).encode())
        same = True
        for begin, block in _blocks(self.words):
            digest.update(block.words.data)
            part = slice(begin, begin + len(block))
            same &= np.array_equal(block.counts, self.counts[part]) and np.array_equal(block.folds, self.folds[part])
            same &= np.array_equal(_lost(block), self.lost[part])
        digest.update(np.ascontiguousarray(self.rows).data)
        if not same or digest.hexdigest() != self.digest:
            raise InputError(
                "The folder must hold the fingerprints that were written",
                got=f"{self.folder}, whose digest is another",
                cure="write them again",
            )

    def _check(self) -> None:
        """Refuse arrays of other shapes or types, and numbers that would be indices out of bounds."""
        count, words = self.count, self.words
        size = 64 * words.shape[1] if words.ndim == 2 else 0
        if size > MOST_BITS:
            raise SchemaError(f"words has the shape {words.shape}")
        if {words.dtype, self.folds.dtype} != {np.dtype(np.uint64)}:
            raise SchemaError(f"words and folds have the types {words.dtype} and {self.folds.dtype}")
        for name, length in (("words", size // 64), ("folds", _FOLDS)):
            if getattr(self, name).shape != (count, length) or not length:
                raise SchemaError(f"{name} has the shape {getattr(self, name).shape}, not {count} x {length}")
        for name, most in (("counts", size), ("lost", size), ("rows", count - 1)):
            check_array(getattr(self, name), [count], name, kinds="i", low=0, high=most)
        if (np.diff(self.counts) < 0).any():
            raise SchemaError("counts are not ascending")
        if count and np.bincount(self.rows, minlength=count).max() > 1:
            raise SchemaError("rows has one of them twice")

    def similar_to(self, queries: Fingerprints, *, threshold: float = 0.6) -> SimilarityHits:
        """What `Fingerprints.similar_to` finds, in the rows of those that were written; they stay on the disk."""
        counts, lost = (np.asarray(array, dtype=np.int64) for array in (self.counts, self.lost))
        return similar_in(SortedSets(self.words, counts, self.folds, lost, self.rows), queries, threshold)

    def _array(self, name: str) -> Array:
        # As a plain array: compiled kernels know no maps.
        return np.asarray(map_array(self.folder / f"{name}.npy"))

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
