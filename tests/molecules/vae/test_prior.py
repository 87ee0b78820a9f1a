"""Points drawn where the codes of molecules are."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from blockers import blockers
from rdkit import Chem

from pellucid import InputError
from pellucid.molecules import SimilarityRule
from pellucid.molecules.vae import Corpus, JunctionTreeVAE
from pellucid.molecules.vae.prior import FittedPrior
from pellucid.schemas import SchemaError

SMILES = list(blockers().smiles[:60])
SETTINGS = {"width": 16, "latent": 3, "epochs": 1, "game": None, "pool": 30, "similar": SimilarityRule(analogs=False)}


def test_mean_and_covariance_are_those_of_points_of_the_posteriors():
    rng = np.random.default_rng(0)
    joined = torch.from_numpy(np.concatenate([rng.normal(2, 3, (40, 3)), rng.normal(-1, 1, (40, 3))], axis=1))
    prior = FittedPrior.of(joined)
    chosen = rng.integers(40, size=400_000)
    mean, log_variance = joined.numpy()[chosen, :3], joined.numpy()[chosen, 3:]
    drawn = mean + np.exp(0.5 * log_variance) * rng.standard_normal(mean.shape)
    assert prior.mean == pytest.approx(drawn.mean(0), abs=0.05)
    assert prior.covariance == pytest.approx(np.cov(drawn.T), abs=0.15)
    points = prior.points(torch.from_numpy(rng.standard_normal((400_000, 3)))).numpy()
    assert points.mean(0) == pytest.approx(prior.mean, abs=0.05)
    assert np.cov(points.T) == pytest.approx(prior.covariance, abs=0.15)


def test_one_molecule_is_its_own_posterior():
    prior = FittedPrior.of(torch.tensor([[1.0, 2.0, math.log(0.25), math.log(4.0)]]))
    assert prior.mean.tolist() == [1, 2]
    assert prior.covariance == pytest.approx(np.diag([0.25, 4.0]))
    assert prior.points(torch.tensor([[2.0, -1.0]])).numpy() == pytest.approx(np.array([[2.0, 0.0]]), abs=1e-6)


def test_it_comes_back_and_lies_are_refused():
    prior = FittedPrior.of(torch.randn(9, 8, generator=torch.Generator().manual_seed(0)))
    content = json.loads(json.dumps(prior.to_dict()))
    again = FittedPrior.from_dict(content)
    assert np.array_equal(again.covariance, prior.covariance)
    assert np.array_equal(again.mean, prior.mean)
    with pytest.raises(SchemaError, match="not symmetric"):
        FittedPrior.from_dict({**content, "covariance": np.tri(4).tolist()})
    with pytest.raises(SchemaError, match="covariance"):
        FittedPrior.from_dict({**content, "mean": [0.0]})


@pytest.mark.slow
def test_a_model_draws_there_and_remembers_it(tmp_path):
    model = JunctionTreeVAE(**SETTINGS).fit(Corpus.of(SMILES), validation=0, progress=False)
    encoding = model.encode(SMILES)
    assert model.prior_.mean == pytest.approx(encoding.mean.mean(0), abs=1e-5)
    spread = np.cov(encoding.mean.T, bias=True) + np.diag(np.exp(encoding.log_variance).mean(0))
    assert model.prior_.covariance == pytest.approx(spread, abs=1e-4)
    model.save(tmp_path)
    drawn = model.sample(20, prior="fitted", seed=3)
    assert JunctionTreeVAE.load(tmp_path).sample(20, prior="fitted", seed=3) == drawn != model.sample(20, seed=3)
    assert all(Chem.MolFromSmiles(text) is not None for text in drawn)
    # All of the mass at the code of one molecule gives what comes back from it.
    point = FittedPrior(mean=encoding.mean[5].astype(np.float64), covariance=1e-12 * np.eye(6))
    there = model.with_fitted(replace(model.fitted_, prior=point))
    assert there.sample(3, prior="fitted", greedy=True) == model.reconstruct(SMILES[5]) * 3
    with pytest.raises(InputError, match='`prior` must be "standard" or "fitted"'):
        model.sample(1, prior="normal")
    before = model.with_fitted(replace(model.fitted_, prior=None))
    with pytest.raises(InputError, match='train it again, or use prior="standard"'):
        before.sample(1, prior="fitted")
    file = tmp_path / "junction_tree_vae.json"
    content = json.loads(file.read_text())
    content["prior"]["mean"] = [0.0]
    content["prior"]["covariance"] = [[1.0]]
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match="prior has 1 coordinates, not 6"):
        JunctionTreeVAE.load(tmp_path)
    del content["prior"]
    file.write_text(json.dumps(content))
    assert JunctionTreeVAE.load(tmp_path).prior_ is None
