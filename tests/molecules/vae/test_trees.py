from collections import Counter

import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem

from pellucid import InputError
from pellucid.molecules import moses
from pellucid.molecules.vae import Corpus, JunctionTree, Vocabulary, decompose, reassemble

ODD = [
    "C", "CC", "C#N", "CC(C)(C)C", "C1CC2CCC1C2", "C1CCC2(CC1)OCCO2", "C1=CC2=CC=CC3=C2C(=C1)C=CC3",
    "C[N+](C)(C)CC(=O)[O-]", "CC[N+](=O)[O-]", "CS(=O)(=O)N1CCC2(CC1)CC2", "CP(=O)(OC)OC", "C1C2CC3CC1CC(C2)C3",
    "c1ccc2c(c1)[nH]c1ccccc12", "O=C1NC(=O)C2(CCCCC2)N1", "C12C3C4C1C5C2C3C45", "FC(F)(F)c1ccncc1", "C[Si](C)(C)C",
    "c1cc2ccc3cccc4ccc(c1)c2c34", "C1CC1C1CC1", "OB(O)c1ccccc1", "C=C=C", "CN=[N+]=[N-]", "S(F)(F)(F)(F)(F)C",
]  # fmt: skip


def vocabulary_of(trees: list[JunctionTree]) -> Vocabulary:
    return Vocabulary(Counter(label for tree in trees for label in tree.labels))


def test_clusters_by_hand():
    tree = decompose("CC(C)c1ccccc1")
    assert tree.labels == ("CC", "C", "CC", "CC", "C1=CC=CC=C1")
    assert [sorted(c) for c in tree.clusters] == [[0, 1], [1], [1, 2], [1, 3], [3, 4, 5, 6, 7, 8]]
    assert tree.parents == (-1, 0, 1, 1, 3)


@pytest.mark.parametrize(
    ("smiles", "labels"),
    [
        ("C", ["C"]),
        ("C1CC2CCC1C2", ["C1CC2CCC1C2"]),  # bridged: one cluster
        ("C1CCC2(CC1)OCCO2", ["C1CCCCC1", "C1COCO1"]),  # two rings that share an atom
        ("C1CC2CCCCC2C1", ["C1CCCCC1", "C1CCCC1"]),  # two rings that share a bond
        ("C1=CC2=CC=CC3=C2C(=C1)C=CC3", ["C1=CC2=CC=CC3=C2C(=C1)CC=C3"]),  # three around an atom: no tree joins them
        ("CC1(C)CC1", ["CC", "C", "CC", "C1CC1"]),  # two bonds and a ring meet
        ("CC1CC1", ["CC", "C1CC1"]),
    ],
)
def test_known_decompositions(smiles, labels):
    assert sorted(decompose(smiles).labels) == sorted(labels)


@pytest.mark.parametrize("smiles", [*ODD, *blockers().smiles[::40]])
def test_clusters_are_a_junction_tree(smiles):
    tree = decompose(smiles)
    atoms = [set(cluster) for cluster in tree.clusters]
    assert set().union(*atoms) == set(range(len(tree.atoms)))
    bonds = {frozenset(map(int, bond[:2])) for bond in tree.bonds}
    assert all(any(bond <= cluster for cluster in atoms) for bond in bonds)
    assert tree.parents[0] == -1
    for i in range(1, len(tree)):
        shared = atoms[i] & atoms[tree.parents[i]]
        assert tree.parents[i] < i
        assert len(shared) == 1 or shared in bonds
    # The clusters of an atom hang together: in a tree, with one edge fewer than there are of them.
    for atom in range(len(tree.atoms)):
        edges = sum(atom in atoms[i] and atom in atoms[tree.parents[i]] for i in range(1, len(tree)))
        assert edges == sum(atom in cluster for cluster in atoms) - 1


@pytest.mark.parametrize("smiles", [*ODD, *blockers().smiles[::40]])
def test_labels_and_attachments_are_all_that_a_molecule_needs(smiles):
    tree = decompose(smiles)
    expected = Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False)
    assert reassemble(tree, vocabulary_of([tree])) == tree.smiles == expected


