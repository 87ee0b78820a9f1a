"""Molecules and substructures with coordinates in the plane, from which drawings are made."""

from __future__ import annotations

from typing import NamedTuple

from rdkit import Chem
from rdkit.Chem import rdDepictor

from pellucid.errors import InputError
from pellucid.molecules._smiles import parse
from pellucid.molecules.substructures import Substructure, environment
from pellucid.schemas import shown

# How far the bonds that leave a substructure are drawn, and those between two atoms of its rim, from either.
_STUB, _SHORT_STUB = 0.55, 0.3


def molecule_in_plane(smiles: str) -> Chem.Mol:
    """A molecule with coordinates in the plane."""
    molecule, reason = parse(smiles)
    if molecule is None:
        raise InputError("A molecule to be drawn must be a valid SMILES", got=f"{shown(smiles)}: {reason}")
    rdDepictor.Compute2DCoords(molecule)
    return molecule


class SubstructureDepiction(NamedTuple):
    """A substructure, ready to be drawn."""

    molecule: Chem.Mol
    """The substructure, and short bonds where it is attached; its own atoms and bonds come first."""
    atoms: int
    """The number of atoms of the substructure."""
    bonds: int
    """The number of bonds of the substructure."""
    center: int
    """The central atom."""
    stubs: frozenset[str]
    """The names that drawings have for the ends of its attachments."""


def depict(substructure: Substructure) -> SubstructureDepiction:
    """The atoms and bonds of a substructure as they lie in the molecule, so that a part of a ring looks like one.

    Bonds that leave it are single, for the fingerprint does not encode their order.
    """
    molecule = molecule_in_plane(substructure.molecule)
    if substructure.atom >= molecule.GetNumAtoms():
        raise InputError(
            f"The central atom of a substructure must be one of the {molecule.GetNumAtoms()} of its molecule",
            got=f"{substructure.atom}",
        )
    atoms, bonds = environment(molecule, substructure.atom, substructure.radius)
    part, center, stubs = _cut_out(molecule, atoms, bonds, substructure.atom)
    if not substructure.radius:
        _name_carbon(part.GetAtomWithIdx(center))
    return SubstructureDepiction(part, len(atoms), len(bonds), center, frozenset(stubs))


def _cut_out(molecule: Chem.Mol, atoms: list[int], bonds: list[int], center: int) -> tuple[Chem.Mol, int, set[str]]:
    """The part to be drawn, its central atom, and the names of the ends of its attachments in SVG.

    The first atoms and bonds are `atoms` and `bonds`, in their order.
    """
    part = Chem.RWMol()
    conformer = molecule.GetConformer()
    index, points = {}, []
    for old in atoms:
        atom = Chem.Atom(molecule.GetAtomWithIdx(old))
        atom.SetNumExplicitHs(molecule.GetAtomWithIdx(old).GetTotalNumHs())
        atom.SetNoImplicit(True)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        index[old] = part.AddAtom(atom)
        points.append(conformer.GetAtomPosition(old))
    for b in bonds:
        bond = molecule.GetBondWithIdx(b)
        part.AddBond(index[bond.GetBeginAtomIdx()], index[bond.GetEndAtomIdx()], bond.GetBondType())
    stubs = set()
    for old in atoms:
        for bond in molecule.GetAtomWithIdx(old).GetBonds():
            if bond.GetIdx() in bonds:
                continue
            end = Chem.Atom(6)
            end.SetNoImplicit(True)
            new = part.AddAtom(end)
            part.AddBond(index[old], new, Chem.BondType.SINGLE)
            other = bond.GetOtherAtomIdx(old)
            start, stop = conformer.GetAtomPosition(old), conformer.GetAtomPosition(other)
            points.append(start + (stop - start) * (_SHORT_STUB if other in index else _STUB))
            stubs.add(f"atom-{new}")
    part_conformer = Chem.Conformer(part.GetNumAtoms())
    for i, point in enumerate(points):
        part_conformer.SetAtomPosition(i, point)
    part.AddConformer(part_conformer)
    part.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(part)
    return part.GetMol(), index[center], stubs


def _name_carbon(atom: Chem.Atom) -> None:
    """Write out a carbon that stands alone: a bare corner would not be visible."""
    hydrogens = atom.GetTotalNumHs()
    if atom.GetAtomicNum() == 6 and not atom.GetFormalCharge() and not atom.GetIsotope():
        count = f"<sub>{hydrogens}</sub>" if hydrogens > 1 else ""
        atom.SetProp("_displayLabel", f"C{'H' if hydrogens else ''}{count}")
        atom.SetProp("_displayLabelW", f"{'H' if hydrogens else ''}{count}C")
