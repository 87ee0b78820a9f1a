"""Measures of generated molecules against their definitions."""

import numpy as np
import pytest
from blockers import blockers
from paper import sample_measures as measures
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import TanimotoSimilarity
from scipy.linalg import sqrtm

pytestmark = pytest.mark.paper

FIRST, SECOND = list(blockers().smiles[:12]), list(blockers().smiles[20:40])


def similarities(first, second):
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    prints = [[generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in texts] for texts in (first, second)]
    return np.array([[TanimotoSimilarity(a, b) for b in prints[1]] for a in prints[0]])


def test_similarities_are_those_of_all_pairs_in_any_pieces(monkeypatch):
    monkeypatch.setattr(measures, "_BLOCK", 5)
    assert measures.nearest_similarity(FIRST, SECOND) == pytest.approx(similarities(FIRST, SECOND).max(1).mean())
    assert measures.internal_diversity(FIRST) == pytest.approx(1 - similarities(FIRST, FIRST).mean(), rel=1e-5)


def test_counts():
    assert measures.canonical(["OCC", "CCO", "nonsense"]) == ["CCO", "CCO"]
    assert measures.unique_at(["A", "A", "B", "C"], 2) == 0.5
    assert measures.novelty(["A", "A", "B"], {"A"}) == 0.5
    # One ring is too few for a scaffold that counts.
    assert measures.scaffolds(["Cc1ccccc1", "Cc1ccc2ccccc2c1"]) == {"c1ccc2ccccc2c1": 1}
    assert measures.cosine({"a": 3, "b": 4}, {"a": 1, "c": 5}) == pytest.approx(3 / (5 * 26**0.5))
    assert np.isnan(measures.cosine({}, {"a": 1}))
    assert sum(measures.fragments(["CCOc1ccccc1"]).values()) == 3


def test_filters():
    nitro = [Chem.MolFromSmarts("N=O")]
    assert measures.passes("CCO", nitro)
    assert not measures.passes("CN=O", nitro)
    assert not measures.passes("C1CCCCCCC1", [])
    assert not measures.passes("C[N+](C)(C)C", [])
    assert not measures.passes("C[Si](C)(C)C", [])


def test_frechet_distances_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(50, 4)), rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 1
    c1, c2 = np.cov(a.T), np.cov(b.T)
    expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(c1 + c2 - 2 * sqrtm(c1 @ c2).real)
    assert measures.frechet_distance(a.mean(0), c1, b.mean(0), c2) == pytest.approx(expected)
    assert measures.frechet_distance(a.mean(0), c1, a.mean(0), c1) == pytest.approx(0, abs=1e-9)
    mean, covariance = measures.moments([a[:7], a[7:8], a[8:]])
    assert mean == pytest.approx(a.mean(0))
    assert covariance == pytest.approx(c1)