@pytest.mark.slow
def test_moses_reassembles(real_data):
    path = moses("test")
    corpus = Corpus.build(path, limit=300, jobs=1, progress=False)
    trees = [decompose(corpus.smiles(i)) for i in range(len(corpus))]
    known = vocabulary_of(trees)
    assert [reassemble(tree, known) for tree in trees] == [tree.smiles for tree in trees]
    assert len(trees) == 300


def test_a_tree_depends_on_the_molecule_and_not_on_its_spelling():
    molecule = Chem.MolFromSmiles("CC(=O)Nc1ccc2[nH]c(C3CCCC3)nc2c1")
    trees = [decompose(Chem.MolToSmiles(molecule, doRandom=True)) for _ in range(10)]
    assert len({(tree.smiles, tree.labels, tree.clusters, tree.parents) for tree in trees}) == 1


def test_a_dot_need_not_part_a_molecule():
    assert decompose("C1.C1").smiles == "CC"


def test_reassembly_needs_the_labels():
    with pytest.raises(InputError, match="Got 'CO', which is not; a vocabulary of these labels alone is"):
        reassemble(decompose("CCO"), Vocabulary({"CC": 1}))


def test_stereochemistry_is_dropped():
    assert decompose("C[C@H](N)C(=O)O").smiles == "CC(N)C(=O)O"


def test_bonds_know_their_order_and_where_they_are():
    tree = decompose("CC=Cc1ccccc1")
    codes = {frozenset(map(int, bond[:2])): int(bond[2]) for bond in tree.bonds}
    assert codes[frozenset((0, 1))] == 1
    assert codes[frozenset((1, 2))] == 2
    ring = [code for bond, code in codes.items() if min(bond) >= 3]
    assert sorted(code & 3 for code in ring) == [1, 1, 1, 2, 2, 2]
    assert all(code & 12 == 12 for code in ring)
    assert np.array_equal(tree.atoms[0], [6, 8, 3, 0])
    assert np.array_equal(tree.atoms[4], [6, 8, 1, 1])


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("nonsense", "not a valid SMILES"),
        ("CC O", "white space inside, so that only 'CC' would be read"),
        ("CC\tO", "white space inside"),
        (" ", "no SMILES"),
        ("CC.O", "several parts"),
        ("C" * 121, "121 heavy atoms, of which 120 are allowed"),
        ("[13CH4]", "an isotope"),
        ("C[CH2]", "a radical"),
        ("*C", "may be any"),
        ("[H][H]", "a hydrogen written as an atom"),
        ("N->[Pt](Cl)Cl", "a bond that is not single"),
        ("Cl[Hg]Cl", "Hg, whose number of bonds is not known"),
        ("C[SH3]", "S with 1 bond and 3 hydrogens, an unusual valence"),
        ("CC\u00e9", "a letter that no SMILES has"),
        (5, "not a text"),
    ],
)
def test_what_has_no_tree_says_why(smiles, reason):
    with pytest.raises(InputError, match=reason):
        decompose(smiles)


def test_the_largest_molecule_is_allowed():
    assert len(decompose("C" * 120).atoms) == 120
    with pytest.raises(InputError, match="5 heavy atoms, of which 4 are allowed"):
        decompose("CCCCC", largest=4)
    with pytest.raises(InputError, match="largest"):
        decompose("C" * 300, largest=400)


def test_vocabularies_are_kept_as_text(tmp_path):
    known = Vocabulary({"CO": 3, "CC": 5, "C1CC1": 3})
    assert known.labels == ("CC", "C1CC1", "CO")
    known.save(tmp_path / "labels.txt")
    assert (tmp_path / "labels.txt").read_text() == "CC\t5\nC1CC1\t3\nCO\t3\n"
    again = Vocabulary.load(tmp_path / "labels.txt")
    assert (again.labels, again.counts) == (known.labels, known.counts)
    assert again.missing(["CC", "CN"]) == "CN"
    assert again.missing(["CC"]) is None


@pytest.mark.parametrize("text", ["CC\n", "CC\tmany\n", "(((\t1\n", ""])
def test_other_texts_are_no_vocabulary(tmp_path, text):
    (tmp_path / "labels.txt").write_text(text)
    with pytest.raises(InputError, match="vocabulary|label"):
        Vocabulary.load(tmp_path / "labels.txt")
