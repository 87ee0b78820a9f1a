"""Properties of the latent space, and the search for molecules with more of one."""

import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem
from rdkit.Chem import Descriptors

from pellucid.errors import InputError
from pellucid.molecules import SimilarityRule
from pellucid.molecules.vae import Corpus, JunctionTreeVAE, LatentProperty, optimize

SMILES = list(blockers().smiles[:60])


def weight(texts):
    return [Descriptors.MolWt(Chem.MolFromSmiles(text)) for text in texts]


@pytest.fixture(scope="module")
def model():
    settings = {"width": 16, "latent": 6, "epochs": 4, "game": None, "centers": 5, "pool": 60}
    rule = SimilarityRule(analogs=False, threshold=0.3)
    return JunctionTreeVAE(similar=rule, **settings).fit(Corpus.of(SMILES), validation=0, progress=False)


@pytest.fixture(scope="module")
def head(model):
    return LatentProperty.fit(model, SMILES, weight(SMILES), name="weight")


def test_a_property_is_the_ridge_regression_that_predicts_left_out_molecules_best(model, head):
    x, y = model.encode(SMILES).mean.astype(float), np.array(weight(SMILES))
    errors = []
    for penalty in np.logspace(-3, 5, 17):
        missed = 0.0
        for i in range(len(y)):
            a, b = np.delete(x, i, 0), np.delete(y, i)
            c = a - a.mean(0)
            w = np.linalg.solve(c.T @ c + penalty * np.eye(a.shape[1]), c.T @ (b - b.mean()))
            missed += (y[i] - b.mean() - (x[i] - a.mean(0)) @ w) ** 2
        errors.append(missed / len(y))
    assert head.explained == pytest.approx(1 - min(errors) / y.var(), abs=1e-3)
    assert head(SMILES) == pytest.approx(head.constant + x @ head.direction)
    assert "weight: a linear function of the latent space, learned from 60 molecules" in str(head)


def test_rows_of_one_molecule_are_joined(model, head):
    y = np.random.default_rng(1).standard_normal(60)
    once = LatentProperty.fit(model, SMILES, y)
    # Other ways to write it, and measurements that differ: their mean counts.
    written = [Chem.MolToSmiles(Chem.MolFromSmiles(text), rootedAtAtom=2) for text in SMILES]
    twice = LatentProperty.fit(model, [*SMILES, *written], [*(y + 0.25), *(y - 0.25)])
    assert (once.count, once.joined) == (60, 0)
    assert (twice.count, twice.joined) == (60, 60)
    assert "60 molecules, 60 rows joined with others of the same molecule" in str(twice)
    assert twice.direction == pytest.approx(once.direction)
    assert list(twice.measured.values()) == pytest.approx(y)
    again = LatentProperty.fit(model, SMILES * 2, [*y, *y])
    assert np.array_equal(again.direction, once.direction)
    assert (again.constant, again.explained) == (once.constant, once.explained)
    with pytest.raises(InputError, match="A property must be measured at 3 molecules .* Got 2 molecules"):
        LatentProperty.fit(model, SMILES[:2] * 3, range(6))


def test_stereoisomers_are_one_molecule(model):
    smiles = [*SMILES[:10], "C[C@H](N)CO", "C[C@@H](N)CO"]
    head = LatentProperty.fit(model, smiles, range(12))
    assert (head.count, head.joined) == (11, 1)
    assert head.measured["CC(N)CO"] == 10.5
    assert head.best() == "CC(N)CO"
    assert head.best(lower=True) == model.flat(SMILES[0])[0]


def test_every_step_is_a_valid_molecule_that_is_better(model, head):
    by_value = sorted(SMILES, key=lambda text: head(text)[0])
    found = optimize(model, head, by_value[0], steps=6, proposals=24)
    values = [step.value for step in found.steps]
    assert len(found) > 1
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    for step in found.steps:
        assert Chem.MolFromSmiles(step.smiles) is not None
        # What counts is the molecule, not the point that it was decoded from.
        assert step.value == pytest.approx(head([step.smiles])[0], rel=1e-5)
    assert str(found) == str(optimize(model, head, by_value[0], steps=6, proposals=24))
    lower = optimize(model, head, by_value[-1], steps=4, proposals=24, lower=True)
    assert lower.steps[-1].value < lower.steps[0].value


def test_a_search_stays_near_its_start(model, head):
    from rdkit.Chem import rdFingerprintGenerator
    from rdkit.DataStructs import TanimotoSimilarity

    found = optimize(model, head, SMILES[3], steps=4, proposals=24, least_similarity=0.2)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(step.smiles)) for step in found.steps]
    expected = [TanimotoSimilarity(prints[0], other) for other in prints]
    assert [step.similarity for step in found.steps] == pytest.approx(expected)
    assert min(expected) >= 0.2


def test_any_function_can_be_the_goal(model):
    found = optimize(model, weight, SMILES[3], steps=3, proposals=24)
    assert [step.value for step in found.steps] == pytest.approx(weight([step.smiles for step in found.steps]))
    with pytest.raises(InputError, match="Values must come from a `LatentProperty` to be explained"):
        found.explain()


def test_molecules_that_the_encoder_cannot_read_do_not_count(model, head, monkeypatch):
    with pytest.raises(InputError, match="is not in the vocabulary"):
        model.encode("C[Si](C)(C)C")
    monkeypatch.setattr(JunctionTreeVAE, "decode", lambda self, z: ["C[Si](C)(C)C"] * len(z))
    way = optimize(model, head, SMILES[0], steps=2, proposals=6)
    assert (len(way), way.tried) == (1, 1)
    assert "1 different molecule compared; none is better than the first" in str(way)


@pytest.mark.parametrize(
    ("goal", "got"),
    [
        (lambda text: Descriptors.MolWt(Chem.MolFromSmiles(text)), "TypeError: No registered converter"),
        (lambda texts: 1.0, r"values of shape \(\) for 1 molecule"),
        (lambda texts: ["high"] * len(texts), "ValueError: could not convert"),
    ],
)
def test_a_goal_returns_a_number_for_each_molecule(model, goal, got):
    with pytest.raises(InputError, match=f"must be a function of a list of SMILES .* Got {got}.*lambda texts"):
        optimize(model, goal, SMILES[0], steps=1, proposals=2)


def test_a_property_that_is_not_learned_says_so(model):
    y = np.random.default_rng(0).standard_normal(len(SMILES))
    noise = LatentProperty.fit(model, SMILES, y.tolist())
    assert noise.explained <= 0
    assert "at molecules left out it is worse than their mean" in str(noise)


def test_the_tree_says_what_the_property_follows(head):
    explanation = head.explain(SMILES[3])
    assert explanation.prediction[0] == pytest.approx(head([SMILES[3]])[0], rel=1e-5)
    assert "weight" in explanation.text()


def test_properties_need_values_that_vary(model, head):
    with pytest.raises(InputError, match="There must be one value for each molecule"):
        LatentProperty.fit(model, SMILES, [1.0])
    with pytest.raises(InputError, match="A property must be measured at 3 molecules .* Got 60 molecules of the same"):
        LatentProperty.fit(model, SMILES, [1.0] * 60)
    with pytest.raises(InputError, match="`least_similarity` must be between 0 and 1. Got 2"):
        optimize(model, head, SMILES[0], least_similarity=2)
