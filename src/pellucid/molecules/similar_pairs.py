"""All pairs of similar molecules, exactly, in shards: a range of rows each, written whole, skipped if it is there.

Tanimoto similarity above a threshold t needs more than t / (1 + t) (|a| + |b|) common bits, and so |b| < |a| / t. In a
file that is sorted by the number of bits, the partners of a set that have more lie in one range behind it. Each pair is
found once, by the set with fewer bits. A shard is a pure function of the folder of fingerprints, the range and the
threshold: whoever computes it, and in whatever order, writes the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pellucid import _checks
from pellucid.molecules.fingerprint_files import Array, FingerprintFile
from pellucid.molecules.fingerprints import SimilarityHits, check_threshold
from pellucid.schemas import SchemaError, as_written
from pellucid.sharding import Executor, Job, Range, identity_of, run
from pellucid.sharding.files import read_shard_file
from pellucid.stored_arrays import check_array, read_arrays

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


def pairs_job(fingerprints: str | Path, folder: str | Path, *, threshold: float = 0.6, shards: int = 64) -> Job:
    """The search for all pairs, as a job in shards; see `pellucid.sharding`.

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
    """
    file = FingerprintFile.open(fingerprints)
    file.verify()
    return Job(
        name="pairs",
        work=_pairs_range,
        arguments={"fingerprints": Path(fingerprints).resolve(), "threshold": float(threshold)},
        ranges=[Range(begin, end) for begin, end in ranges(file, shards, threshold=threshold)],
        folder=Path(folder).resolve(),
        identity=identity_of({"job": "pairs", "threshold": float(threshold)}, file.digest),
        unit="molecules",
    )


def _pairs_range(begin: int, end: int, *, fingerprints: Path, threshold: float) -> bytes:
    """The pairs whose first set is in a range of rows, in the order of the file."""
    file = FingerprintFile.open(fingerprints)
    first, second, common = _search(file, _need(file, threshold), begin, end)
    union = file.counts[first] + file.counts[second] - common
    stream = io.BytesIO()
    np.savez(stream, first=file.rows[first], second=file.rows[second], similarity=common / union)
    return stream.getvalue()


def read_shard(path: str | Path) -> Pairs:
    """The pairs of a shard."""
    with as_written(
        "A shard must hold pairs as `find_pairs` writes them",
        where=path,
        cure="call `find_pairs` again: it makes what is missing or damaged",
    ):
        content = read_shard_file(Path(path))
        if content is None:
            raise SchemaError("it is missing, damaged, or no shard")
        arrays = read_arrays(io.BytesIO(content))
        pairs = Pairs(*(arrays[name] for name in Pairs._fields))
        for name, kinds in zip(Pairs._fields, "iif", strict=True):
            check_array(getattr(pairs, name), [len(pairs.first)], name, kinds=kinds, low=0)
        return pairs


def find_pairs(
    fingerprints: str | Path,
    folder: str | Path,
    *,
    threshold: float = 0.6,
    shards: int = 64,
    executor: Executor | None = None,
    progress: bool = True,
) -> list[Path]:
    """Write all shards that are missing or damaged, and return where they are.

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
    executor : Executor, optional
        Who computes; by default this process, one shard after the other. See `pellucid.sharding.executor_of`.
    progress : bool
        Show a progress bar, with the time that is left.
    """
    job = pairs_job(fingerprints, folder, threshold=threshold, shards=shards)
    run(job, executor, progress=progress)
    return [job.path(part) for part in job.ranges]


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
