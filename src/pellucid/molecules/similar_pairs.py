"""All pairs of similar molecules, exactly, in shards: a range of rows each, written whole, skipped if it is there.

Tanimoto similarity above a threshold t needs more than t / (1 + t) (|a| + |b|) common bits, and so |b| < |a| / t. In a
file that is sorted by the number of bits, the partners of a set that have more lie in one range behind it. Each pair is
found once, by the set with fewer bits. A shard is a pure function of the folder of fingerprints, the range and the
threshold: whoever computes it, and in whatever order, writes the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.molecules.fingerprint_files import Array, FingerprintFile
from pellucid.molecules.fingerprints import SimilarityHits, check_threshold
from pellucid.writing import replacing

_QUERIES = 2048  # that pass by each tile of the pool together


class Pairs(NamedTuple):
    """Pairs of similar fingerprints, each once."""

    first: Array
    """(pairs,) the row of the one with fewer bits."""
    second: Array
    """(pairs,) the row of the other."""
    similarity: Array
    """(pairs,) their Tanimoto similarity."""


def ranges(file: FingerprintFile, shards: int, *, threshold: float = 0.6) -> list[tuple[int, int]]:
    """Ranges of rows of a file that cost about the same, at most `shards` of them; together they are all rows.

    Parameters
    ----------
    file : FingerprintFile
        The fingerprints.
    shards : int
        The number of ranges; a shard is in memory with all its pairs.
    threshold : float
        The similarity that pairs exceed.
    """
    shards = _checks.whole(shards, 1, "shards")
    pairs = np.cumsum(_ends(file, _need(file, threshold)) - np.arange(len(file)))
    total = pairs[-1] if len(pairs) else 0
    cuts = np.searchsorted(pairs, np.linspace(0, total, shards + 1)[1:-1]).tolist()
    bounds = np.unique([0, *cuts, len(file)]).tolist()
    return list(pairwise(bounds))


def shard_path(folder: str | Path, file: FingerprintFile, begin: int, end: int, *, threshold: float = 0.6) -> Path:
    """Where the shard of a range is written; those of other fingerprints or thresholds have other names."""
    key = hashlib.sha256(f"{file.digest} {float(threshold)!r}".encode()).hexdigest()[:12]
    return Path(folder) / f"pairs-{key}-{begin:012d}-{end:012d}.npz"


def write_shard(fingerprints: str | Path, begin: int, end: int, folder: str | Path, *, threshold: float = 0.6) -> Path:
    """Find the pairs whose first set is in a range of rows, and write them, unless they have been written.

    Takes names and numbers alone, so that any process of any machine that sees the folders may be given it.

    Parameters
    ----------
    fingerprints : str or Path
        The folder of a `FingerprintFile`.
    begin, end : int
        The range, in the order of the file.
    folder : str or Path
        Where to write the shard.
    threshold : float
        The similarity that pairs exceed.
    """
    file = FingerprintFile.open(fingerprints)
    if not 0 <= begin < end <= len(file):
        raise InputError(
            f"`begin` and {Parameter('end')} must be a range of the {len(file):,} fingerprints",
            got=f"{begin} and {end}",
            cure="take those of `ranges`",
            parameter="begin",
        )
    need = _need(file, threshold)
    path = shard_path(folder, file, begin, end, threshold=threshold)
    if path.exists():
        return path
    first, second, common = _search(file, need, begin, end)
    union = file.counts[first] + file.counts[second] - common
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as draft, draft.open("wb") as stream:
        np.savez(stream, first=file.rows[first], second=file.rows[second], similarity=common / union)
    return path


def read_shard(path: str | Path) -> Pairs:
    """The pairs of a shard."""
    try:
        with np.load(path) as content:
            return Pairs(*(content[name] for name in Pairs._fields))
    except (ValueError, KeyError, EOFError) as error:
        raise InputError(
            "A shard must hold pairs as `write_shard` writes them", got=f"{path}", cure="delete it, and write it again"
        ) from error


def find_pairs(
    fingerprints: str | Path, folder: str | Path, *, threshold: float = 0.6, shards: int = 64, progress: bool = True
) -> list[Path]:
    """Write all shards that are missing, one after the other in this process, and return where they are.

    Parameters
    ----------
    fingerprints : str or Path
        The folder of a `FingerprintFile`.
    folder : str or Path
        Where to write the shards.
    threshold : float
        The similarity that pairs exceed.
    shards : int
        Their number.
    progress : bool
        Show a progress bar, with the time that is left.
    """
    from tqdm.auto import tqdm

    parts = ranges(FingerprintFile.open(fingerprints), shards, threshold=threshold)
    bar = tqdm(parts, desc="similar pairs", unit="shard", disable=not progress)
    return [write_shard(fingerprints, begin, end, folder, threshold=threshold) for begin, end in bar]


def neighbors_of(pairs: Iterable[Pairs], count: int) -> SimilarityHits:
    """For each of `count` rows all others that are similar to it, most similar first, among equals the first row first.

    Parameters
    ----------
    pairs : iterable of Pairs
        All shards.
    count : int
        The number of fingerprints.
    """
    columns = list(zip(*pairs, strict=True))
    first, second, similarity = (np.concatenate(column) for column in columns)
    row, member = np.concatenate([first, second]), np.concatenate([second, first])
    value = np.concatenate([similarity, similarity])
    order = np.lexsort((member, -value, row))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))])
    return SimilarityHits(offsets, member[order], value[order])


def _need(file: FingerprintFile, threshold: float) -> Array:
    """The fewest common bits of sets with so many bits in all that make them similar, for all numbers that occur."""
    check_threshold(threshold)
    total = np.arange(2 * int(file.counts[-1]) + 1 if len(file) else 1)
    need = np.maximum(np.floor(threshold / (1 + threshold) * total).astype(np.int64) - 1, 0)
    while (short := ~(need > threshold * (total - need))).any():  # the comparison that defines similar, to the last bit
        need[short] += 1
    return np.asarray(need)


def _ends(file: FingerprintFile, need: Array) -> Array:
    """(N,) where the sets end that have few enough bits: the smaller set must have as many as are needed in common."""
    counts = np.asarray(file.counts, dtype=np.int64)
    most = np.searchsorted(need, counts, side="right") - 1 - counts
    return np.asarray(np.maximum(np.searchsorted(counts, most, side="right"), np.arange(len(counts))))


def _search(file: FingerprintFile, need: Array, begin: int, end: int) -> tuple[Array, Array, Array]:
    """Places in the file and common bits of the pairs of a range, in order."""
    from pellucid.molecules._similarity_kernel import pairs_range

    last = _ends(file, need)

    def blocks() -> Iterator[tuple[Array, Array, Array]]:
        for start in range(begin, end, _QUERIES):
            stop = min(start + _QUERIES, end)
            first, second, common = pairs_range(file.words, file.counts, file.folds, file.lost, last, need, start, stop)
            order = np.lexsort((second, first))  # the kernel goes through tiles
            yield first[order], second[order], common[order]

    first, second, common = (np.concatenate(column) for column in zip(*blocks(), strict=True))
    return first, second, common
