"""Molecules as graphs with chemprop's features, packed, so that analogs by the hundred thousand fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np
import torch
from rdkit import Chem
from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError
from pellucid.molecules._parallel import in_chunks

# Molecules that one task of a worker handles.
_CHUNK = 256


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class GraphBatch:
    """B molecules as one graph, with the names that chemprop's layers expect. Every bond is two directed ones."""

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


@final
class Graphs:
    """Molecules as graphs, featurized once; batches of them are what a network reads.

    Atoms and bonds come in few kinds: each is kept as the number of its kind, and gets its features when a
    batch is made.

    Parameters
    ----------
    smiles : valid SMILES, as `prepare` gives them.
    progress : show a progress bar where there are many.
    """

    def __init__(self, smiles: Iterable[str], *, progress: bool = False) -> None:
        from chemprop.featurizers import MultiHotAtomFeaturizer, MultiHotBondFeaturizer

        self.smiles: Sequence[str] = tuple(smiles)
        atoms, bonds = _Features(MultiHotAtomFeaturizer.v2()), _Features(MultiHotBondFeaturizer())
        ends, atom_counts, bond_counts = [], [], []
        for part in in_chunks(_pack, self.smiles, title="making graphs", progress=progress, jobs=None, chunk=_CHUNK):
            atoms.add(part.atoms, part.atom_kinds, lambda molecule, place: molecule.GetAtomWithIdx(place))
            bonds.add(part.bonds, part.bond_kinds, lambda molecule, place: molecule.GetBondWithIdx(place))
            ends.append(part.ends)
            atom_counts.append(part.atom_counts)
            bond_counts.append(part.bond_counts)
        self._atoms, self._atom_features = atoms.packed()
        self._bonds, self._bond_features = bonds.packed()
        self._ends = torch.from_numpy(np.concatenate([np.zeros((0, 2), dtype=np.int16), *ends]))
        self._atom_offsets, self._bond_offsets = _offsets(atom_counts), _offsets(bond_counts)

    def __len__(self) -> int:
        return len(self.smiles)

    def batch(self, index: Tensor | list[int]) -> GraphBatch:
        """These molecules as one graph."""
        places = _checks.indices(index, "index")
        _checks.in_range(places, len(self), "index", "molecules")
        atoms, atom_owner, atom_starts = _gathered(self._atom_offsets, places)
        bonds, bond_owner, _ = _gathered(self._bond_offsets, places)
        ends = self._ends[bonds].long() + atom_starts[bond_owner][:, None]
        forth = 2 * torch.arange(len(bonds))
        return GraphBatch(
            V=self._atom_features[self._atoms[atoms].long()],
            E=self._bond_features[self._bonds[bonds].long().repeat_interleave(2)],
            edge_index=torch.stack([ends, ends.flip(1)], dim=1).reshape(-1, 2).T,
            rev_edge_index=torch.stack([forth + 1, forth], dim=1).flatten(),
            batch=atom_owner,
            smiles=tuple(self.smiles[i] for i in places.tolist()),
        )


class _Packed(NamedTuple):
    """Some molecules, one after the other."""

    atoms: np.ndarray
    """(atoms,) the number of each atom's kind."""
    atom_kinds: dict[Any, tuple[str, int]]
    """What the features of each kind depend on, and where one is seen: a molecule and a place in it."""
    bonds: np.ndarray
    bond_kinds: dict[Any, tuple[str, int]]
    ends: np.ndarray
    """(bonds, 2) the atoms that each bond joins."""
    atom_counts: list[int]
    bond_counts: list[int]


def _pack(smiles: Sequence[str]) -> _Packed:
    atoms: list[int] = []
    bonds: list[int] = []
    ends: list[tuple[int, int]] = []
    atom_kinds: dict[Any, tuple[str, int]] = {}
    bond_kinds: dict[Any, tuple[str, int]] = {}
    atom_numbers: dict[Any, int] = {}
    bond_numbers: dict[Any, int] = {}
    atom_counts, bond_counts = [], []
    for text in smiles:
        molecule = Chem.MolFromSmiles(text)
        if molecule is None:
            raise InputError(f"Every SMILES must be valid. Got {text!r}; clean them with `prepare`.")
        for place, atom in enumerate(molecule.GetAtoms()):
            key = _atom_key(atom)
            atoms.append(atom_numbers.setdefault(key, len(atom_numbers)))
            atom_kinds.setdefault(key, (text, place))
        for place, bond in enumerate(molecule.GetBonds()):
            key = _bond_key(bond)
            bonds.append(bond_numbers.setdefault(key, len(bond_numbers)))
            bond_kinds.setdefault(key, (text, place))
            ends.append((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        atom_counts.append(molecule.GetNumAtoms())
        bond_counts.append(molecule.GetNumBonds())
    return _Packed(
        np.array(atoms, dtype=np.int16), atom_kinds, np.array(bonds, dtype=np.int16), bond_kinds,
        np.array(ends, dtype=np.int16).reshape(-1, 2), atom_counts, bond_counts,
    )  # fmt: skip


class _Features:
    """Collects the kinds of several packs, and the features of each."""

    def __init__(self, featurize: Any) -> None:
        self.featurize = featurize
        self.numbers: dict[Any, int] = {}
        self.rows: list[np.ndarray] = []
        self.parts: list[np.ndarray] = [np.zeros(0, dtype=np.int16)]

    def add(self, numbers: np.ndarray, kinds: dict[Any, tuple[str, int]], find: Callable[[Chem.Mol, int], Any]) -> None:
        """Kinds are numbered anew: those of one pack in the order of its dictionary, here all in one."""
        for key, (text, place) in kinds.items():
            if key not in self.numbers:
                self.numbers[key] = len(self.rows)
                molecule = Chem.MolFromSmiles(text)  # keeps what it lends alive
                self.rows.append(self.featurize(find(molecule, place)))
        renumber = np.array([self.numbers[key] for key in kinds], dtype=np.int16)
        self.parts.append(renumber[numbers] if len(numbers) else numbers)

    def packed(self) -> tuple[Tensor, Tensor]:
        """The kind of each thing, and the features of each kind."""
        rows = np.array(self.rows, dtype=np.float32).reshape(len(self.rows), len(self.featurize))
        return torch.from_numpy(np.concatenate(self.parts)), torch.from_numpy(rows)


def _atom_key(atom: Chem.Atom) -> tuple[Any, ...]:
    return (
        atom.GetAtomicNum(), atom.GetTotalDegree(), atom.GetFormalCharge(), int(atom.GetChiralTag()),
        atom.GetTotalNumHs(), int(atom.GetHybridization()), atom.GetIsAromatic(), atom.GetMass(),
    )  # fmt: skip


def _bond_key(bond: Chem.Bond) -> tuple[Any, ...]:
    return int(bond.GetBondType()), bond.GetIsConjugated(), bond.IsInRing(), int(bond.GetStereo())


def _offsets(counts: list[list[int]]) -> Tensor:
    return torch.tensor([0, *chain.from_iterable(counts)]).cumsum(0)


def _gathered(offsets: Tensor, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of the segments `places`, the place in the batch of each, and where each segment starts in it."""
    counts = offsets[places + 1] - offsets[places]
    starts = counts.cumsum(0) - counts
    owner = torch.repeat_interleave(torch.arange(len(places)), counts)
    return torch.arange(len(owner)) - (starts - offsets[places])[owner], owner, starts
