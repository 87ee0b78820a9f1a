"""Molecules as graphs, packed, so that analogs by the hundred thousand fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid.molecules._parallel import in_chunks
from pellucid.molecules._smiles import molecule_of
from pellucid.molecules.features import ATOM_FEATURES, BOND_FEATURES, AtomKind, BondKind

# Molecules that one task of a worker handles.
_CHUNK = 256


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class GraphBatch:
    """B molecules as one graph, with the names that chemprop gives its parts. Every bond is two directed ones."""

    V: Tensor
    """(atoms, features)."""
    E: Tensor
    """(directed bonds, features)."""
    edge_index: Tensor
    """(2, directed bonds) from which atom to which."""
    rev_edge_index: Tensor
    """(directed bonds,) the same bond in the other direction."""
    batch: Tensor
    """(atoms,) the molecule of each atom."""
    smiles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.smiles)

    def to(self, device: torch.device | str) -> GraphBatch:
        """The same on another device."""
        return replace(self, **{name: value.to(device) for name, value in vars(self).items() if name != "smiles"})

    def to_precision(self, dtype: torch.dtype) -> GraphBatch:
        """The same with features of another precision."""
        return self if self.V.dtype == dtype else replace(self, V=self.V.to(dtype), E=self.E.to(dtype))


@final
class Graphs:
    """Molecules as graphs, featurized once; batches of them are what a network reads.

    Atoms and bonds come in few kinds: each is kept as the number of its kind, and gets its features when a
    batch is made.

    Parameters
    ----------
    smiles : iterable of str
        Valid SMILES, as `prepare` returns them.
    progress : bool
        Show a progress bar where there are many.
    """

    def __init__(self, smiles: Iterable[str], *, progress: bool = False) -> None:
        self.smiles: Sequence[str] = tuple(smiles)
        atoms, bonds = _Kinds(), _Kinds()
        ends, atom_counts, bond_counts = [], [], []
        for part in in_chunks(_pack, self.smiles, title="making graphs", progress=progress, jobs=None, chunk=_CHUNK):
            atoms.add(part.atoms, part.atom_kinds)
            bonds.add(part.bonds, part.bond_kinds)
            ends.append(part.ends)
            atom_counts.append(part.atom_counts)
            bond_counts.append(part.bond_counts)
        self._atoms, self._atom_features = atoms.packed(ATOM_FEATURES)
        self._bonds, self._bond_features = bonds.packed(BOND_FEATURES)
        self._ends = torch.from_numpy(np.concatenate([np.zeros((0, 2), dtype=np.int16), *ends]))
        self._atom_offsets, self._bond_offsets = _offsets(atom_counts), _offsets(bond_counts)

    def __len__(self) -> int:
        return len(self.smiles)

    def batch(self, index: Tensor | list[int]) -> GraphBatch:
        """These molecules as one graph."""
        indices = _checks.indices(index, "index")
        _checks.in_range(indices, len(self), "index", "molecules")
        atoms, atom_owner, atom_starts = _gather(self._atom_offsets, indices)
        bonds, bond_owner, _ = _gather(self._bond_offsets, indices)
        ends = self._ends[bonds].long() + atom_starts[bond_owner][:, None]
        forward = 2 * torch.arange(len(bonds))
        return GraphBatch(
            V=self._atom_features[self._atoms[atoms].long()],
            E=self._bond_features[self._bonds[bonds].long().repeat_interleave(2)],
            edge_index=torch.stack([ends, ends.flip(1)], dim=1).reshape(-1, 2).T,
            rev_edge_index=torch.stack([forward + 1, forward], dim=1).flatten(),
            batch=atom_owner,
            smiles=tuple(self.smiles[i] for i in indices.tolist()),
        )


class _PackedGraphs(NamedTuple):
    """The graphs of one chunk of molecules, one after the other."""

    atoms: np.ndarray
    """(atoms,) the number of each atom's kind."""
    atom_kinds: list[AtomKind]
    bonds: np.ndarray
    bond_kinds: list[BondKind]
    ends: np.ndarray
    """(bonds, 2) the atoms that each bond joins."""
    atom_counts: list[int]
    bond_counts: list[int]


def _pack(smiles: Sequence[str]) -> _PackedGraphs:
    atoms: list[int] = []
    bonds: list[int] = []
    ends: list[tuple[int, int]] = []
    atom_numbers: dict[AtomKind, int] = {}
    bond_numbers: dict[BondKind, int] = {}
    atom_counts, bond_counts = [], []
    for text in smiles:
        molecule = molecule_of(text)
        # By index: RDKit's sequences of atoms and bonds take twice as long.
        kinds = (AtomKind.of(molecule.GetAtomWithIdx(i)) for i in range(molecule.GetNumAtoms()))
        atoms.extend(atom_numbers.setdefault(kind, len(atom_numbers)) for kind in kinds)
        for i in range(molecule.GetNumBonds()):
            bond = molecule.GetBondWithIdx(i)
            bonds.append(bond_numbers.setdefault(BondKind.of(bond), len(bond_numbers)))
            ends.append((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        atom_counts.append(molecule.GetNumAtoms())
        bond_counts.append(molecule.GetNumBonds())
    return _PackedGraphs(
        np.array(atoms, dtype=np.int16), list(atom_numbers), np.array(bonds, dtype=np.int16), list(bond_numbers),
        np.array(ends, dtype=np.int16).reshape(-1, 2), atom_counts, bond_counts,
    )  # fmt: skip


class _Kinds:
    """Collects the kinds of several chunks, each of which has numbered its own."""

    def __init__(self) -> None:
        self.numbers: dict[AtomKind | BondKind, int] = {}
        self.parts: list[np.ndarray] = [np.zeros(0, dtype=np.int16)]

    def add(self, numbers: np.ndarray, kinds: Sequence[AtomKind | BondKind]) -> None:
        renumber = np.array([self.numbers.setdefault(kind, len(self.numbers)) for kind in kinds], dtype=np.int16)
        self.parts.append(renumber[numbers] if len(numbers) else numbers)

    def packed(self, width: int) -> tuple[Tensor, Tensor]:
        """The kind of each atom or bond, and the features (kinds, width) of each kind."""
        rows = np.array([kind.features() for kind in self.numbers], dtype=np.float32).reshape(-1, width)
        return torch.from_numpy(np.concatenate(self.parts)), torch.from_numpy(rows)


def _offsets(counts: list[list[int]]) -> Tensor:
    return torch.tensor([0, *chain.from_iterable(counts)]).cumsum(0)


def _gather(offsets: Tensor, segments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of these segments, the position in the batch of each, and where each segment starts in it."""
    counts = offsets[segments + 1] - offsets[segments]
    starts = counts.cumsum(0) - counts
    owner = torch.repeat_interleave(torch.arange(len(segments)), counts)
    return torch.arange(len(owner)) - (starts - offsets[segments])[owner], owner, starts
