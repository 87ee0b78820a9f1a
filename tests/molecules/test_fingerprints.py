import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import BulkTanimotoSimilarity

from pellucid import InputError
from pellucid.molecules import Fingerprints, Morgan, fingerprints

SMILES = [
    "CCO", "CCN", "CCCO", "CCCCO", "c1ccccc1", "c1ccccc1C", "c1ccccc1CC", "c1ccccc1O", "c1ccccc1N",
    "CC(=O)Nc1ccc(O)cc1", "CC(=O)Nc1ccc(OC)cc1", "CC(=O)Nc1ccc(OCC)cc1", "C1CCCCC1", "C1CCCCC1O", "CCCCCCCC",
    "CCCCCCCCC", "CC(=O)Oc1ccccc1C(=O)O",
]  # fmt: skip


def reference(size, radius):
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=size)
    return [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in SMILES]


@pytest.mark.parametrize(("size", "radius"), [(64, 1), (192, 2), (2048, 2), (1024, 3)])
def test_bits_are_rdkits(size, radius):
    found = Morgan(radius=radius, size=size)(SMILES)
    expected = np.array([list(bits) for bits in reference(size, radius)], dtype=np.uint8)
    np.testing.assert_array_equal(found.dense().numpy(), expected)
    np.testing.assert_array_equal(found.counts, expected.sum(1))


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("size", [64, 192, 2048])
def test_similar_molecules_are_those_of_rdkit(threshold, size):
    fingerprints, bits = Morgan(size=size)(SMILES), reference(size, 2)
    hits = fingerprints.similar_to(fingerprints, threshold=threshold)
    for i in range(len(SMILES)):
        exact = np.array(BulkTanimotoSimilarity(bits[i], bits))
        order = [j for j in np.lexsort((np.arange(len(bits)), -exact)) if exact[j] > threshold]
        part = slice(hits.offsets[i], hits.offsets[i + 1])
        assert hits.members[part].tolist() == order
        np.testing.assert_allclose(hits.similarity[part], exact[order])


def test_random_bits_with_ties_and_empty_sets():
    generator = np.random.default_rng(0)
    dense = generator.random((300, 128)) < generator.choice([0.02, 0.1, 0.4], size=(300, 1))
    dense[::50] = False
    words = np.packbits(dense, axis=1, bitorder="little").view("<u8")
    pool, queries = Fingerprints(words[:200]), Fingerprints(words[150:])
    for threshold in (0.2, 1 / 3, 0.5):
        hits = pool.similar_to(queries, threshold=threshold)
        for i in range(len(queries)):
            both = (dense[150 + i] & dense[:200]).sum(1)
            either = (dense[150 + i] | dense[:200]).sum(1)
            expected = set(np.flatnonzero(both > threshold * either))
            assert set(hits.members[hits.offsets[i] : hits.offsets[i + 1]]) == expected


def test_environments_tell_where_a_bit_comes_from():
    molecule = Chem.MolFromSmiles("CCO")
    places = Morgan(size=2048).environments(molecule)
    assert set(places) == set(np.flatnonzero(Morgan()(["CCO"]).dense()[0].numpy()))
    assert sorted(atom for where in places.values() for atom, radius in where if radius == 0) == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Morgan(size=100), "`size` of Morgan must be a multiple of 64. Got 100"),
        (lambda: Morgan(radius=-1), "`radius` must be a whole number between 0 and 100"),
        (lambda: Morgan()(["CCO", "not"]), "must be valid. Got 'not'"),
        (lambda: Morgan()(SMILES).similar_to(Morgan()(SMILES), threshold=1.0), "`threshold` must be between 0 and 1"),
        (lambda: Morgan()(SMILES).similar_to(Morgan(size=64)(SMILES)), "same size. Got 2048 and 64 bits"),
    ],
)
def test_mistakes_are_told(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("hits", [1, 150, 10**6])
def test_the_nearest_are_those_of_brute_force_in_pieces_of_any_size(monkeypatch, hits):
    monkeypatch.setattr(fingerprints, "_HITS", hits)
    morgan = Morgan(radius=2, size=256)
    pool, asked = morgan.many(list(blockers().smiles[:40])), morgan.many([*blockers().smiles[30:50], "C", "CO", "[He]"])
    a, b = asked.dense().numpy(), pool.dense().numpy()
    both = a @ b.T
    similarity = both / np.maximum(a.sum(1)[:, None] + b.sum(1) - both, 1)
    rows, values = pool.nearest_to(asked)
    np.testing.assert_allclose(values, np.where(similarity.max(1) > 0.01, similarity.max(1), 0), rtol=1e-6)
    assert rows.tolist() == np.where(values > 0, similarity.argmax(1), -1).tolist()
    nothing = Fingerprints(pool.words[:0])
    assert nothing.nearest_to(asked)[0].tolist() == [-1] * len(asked)
