"""The Bayesian search: what is chosen, and what it is worth."""

import sys

import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem
from rdkit.Chem import Crippen

from pellucid.errors import InputError
from pellucid.molecules import SimilarityRule
from pellucid.molecules.vae import Corpus, JunctionTreeVAE, LatentProperty, optimize

SMILES = list(blockers().smiles[:60])


def log_p(texts):
    return [Crippen.MolLogP(Chem.MolFromSmiles(text)) for text in texts]


@pytest.fixture(scope="module")
def model():
    settings = {"width": 16, "latent": 6, "epochs": 4, "game": None, "centers": 5, "pool": 60}
    rule = SimilarityRule(analogs=False, threshold=0.3)
    return JunctionTreeVAE(similar=rule, **settings).fit(Corpus.of(SMILES), validation=0, progress=False)


def test_without_its_library_it_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "botorch", None)
    message = r"""`search='bayesian'` needs botorch, which must be installed; pip install 'pellucid\[search\]'"""
    with pytest.raises(InputError, match=message):
        optimize(model, log_p, SMILES[0], search="bayesian")


def test_searches_have_names_and_goals(model):
    with pytest.raises(InputError, match="""`search` must be "local" or "bayesian". Got 'random'"""):
        optimize(model, log_p, SMILES[0], search="random")
    head = LatentProperty.fit(model, SMILES, log_p(SMILES))
    with pytest.raises(InputError, match="A Bayesian search is one for a function. Got a LatentProperty"):
        optimize(model, head, SMILES[0], search="bayesian")


def test_what_is_chosen_is_where_values_are_high():
    pytest.importorskip("botorch")
    from pellucid.molecules.vae.bayesian import most_promising

    rng = np.random.default_rng(0)
    x, candidates = rng.uniform(-1, 1, (40, 3)), rng.uniform(-1, 1, (60, 3))
    far = np.square(candidates - 0.3).sum(1)
    chosen = most_promising(x, -np.square(x - 0.3).sum(1), candidates, 5, seed=0)
    assert len(set(chosen)) == 5
    # The best of all candidates is among the five, and all of these are among the best.
    assert np.argmin(far) in chosen
    assert max(np.argsort(np.argsort(far))[chosen]) < 20
    assert chosen == most_promising(x, -np.square(x - 0.3).sum(1), candidates, 5, seed=0)
    assert sorted(most_promising(x, x[:, 0], candidates[:3], 5, seed=0)) == [0, 1, 2]


def test_a_bayesian_search_values_few_molecules_and_finds_better_ones(model):
    pytest.importorskip("botorch")
    asked = []

    def goal(texts):
        asked.append(len(texts))
        return log_p(texts)

    settings = {"search": "bayesian", "steps": 6, "batch": 5, "proposals": 40}
    found = optimize(model, goal, SMILES[3], **settings)
    assert asked[0] == 1
    assert max(asked[1:]) <= 10
    assert max(asked[3:]) <= 5
    assert found.tried == sum(asked)
    values = [step.value for step in found.steps]
    assert len(values) > 1
    assert values == sorted(values)
    assert values == pytest.approx(log_p([step.smiles for step in found.steps]))
    assert str(found) == str(optimize(model, goal, SMILES[3], **settings))
    near = optimize(model, goal, SMILES[3], **settings, least_similarity=0.2, lower=True)
    assert near.steps[-1].value <= near.steps[0].value
    assert min(step.similarity for step in near.steps) >= 0.2
