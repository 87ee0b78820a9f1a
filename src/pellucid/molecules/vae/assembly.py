"""From clusters back to molecules: one cluster after the other is attached to the molecule so far."""

from __future__ import annotations

from typing import final

import numpy as np
from rdkit import Chem

from pellucid.errors import InputError
from pellucid.molecules.vae import _assembly_kernel as kernel
from pellucid.molecules.vae.trees import JunctionTree, molecule_of, template
from pellucid.molecules.vae.vocabulary import Vocabulary

_ROOM = 64


@final
class PartialMolecule:
    """A molecule under construction, of the labels of a vocabulary.

    Whatever is attached, and in whichever of the ways offered, it stays a valid molecule: an atom never gets more
    bonds than it can have, and bonds are those of a Kekulé form, so that none has to be assigned afterwards.
    """

    def __init__(self, vocabulary: Vocabulary, root: int) -> None:
        self.vocabulary = vocabulary
        self.labels: list[int] = []
        self.parents: list[int] = []
        self._kinds = np.zeros(_ROOM, dtype=np.int64)
        self._used = np.zeros(_ROOM, dtype=np.int64)
        self._tally = np.zeros((_ROOM, 3), dtype=np.int64)
        self._bonds = np.zeros((_ROOM, 3), dtype=np.int64)
        self._members = np.zeros(0, dtype=np.int64)
        self._offsets = np.zeros(1, dtype=np.int64)
        self.n_atoms, self.n_bonds = 0, 0
        self._add(root, -1, {})

    def members(self, node: int) -> np.ndarray:
        """The atoms of a cluster, in the order of its label."""
        return self._members[self._offsets[node] : self._offsets[node + 1]]

    def ways(self, parent: int, label: int) -> np.ndarray:
        """(ways, 4) how a cluster of this label can be attached to the cluster `parent`; see the kernel."""
        n, none = self.n_atoms, np.full(4, -1)
        marks = np.zeros(n, dtype=np.uint64)
        offsets = self.vocabulary.templates.offsets
        kernel.mark_path(marks, parent, np.array(self.parents), self._offsets, self._members)
        pairs = len(self.members(parent)) * int(offsets[label + 1] - offsets[label])
        out = np.empty((kernel.MAX_WAYS * pairs, 4), dtype=np.int64)
        count = kernel.find_ways(
            self._kinds[:n], self._bonds[: self.n_bonds], np.ones(self.n_bonds, dtype=bool), self._used[:n],
            self._tally[:n], marks, self.members(parent), self.labels[parent], label, none,
            *self.vocabulary.templates, out,
        )  # fmt: skip
        return out[:count]

    def attach(self, parent: int, label: int, way: np.ndarray) -> int:
        """Add a cluster in one of the `ways`; returns its number."""
        parent_atoms = self.members(parent)
        shared = {int(way[k + 1]): int(parent_atoms[way[k]]) for k in (0, 2) if way[k] >= 0}
        return self._add(label, parent, shared)

    def hanging(self, parent: int) -> list[tuple[int, int]]:
        """(atom of the parent, cluster) wherever another cluster already hangs on it."""
        above = self.parents[parent]
        positions = {int(atom): k for k, atom in enumerate(self.members(parent))}
        others = [node for node, p in enumerate(self.parents) if p == parent or node == above]
        return [(positions[int(a)], node) for node in others for a in self.members(node) if int(a) in positions]

    def smiles(self) -> str:
        """Canonical SMILES of the molecule so far."""
        molecule = molecule_of(self._kinds[: self.n_atoms], self._bonds[: self.n_bonds])
        Chem.SanitizeMol(molecule)
        return str(Chem.MolToSmiles(molecule))

    def _add(self, label: int, parent: int, shared: dict[int, int]) -> int:
        cluster = template(self.vocabulary.labels[label])
        size = len(cluster.kinds)
        while self.n_atoms + size > len(self._kinds) or self.n_bonds + size**2 > len(self._bonds):
            for name in ("_kinds", "_used", "_tally", "_bonds"):
                values = getattr(self, name)
                setattr(self, name, np.concatenate([values, np.zeros_like(values)]))
        atoms = []
        for k, kind in enumerate(cluster.kinds):
            if k not in shared:
                self._kinds[self.n_atoms] = kind
                self.n_atoms += 1
            atoms.append(shared.get(k, self.n_atoms - 1))
        for i, j, order in cluster.bonds:
            if i in shared and j in shared:  # the parent has this bond
                continue
            self._bonds[self.n_bonds] = atoms[i], atoms[j], order
            self._used[atoms[i]] += order
            self._used[atoms[j]] += order
            self.n_bonds += 1
        self._tally[atoms] += (size > 1, size == 2, size == 1)
        self.labels.append(label)
        self.parents.append(parent)
        self._members = np.concatenate([self._members, np.array(atoms)])
        self._offsets = np.append(self._offsets, len(self._members))
        return len(self.labels) - 1


def reassemble(tree: JunctionTree, vocabulary: Vocabulary) -> str:
    """The molecule that grows from a tree's labels if every cluster is attached where it really is.

    Uses nothing of the molecule but the labels, and which atoms of neighboring clusters are the same.
    """
    if (missing := vocabulary.missing(tree.labels)) is not None:
        raise InputError(
            "Every label of the tree must be in the vocabulary",
            got=f"{missing!r}, which is not",
            cure="a vocabulary of these labels alone is `Vocabulary(Counter(tree.labels))`",
        )
    molecule: PartialMolecule | None = None
    for label, parent, atoms in zip(tree.labels, tree.parents, tree.clusters, strict=True):
        label_index = vocabulary.index[label]
        if molecule is None:
            molecule = PartialMolecule(vocabulary, label_index)
            continue
        shared = [(p, c) for p, a in enumerate(tree.clusters[parent]) for c, b in enumerate(atoms) if a == b]
        way = np.array([index for pair in shared for index in pair] + [-1, -1] * (2 - len(shared)))
        molecule.attach(parent, label_index, way)
    return molecule.smiles() if molecule else ""
