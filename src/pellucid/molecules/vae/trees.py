"""Junction trees: a molecule as a tree of rings, bonds and single atoms, in Kekulé form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
from rdkit import Chem, rdBase

from pellucid import _checks
from pellucid.errors import InputError
from pellucid.molecules._smiles import parse
from pellucid.numbers import counted
from pellucid.schemas import shown

# Charges are kept as bytes.
_NEUTRAL = 8
MAX_ATOMS = 120
"""The most heavy atoms that a molecule may have by default."""
ATOM_LIMIT = 255
"""The most that `largest` may allow: atoms are numbered by bytes."""


# The longest label of a cluster.
_LONGEST = 2_000


class UnusableMolecule(ValueError):  # noqa: N818
    """Why a molecule has no junction tree that it could be rebuilt from."""


class Template(NamedTuple):
    """What a cluster looks like: all that its label says."""

    kinds: tuple[int, ...]
    """Element and charge of each atom, in the order of the label's text: 16 * element + charge + 8."""
    bonds: tuple[tuple[int, int, int], ...]
    """(atom, atom, order)."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JunctionTree:
    """A molecule and its clusters. A parent stands before its children, and all that hangs below it follows it.

    Prints as the tree that it is:

    Examples
    --------
    >>> print(decompose("Cc1ccccc1O"))
    Cc1ccccc1O
      CC  (atoms 0 1)
        C1=CC=CC=C1  (atoms 3 4 5 6 1 2)
          CO  (atoms 6 7)
    """

    smiles: str
    """Canonical, without stereochemistry."""
    atoms: np.ndarray = field(repr=False)
    """(n, 4) bytes: element, charge + 8, hydrogens, aromatic."""
    bonds: np.ndarray = field(repr=False)
    """(m, 3) bytes: atom, atom, order + 4 if aromatic + 8 if in a ring. Orders are those of the Kekulé form."""
    labels: tuple[str, ...]
    """SMILES of each cluster, in Kekulé form."""
    clusters: tuple[tuple[int, ...], ...]
    """The atoms of each cluster, in the order of its label."""
    parents: tuple[int, ...]
    """The parent of each cluster, -1 for the root."""

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        depth = [0] * len(self)
        lines = [self.smiles]
        for i, (label, atoms, parent) in enumerate(zip(self.labels, self.clusters, self.parents, strict=True)):
            depth[i] = depth[parent] + 1 if parent >= 0 else 0
            lines.append(f"{'  ' * (depth[i] + 1)}{label}  (atom{'s' * (len(atoms) > 1)} {' '.join(map(str, atoms))})")
        return "\n".join(lines)


def decompose(smiles: str, *, largest: int = MAX_ATOMS) -> JunctionTree:
    """The junction tree of a molecule.

    Clusters are rings (merged where they are bridged), bonds outside of rings, and single atoms where two or more
    such bonds meet another cluster. They are joined by the spanning tree that shares the most atoms. All clusters
    with an atom in common then hang together, and neighbors share one atom or one bond; rings for which no tree
    can be like that are merged, too. Stereochemistry is dropped.

    Parameters
    ----------
    smiles : str
        SMILES of one molecule.
    largest : int
        The most heavy atoms that it may have.
    """
    _checks.whole(largest, 1, "largest", ATOM_LIMIT)
    try:
        return tree_of(smiles, largest)
    except UnusableMolecule as reason:
        raise InputError(
            "A molecule must be one that can be rebuilt from its junction tree", got=f"{smiles!r}: {reason}"
        ) from None


def tree_of(smiles: str, largest: int = MAX_ATOMS) -> JunctionTree:
    """`decompose` without checks of its arguments; molecules that cannot be used raise `UnusableMolecule`."""
    text, molecule = _canonical(smiles, largest)
    # Lists, as going through RDKit's own sequences is slow.
    rd_atoms, rd_bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    aromatic = [bond.GetIsAromatic() for bond in rd_bonds]
    fields = [(a.GetAtomicNum(), a.GetFormalCharge() + _NEUTRAL, a.GetTotalNumHs(), a.GetIsAromatic())
              for a in rd_atoms]  # fmt: skip
    # Without clearing the flags, RDKit fails on some molecules when their parts are written.
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    rings = [set(ring) for ring in molecule.GetRingInfo().AtomRings()]
    kinds = [16 * element + charge for element, charge, _, _ in fields]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), int(b.GetBondType())) for b in rd_bonds]
    ringed = [b.IsInRing() for b in rd_bonds] if rings else [False] * len(bonds)
    _require_usual_valences([hydrogens for _, _, hydrogens, _ in fields], kinds, bonds)
    sets, edges = _clusters(len(kinds), bonds, ringed, rings)
    order, parents = _preorder(edges, next(i for i, members in enumerate(sets) if 0 in members))
    labels, clusters = [], []
    for index in order:
        label, members = _label_cluster(sorted(sets[index]), kinds, bonds)
        labels.append(label)
        clusters.append(members)
    codes = [(i, j, o + 4 * a + 8 * r) for (i, j, o), a, r in zip(bonds, aromatic, ringed, strict=True)]
    return JunctionTree(
        smiles=text, atoms=np.array(fields, dtype=np.uint8), bonds=np.array(codes, dtype=np.uint8).reshape(-1, 3),
        labels=tuple(labels), clusters=tuple(clusters), parents=parents,
    )  # fmt: skip


def kind_of(atom: Chem.Atom) -> int:
    """The number of an atom's element and charge."""
    return int(16 * atom.GetAtomicNum() + atom.GetFormalCharge() + _NEUTRAL)


