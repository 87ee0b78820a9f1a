import pytest
from rdkit import Chem

from pellucid import InputError
from pellucid.molecules import Morgan
from pellucid.molecules.substructures import Substructure, environment, find_substructures

MEMBERS = [
    "CC(=O)Nc1ccc(O)cc1", "CC(=O)Nc1ccc(OC)cc1", "CC(=O)Nc1ccc(F)cc1", "CC(=O)Nc1cccnc1", "CN(C)C(=O)c1ccc(Cl)cc1",
    "OC1CCCCC1", "NC(=O)C1CC1", "C[N+](C)(C)CCO", "CC(=O)[O-]", "c1ccc2[nH]ccc2c1",
]  # fmt: skip


def all_bits(morgan, molecules=MEMBERS):
    return sorted({bit for text in molecules for bit in morgan.environments(Chem.MolFromSmiles(text))})


def contents(found):
    """What an environment is to the fingerprint, spelled out: the atoms by distance, with all that tells them apart."""
    molecule = Chem.MolFromSmiles(found.molecule)
    atoms, bonds = environment(molecule, found.atom, found.radius)
    distance = Chem.GetDistanceMatrix(molecule)[found.atom]
    kinds = [
        (distance[a.GetIdx()], a.GetAtomicNum(), a.GetDegree(), a.GetTotalNumHs(), a.GetFormalCharge(), a.IsInRing())
        for a in molecule.GetAtoms()
        if a.GetIdx() in atoms
    ]
    return sorted(kinds), sorted(str(molecule.GetBondWithIdx(b).GetBondType()) for b in bonds)


@pytest.mark.parametrize("morgan", [Morgan(), Morgan(radius=3, size=1024), Morgan(radius=1, size=64)])
def test_what_is_found_sets_its_bit(morgan):
    bits = all_bits(morgan)
    found = find_substructures(reversed(bits), MEMBERS, morgan)
    assert list(found) == bits
    for bit, substructure in found.items():
        places = morgan.environments(Chem.MolFromSmiles(substructure.molecule))
        assert substructure.bit == bit
        assert [b for b in places if (substructure.atom, substructure.radius) in places[b]] == [bit]
        first = next(text for text in MEMBERS if bit in morgan.environments(Chem.MolFromSmiles(text)))
        assert substructure.molecule == first


def test_texts_read_as_chemists_read_them():
    def text(smiles, atom, radius):
        molecule, morgan = Chem.MolFromSmiles(smiles), Morgan()
        bit = next(b for b, places in morgan.environments(molecule).items() if (atom, radius) in places)
        return find_substructures([bit], [smiles], morgan)[bit].smiles

    assert text("CCO", 0, 0) == "[CH3;D1]"
    assert text("CCO", 1, 1) == "[CH2]([CH3])[OH]"
    assert text("C1CCCCC1", 0, 0) == "[CH2;D2;R]"
    assert text("C[N+](C)(C)CCO", 1, 0) == "[N+;D4]"
    assert text("CC(=O)[O-]", 1, 1) == "C(=O)([CH3])[O-]"
    assert text("CC(=O)Nc1ccccc1", 3, 1) == "[NH](C)c"
    assert text("c1ccncc1", 3, 1) == "n([cH])[cH]"


def test_the_smallest_comes_first_where_a_molecule_has_several():
    smiles, morgan = "CC(C)=CC(O)F", Morgan()
    # RDKit folds the carbon without hydrogens and the hydroxyl onto one bit.
    assert morgan.environments(Chem.MolFromSmiles(smiles))[807] == [(1, 0), (5, 0)]
    found = find_substructures([807], [smiles, "CO"], morgan)[807]
    assert found == Substructure(bit=807, smiles="[C;D3]", radius=0, molecule=smiles, atom=1, others=("[OH;D1]",))
    # One that only a later member has is told too, and one that none has is not.
    assert find_substructures([807], ["CO", smiles], morgan)[807].others == ("[C;D3]",)
    assert find_substructures([807], ["CO", "CCO"], morgan)[807].others == ()


def test_collisions_are_told_and_nothing_else_is():
    wide, narrow = Morgan(size=2**20), Morgan(size=64)
    # So wide a fingerprint has no collisions: its bits are the different substructures.
    exact = find_substructures(all_bits(wide), MEMBERS, wide)
    assert not any(s.others for s in exact.values())
    assert len({(str(contents(s)), s.smiles) for s in exact.values()}) == len(exact)
    folded = {}
    for bit, substructure in exact.items():
        folded.setdefault(bit % 64, set()).add(substructure.smiles)
    found = find_substructures(all_bits(narrow), MEMBERS, narrow)
    assert any(s.others for s in found.values())
    assert {bit: {s.smiles, *s.others} for bit, s in found.items()} == folded


def test_order_of_bits_does_not_matter_and_nothing_is_nothing():
    morgan = Morgan(size=64)
    bits = all_bits(morgan)
    assert find_substructures(bits, MEMBERS, morgan) == find_substructures(set(bits), MEMBERS, morgan)
    assert find_substructures([], MEMBERS, morgan) == {}


def test_an_environment_ends_where_the_molecule_does():
    molecule = Chem.MolFromSmiles("CCO")
    assert environment(molecule, 1, 0) == ([1], [])
    assert environment(molecule, 0, 1) == ([0, 1], [0])
    assert environment(molecule, 0, 5) == ([0, 1, 2], [0, 1])


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="set by one of the molecules. Got 2 molecules without \\[3\\]"):
        find_substructures([3, 807], ["CCO", "CO"], Morgan())
    with pytest.raises(InputError, match="from 0 to 2047. Got 5 to 2048"):
        find_substructures([5, 2048], MEMBERS, Morgan())
    with pytest.raises(InputError, match="Got -1 to 5; remove the leaves"):
        find_substructures([-1, 5], MEMBERS, Morgan())
    with pytest.raises(InputError, match="valid. Got 'C1C'"):
        find_substructures([5], ["C1C"], Morgan())
