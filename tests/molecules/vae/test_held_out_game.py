"""The game that encoders play at members that the tree was not fitted to, and how far trees are from them."""

import math

import numpy as np
import pytest
import torch
from blockers import blockers

from pellucid import InputError, Neighborhoods
from pellucid.deviations import gaussian_kl
from pellucid.domains import Source
from pellucid.molecules import SimilarityRule
from pellucid.molecules.vae import Corpus, JunctionTreeVAE
from pellucid.molecules.vae.domain import AutoencoderDomain, AutoencoderSettings
from pellucid.molecules.vae.fitting import AutoencoderFit
from pellucid.runs.training import _model_name

SMILES = list(blockers().smiles[:120])
SETTINGS = {
    "width": 16, "latent": 4, "epochs": 1, "batch_size": 32, "centers": 30, "pool": 80, "share": 0.125, "members": 8,
    "similar": SimilarityRule(analogs=False), "held_out_game": True,
}  # fmt: skip


def planted():
    """Six members: one bit marks the last, whose Gaussian is another. A tree of all has seen it, one of the rest not.

    With five folds the first and the last are left out together; the others are told by a tree that knows the last.
    """
    x = torch.eye(6)[:, [5]].repeat(1, 3)
    f = torch.zeros(6, 2)
    f[5] = torch.tensor([2.0, math.log(4.0)])
    return f, x, Neighborhoods(torch.arange(6), torch.tensor([0, 6]), torch.tensor([0]), 6)


def test_a_member_that_only_its_own_tree_knows_costs_the_divergence_from_the_others():
    f, x, hoods = planted()
    fitted, held_out = (
        JunctionTreeVAE(weight=0.5, held_out_game=kind).new_game()(f.requires_grad_(), x, hoods)
        for kind in (False, True)
    )
    assert fitted.penalty.item() == pytest.approx(0, abs=1e-6)
    # KL(N(0, 1) || N(2, 4)) at one member of six.
    divergence = 0.5 * (math.log(4) + (1 + 2**2) / 4 - 1)
    assert held_out.penalty.item() == pytest.approx(0.5 * divergence / 6, rel=1e-6)
    held_out.penalty.backward()
    # Its derivatives: (mean_f - mean_g) / variance_f, and half of 1 - (variance_g + (mean_g - mean_f)^2) / variance_f.
    expected = torch.zeros(6, 2)
    expected[5] = torch.tensor([2 / 4, 0.5 * (1 - 5 / 4)]) * 0.5 / 6
    torch.testing.assert_close(f.grad, expected)


def test_the_witnesses_of_a_step_have_not_seen_the_member():
    fit = AutoencoderFit(JunctionTreeVAE(**{**SETTINGS, "share": 0.5, "weight": 0.3}), Corpus.of(SMILES), validation=0)
    batch = fit.take(torch.arange(8), torch.Generator().manual_seed(0))
    game = batch.game
    assert (game.hoods.sizes > 2).any()
    f = fit.network.encode(game.members).joined().detach()
    expected = by_refits(fit.model, f, game.x, game.hoods).mean()
    assert fit.loss(batch)["penalty"].item() == pytest.approx(0.3 * expected, rel=1e-4)


def by_refits(model, f, x, hoods):
    """(n,) mean KL over the members, each of which is told by a tree of the members of other folds."""
    found = []
    for i in range(len(hoods)):
        members = hoods.members_of(i)
        fold = np.arange(len(members)) % min(5, len(members))
        total = 0.0
        for k, member in enumerate(members.tolist()):
            rest = members[torch.from_numpy(fold != fold[k])]
            if len(rest):
                one = Neighborhoods(rest, torch.tensor([0, len(rest)]), rest[:1], hoods.n_points)
                value = model.family().best_response(x, f, one).evaluate(torch.tensor([0]), x[member][None])
                total += gaussian_kl(f[member][None], value.to(f)).item()
        found.append(total / len(members))
    return np.array(found)


@pytest.mark.slow
def test_a_model_with_it_is_trained_saved_and_measured(tmp_path):
    model = JunctionTreeVAE(**SETTINGS, weight=0.01).fit(Corpus.of(SMILES), progress=False)
    model.save(tmp_path)
    assert JunctionTreeVAE.load(tmp_path).held_out_game
    test = list(blockers().smiles[130:140])
    scores = model.evaluate(test)
    places = model.encodable(model.neighborhoods(test))
    f = torch.from_numpy(np.concatenate(model.encode(list(places.points))[:2], axis=1))
    expected = by_refits(model, f, places.fingerprints.dense(), places.hoods)
    assert scores.held_out_deviations == pytest.approx(expected, rel=1e-3)
    large = scores.sizes > 2
    assert large.any()
    assert scores.held_out_deviation == pytest.approx(expected[large].mean(), rel=1e-3)
    assert scores.to_dict()["held_out_deviation"] == scores.held_out_deviation
    assert f"{scores.held_out_deviation:.3f} held out" in str(scores)


@pytest.mark.slow
def test_it_makes_encoders_that_trees_tell_where_they_were_not_fitted():
    test = list(blockers().smiles[130:160])
    deviations = []
    for settings in ({"game": None}, {"weight": 1.0}):
        model = JunctionTreeVAE(**{**SETTINGS, "epochs": 5, "share": 0.5, **settings})
        deviations.append(model.fit(Corpus.of(SMILES), validation=0, progress=False).evaluate(test).held_out_deviation)
    assert deviations[1] < 0.5 * deviations[0]


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [True, False])
def test_it_is_an_option_of_the_training(held_out, tmp_path):
    domain = AutoencoderDomain()
    path = tmp_path / "a.smi"
    path.write_text("\n".join(SMILES))
    source = Source(domain.read(path, domain.Reading()), path, domain.Reading())
    plan = domain.plan(source, AutoencoderSettings(held_out=held_out))
    assert plan.model.held_out_game == held_out
    assert _model_name(plan.model, "weight") == f"GAME, symmetric{', held out' * held_out}, weight 0.001"


@pytest.mark.parametrize("name", ["held_out_game", "positional"])
def test_it_is_true_or_false(name):
    with pytest.raises(InputError, match=f"`{name}`.* must be a bool. Got 'yes'"):
        JunctionTreeVAE(**{name: "yes"})