def atom_of(kind: int) -> Chem.Atom:
    """An atom of this kind, without hydrogens."""
    atom = Chem.Atom(int(kind) // 16)
    atom.SetFormalCharge(int(kind) % 16 - _NEUTRAL)
    return atom


def molecule_of(kinds: Iterable[int], bonds: Iterable[tuple[int, int, int]]) -> Chem.RWMol:
    """Atoms and bonds as they are, unchecked."""
    molecule = Chem.RWMol()
    for kind in kinds:
        molecule.AddAtom(atom_of(kind))
    for i, j, order in bonds:
        molecule.AddBond(int(i), int(j), Chem.BondType.values[int(order)])
    return molecule


@lru_cache(maxsize=1 << 16)
def template(label: str) -> Template:
    """The atoms and bonds of a label."""
    molecule = Chem.MolFromSmiles(label, sanitize=False) if len(label) <= _LONGEST else None
    atoms = [] if molecule is None else list(molecule.GetAtoms())
    whole = 0 < len(atoms) <= ATOM_LIMIT and len(Chem.GetMolFrags(molecule)) == 1
    # The compiled search has room for as many ways to attach a cluster as atoms of at most eight bonds offer.
    if (
        molecule is None
        or not whole
        or any(not a.GetAtomicNum() or abs(a.GetFormalCharge()) >= _NEUTRAL or a.GetDegree() > 8 for a in atoms)
    ):
        raise InputError("A label must be the SMILES of a cluster", got=shown(label))
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), b.GetBondTypeAsDouble()) for b in molecule.GetBonds()]
    if not {order for *_, order in bonds} <= {1.0, 2.0, 3.0}:
        raise InputError("A label must have single, double and triple bonds alone", got=shown(label))
    return Template(tuple(kind_of(a) for a in atoms), tuple((i, j, int(order)) for i, j, order in bonds))


@lru_cache(maxsize=1024)
def valences(kind: int) -> tuple[int, ...]:
    """How many bonds atoms of a kind may have, counted with their orders: RDKit's model, a charged atom being like
    the neutral one with as many electrons.
    """
    element, charge = kind // 16, kind % 16 - _NEUTRAL
    listed = [int(v) for v in Chem.GetPeriodicTable().GetValenceList(max(element - charge, 1))]
    return tuple(v for v in listed if v >= 0)


