"""Molecules as graphs with chemprop's features, packed, so that analogs by the hundred thousand fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from rdkit import Chem
from torch import Tensor
from tqdm.auto import tqdm

from pellucid import _checks
from pellucid.errors import InputError

# From so many on, it takes more than a few seconds.
_MANY = 10_000


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
        atoms = _Kinds(MultiHotAtomFeaturizer.v2(), _atom_key)
        bonds = _Kinds(MultiHotBondFeaturizer(), _bond_key)
        ends: list[int] = []
        atom_counts, bond_counts = [], []
        bar = tqdm(self.smiles, desc="making graphs", unit="molecule", disable=not progress or len(self.smiles) < _MANY)
        for text in bar:
            molecule = Chem.MolFromSmiles(text)
            if molecule is None:
                raise InputError(f"Every SMILES must be valid. Got {text!r}; clean them with `prepare`.")
            for atom in molecule.GetAtoms():
                atoms.add(atom)
            for bond in molecule.GetBonds():
                bonds.add(bond)
                ends.append(bond.GetBeginAtomIdx())
                ends.append(bond.GetEndAtomIdx())
            atom_counts.append(molecule.GetNumAtoms())
            bond_counts.append(molecule.GetNumBonds())
        self._atoms, self._atom_features = atoms.packed()
        self._bonds, self._bond_features = bonds.packed()
        self._ends = torch.tensor(ends, dtype=torch.int16).reshape(-1, 2)
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


class _Kinds:
    """Numbers things by what their features depend on."""

    def __init__(self, featurize: Any, key: Callable[[Any], Any]) -> None:
        self.featurize, self.key = featurize, key
        self.numbers: dict[Any, int] = {}
        self.rows: list[np.ndarray] = []
        self.kinds: list[int] = []

    def add(self, thing: Any) -> None:
        key = self.key(thing)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.rows)
            self.rows.append(self.featurize(thing))
        self.kinds.append(number)

    def packed(self) -> tuple[Tensor, Tensor]:
        """The kind of each thing, and the features of each kind."""
        rows = np.array(self.rows, dtype=np.float32).reshape(len(self.rows), len(self.featurize))
        return torch.tensor(self.kinds, dtype=torch.int16), torch.from_numpy(rows)


def _atom_key(atom: Chem.Atom) -> tuple[Any, ...]:
    return (
        atom.GetAtomicNum(), atom.GetTotalDegree(), atom.GetFormalCharge(), atom.GetChiralTag(), atom.GetTotalNumHs(),
        atom.GetHybridization(), atom.GetIsAromatic(), atom.GetMass(),
    )  # fmt: skip


def _bond_key(bond: Chem.Bond) -> tuple[Any, ...]:
    return bond.GetBondType(), bond.GetIsConjugated(), bond.IsInRing(), bond.GetStereo()


def _offsets(counts: list[int]) -> Tensor:
    return torch.tensor([0, *counts]).cumsum(0)


def _gathered(offsets: Tensor, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of the segments `places`, the place in the batch of each, and where each segment starts in it."""
    counts = offsets[places + 1] - offsets[places]
    starts = counts.cumsum(0) - counts
    owner = torch.repeat_interleave(torch.arange(len(places)), counts)
    return torch.arange(len(owner)) - (starts - offsets[places])[owner], owner, starts
