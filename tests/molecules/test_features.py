"""The features of atoms and bonds against chemprop's own, which were their model."""

import csv
import gzip
from itertools import islice

import numpy as np
import pytest
from rdkit import Chem, rdBase

from pellucid.molecules.features import ATOM_FEATURES, BOND_FEATURES, AtomKind, BondKind

ODD = [
    "[H][H]", "[2H]C([2H])[2H]", "[13CH4]", "[U]", "[Fe+3]", "[O-2]", "[I-]", "II", "*C", "[Xe]", "[Se]=C=[Se]",
    "F[P-](F)(F)(F)(F)F", "FS(F)(F)(F)(F)F", "FI(F)(F)(F)(F)(F)F", "[NH3]->[Cu+2]<-[NH3]", "C$C", "C~C",
    "N[Pt@SP1](N)(Cl)Cl", "N[Co@OH12](Cl)(Br)(F)(I)O", "C[P@TB1](F)(Cl)(Br)I", "N[C@@H](C)C(=O)O", "C[C@H](F)Cl",
    "F/C=C/F", r"F/C=C\F", "C/C=C/C=C/C", "C1=CC=CC=CC=C1", "c1ccccc1", "[nH]1cccc1", "C#N", "[CH3]", "[CH2]", "[C]",
    "[CH3+]", "[CH3-]", "[NH4+]", "[SiH4]", "B1OB1", "[Al+3]", "[Zn]", "[Kr]", "[Rb+]", "OCl(=O)(=O)=O",
    "[N+](=O)([O-])c1ccccc1", "[Na+].[Cl-]", "C[N+]#[C-]", "[Ti+4]", "[V+5]",
]  # fmt: skip


def chemprops():
    """Its features of atoms and of bonds; to import them takes seconds."""
    from chemprop.featurizers import MultiHotAtomFeaturizer, MultiHotBondFeaturizer

    return MultiHotAtomFeaturizer.v2(), MultiHotBondFeaturizer()


def kinds_of(smiles):
    """Every kind of atom and bond, with all features that chemprop gives to one of it; and how many molecules."""
    of_atom, of_bond = chemprops()
    atoms, bonds, seen = {}, {}, 0
    for text in smiles:
        molecule = Chem.MolFromSmiles(text)
        if molecule is None:
            continue
        for atom in molecule.GetAtoms():
            atoms.setdefault(AtomKind.of(atom), set()).add(np.float32(of_atom(atom)).tobytes())
        for bond in molecule.GetBonds():
            bonds.setdefault(BondKind.of(bond), set()).add(np.float32(of_bond(bond)).tobytes())
        seen += 1
    return atoms, bonds, seen


def require_chemprops(smiles, *, molecules, atoms, bonds):
    """Compare; there must be so many kinds at least, so that the comparison says something."""
    with rdBase.BlockLogs():
        atom_kinds, bond_kinds, seen = kinds_of(smiles)
    assert seen >= molecules
    assert len(atom_kinds) >= atoms
    assert len(bond_kinds) >= bonds
    for kind, expected in (atom_kinds | bond_kinds).items():
        assert expected == {np.float32(kind.features()).tobytes()}, kind


@pytest.mark.slow
def test_as_many_features_as_chemprops():
    of_atom, of_bond = chemprops()
    assert len(of_atom) == ATOM_FEATURES == 72
    assert len(of_bond) == BOND_FEATURES == 14


@pytest.mark.slow
def test_odd_atoms_and_bonds_have_chemprops_features():
    require_chemprops(ODD, molecules=len(ODD) - 1, atoms=60, bonds=12)


@pytest.mark.slow
def test_every_element_charge_and_count_of_hydrogens_has_chemprops_features():
    brackets = [f"[{Chem.GetPeriodicTable().GetElementSymbol(z)}{h}{q}]" for z in range(1, 119)
                for h in ("", "H", "H2", "H5") for q in ("", "+", "-", "+2", "-2", "+3")]  # fmt: skip
    require_chemprops(brackets, molecules=2500, atoms=2500, bonds=0)


@pytest.mark.slow
def test_real_molecules_have_chemprops_features(real_data):
    with (real_data / "molecules" / "tox21.csv").open(newline="") as stream:
        tox21 = [row["smiles"] for row in csv.DictReader(stream)]
    with gzip.open(real_data / "molecules" / "moses_train.csv.gz", "rt") as stream:
        moses = [line.partition(",")[0].strip() for line in islice(stream, 1, 3001)]
    require_chemprops([*tox21, *moses], molecules=10_000, atoms=150, bonds=15)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_stereochemistry_beyond_the_usual_has_a_place_of_its_own(place):
    # RDKit knows atropisomers (6 and 7), which chemprop 2 puts together with anything that is yet to come.
    features = BondKind(1, False, False, place).features()
    assert features[7:] == [float(i == min(place, 6)) for i in range(7)]
