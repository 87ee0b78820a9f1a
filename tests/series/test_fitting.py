"""Training of forecasters."""

import json

import numpy as np
import pytest
import torch
from series.small_forecasters import RIG, SMALL, fit, fit_with

from pellucid import InputError
from pellucid.series import Forecaster, simulate_rig
from pellucid.series.fitting import ForecastFit


@pytest.mark.slow
def test_a_game_of_weight_zero_is_no_game():
    deep, zero = fit(game=None), fit(weight=0.0)
    for ours, theirs in zip(deep.network_.parameters(), zero.network_.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["symmetric", "asymmetric"])
def test_a_game_brings_the_predictor_closer_to_its_witnesses(game):
    data = simulate_rig(rows=18 * 400, bearings=2, seed=3)
    test = simulate_rig(rows=18 * 50, bearings=2, seed=4)
    settings = {"width": 16, "epochs": 6, "learning_rate": 0.01, "order": 1, "radius": 3}
    deep = fit(data, game=None, **settings).evaluate(test)
    strict = fit(data, game=game, weight=100.0, **settings).evaluate(test)
    assert strict.deviation < 0.5 * deep.deviation
    assert strict.variation < deep.variation


@pytest.mark.slow
def test_training_lowers_the_loss():
    history = fit(epochs=6, learning_rate=0.01, linear=0).history_
    assert [record["epoch"] for record in history] == [1, 2, 3, 4, 5, 6]
    assert history[-1]["validation_loss"] < history[0]["validation_loss"] - 0.2
    last = history[-1]
    assert last["validation_loss"] == pytest.approx(last["validation_nll"] + last["validation_penalty"], rel=1e-5)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_and_another_seed_another(trained):
    context = RIG.values[0][:12]
    np.testing.assert_array_equal(fit().forecast(context).mean, trained.forecast(context).mean)
    assert not np.allclose(fit(seed=1).forecast(context).mean, trained.forecast(context).mean)


@pytest.mark.slow
def test_the_units_of_the_data_do_not_matter_when_scaling():
    factors = np.array([1e3, 1e-4, 2.0])
    trained = fit(order=2)
    other = fit([table * factors + 7 for table in RIG.values], order=2)
    context = RIG.values[0][100:112]
    ours, theirs = trained.explain(context), other.explain(context * factors + 7)
    np.testing.assert_allclose((theirs.mean - 7) / factors, ours.mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        theirs.parameters[:, 1:] * np.tile(factors, 2)[:, None] / factors, ours.parameters[:, 1:], atol=2e-3
    )


