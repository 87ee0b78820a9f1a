"""The game that forecasters play at positions that the law was not fitted to."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from series.machines import DOMAIN
from series.small_forecasters import RIG, SMALL, fit

from pellucid import InputError
from pellucid.domains import Source
from pellucid.runs.training import _model_name
from pellucid.series import Forecaster, simulate_rig
from pellucid.series.fitting import ForecastFit
from pellucid.series.planning import SeriesSettings

SETTINGS = {**SMALL, "order": 1, "radius": 3, "ridge": 0.05, "held_out_game": True, "weight": 0.7}


def definition(mean, constant, seen, game):
    """(mean over windows of D_i, each witness fitted without what shares a value), with witnesses of `constant`."""
    total = 0.0
    for f, g, x in zip(mean, constant, seen, strict=True):
        for center in range(6):
            window = range(max(0, center - 3), min(6, center + 4))
            for t in window if game == "symmetric" else [center]:
                rest = [s for s in window if abs(s - t) > 1]
                if not rest:  # of 6 steps no window leaves the 4 that a law has coefficients, so that one is enough
                    continue
                middle, level = x[rest].mean(0), g[rest].mean(0)
                gram = (x[rest] - middle).T @ (x[rest] - middle) + 0.05 * np.eye(3)
                law = np.linalg.solve(gram, (x[rest] - middle).T @ (g[rest] - level))
                gap = f[t] - level - (x[t] - middle) @ law
                total += (gap @ gap) / (len(window) if game == "symmetric" else 1)
    return 0.7 * total / (6 * len(mean))


@pytest.mark.parametrize("game", ["symmetric", "asymmetric"])
def test_penalty_and_gradient_are_those_of_the_definition_with_constant_witnesses(game):
    run = ForecastFit(Forecaster(**SETTINGS, game=game), RIG, None)
    batch = run.preparation.z[:36].reshape(2, 18, 3)
    with torch.no_grad():
        mean = run.network(batch[:, :-1], last=6)[0].mean.double()
    played = mean.clone().requires_grad_()
    outcome = run.game(*run.witness_fitter.points(played, batch[:, :-1].double()))
    outcome.penalty.backward()
    penalty = float(outcome.penalty.detach())
    f, seen = mean.numpy(), batch[:, 11:17].double().numpy()
    assert penalty == pytest.approx(definition(f, f, seen, game), rel=1e-6)
    assert float(run.loss(batch)["penalty"].detach()) == pytest.approx(penalty, rel=1e-4)
    step = 1e-5
    for place in [(0, 0, 0), (0, 2, 1), (1, 3, 2), (1, 5, 0)]:
        shift = np.zeros_like(f)
        shift[place] = step
        slope = (definition(f + shift, f, seen, game) - definition(f - shift, f, seen, game)) / (2 * step)
        assert float(played.grad[place]) == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_it_is_another_game_than_the_one_where_fitted():
    batch = ForecastFit(Forecaster(**SETTINGS), RIG, None).preparation.z[:36].reshape(2, 18, 3)
    penalties = [
        float(
            ForecastFit(Forecaster(**{**SETTINGS, "held_out_game": held_out}), RIG, None)
            .loss(batch)["penalty"]
            .detach()
        )
        for held_out in (True, False)
    ]
    assert penalties[0] > 1.5 * penalties[1]


@pytest.mark.slow
def test_it_brings_the_predictor_closer_to_laws_that_have_not_seen_a_step():
    data, test = (simulate_rig(rows=18 * rows, bearings=2, seed=seed) for rows, seed in ((400, 3), (50, 4)))
    settings = {"width": 16, "epochs": 6, "learning_rate": 0.01, "order": 1, "radius": 3}
    deep = fit(data, game=None, **settings).evaluate(test)
    strict = fit(data, weight=100.0, held_out_game=True, **settings).evaluate(test)
    assert strict.held_out_deviation < 0.5 * deep.held_out_deviation


@pytest.mark.slow
def test_the_setting_is_saved_and_a_run_resumed(tmp_path, monkeypatch):
    def train(**options):
        return Forecaster(**SETTINGS).fit(RIG, progress=False, **options)

    uninterrupted = train()
    uninterrupted.save(tmp_path / "model")
    again = Forecaster.load(tmp_path / "model")
    assert again.held_out_game
    assert repr(again) == repr(uninterrupted)
    assert "held_out_game=True" in repr(again)
    calls, original = 0, ForecastFit.loss

    def stopping(self, batch):
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return original(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(ForecastFit, "loss", stopping)
        with pytest.raises(KeyboardInterrupt):
            train(folder=tmp_path / "run")
    resumed = train(folder=tmp_path / "run", resume=True)
    for ours, theirs in zip(resumed.network_.parameters(), uninterrupted.network_.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    with pytest.raises(InputError, match="another `held_out_game`: False for True; restore it"):
        Forecaster(**{**SETTINGS, "held_out_game": False}).fit(
            RIG, progress=False, folder=tmp_path / "run", resume=True
        )


@pytest.mark.slow
def test_a_window_that_is_one_block_leaves_nothing_to_play_with():
    short = {**SETTINGS, "horizon": 2, "ridge": 1.0}
    with pytest.raises(
        InputError, match=r"needs laws over more than `order` \+ 1 steps.* Got 2 steps and order 1; low"
    ):
        Forecaster(**short).fit(RIG, progress=False)
    model = replace(Forecaster(**{**short, "held_out_game": False, "epochs": 1})).fit(RIG, progress=False)
    scores = model.evaluate(RIG)
    assert np.isnan([scores.held_out_deviation, scores.held_out_variance_explained]).all()
    evaluation = DOMAIN.evaluate(model, RIG)
    assert "held_out_deviation" not in evaluation.scores
    assert evaluation.deviation_unit.endswith("at steps that it was fitted to, in standard deviations")
    np.testing.assert_array_equal(evaluation.deviations, model.deviations(RIG))
    explanation = model.explain(RIG.values[0][:12])
    assert np.isnan(explanation.held_out).all()
    assert "held-out deviation" not in explanation.summary()
    assert all(row[5] == "" for row in list(explanation.rows())[1:])


@pytest.mark.parametrize("held_out", [True, False])
def test_it_is_an_option_of_the_training(held_out):
    options = {"context": 12, "horizon": 6, "order": 1, "radius": 3, "ridge": 0.05, "held_out": held_out}
    plan = DOMAIN.plan(Source(RIG), SeriesSettings(**options))
    assert plan.model.held_out_game == held_out
    assert _model_name(plan.model, "weight") == f"GAME, symmetric{', held out' * held_out}, weight 1"


def test_it_is_true_or_false():
    with pytest.raises(InputError, match="`held_out_game`"):
        Forecaster(held_out_game="yes")
