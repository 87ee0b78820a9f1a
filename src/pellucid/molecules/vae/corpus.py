"""Junction trees of many molecules, packed on disk: however many there are, memory does not fill up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from pellucid import _checks, cache
from pellucid.errors import InputError, Parameter
from pellucid.molecules._parallel import over_chunks
from pellucid.molecules.table import Rejection
from pellucid.molecules.vae.corpus_format import (
    CONTENT,
    CorpusPart,
    corpus_key,
    join_parts,
    pack,
    rows_of,
    write_parts,
)
from pellucid.molecules.vae.stored_corpus import read_corpus
from pellucid.molecules.vae.trees import ATOM_LIMIT, MAX_ATOMS
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.numbers import counted
from pellucid.schemas import SchemaError, as_written

# Molecules that one task of a worker handles.
_CHUNK = 512
# From this number of molecules on, `corpus_of` works on all cores and keeps junction trees on disk.
_MANY = 2000


class PackedTrees(NamedTuple):
    """B junction trees, one after the other. Atoms and parents are numbered within their own molecule."""

    atoms: np.ndarray
    """(atoms, 4) as in `JunctionTree`."""
    atom_offsets: np.ndarray
    """(B + 1,)"""
    bonds: np.ndarray
    """(bonds, 3) as in `JunctionTree`."""
    bond_offsets: np.ndarray
    labels: np.ndarray
    """(clusters,) indices in the vocabulary."""
    parents: np.ndarray
    """(clusters,) -1 for roots."""
    node_offsets: np.ndarray
    members: np.ndarray
    """The atoms of each cluster."""
    member_offsets: np.ndarray
    """(clusters + 1,)"""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Corpus:
    """Junction trees of N molecules in the order of the source, without those that have none.

    Made by `Corpus.build` or `Corpus.of`.
    """

    arrays: Mapping[str, np.ndarray]
    """As they are on disk; `rows` are the numbers of the rows that the molecules come from, starting at 1."""
    labels: tuple[str, ...]
    """All labels that occur, in the order of their numbers."""
    counts: tuple[int, ...]
    """How often each occurs."""
    rejected: tuple[Rejection, ...]
    """Rejected rows; of a long table the first thousand, and all of them in `rejected.csv` of its folder."""
    reasons: Mapping[str, int]
    """The number of rejected rows, by reason."""
    flattened: int = 0
    """Molecules whose stereochemistry was dropped; folders of earlier versions do not say."""
    built_from: str = ""
    """A key of everything that a corpus on disk depends on."""

    def __len__(self) -> int:
        return len(self.arrays["atoms_ends"])

    def __repr__(self) -> str:
        return f"Corpus({self.summary()})"

    def summary(self) -> str:
        """One line on what was kept and what was not."""
        text = f"{counted(len(self), 'molecule')}, {counted(len(self.labels), 'label')}"
        if self.flattened:
            text += f"; stereochemistry dropped in {self.flattened:,}"
        if total := sum(self.reasons.values()):
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(self.reasons.items(), key=lambda r: -r[1]))
            text += f"; {counted(total, 'rejected row')}: {reasons}"
        return text

    @classmethod
    def of(cls, smiles: Iterable[str], *, largest: int = MAX_ATOMS) -> Corpus:
        """The junction trees of a few molecules, in memory."""
        if isinstance(smiles, str):
            raise InputError(
                "Molecules must be a list of SMILES", got=f"the text {smiles!r}", cure="put it into a list"
            )
        _checks.whole(largest, 1, "largest", ATOM_LIMIT)
        arrays, content = join_parts([pack(list(enumerate(smiles, 1)), largest)])
        return cls(arrays=arrays, **content)

    @classmethod
    def build(
        cls,
        source: str | Path | Iterable[str],
        folder: str | Path | None = None,
        *,
        smiles: str | None = None,
        largest: int = MAX_ATOMS,
        limit: int | None = None,
        jobs: int | None = None,
        progress: bool = True,
    ) -> Corpus:
        """Junction trees of any number of molecules, made on all cores and written to disk as they come.

        Rows that are not a molecule that can be rebuilt from its tree are rejected, with the reason, and counted.

        Parameters
        ----------
        source : str, Path or iterable of str
            SMILES; or a text file of them, which may be gzipped: one on each line, or a CSV with a column of SMILES.
        folder : str or Path, optional
            The folder of the corpus; by default one in the user's cache, which is found again for the same source.
            Where that cannot be written, the corpus is in memory.
        smiles : str, optional
            The column of SMILES of a file that is a table; by default it is found by its name.
        largest : int
            The most heavy atoms that a molecule may have.
        limit : int, optional
            The most rows to read.
        jobs : int, optional
            The number of processes; by default one per core.
        progress : bool
            Show a progress bar.
        """
        _checks.whole(largest, 1, "largest", ATOM_LIMIT)
        limit = None if limit is None else _checks.whole(limit, 1, "limit")
        jobs = None if jobs is None else _checks.whole(jobs, 1, "jobs")
        if not isinstance(source, str | Path | Iterable):
            raise InputError("The source must be SMILES, or a file of them", got=f"{type(source).__name__}")
        source = source if isinstance(source, str | Path) else list(source)
        if smiles is not None and not isinstance(source, str | Path):
            raise InputError(
                f"{Parameter('smiles')} is for files, whose column of SMILES it names",
                got="a list of SMILES",
                cure="leave it out",
                parameter="smiles",
            )
        key = corpus_key(source, largest, limit, smiles)
        target = Path(folder) if folder is not None else cache.cached_path(f"trees-{key}", below="molecules")
        corpus = (
            cls.built_in(target, key)
            if folder is not None
            else cache.read_cached(target, lambda path: cls._of_key(path, key))
        )
        if corpus is not None:
            return corpus

        def parts() -> Iterator[CorpusPart]:
            rows = islice(rows_of(source, smiles), limit)
            chunks = iter(lambda: list(islice(rows, _CHUNK)), [])
            total = limit if isinstance(source, str | Path) else len(list(islice(source, limit)))
            return over_chunks(pack, chunks, largest, jobs=jobs, title="junction trees", progress=progress, total=total)

        try:
            with cache.new_folder(target, CONTENT) as draft:
                write_parts(draft, parts(), key)
            return cls.open(target)
        except OSError as error:
            if folder is not None:
                raise
            cache.warn_unwritten(target, error)
        arrays, content = join_parts([*parts()] or [pack([], largest)])
        return cls(arrays=arrays, built_from=key, **content)

    @classmethod
    def _of_key(cls, path: Path, key: str) -> Corpus:
        corpus = cls.open(path)
        if corpus.built_from != key:
            raise SchemaError("it is a corpus of other molecules")
        return corpus

    @classmethod
    def built_in(cls, folder: Path, key: str) -> Corpus | None:
        """The corpus of this key in a folder of the user's; None if it has yet to be built there."""
        if (folder / CONTENT).exists():
            corpus = cls.open(folder)
            if corpus.key() == key:
                return corpus
            raise InputError(
                f"{Parameter('folder')} must be new, or hold the corpus of the same molecules",
                got=f"{folder}, which holds others",
                cure="choose another folder",
                parameter="folder",
            )
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            raise InputError(
                f"{Parameter('folder')} must be new or empty",
                got=f"{folder}, which is not",
                cure="choose another folder",
                parameter="folder",
            )
        return None

    @classmethod
    def open(cls, folder: str | Path) -> Corpus:
        """A corpus that was built before. Its arrays stay on disk and are read where they are needed."""
        path = Path(folder)
        with as_written("A corpus must be a folder that `Corpus.build` wrote", where=path, cure="build it again"):
            return cls(**read_corpus(path))

    def key(self) -> str:
        """A key of what it was built from; resumed runs must have the same."""
        return self.built_from or cache.key_of("", [self.arrays[name].tobytes() for name in ("texts", "texts_ends")])

    def vocabulary(self) -> Vocabulary:
        """All labels that occur."""
        return Vocabulary(dict(zip(self.labels, self.counts, strict=True)))

    def smiles(self, i: int) -> str:
        """Canonical SMILES of molecule i."""
        begin, end = self._bounds("texts", np.array([range(len(self))[i]]))
        return bytes(self.arrays["texts"][begin[0] : end[0]]).decode()

    def encodable(self, vocabulary: Vocabulary) -> tuple[np.ndarray, list[str]]:
        """Indices of the molecules whose labels are all in the vocabulary, and the labels that are not in it."""
        missing = [label for label in self.labels if label not in vocabulary.index]
        if not missing:
            return np.arange(len(self)), []
        numbers = np.array([i for i, label in enumerate(self.labels) if label not in vocabulary.index])
        owners = np.searchsorted(
            self.arrays["labels_ends"], np.flatnonzero(np.isin(self.arrays["labels"], numbers)), "right"
        )
        return np.delete(np.arange(len(self)), np.unique(owners)), missing

    def unknown_label(self, i: int, vocabulary: Vocabulary) -> str:
        """The first label of molecule i that is not in the vocabulary."""
        numbers, _ = self._rows("labels", np.array([i]))
        return str(next(self.labels[n] for n in numbers.tolist() if self.labels[n] not in vocabulary.index))

    def packed(self, index: Sequence[int] | np.ndarray, vocabulary: Vocabulary) -> PackedTrees:
        """These molecules, read from disk."""
        indices = np.asarray(_checks.indices(index, "index"))
        atoms, atom_offsets = self._rows("atoms", indices)
        bonds, bond_offsets = self._rows("bonds", indices)
        numbers, node_offsets = self._rows("labels", indices)
        members, _ = self._rows("members", indices)
        begin, end = self._bounds("labels", indices)
        nodes = ranges(begin, end)
        renumber = np.array([vocabulary.index.get(label, -1) for label in self.labels], dtype=np.int64)
        labels = renumber[numbers]
        if len(labels) and labels.min() < 0:
            owner = np.searchsorted(node_offsets, np.argmin(labels), "right") - 1
            raise InputError(
                "Every cluster must be in the vocabulary",
                got=f"{self.smiles(int(indices[owner]))!r} with {self.labels[numbers[np.argmin(labels)]]!r}",
                cure="pass indices from `encodable(vocabulary)` only",
            )
        return PackedTrees(
            atoms=atoms,
            atom_offsets=atom_offsets,
            bonds=bonds,
            bond_offsets=bond_offsets,
            labels=labels,
            parents=self.arrays["parents"][nodes].astype(np.int64),
            node_offsets=node_offsets,
            members=members.astype(np.int64),
            member_offsets=np.concatenate([[0], np.cumsum(self.arrays["sizes"][nodes], dtype=np.int64)]),
        )

    def _bounds(self, name: str, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = self.arrays[f"{name}_ends"]
        return np.where(indices > 0, ends[np.maximum(indices - 1, 0)], 0), ends[indices]

    def _rows(self, name: str, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        begin, end = self._bounds(name, indices)
        return self.arrays[name][ranges(begin, end)], np.concatenate([[0], np.cumsum(end - begin)])


def corpus_of(smiles: Sequence[str], *, progress: bool = False) -> Corpus:
    """The junction trees of molecules: of few in memory, of many on disk."""
    return Corpus.of(smiles) if len(smiles) < _MANY else Corpus.build(smiles, progress=progress)


def ranges(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """begin[0] .. end[0] - 1, begin[1] .. end[1] - 1, ..."""
    counts = end - begin
    starts = np.cumsum(counts) - counts
    return np.asarray(np.arange(counts.sum()) + np.repeat(begin - starts, counts))
