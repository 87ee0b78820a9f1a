import signal

import pytest
from rdkit import Chem

from pellucid import InputError
from pellucid.molecules import RGroups
from pellucid.molecules.analogs import cuts


def atoms(text):
    return sorted(atom.GetSymbol() for atom in Chem.MolFromSmiles(text).GetAtoms() if atom.GetAtomicNum())


def test_a_cut_is_a_molecule_in_two_parts():
    found = cuts(Chem.MolFromSmiles("Cc1ccccc1"), largest=3)
    assert [tuple(cut) for cut in found] == [("c1ccc([*:1])cc1", "C[*:1]", "c3")]
    for smiles in ("CC(=O)Nc1ccc(O)cc1", "CCCCCO", "COc1ccccc1C(F)(F)F"):
        whole = atoms(smiles)
        for cut in cuts(Chem.MolFromSmiles(smiles), largest=4):
            assert sorted(atoms(cut.rest) + atoms(cut.group)) == whole
            assert len(atoms(cut.group)) <= min(4, len(atoms(cut.rest)))


def test_functional_groups_and_rings_stay_whole():
    assert not cuts(Chem.MolFromSmiles("C1CCCCC1"), largest=8)
    groups = {cut.group for cut in cuts(Chem.MolFromSmiles("CCCCCC(=O)O"), largest=3)}
    assert "O=C(O)[*:1]" in groups
    assert "O[*:1]" not in groups


def test_groups_are_counted_by_the_atom_that_they_hang_on():
    groups = RGroups.seen_in(["Cc1ccccc1", "Cc1ccncc1", "Clc1ccccc1", "CCCCCl"], largest=2, per_kind=5)
    assert groups.by_kind["c3"] == ("C[*:1]", "Cl[*:1]")  # methyl twice
    assert "Cl[*:1]" in groups.by_kind["C2"]
    assert RGroups.seen_in(["Cc1ccccc1", "Cc1ccncc1", "Clc1ccccc1"], per_kind=1).by_kind["c3"] == ("C[*:1]",)


def test_analogs_differ_by_one_group_seen_in_the_same_place():
    groups = RGroups.seen_in(["Cc1ccccc1", "Fc1ccccc1", "CCCCCl"], largest=2)
    assert set(groups.exchanged("Cc1ccc(O)cc1")) >= {"Oc1ccc(F)cc1"}
    made = list(groups.exchanged("Cc1ccncc1"))
    assert made == ["Fc1ccncc1"]  # chlorine was seen on a chain only
    assert made == list(groups.exchanged("Cc1ccncc1"))


def test_analogs_are_valid_different_and_not_the_molecule_itself():
    smiles = ["CC(=O)Nc1ccc(O)cc1", "COc1ccccc1C(F)(F)F", "CCCCCO", "CC(C)Cc1ccc(C(C)C(=O)O)cc1", "Clc1ccccc1C"]
    groups = RGroups.seen_in(smiles)
    for text in smiles:
        made = list(groups.exchanged(text))
        assert len(set(made)) == len(made) > 0
        assert Chem.CanonSmiles(text) not in made
        assert all(Chem.CanonSmiles(other) == other for other in made)


def test_mistakes_are_told():
    with pytest.raises(InputError, match="`largest` must be a whole number >= 1"):
        RGroups.seen_in(["CC"], largest=0)


def test_large_flexible_molecules_are_cut_too():
    # More than 20 bonds could be cut: RDKit's default refuses such molecules.
    assert cuts(Chem.MolFromSmiles("CCCCCCCC/C=C\\CCCCCCCC(=O)OC(CO)CO"), largest=8)


def test_cutting_leaves_interrupts_alone():
    cuts(Chem.MolFromSmiles("CCc1ccccc1CCO"), largest=8)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
