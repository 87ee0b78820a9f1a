"""Exchanges: members of a neighborhood that differ from the molecule by one group, and what the exchange does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rdkit import Chem

from pellucid._interrupts import restore_interrupts
from pellucid.molecules._smiles import molecule_of

if TYPE_CHECKING:
    from pellucid.molecules.explanation import Member


# The bonds that RDKit's matched pairs are cut at: acyclic single bonds, functional groups left whole.
_CUT = Chem.MolFromSmarts("[#6+0;!$(*=,#[!#6])]!@!=!#[*]")
_MOST = 100_000


class GroupPair(NamedTuple):
    """Two groups in the same place, as SMILES that begin with *, where the rest is."""

    out: str
    into: str


class Exchange(NamedTuple):
    """A molecule in which one group is exchanged: a matched pair with the molecule that is explained."""

    out: str
    """The group of the molecule, as SMILES that begins with *, where the rest is."""
    into: str
    """The group in its place."""
    predicted_change: np.ndarray
    """(K,) by how much the predictor's values change."""
    witness_change: np.ndarray
    """(K,) by how much the witness's values change."""
    member: Member
    """The molecule with the new group: its similarity, and its measured values, if there are any."""


class _Side(NamedTuple):
    """A part of a molecule at one side of a bond that can be cut."""

    bond: int
    begin: int
    """The atom of this side at the bond."""
    atoms: int
    """The number of its atoms."""
    key: int
    """Equal for equal parts; different ones rarely have the same."""


def exchanged_groups(smiles: Sequence[str]) -> dict[int, GroupPair]:
    """For each molecule that differs from the first by one group: the group of the first, and its own.

    Both molecules are cut at one bond, where `analogs.cuts` does; what they share is more than half of the first. Of
    several ways to see the same exchange, the one with the smallest groups is taken.

    Parameters
    ----------
    smiles : sequence of str
        Valid SMILES.

    Examples
    --------
    >>> exchanged_groups(["Clc1ccccc1", "Fc1ccccc1", "Cc1ccccc1", "CCCCCC"])
    {1: GroupPair(out='*Cl', into='*F'), 2: GroupPair(out='*Cl', into='*C')}
    """
    first = molecule_of(smiles[0])
    rests = [side for side in _sides(first) if 2 * side.atoms > first.GetNumAtoms()]
    keys = {rest.key for rest in rests}
    # Parts are written as SMILES, which is slow, only where another molecule may have the same.
    texts: dict[int, tuple[str, str]] = {}
    result = {}
    for j, text in enumerate(smiles[1:], 1):
        molecule = molecule_of(text)
        sides = sorted((s for s in _sides(molecule) if s.key in keys), key=lambda side: (-side.atoms, side.bond))
        for side in sides:
            rest, group = _texts(molecule, side)
            for other in rests:
                if other.key == side.key and other.bond not in texts:
                    texts[other.bond] = _texts(first, other)
            groups = {texts[other.bond][1] for other in rests if texts.get(other.bond, ("", ""))[0] == rest}
            if groups and group not in groups:
                result[j] = GroupPair(min(groups), group)
                break
    return result


def _sides(molecule: Chem.Mol) -> list[_Side]:
    """Both sides of every bond that can be cut."""
    kinds = [
        hash((a.GetAtomicNum(), a.GetIsAromatic(), a.GetDegree(), a.GetTotalNumHs(), a.GetFormalCharge()))
        for a in molecule.GetAtoms()
    ]
    near = [[n.GetIdx() for n in a.GetNeighbors()] for a in molecule.GetAtoms()]
    result, total = [], sum(kinds)
    pairs = {tuple(sorted(pair)) for pair in molecule.GetSubstructMatches(_CUT, uniquify=False, maxMatches=_MOST)}
    restore_interrupts()
    for a, b in sorted(pairs):
        bond = molecule.GetBondBetweenAtoms(a, b).GetIdx()
        seen, stack = {a, b}, [a]
        while stack:
            new = [n for n in near[stack.pop()] if n not in seen]
            seen.update(new)
            stack += new
        inside = seen - {b}
        key = sum(kinds[atom] for atom in inside)
        # The atom at the cut tells apart parts of the same atoms.
        result += [
            _Side(bond, a, len(inside), hash((key, kinds[a]))),
            _Side(bond, b, len(kinds) - len(inside), hash((total - key, kinds[b]))),
        ]
    return result


def _texts(molecule: Chem.Mol, side: _Side) -> tuple[str, str]:
    """A side and the rest of the molecule as SMILES that begin with *."""
    cut = Chem.FragmentOnBonds(molecule, [side.bond], dummyLabels=[(0, 0)])
    parts: list[tuple[int, ...]] = []
    pieces = Chem.GetMolFrags(cut, asMols=True, sanitizeFrags=False, fragsMolAtomMapping=parts)
    count = molecule.GetNumAtoms()
    texts = {}
    for piece, atoms in zip(pieces, parts, strict=True):
        mark = next(place for place, atom in enumerate(atoms) if atom >= count)
        texts[side.begin in atoms] = str(Chem.MolToSmiles(piece, rootedAtAtom=mark))
    return texts[True], texts[False]