def capacity(kind: int) -> int:
    """The most bonds that an atom of this kind can have, counted with their orders."""
    return max(valences(kind), default=0)


def has_stereo(smiles: str) -> bool:
    """Whether a SMILES has marks of stereochemistry, which junction trees drop."""
    return any(mark in smiles for mark in "@/\\")


def _canonical(smiles: str, largest: int) -> tuple[str, Chem.Mol]:
    """Canonical SMILES without stereochemistry, and the molecule with its atoms in this order.

    Numbers of atoms and the Kekulé form then depend on the molecule alone.
    """
    if not isinstance(smiles, str):
        raise UnusableMolecule("not a text")
    text = smiles.strip()
    if not text.isascii():  # RDKit may read the part before it
        raise UnusableMolecule("a letter that no SMILES has")
    with rdBase.BlockLogs():
        molecule, reason = parse(text)
    if molecule is None:
        raise UnusableMolecule(reason)
    if "." in text and len(Chem.GetMolFrags(molecule)) > 1:
        raise UnusableMolecule("several parts that are not bonded to each other")
    if molecule.GetNumAtoms() > largest:
        raise UnusableMolecule(f"{molecule.GetNumAtoms()} heavy atoms, of which {largest} are allowed")
    for atom in molecule.GetAtoms() if "[" in text or "*" in text else ():
        if atom.GetAtomicNum() < 2:
            raise UnusableMolecule(
                "a hydrogen written as an atom" if atom.GetAtomicNum() else "an atom that may be any"
            )
        if atom.GetIsotope() or atom.GetNumRadicalElectrons():
            raise UnusableMolecule("an isotope" if atom.GetIsotope() else "a radical")
        if abs(atom.GetFormalCharge()) >= _NEUTRAL:
            raise UnusableMolecule(f"a charge of {atom.GetFormalCharge()}")
    plain = str(Chem.MolToSmiles(molecule, isomericSmiles=False))
    return plain, molecule if plain == text else Chem.MolFromSmiles(plain)


