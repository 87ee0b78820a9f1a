from itertools import product

import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem

from pellucid.molecules.vae import Corpus, Vocabulary, decompose
from pellucid.molecules.vae.assembly import PartialMolecule
from pellucid.molecules.vae.trees import molecule_of, template

LABELS = Corpus.of([*blockers().smiles[::10], "CC1(C)CC1", "C1CCC2(CC1)OCCO2", "Fc1ccccc1Cl", "C1CCNCC1"]).vocabulary()


def grown(*steps: tuple[int, str, int]) -> PartialMolecule:
    """A molecule of clusters, each a parent, a label and the number of the way."""
    growing = PartialMolecule(LABELS, LABELS.index[steps[0][1]])
    for parent, label, way in steps[1:]:
        growing.attach(parent, LABELS.index[label], growing.ways(parent, LABELS.index[label])[way])
    return growing


def brute_force(growing: PartialMolecule, parent: int, label: str) -> set[str]:
    """Kekulé SMILES of all different molecules that come of attaching a cluster by one atom or one bond."""
    found = template(label)
    own, size = growing.members(parent).tolist(), len(found.kinds)
    results = set()
    pairs = list(product(range(len(own)), range(size)))
    for chosen in [[pair] for pair in pairs] + [[a, b] for a in pairs for b in pairs if a < b]:
        if len({p for p, _ in chosen}) < len(chosen) or len({c for _, c in chosen}) < len(chosen):
            continue
        if len(chosen) == 2 and min(len(own), size) < 3:  # only rings share bonds
            continue
        n = growing.n_atoms
        kinds, bonds = list(growing._kinds[:n]), [tuple(bond) for bond in growing._bonds[: growing.n_bonds].tolist()]
        orders = {frozenset(bond[:2]): bond[2] for bond in bonds}
        if any(kinds[own[p]] != found.kinds[c] for p, c in chosen):
            continue
        place = {c: own[p] for p, c in chosen}
        for c in range(size):
            if c not in place:
                place[c] = len(kinds)
                kinds.append(found.kinds[c])
        shared = set(place.values()) & set(own)
        good = True
        for i, j, order in found.bonds:
            ends = frozenset((place[i], place[j]))
            if ends <= shared and len(chosen) == 2:
                good = good and orders.get(ends) == order
            else:
                bonds.append((place[i], place[j], order))
        if len(chosen) == 2:  # a bond is shared, in both clusters
            ends = frozenset(c for _, c in chosen)
            good = good and frozenset(own[p] for p, _ in chosen) in orders
            good = good and any(frozenset(bond[:2]) == ends for bond in found.bonds)
        if not good:
            continue
        molecule = molecule_of(kinds, bonds)
        try:
            molecule.UpdatePropertyCache(strict=True)
        except Chem.AtomValenceException:
            continue
        Chem.FastFindRings(molecule)
        results.add(Chem.MolToSmiles(molecule))
    return results


CASES = [
    (grown((0, "C1=CC=CC=C1", 0)), 0, "CO"),
    (grown((0, "C1=CC=CC=C1", 0), (0, "CF", 0)), 0, "CCl"),
    (grown((0, "C1=CC=CC=C1", 0), (0, "CF", 0), (0, "CCl", 1)), 0, "CO"),
    (grown((0, "C1CCCCC1", 0)), 0, "C1COCO1"),
    (grown((0, "C1=CC=CC=C1", 0)), 0, "C1CCCCC1"),
    (grown((0, "C1CCNCC1", 0)), 0, "C1=CC=CC=C1"),
    (grown((0, "CC", 0)), 0, "CN"),
    (grown((0, "CN", 0)), 0, "C1CCNCC1"),
]


@pytest.mark.parametrize(("growing", "parent", "label"), CASES)
def test_all_different_ways_are_offered_once(growing, parent, label):
    ways = growing.ways(parent, LABELS.index[label])
    molecules = []
    for way in ways:
        other = PartialMolecule(LABELS, growing.labels[0])
        other.__dict__.update({k: v.copy() if hasattr(v, "copy") else v for k, v in growing.__dict__.items()})
        other.attach(parent, LABELS.index[label], way)
        molecule = molecule_of(other._kinds[: other.n_atoms], other._bonds[: other.n_bonds])
        molecule.UpdatePropertyCache(strict=True)
        Chem.FastFindRings(molecule)
        molecules.append(Chem.MolToSmiles(molecule))
    assert len(set(molecules)) == len(molecules)
    assert set(molecules) == brute_force(growing, parent, label)


def test_bonds_meet_in_single_atoms_only():
    chain = grown((0, "CC", 0), (0, "CN", 0))
    shared = (set(chain.members(0).tolist()) & set(chain.members(1).tolist())).pop()
    for way in chain.ways(0, LABELS.index["CO"]):
        assert chain.members(0)[way[0]] != shared
    single = grown((0, "CC", 0), (0, "C", 0), (1, "CN", 0))
    assert len(single.ways(1, LABELS.index["CO"])) == 1


def test_whatever_is_attached_the_molecule_is_valid():
    random = np.random.default_rng(0)
    for _ in range(200):
        growing = PartialMolecule(LABELS, int(random.integers(len(LABELS))))
        for _ in range(8):
            parent, label = int(random.integers(len(growing.labels))), int(random.integers(len(LABELS)))
            ways = growing.ways(parent, label)
            if len(ways):
                growing.attach(parent, label, ways[random.integers(len(ways))])
        text = growing.smiles()
        assert Chem.MolToSmiles(Chem.MolFromSmiles(text)) == text


def test_labels_fit_if_there_is_a_way():
    for i in range(0, len(LABELS), 7):
        for j in range(0, len(LABELS), 5):
            assert LABELS.fits[i, j] == (len(PartialMolecule(LABELS, i).ways(0, j)) > 0)


def test_growing_takes_as_much_room_as_it_needs():
    text = "C" * 100
    tree = decompose(text)
    known = Vocabulary({"CC": 1})
    growing = PartialMolecule(known, 0)
    for node in range(1, len(tree)):
        growing.attach(node - 1, 0, growing.ways(node - 1, 0)[-1])
    assert growing.smiles() == text