@pytest.mark.slow
def test_validation_data_may_be_given_or_left_out():
    validated = fit_with(validation=simulate_rig(rows=100, bearings=3, seed=9))
    assert "validation_loss" in validated.history_[-1]
    assert "validation_loss" not in fit_with(validation=0).history_[-1]


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_model(tmp_path, monkeypatch):
    calls = 0
    original = ForecastFit.loss

    def stopping(self, batch):
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return original(self, batch)

    uninterrupted = fit_with()
    with monkeypatch.context() as patch:
        patch.setattr(ForecastFit, "loss", stopping)
        with pytest.raises(KeyboardInterrupt):
            fit_with(folder=tmp_path)
    resumed = fit_with(folder=tmp_path, resume=True)
    for ours, theirs in zip(resumed.network_.parameters(), uninterrupted.network_.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert resumed.history_ == uninterrupted.history_
    with pytest.raises(InputError, match="another `radius`: 3 for 2; restore it"):
        Forecaster(**{**SMALL, "radius": 3}).fit(RIG, progress=False, folder=tmp_path, resume=True)
    with pytest.raises(InputError, match="another `scaling`"):
        Forecaster(**SMALL).fit(2 * RIG.values[0], progress=False, folder=tmp_path, resume=True)
    with pytest.raises(InputError, match="Got other data"):
        Forecaster(**SMALL).fit(
            RIG.values[0] + 1e-3 * np.sin(RIG.values[0]), progress=False, folder=tmp_path, resume=True
        )


@pytest.mark.slow
def test_what_is_left_open_is_chosen_and_saved(tmp_path):
    model = fit(radius=None, weight=0.3)
    chosen = (model.order_, model.radius_, model.ridge_, model.linear_)
    assert (model.order, model.radius, model.ridge, model.linear) == (None,) * 4
    assert model.order_ in (1, 2)
    assert 1 <= model.radius_ < model.horizon
    assert 1 <= model.linear_ <= model.context
    explanation = model.explain(RIG.values[0][:12])
    assert (explanation.order, explanation.radius) == chosen[:2]
    model.save(tmp_path / "model")
    again = Forecaster.load(tmp_path / "model")
    assert (again.order_, again.radius_, again.ridge_, again.linear_) == chosen
    assert again.kept_ == model.kept_
    np.testing.assert_array_equal(again.explain(RIG.values[0][:12]).parameters, explanation.parameters)
    # Deciding first, as a run does, is the same as leaving it to `fit`.
    settled, sentences = Forecaster(**{**SMALL, "radius": None, "weight": 0.3}).settled(RIG)
    assert sentences[0].startswith(f"laws: order {settled.order}, radius {settled.radius}, ridge {settled.ridge:g} (ch")
    assert sentences[1].startswith(f"network: begins as one linear law of the last {settled.linear} values")
    unvalidated = fit_with(validation=0)
    ours, _ = Forecaster(**SMALL).settled(RIG)
    assert (ours.order, ours.radius, ours.ridge, ours.linear) == (
        unvalidated.order_, unvalidated.radius_, unvalidated.ridge_, unvalidated.linear_,
    )  # fmt: skip
    assert ours.settled(RIG)[0].settings() == ours.settings()


@pytest.mark.slow
def test_a_resumed_run_must_choose_the_same(tmp_path):
    fit_with(folder=tmp_path)
    record = json.loads((tmp_path / "identity.json").read_text())
    record["chosen"]["order"] += 1
    (tmp_path / "identity.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="another `chosen`"):
        fit_with(folder=tmp_path, resume=True)


@pytest.mark.slow
def test_a_network_is_never_worse_on_validation_data_than_the_law_that_it_began_as():
    spoilt = fit(learning_rate=3.0, epochs=2, game=None)
    assert spoilt.kept_ == 0
    _, held = RIG.hold_out(0.05, 18, seed=0)
    kept = spoilt.evaluate(held).negative_log_likelihood - np.log(spoilt.scaling_.scale).sum()
    assert kept < min(record["validation_loss"] for record in spoilt.history_) - 0.1
    law = spoilt.network_.law.double().numpy().T
    context = RIG.values[0][:12]
    z = (context - spoilt.scaling_.shift) / spoilt.scaling_.scale
    first = z[::-1][: spoilt.linear_].flatten() @ law + spoilt.network_.linear.bias.detach().numpy()
    expected = spoilt.scaling_.shift + spoilt.scaling_.scale * first
    np.testing.assert_allclose(spoilt.forecast(context).mean[0], expected, rtol=1e-4, atol=1e-6)
    learned = fit(epochs=4, game=None)
    assert learned.kept_ >= 1
    assert not torch.equal(learned.network_.linear.weight, torch.zeros_like(learned.network_.linear.weight))


@pytest.mark.slow
def test_a_refused_or_interrupted_fit_leaves_the_model_as_it_was(tmp_path, monkeypatch):
    model = Forecaster(**SMALL)
    monkeypatch.setattr(ForecastFit, "loss", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(RIG, progress=False)
    with pytest.raises(InputError, match="must be trained first"):
        model.save(tmp_path)
    monkeypatch.undo()
    model.fit(RIG, progress=False)
    before = model.forecast(RIG.values[0][:12]).mean
    monkeypatch.setattr(ForecastFit, "loss", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(RIG.values[0] * 2, progress=False)
    np.testing.assert_array_equal(model.forecast(RIG.values[0][:12]).mean, before)


def interrupt(self, batch):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_channel_that_rests_wherever_it_is_learned_from_is_refused():
    data = np.stack([np.sin(np.arange(36.0)), np.full(36, 0.1)], axis=1)
    data[:18, 1] = np.arange(18)  # one of two pieces moves; it is the one held out with one of these seeds
    messages = []
    for seed in range(6):
        try:
            fit(data, seed=seed)
        except InputError as error:
            messages.append(str(error))
    assert 0 < len(messages) < 6
    assert all("Got 0.1 in column 'channel 2', rows 1 to 18 of the array (rows 19 to 36)" in text for text in messages)
