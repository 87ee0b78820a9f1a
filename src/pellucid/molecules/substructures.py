"""The substructures that the bits of a fingerprint stand for, as text and as atoms of molecules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, final

from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

from pellucid.errors import InputError
from pellucid.molecules._smiles import molecule_of
from pellucid.molecules.fingerprints import MAX_RADIUS, Morgan
from pellucid.schemas import Between, Size, checked

# Atoms that SMILES writes without brackets.
_PLAIN = frozenset(["B", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I", "b", "c", "n", "o", "p", "s", "*"])


@final
@dataclass(frozen=True, kw_only=True)
class Substructure:
    """An atom with everything around it up to a radius, as one molecule shows it.

    Parameters
    ----------
    bit : int
        The bit of the fingerprint that it sets.
    smiles : str
        Its atoms and bonds, the central atom first. Hydrogens are written out and belong to it: C is a carbon without
        any, c an aromatic one. A single atom has its degree (D) and whether it is in a ring (R) too: [CH;D2] is one
        with two neighbors. The fingerprint tells atoms apart by these.
    radius : int
        Bonds from the central atom to the rim.
    molecule : str
        SMILES of a molecule that has it.
    atom : int
        The central atom, in `Chem.MolFromSmiles(molecule)`.
    others : tuple of str
        Texts of other substructures that set the same bit; where there are any, the bit is ambiguous.
    """

    bit: Size
    smiles: str
    radius: Annotated[int, Between(0, MAX_RADIUS)]
    molecule: str
    atom: Size
    others: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return {**asdict(self), "others": list(self.others)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Substructure:
        """The substructure that `to_dict` was called on."""
        return checked(cls, content, "substructure")


def find_substructures(bits: Iterable[int], molecules: Sequence[str], morgan: Morgan) -> dict[int, Substructure]:
    """The substructure behind each bit, taken from the first molecule that has it.

    Two substructures are different where their hashes are, before these are folded to bits: that is all that the
    fingerprint knows of them. Different ones on the same bit are listed in `others`, in the order in which the
    molecules show them. Where the first molecule itself has several, the smallest is taken.

    Parameters
    ----------
    bits : iterable of int
        The bits to be explained, such as the splits of a tree.
    molecules : sequence of str
        Valid SMILES, the most important first: a neighborhood beginning with its center.
    morgan : Morgan
        The fingerprints that the bits belong to.
    """
    wanted = sorted({operator.index(bit) for bit in bits})
    if wanted and not 0 <= wanted[0] <= wanted[-1] < morgan.size:
        raise InputError(
            f"Bits must be from 0 to {morgan.size - 1}",
            got=f"{wanted[0]} to {wanted[-1]}",
            cure="remove the leaves of a tree, which are -1, and pass the fingerprints that the bits belong to",
        )
    sources: dict[int, dict[int, tuple[int, int, int]]] = {bit: {} for bit in wanted}
    parsed = []
    for row, smiles in enumerate(molecules):
        parsed.append(molecule_of(smiles))
        for radius, atom, key in hashes(parsed[-1], morgan):
            if (keys := sources.get(key % morgan.size)) is not None:
                keys.setdefault(key, (row, atom, radius))
    if missing := [bit for bit, keys in sources.items() if not keys]:
        raise InputError(
            "Every bit must be set by one of the molecules",
            got=f"{len(molecules)} molecules without {missing}",
            cure="pass the members of the neighborhood that the tree was fitted on, and its fingerprints",
        )
    result = {}
    for bit, keys in sources.items():
        (row, atom, radius), *rest = keys.values()
        others = dict.fromkeys(_text(parsed[r], a, reach) for r, a, reach in rest)
        text = _text(parsed[row], atom, radius)
        result[bit] = Substructure(
            bit=bit, smiles=text, radius=radius, molecule=molecules[row], atom=atom, others=tuple(others)
        )
    return result


def environment(molecule: Chem.Mol, atom: int, radius: int) -> tuple[list[int], list[int]]:
    """The atoms and bonds within `radius` bonds of an atom, in the order of the molecule."""
    # Without enforceSize=False there would be no bonds where the molecule ends before the radius does.
    bonds = sorted(Chem.FindAtomEnvironmentOfRadiusN(molecule, radius, atom, enforceSize=False)) if radius else []
    ends = {end.GetIdx() for b in bonds for bond in [molecule.GetBondWithIdx(b)] for end in _ends(bond)}
    return sorted({atom} | ends), bonds


def _ends(bond: Chem.Bond) -> tuple[Chem.Atom, Chem.Atom]:
    return bond.GetBeginAtom(), bond.GetEndAtom()


def hashes(molecule: Chem.Mol, morgan: Morgan) -> list[tuple[int, int, int]]:
    """(radius, central atom, hash) of every substructure, smallest first; a bit is the hash modulo the size."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=morgan.radius, fpSize=morgan.size)
    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateBitInfoMap()
    generator.GetSparseFingerprint(molecule, additionalOutput=output)
    return sorted(
        (radius, atom, key) for key, environments in output.GetBitInfoMap().items() for atom, radius in environments
    )


def _text(molecule: Chem.Mol, atom: int, radius: int) -> str:
    if not radius:
        return _single_atom(molecule.GetAtomWithIdx(atom))
    atoms, bonds = environment(molecule, atom, radius)
    symbols = [_symbol(a) for a in molecule.GetAtoms()]
    text = Chem.MolFragmentToSmiles(
        molecule, atoms, bonds, atomSymbols=symbols, rootedAtAtom=atom, isomericSmiles=False
    )
    return str(text)


def _symbol(atom: Chem.Atom) -> str:
    """An atom with its isotope, hydrogens and charge, in brackets where it has any of these."""
    name = atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
    hydrogens, charge = atom.GetTotalNumHs(), atom.GetFormalCharge()
    text = f"{atom.GetIsotope() or ''}{name}"
    text += "" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}"
    text += "" if not charge else "+" if charge == 1 else "-" if charge == -1 else f"{charge:+d}"
    return name if text == name and name in _PLAIN else f"[{text}]"


def _single_atom(atom: Chem.Atom) -> str:
    return f"[{_symbol(atom).strip('[]')};D{atom.GetDegree()}{';R' if atom.IsInRing() else ''}]"
