"""Features of atoms and bonds: one-hot parts, with the choices of chemprop (its atom features "v2").

A graph network that was trained with chemprop's features reads these, number by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rdkit.Chem.rdchem import Atom, Bond, BondType, HybridizationType

# What each part of an atom's features tells apart, in this order; the last position of a part is for anything else.
_ELEMENTS = (*range(1, 37), 53)  # four rows of the periodic table, and iodine
_DEGREES = tuple(range(6))
_CHARGES = (-1, -2, 1, 2, 0)
_CHIRALITIES = tuple(range(4))
_HYDROGENS = tuple(range(5))
_HYBRIDIZATIONS = tuple(
    int(kind)
    for kind in (
        HybridizationType.S, HybridizationType.SP, HybridizationType.SP2, HybridizationType.SP2D,
        HybridizationType.SP3, HybridizationType.SP3D, HybridizationType.SP3D2,
    )
)  # fmt: skip
_ATOM_PARTS: tuple[Sequence[int], ...] = (_ELEMENTS, _DEGREES, _CHARGES, _CHIRALITIES, _HYDROGENS, _HYBRIDIZATIONS)
# A bond of another type has none of these, a stereochemistry that is none of these has a place of its own.
_BOND_TYPES = tuple(int(kind) for kind in (BondType.SINGLE, BondType.DOUBLE, BondType.TRIPLE, BondType.AROMATIC))
_STEREO = tuple(range(6))

ATOM_FEATURES = sum(len(part) + 1 for part in _ATOM_PARTS) + 2
"""Numbers that describe an atom: 72."""
BOND_FEATURES = 1 + len(_BOND_TYPES) + 2 + len(_STEREO) + 1
"""Numbers that describe a bond: 14, of which the first is always 0; chemprop keeps it for "no bond"."""


class AtomKind(NamedTuple):
    """Everything that the features of an atom depend on."""

    element: int
    degree: int
    """Hydrogens included."""
    charge: int
    chirality: int
    hydrogens: int
    hybridization: int
    aromatic: bool
    mass: float

    @classmethod
    def of(cls, atom: Atom) -> AtomKind:
        """The kind of one of RDKit's atoms."""
        return cls(
            atom.GetAtomicNum(), atom.GetTotalDegree(), atom.GetFormalCharge(), int(atom.GetChiralTag()),
            atom.GetTotalNumHs(), int(atom.GetHybridization()), atom.GetIsAromatic(), atom.GetMass(),
        )  # fmt: skip

    def features(self) -> list[float]:
        """(ATOM_FEATURES,) six one-hot parts, then 1 if it is aromatic, and a hundredth of its mass."""
        parts: list[float] = []
        for value, part in zip(self[:6], _ATOM_PARTS, strict=True):
            parts += _one_hot(value, part)
        return [*parts, float(self.aromatic), 0.01 * self.mass]


class BondKind(NamedTuple):
    """Everything that the features of a bond depend on."""

    type: int
    conjugated: bool
    in_ring: bool
    stereo: int

    @classmethod
    def of(cls, bond: Bond) -> BondKind:
        """The kind of one of RDKit's bonds."""
        return cls(int(bond.GetBondType()), bond.GetIsConjugated(), bond.IsInRing(), int(bond.GetStereo()))

    def features(self) -> list[float]:
        """(BOND_FEATURES,) a 0, the type, 1 if it is conjugated, 1 if it is in a ring, and its stereochemistry."""
        types = _one_hot(self.type, _BOND_TYPES)[:-1]
        return [0.0, *types, float(self.conjugated), float(self.in_ring), *_one_hot(self.stereo, _STEREO)]


def _one_hot(value: Any, choices: Sequence[int]) -> list[float]:
    """(len(choices) + 1,) 1 at the position of the value; at the last one if it is not among the choices.

    >>> _one_hot(-2, (-1, -2, 1)), _one_hot(7, (-1, -2, 1))
    ([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    """
    bits = [0.0] * (len(choices) + 1)
    bits[choices.index(value) if value in choices else -1] = 1.0
    return bits
