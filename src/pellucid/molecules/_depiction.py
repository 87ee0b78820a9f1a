"""Molecules in the plane, and the parts of them that fingerprints know: what every drawing begins with."""

from __future__ import annotations

from rdkit import Chem
from rdkit.Chem import rdDepictor

from pellucid.errors import InputError

# How far the bonds that leave a substructure are drawn, and those between two atoms of its rim, from either.
_STUB, _SHORT_STUB = 0.55, 0.3


def flat(smiles: str) -> Chem.Mol:
    """A molecule with coordinates in the plane."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InputError("A molecule to be drawn must be a valid SMILES", got=f"{smiles!r}")
    rdDepictor.Compute2DCoords(molecule)
    return molecule


def cut_out(molecule: Chem.Mol, atoms: list[int], bonds: list[int], center: int) -> tuple[Chem.Mol, int, set[str]]:
    """The part to be drawn, its central atom, and the names by which SVG calls the ends of its attachments.

    The first atoms and bonds are those asked for, in their order.
    """
    part = Chem.RWMol()
    where = molecule.GetConformer()
    places, points = {}, []
    for old in atoms:
        atom = Chem.Atom(molecule.GetAtomWithIdx(old))
        atom.SetNumExplicitHs(molecule.GetAtomWithIdx(old).GetTotalNumHs())
        atom.SetNoImplicit(True)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        places[old] = part.AddAtom(atom)
        points.append(where.GetAtomPosition(old))
    for b in bonds:
        bond = molecule.GetBondWithIdx(b)
        part.AddBond(places[bond.GetBeginAtomIdx()], places[bond.GetEndAtomIdx()], bond.GetBondType())
    hints = set()
    for old in atoms:
        for bond in molecule.GetAtomWithIdx(old).GetBonds():
            if bond.GetIdx() in bonds:
                continue
            end = Chem.Atom(6)
            end.SetNoImplicit(True)
            new = part.AddAtom(end)
            part.AddBond(places[old], new, Chem.BondType.SINGLE)
            other = bond.GetOtherAtomIdx(old)
            start, stop = where.GetAtomPosition(old), where.GetAtomPosition(other)
            points.append(start + (stop - start) * (_SHORT_STUB if other in places else _STUB))
            hints.add(f"atom-{new}")
    conformer = Chem.Conformer(part.GetNumAtoms())
    for i, point in enumerate(points):
        conformer.SetAtomPosition(i, point)
    part.AddConformer(conformer)
    part.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(part)
    return part.GetMol(), places[center], hints


def name_carbon(atom: Chem.Atom) -> None:
    """Write out a carbon that stands alone: a bare corner would not be seen."""
    hydrogens = atom.GetTotalNumHs()
    if atom.GetAtomicNum() == 6 and not atom.GetFormalCharge() and not atom.GetIsotope():
        count = f"<sub>{hydrogens}</sub>" if hydrogens > 1 else ""
        atom.SetProp("_displayLabel", f"C{'H' if hydrogens else ''}{count}")
        atom.SetProp("_displayLabelW", f"{'H' if hydrogens else ''}{count}C")
