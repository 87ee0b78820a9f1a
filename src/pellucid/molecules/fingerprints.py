"""Morgan fingerprints as packed bits, and exact search for similar ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import torch
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from torch import Tensor

from pellucid import _checks
from pellucid._threads import run_chunks
from pellucid.errors import InputError, Parameter
from pellucid.molecules._parallel import in_chunks
from pellucid.molecules._smiles import molecule_of

MOST_BITS = 1 << 20
"""The most bits of a fingerprint."""
MAX_RADIUS = 100
"""The largest radius of a substructure; few molecules are as large."""
# Hits of a search for the nearest that may be in memory together, if every pair is one.
_HITS = 20_000_000


@final
@dataclass(frozen=True, kw_only=True)
class Morgan:
    """Morgan fingerprints: which circular substructures a molecule has, hashed to bits.

    Parameters
    ----------
    radius : int
        Bonds from the central atom of a substructure to its rim.
    size : int
        The number of bits, a multiple of 64.
    """

    radius: int = 2
    size: int = 2048

    def __post_init__(self) -> None:
        _checks.whole(self.radius, 0, "radius", MAX_RADIUS)
        _checks.whole(self.size, 64, "size", MOST_BITS)
        if self.size % 64:
            raise InputError(
                "`size` of Morgan must be a multiple of 64",
                got=f"{self.size}",
                cure="choose 1024 or 2048, say",
                parameter="size",
            )

    def __call__(self, molecules: Iterable[str | Chem.Mol]) -> Fingerprints:
        """The fingerprints of molecules, or of valid SMILES."""
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=self.radius, fpSize=self.size)
        rows = [DataStructs.BitVectToBinaryText(generator.GetFingerprint(_molecule(m))) for m in molecules]
        words = np.frombuffer(b"".join(rows), dtype="<u8").reshape(len(rows), self.size // 64)
        return Fingerprints(words)

    def many(self, smiles: Sequence[str], *, progress: bool = False) -> Fingerprints:
        """The same for very many SMILES, on all cores."""
        parts = in_chunks(_words, smiles, self, title="fingerprints", progress=progress, jobs=None, chunk=1024)
        return Fingerprints(np.concatenate(list(parts)))

    def environments(self, molecule: Chem.Mol) -> dict[int, list[tuple[int, int]]]:
        """For each bit that is set, the (central atom, radius) of the substructures that set it."""
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=self.radius, fpSize=self.size)
        output = rdFingerprintGenerator.AdditionalOutput()
        output.AllocateBitInfoMap()
        generator.GetFingerprint(molecule, additionalOutput=output)
        return {bit: sorted(environments) for bit, environments in sorted(output.GetBitInfoMap().items())}


class SimilarityHits(NamedTuple):
    """The fingerprints found similar to each of several queries, one query after the other."""

    offsets: np.ndarray
    """(queries + 1,) query i has the hits offsets[i] .. offsets[i + 1] - 1."""
    members: np.ndarray
    """Rows of the pool; most similar first, among equals the first row first."""
    similarity: np.ndarray
    """Tanimoto similarity of each."""

    def of(self, i: int) -> Iterator[tuple[int, float]]:
        """(row, similarity) of each hit of query i."""
        part = slice(self.offsets[i], self.offsets[i + 1])
        return zip(self.members[part].tolist(), self.similarity[part].tolist(), strict=True)


class SortedSets(NamedTuple):
    """N bit sets, those with the fewest bits first."""

    words: np.ndarray
    """(N, size / 64) uint64."""
    counts: np.ndarray
    """(N,) the number of bits set, rising."""
    folds: np.ndarray
    """(N, 4) the words combined by `or` into four."""
    lost: np.ndarray
    """(N,) bits that fall onto others in the folds."""
    rows: np.ndarray
    """(N,) what each is called in the results."""


@final
@dataclass(frozen=True, eq=False)
class Fingerprints:
    """N bit sets, packed."""

    words: np.ndarray = field(repr=False)
    """(N, size / 64) uint64."""

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def counts(self) -> np.ndarray:
        """(N,) the number of bits set."""
        return _ones(self.words)

    def dense(self) -> Tensor:
        """(N, size) one byte a bit, as tree witnesses read them."""
        bits = np.unpackbits(self.words.view(np.uint8), axis=1, bitorder="little")
        return torch.from_numpy(bits)

    @cached_property
    def folds(self) -> np.ndarray:
        """(N, 4) the words combined by `or` into four."""
        words = self.words
        if words.shape[1] % 4:
            words = np.pad(words, ((0, 0), (0, -words.shape[1] % 4)))
        return np.asarray(np.bitwise_or.reduce(words.reshape(len(words), -1, 4), axis=1))

    def similar_to(self, queries: Fingerprints, *, threshold: float = 0.6) -> SimilarityHits:
        """All of these whose Tanimoto similarity |a and b| / |a or b| to a query is above the threshold, exactly.

        Only sets with more than threshold |a| and fewer than |a| / threshold bits are looked at, and most of these
        are ruled out by four words; see the kernel.
        """
        return similar_in(self._by_count(), queries, threshold)

    def _by_count(self) -> SortedSets:
        order = np.argsort(self.counts, kind="stable")
        words = np.ascontiguousarray(self.words[order])
        pool = Fingerprints(words)
        return SortedSets(words, pool.counts, pool.folds, pool.counts - _ones(pool.folds), order)

    def nearest_to(self, queries: Fingerprints, *, but: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """For each query the row of the most similar one of these, the first among equals, and its similarity.

        A query that has next to nothing in common with any (similarity up to 0.01) has row -1 and similarity 0.

        Parameters
        ----------
        queries : Fingerprints
            The Q queries.
        but : ndarray, optional
            (Q,) a row that does not count, for instance because it is the query itself; -1 for none.
        """
        rows, similarity = np.full(len(queries), -1), np.zeros(len(queries))
        but = np.full(len(queries), -1) if but is None else but
        if not len(self):
            return rows, similarity
        pool, piece = self._by_count(), max(1, _HITS // len(self))
        for begin in range(0, len(queries), piece):
            waiting = np.arange(begin, min(begin + piece, len(queries)))
            for threshold in (0.6, 0.3, 0.01):  # most queries have a near one, which is found fast
                if not len(waiting):
                    break
                hits = similar_in(pool, Fingerprints(queries.words[waiting]), threshold)
                owner = np.repeat(np.arange(len(waiting)), np.diff(hits.offsets))
                counts = hits.members != but[waiting][owner]
                hit, first = np.unique(owner[counts], return_index=True)
                rows[waiting[hit]] = hits.members[counts][first]
                similarity[waiting[hit]] = hits.similarity[counts][first]
                waiting = np.delete(waiting, hit)
        return rows, similarity


def similar_in(pool: SortedSets, queries: Fingerprints, threshold: float) -> SimilarityHits:
    """All sets of a pool whose Tanimoto similarity to a query is above the threshold; see `Fingerprints.similar_to`."""
    from pellucid.molecules._similarity_kernel import search_range

    check_threshold(threshold)
    if pool.words.shape[1] != queries.words.shape[1]:
        widths = 64 * pool.words.shape[1], 64 * queries.words.shape[1]
        raise InputError("Fingerprints must have the same size", got=f"{widths[0]} and {widths[1]} bits")
    first = np.searchsorted(pool.counts, np.floor(threshold * queries.counts), side="left")
    last = np.searchsorted(pool.counts, np.ceil(queries.counts / threshold), side="right")
    sizes = np.zeros(len(queries), dtype=np.int64)
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def part(begin: int, end: int) -> None:
        parts[begin] = search_range(
            queries.words, queries.counts, queries.folds, queries.counts - _ones(queries.folds),
            pool.words, pool.counts, pool.folds, pool.lost,
            first, last, float(threshold), begin, end, sizes,
        )  # fmt: skip

    run_chunks(part, np.concatenate([[0], np.cumsum(last - first)]), torch.get_num_threads())
    rows, similarity = (np.concatenate(values) for values in zip(*(parts[b] for b in sorted(parts)), strict=True))
    members = pool.rows[rows]
    best = np.lexsort((members, -similarity, np.repeat(np.arange(len(queries)), sizes)))
    return SimilarityHits(np.concatenate([[0], np.cumsum(sizes)]), members[best], similarity[best])


def _words(smiles: Sequence[str], morgan: Morgan) -> np.ndarray:
    return morgan(smiles).words


def _ones(words: np.ndarray) -> np.ndarray:
    """(N,) the number of bits set."""
    return np.asarray(np.bitwise_count(words).sum(1, dtype=np.int64))


def _molecule(molecule: str | Chem.Mol) -> Chem.Mol:
    return molecule_of(molecule) if isinstance(molecule, str) else molecule


def check_threshold(threshold: float) -> None:
    """Refuse what is no similarity that some pairs are above and some are not."""
    if not 0 < threshold < 1:
        raise InputError(
            f"{Parameter('threshold')} must be between 0 and 1",
            got=f"{threshold!r}",
            cure="the paper uses 0.6",
            parameter="threshold",
        )