def _require_usual_valences(
    hydrogens: Sequence[int], kinds: Sequence[int], bonds: Sequence[tuple[int, int, int]]
) -> None:
    """Hydrogens are not part of clusters: they must follow from the bonds, and bonds must be of known orders."""
    used = [0] * len(kinds)
    for i, j, order in bonds:
        if order not in (1, 2, 3):
            raise UnusableMolecule("a bond that is not single, double, triple or aromatic")
        used[i] += order
        used[j] += order
    for kind, total, count in zip(kinds, used, hydrogens, strict=True):
        if _expected_hydrogens(kind, total) != count:
            symbol = Chem.GetPeriodicTable().GetElementSymbol(kind // 16)
            if not valences(kind):
                raise UnusableMolecule(f"{symbol}, whose number of bonds is not known")
            bond_text, hydrogen_text = counted(total, "bond"), counted(count, "hydrogen")
            raise UnusableMolecule(f"{symbol} with {bond_text} and {hydrogen_text}, an unusual valence")


@lru_cache(maxsize=4096)
def _expected_hydrogens(kind: int, total: int) -> int:
    """The hydrogens of an atom with `total` bonds, counted with their orders; -1 if it cannot have that many."""
    return next((v - total for v in valences(kind) if v >= total), -1)


# -- clusters ------------------------------------------------------------------------------------------------------


def _clusters(
    n: int, bonds: Sequence[tuple[int, int, int]], ringed: Sequence[bool], rings: list[set[int]]
) -> tuple[list[set[int]], list[tuple[int, int]]]:
    """The atoms of each cluster, and the edges of the tree."""
    joined = {frozenset(bond[:2]) for bond in bonds}
    outside = [set(bond[:2]) for bond, ring in zip(bonds, ringed, strict=True) if not ring]
    while True:
        rings = _merge_bridged(rings, joined)
        sets = outside + rings if n > 1 else [{0}]
        owners: list[list[int]] = [[] for _ in range(n)]
        for cluster, members in enumerate(sets):
            for atom in members:
                owners[atom].append(cluster)
        weights: dict[tuple[int, int], int] = {}
        for atom, clusters in enumerate(owners):
            if len(clusters) > 2 and sum(cluster < len(outside) for cluster in clusters) > 1:
                for cluster in clusters:
                    weights[cluster, len(sets)] = 1
                sets.append({atom})
                clusters.append(len(sets) - 1)
            else:
                for pair in combinations(clusters, 2):
                    if pair not in weights:
                        weights[pair] = len(sets[pair[0]] & sets[pair[1]])
        edges = _spanning_tree(len(sets), weights)
        # A spanning tree shares at most this many atoms, and exactly as many where each atom's clusters hang together.
        if sum(weights[edge] for edge in edges) == sum(len(clusters) - 1 for clusters in owners):
            return sets, edges
        shared = [0] * n
        for i, j in edges:
            for atom in sets[i] & sets[j]:
                shared[atom] += 1
        torn = next(atom for atom in range(n) if shared[atom] < len(owners[atom]) - 1)
        rings = [ring for ring in rings if torn not in ring] + [set().union(*(r for r in rings if torn in r))]


def _merge_bridged(rings: list[set[int]], joined: set[frozenset[int]]) -> list[set[int]]:
    """Rings with those merged that share more than a bond."""
    merged: list[set[int]] = []
    for ring in rings:
        ring = set(ring)
        while True:
            bridged = next((k for k, other in enumerate(merged) if _is_bridged(ring & other, joined)), None)
            if bridged is None:
                break
            ring |= merged.pop(bridged)
        merged.append(ring)
    return merged


def _is_bridged(shared: set[int], joined: set[frozenset[int]]) -> bool:
    return len(shared) > 2 or (len(shared) == 2 and frozenset(shared) not in joined)


def _spanning_tree(n: int, weights: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    """The edges of the heaviest spanning tree; among equals the first."""
    group = list(range(n))
    chosen = []
    for edge in sorted(weights, key=lambda edge: (-weights[edge], edge)):
        a, b = group[edge[0]], group[edge[1]]
        if a != b:
            chosen.append(edge)
            group = [b if g == a else g for g in group]
    return chosen


def _preorder(edges: Sequence[tuple[int, int]], root: int) -> tuple[list[int], tuple[int, ...]]:
    """The clusters from the root on, each before all that hangs below it, and the position of each one's parent."""
    neighbors: dict[int, list[int]] = {root: []}
    for i, j in edges:
        neighbors.setdefault(i, []).append(j)
        neighbors.setdefault(j, []).append(i)
    order: list[int] = []
    parents: list[int] = []
    waiting = [(root, -1, -1)]
    while waiting:
        cluster, previous, parent = waiting.pop()
        parents.append(parent)
        order.append(cluster)
        below = sorted((k for k in neighbors[cluster] if k != previous), reverse=True)
        waiting += [(k, cluster, len(order) - 1) for k in below]
    return order, tuple(parents)


def _label_cluster(
    atoms: Sequence[int], kinds: Sequence[int], bonds: Sequence[tuple[int, int, int]]
) -> tuple[str, tuple[int, ...]]:
    """The label of a cluster, and its atoms in the order of the label."""
    positions = {atom: k for k, atom in enumerate(atoms)}
    inner = tuple([(positions[i], positions[j], order) for i, j, order in bonds if i in positions and j in positions])
    label, order = _canonical_label(tuple(kinds[atom] for atom in atoms), inner)
    return label, tuple(atoms[k] for k in order)


@lru_cache(maxsize=1 << 16)
def _canonical_label(kinds: tuple[int, ...], bonds: tuple[tuple[int, int, int], ...]) -> tuple[str, tuple[int, ...]]:
    """Canonical SMILES of a cluster, and the order in which it names the atoms."""
    molecule = molecule_of(kinds, bonds)
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    text = Chem.MolToSmiles(molecule, canonical=True)
    return text, tuple(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
