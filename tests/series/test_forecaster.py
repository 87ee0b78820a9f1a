import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from pellucid import InputError
from pellucid.series import Forecaster, Gaussian, simulate_rig
from pellucid.series.fitting import ForecastFit

SMALL = {"context": 12, "horizon": 6, "radius": 2, "width": 8, "epochs": 2, "batch_size": 16}
RIG = simulate_rig(rows=1500, bearings=3, seed=0)


def fit(data=RIG, **settings):
    return Forecaster(**{**SMALL, **settings}).fit(data, progress=False)


@pytest.fixture(scope="module")
def trained():
    return fit()


class Autoregression(nn.Module):
    """A planted predictor that is its own witness: mu = A1 x_t + A2 x_{t-1} + b, in standardized units."""

    def __init__(self, model, first, second, offset):
        super().__init__()
        shift, scale = model.scaling_.shift, model.scaling_.scale
        rescale = scale[None] / scale[:, None]
        self.first, self.second = (torch.from_numpy(a * rescale) for a in (first, second))
        self.offset = torch.from_numpy(((first + second) @ shift + offset - shift) / scale)

    def at(self, x):
        return x[:, 1:] @ self.first.T + x[:, :-1] @ self.second.T + self.offset

    def forward(self, x, last=None):
        mean = self.at(x.double())[:, -last:].float()
        return Gaussian(mean, torch.eye(mean.shape[-1]).expand(*mean.shape, -1)), None

    def generate(self, context, horizon):
        path = context.double()
        for _ in range(horizon):
            path = torch.cat([path, self.at(path)[:, -1:]], 1)
        mean = path[:, -horizon:]
        return Gaussian(mean, torch.eye(mean.shape[-1], dtype=torch.float64).expand(*mean.shape, -1))


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("forced", [True, False])
def test_a_planted_autoregression_is_read_off_in_the_units_of_the_data(scale, forced):
    generator = np.random.default_rng(0)
    data = 5 + generator.normal(size=(900, 2)) * [0.1, 30]
    model = Forecaster(
        context=12, horizon=30, order=2, radius=29, ridge=0.0, scale=scale, width=4, epochs=1, batch_size=64
    )
    model.fit(data, progress=False)
    first, second = np.array([[0.5, 0.001], [-60, 0.7]]), np.array([[-0.6, 0.0], [20, -0.8]])
    offset = np.array([5, -3.0])
    model = model.with_fitted(replace(model.fitted_, network=Autoregression(model, first, second, offset)))
    explanation = model.explain(data[:12], data[12:42] if forced else None)
    for theta in explanation.parameters:
        np.testing.assert_allclose(theta[0], offset, rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(theta[1:3].T, first, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(theta[3:].T, second, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(explanation.witnessed, explanation.mean, rtol=1e-4, atol=1e-4)
    assert explanation.deviation.max() < 1e-3
    assert explanation.variation.max() < 0.05
    path = list(data[10:12])
    for step in range(30):
        expected = first @ path[-1] + second @ path[-2] + offset
        np.testing.assert_allclose(explanation.mean[step], expected, rtol=1e-4, atol=1e-4)
        path.append(data[12 + step] if forced else expected)


def largest_root(first, second):
    """Of det(I s^2 - first s - second), by polynomial arithmetic."""
    s = np.polynomial.Polynomial([0, 1])
    entries = [
        [s**2 * float(i == j) - s * float(first[i, j]) - float(second[i, j]) for j in range(3)] for i in range(3)
    ]
    (a, b, c), (d, e, f), (g, h, i) = entries
    return np.abs((a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)).roots()).max()


@pytest.mark.slow
@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_scores_are_their_definitions_by_a_loop_over_scikit_learn(scale, forced):
    model = fit(scale=scale, order=2, ridge=0.5)
    data = simulate_rig(rows=18 * 5, bearings=3, seed=1)
    scores = model.evaluate(data, forced=forced)
    errors, means, deviations, variations, likelihoods, steps, radii = [], [], [], [], [], [], []
    unit = model.scaling_.scale if scale else np.ones(3)
    for sequence in data.sequences(18):
        z = torch.from_numpy(((sequence - model.scaling_.shift) / model.scaling_.scale).astype(np.float32))[None]
        with torch.no_grad():
            forced_gaussian, _ = model.network_(z[:, :-1], last=6)
            mean = forced_gaussian.mean if forced else model.network_.generate(z[:, :12], 6).mean
        mean = model.scaling_.shift + model.scaling_.scale * mean[0].numpy()
        seen = sequence if forced else np.concatenate([sequence[:12], mean])
        lags = np.concatenate([seen[11:17], seen[10:16]], axis=1)
        thetas = []
        for i in range(6):
            window = slice(max(0, i - 2), i + 3)
            ridge = Ridge(alpha=0.5).fit(lags[window] / np.tile(unit, 2), mean[window] / unit)
            deviations.append(mean[i] - unit * ridge.predict(lags[i : i + 1] / np.tile(unit, 2))[0])
            weights = ridge.coef_ * unit[:, None] / np.tile(unit, 2)
            thetas.append(np.append(weights, unit * ridge.intercept_))
            radii.append(largest_root(weights[:, :3], weights[:, 3:]))
        errors.append(mean - sequence[12:])
        steps.append(model.scaling_.shift + model.scaling_.scale * forced_gaussian.mean[0].numpy() - sequence[12:])
        means.append(mean)
        variations += [np.abs(b - a).sum() for a, b in pairwise(thetas)]
        raw = Gaussian(
            torch.from_numpy(model.scaling_.shift) + torch.from_numpy(model.scaling_.scale) * forced_gaussian.mean,
            torch.from_numpy(model.scaling_.scale)[:, None] * forced_gaussian.factor,
        )
        likelihoods.append(raw.negative_log_likelihood(torch.from_numpy(sequence[None, 12:])).mean())
    assert scores.error == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-5)
    assert scores.deviation == pytest.approx(np.sqrt(np.mean(np.square(deviations))), rel=1e-4)
    assert scores.variation == pytest.approx(np.mean(variations), rel=1e-4)
    assert scores.negative_log_likelihood == pytest.approx(np.mean(likelihoods), rel=1e-5)
    assert scores.sequences == 5
    future = (data.sequences(18)[:, 12:] - model.scaling_.shift) / model.scaling_.scale
    relative = np.sqrt(np.mean(np.square(np.array(errors) / model.scaling_.scale)) / np.mean(np.square(future)))
    assert scores.relative_error == pytest.approx(relative, rel=1e-5)
    moves = np.mean([np.var(mean / model.scaling_.scale, axis=0) for mean in means])
    gaps = np.mean(np.square(np.array(deviations) / model.scaling_.scale))
    assert scores.relative_deviation == pytest.approx(np.sqrt(gaps / moves), rel=1e-4)
    ahead = np.sqrt(np.mean(np.square(np.array(steps) / model.scaling_.scale)) / np.mean(np.square(future)))
    assert scores.relative_error_one_step == pytest.approx(ahead, rel=1e-5)
    # z_{t+1} = A z_t + B z_{t-1}: the spectral radius by the characteristic polynomial, det(I s^2 - A s - B) = 0.
    assert scores.spectral_radius == pytest.approx(np.median(radii), rel=1e-4)
    assert scores.unstable == np.mean(np.array(radii) > 1)


def test_explanations_and_forecasts_agree(trained):
    context = RIG.values[0][:40]
    explanation, forecast = trained.explain(context), trained.forecast(context)
    np.testing.assert_array_equal(explanation.mean, forecast.mean)
    np.testing.assert_array_equal(explanation.covariance, forecast.covariance)
    np.testing.assert_array_equal(explanation.context, context[-12:])
    several = trained.forecast(np.stack([context, context[::-1]]))
    assert several.mean.shape == (2, 6, 3)
    np.testing.assert_allclose(several.mean[0], forecast.mean, rtol=1e-5)
    assert (np.linalg.eigvalsh(forecast.covariance) > 0).all()


def test_a_context_may_be_a_file_or_a_table(trained, tmp_path):
    values = RIG.values[0][:20]
    np.savetxt(tmp_path / "a.csv", values[:, ::-1], delimiter=",", header=",".join(RIG.channels[::-1]), comments="")
    expected = trained.forecast(values).mean
    np.testing.assert_allclose(trained.forecast(tmp_path / "a.csv").mean, expected, rtol=1e-6)
    table = pyarrow.table({name: values[:, i] for i, name in enumerate(RIG.channels)})
    np.testing.assert_array_equal(trained.explain(table).mean, expected)
    with pytest.raises(InputError, match="must be one recording. Got 2"):
        trained.forecast(simulate_rig(rows=50, files=2, bearings=3))
    with pytest.raises(InputError, match="must be a column of the table. Got 'bearing 1'"):
        trained.explain(table.rename_columns(["a", "b", "c"]))


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


def fit_with(**options):
    return Forecaster(**SMALL).fit(RIG, progress=False, **options)


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
def test_the_network_of_the_paper_is_still_there():
    paper = fit(linear=0, order=1, ridge=1.0)
    assert paper.linear_ == 0
    assert {name.partition(".")[0] for name in paper.network_.state_dict()} == {
        "convolution", "recurrence", "hidden", "output",
    }  # fmt: skip
    assert paper.kept_ >= 1


def test_laws_that_would_follow_anything_are_refused():
    eight = simulate_rig(rows=400, bearings=8, seed=0)
    model = Forecaster(order=2, radius=9, ridge=0.01, context=20, width=4, epochs=1)
    cure = r"Got 17 coefficients \(8 channels, order 2\) on 19 steps with a ridge of 0.01, .*lower `order`"
    with pytest.raises(InputError, match=cure):
        model.fit(eight, progress=False)


def test_a_saved_forecaster_comes_back(trained, tmp_path):
    trained.save(tmp_path / "model")
    again = Forecaster.load(tmp_path / "model")
    context = RIG.values[0][:12]
    np.testing.assert_array_equal(again.explain(context).parameters, trained.explain(context).parameters)
    assert again.channels_ == trained.channels_
    assert again.history_ == trained.history_
    assert repr(again) == repr(trained)
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"forecaster.json", "network.safetensors"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: {**c, "format": 99}, "format must be 1. Got 99, written by Pellucid"),
        (lambda c: {**c, "scale": [1.0]}, "shift and scale are not 3 numbers each"),
        (lambda c: {**c, "scale": [0.0, 1, 1]}, "the latter positive"),
        (lambda c: {**c, "settings": {**c["settings"], "width": 9}}, "size mismatch"),
        (lambda c: {**c, "settings": {**c["settings"], "colour": 1}}, "colour"),
        (lambda c: {k: v for k, v in c.items() if k != "shift"}, "where something is not: 'shift'"),
        (lambda c: [c], "must be as they were saved"),
    ],
)
def test_damaged_models_are_not_loaded(trained, tmp_path, change, message):
    trained.save(tmp_path)
    content = json.loads((tmp_path / "forecaster.json").read_text())
    (tmp_path / "forecaster.json").write_text(json.dumps(change(content)))
    with pytest.raises(InputError, match=message):
        Forecaster.load(tmp_path)


def test_broken_files_are_not_loaded(trained, tmp_path):
    trained.save(tmp_path)
    (tmp_path / "network.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="must be as they were saved"):
        Forecaster.load(tmp_path)
    with pytest.raises(InputError, match="which is a file"):
        trained.save(tmp_path / "forecaster.json")


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


def test_a_channel_may_rest_while_it_is_not_learned_from(trained):
    data = RIG.values[0][:60].copy()
    data[:, 1] = data[0, 1]
    assert trained.evaluate(data).sequences == 3
    resting = pyarrow.table({name: data[:, i] for i, name in enumerate(RIG.channels)})
    np.testing.assert_array_equal(trained.forecast(resting).mean, trained.forecast(data).mean)
    with pytest.raises(InputError, match="must vary. Got .* in column 'channel 2', rows 1 to 60 of the array"):
        fit(data)


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


@pytest.mark.slow
def test_settings_of_numpy_are_settings():
    data = RIG.values[0]
    model = fit(data, horizon=np.int64(6), weight=np.float32(1), channels=np.int64(3), seed=np.int32(0))
    assert type(model.horizon) is int
    assert type(model.weight) is float
    assert model.channels == 3


@pytest.mark.slow
def test_a_single_channel_may_be_given_by_name(tmp_path):
    model = fit(RIG, channels="bearing 2")
    model.save(tmp_path)
    again = Forecaster.load(tmp_path)
    assert again.channels == model.channels == ("bearing 2",)
    again.fit(RIG, progress=False)


def test_laws_are_printed_with_the_digits_that_they_need():
    data = RIG.values[0] * [1, 1, 100] + [0, 0, 101_325]
    explanation = fit(data, order=2).explain(data[:12])
    lags = np.concatenate([data[11], data[10]])
    for equation, exact in zip(str(explanation[0]).splitlines(), explanation.witnessed[0], strict=False):
        number = r"(-|\+ |- )?(\d[\d.]*(?:e[+-]\d+)?)"
        terms = re.findall(number + r"(?: channel (\d)\[t(-1)?\])?", equation.partition("= ")[2])
        value = 0.0
        for sign, number, channel, back in terms:
            factor = lags[int(channel) - 1 + 3 * bool(back)] if channel else 1.0
            value += (-1 if "-" in sign else 1) * float(number) * factor
        assert value == pytest.approx(exact, abs=0.02)


def test_the_smallest_of_everything():
    model = fit(RIG, horizon=2, order=1, radius=1, context=1, channels=["bearing 1"], batch_size=10_000)
    explanation = model.explain(RIG.values[0][:5, :1])
    # What it is from, the channel, a head and two steps, then six lines of summary.
    assert str(explanation).startswith("each step from the forecast so far\nChannel 'bearing 1' and the law")
    assert str(explanation).count("\n") == 10
    assert "not calibrated" in explanation.trust()  # two members say nothing
    assert model.evaluate(RIG).variation < 1e-9  # both windows are the same


def test_other_folders_are_not_loaded(trained, tmp_path):
    with pytest.raises(InputError, match="without forecaster.json; pass the folder that `save` wrote"):
        Forecaster.load(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "uniform"}, '`game` of Forecaster must be "symmetric", "asymmetric" or None. Got \'uniform\''),
        ({"horizon": 1}, "`horizon` must be a whole number >= 2. Got 1"),
        ({"radius": 0}, "`radius` must be a whole number >= 1. Got 0"),
        ({"learning_rate": 0}, "`learning_rate` of Forecaster must be"),
        ({"context": 1, "order": 2}, "`context` must be a whole number >= 2. Got 1"),
        ({"weight": -1}, "`weight` of Forecaster must be a finite number >= 0. Got -1"),
        ({"scale": "no"}, "`scale` of Forecaster must be True or False. Got 'no'"),
        ({"channels": []}, "must name at least one channel"),
        ({"channels": True}, "`channels` must be a whole number >= 1. Got True"),
        ({"seed": 2**40}, "`seed` must be a whole number between 0 and 2147483647"),
        ({"radius": 1.5}, "`radius` must be a whole number >= 1. Got 1.5"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Forecaster(**settings)


def test_bad_calls_are_refused(trained):
    data = RIG.values[0]
    with pytest.raises(InputError, match="must be trained first"):
        Forecaster().forecast(data)
    with pytest.raises(InputError, match="must have at least 12 rows. Got 5"):
        trained.forecast(data[:5])
    with pytest.raises(InputError, match=r"with the channels bearing 1, bearing 2, bearing 3. Got \(20, 2\)"):
        trained.forecast(data[:20, :2])
    with pytest.raises(InputError, match="Got nan in channel 'bearing 2', row 15"):
        trained.forecast(np.where(np.arange(60).reshape(20, 3) == 43, np.nan, data[:20]))
    with pytest.raises(InputError, match="One context is explained at a time. Got 2"):
        trained.explain(np.stack([data[:20]] * 2))
    with pytest.raises(InputError, match=r"\(horizon, channels\) = \(6, 3\). Got \(5, 3\)"):
        trained.explain(data[:12], data[12:17])
    with pytest.raises(
        InputError, match="at least two sequences of 18 rows.*Got 1; record more, or set `validation=0`"
    ):
        fit(data[:20])
    with pytest.raises(InputError, match="must hold real numbers. Got complex128"):
        trained.forecast(data[:20].astype(complex))
    with pytest.raises(InputError, match=r"Got \(0, 20, 3\)"):
        trained.forecast(np.zeros((0, 20, 3)))
    trained.forecast(data[:20][::-1])
    with pytest.raises(InputError, match=r"`validation` must be a share in \[0, 1\), or data. Got 1.5"):
        fit_with(validation=1.5)
    with pytest.raises(InputError, match=r"at least context \+ horizon = 36 rows. Got 20 in the array"):
        fit(data[:20], context=30)
    with pytest.raises(InputError, match="must be a column of .*Got 'bearing 1'"):
        trained.evaluate(simulate_rig(rows=50, bearings=3).select(["bearing 2", "bearing 3"]))


# -- trust ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("forced", [False, True])
def test_bounds_of_forecasts_hold_on_fresh_recordings(forced):
    rig = simulate_rig(files=2, rows=12_000, bearings=3, seed=1)
    # Four coefficients on six steps; seven on three to five could not be held to account.
    model = Forecaster(**{**SMALL, "order": 1, "radius": 5, "epochs": 1}).fit(rig[0], validation=0.2, progress=False)
    other = model.held_out(rig[1], forced=forced, seed=1)
    coverage = model.calibrations_["forced" if forced else "generated"].coverage(other)
    assert len(other.gaps) == 12_000 // 18
    assert coverage == pytest.approx([0.9] * 3, abs=0.06)


@pytest.fixture(scope="module")
def trusted():
    settings = {**SMALL, "order": 1, "radius": 3, "ridge": 0.01}
    return Forecaster(**settings).fit(RIG, validation=0.3, progress=False)


def test_an_explanation_carries_its_bound_in_the_units_of_the_data(trusted):
    rows = RIG.values[0][:18]
    explanation = trusted.explain(rows[:12])
    calibration, scale = trusted.calibrations_["generated"], trusted.scaling_.scale
    # The mean of |f - g| over the neighborhood of the third step: all six.
    law = explanation[2]
    seen = np.concatenate([rows[:12], explanation.mean])
    lags = seen[11:17]
    gaps = np.abs(explanation.mean - law(torch.from_numpy(lags)).numpy()).mean(0)
    np.testing.assert_allclose(explanation.bound[2], calibration.bound(gaps / scale) * scale, rtol=1e-3)
    assert explanation.level == 0.9
    assert explanation.calibrated == len(calibration) >= 9
    wider = trusted.explain(rows[:12], rows[12:], level=0.5)
    assert wider.trust().startswith("with 50 % confidence the law of a step is within bearing 1 ")
    narrower = trusted.explain(rows[:12], level=0.5).bound
    assert (narrower[1:5] <= explanation.bound[1:5]).all()
    # The windows of the first and the last step are smaller: four members for four coefficients.
    assert np.isnan(wider.bound[[0, 5]]).all()
    assert np.isfinite(wider.bound[1:5]).all()
    content = json.loads(json.dumps(wider.to_dict(), allow_nan=False))
    np.testing.assert_array_equal(type(wider).from_dict(content).bound, wider.bound)
    assert "too few" in trusted.explain(rows[:12], level=0.999).trust()


def test_laws_with_too_few_steps_for_their_coefficients_have_no_bound(tmp_path):
    settings = {**SMALL, "order": 1, "radius": 3, "ridge": 1e-6, "epochs": 1}
    model = Forecaster(**settings).fit(RIG, validation=0.3, progress=False)
    # As earlier versions allowed: four coefficients on two or three steps.
    model = model.with_fitted(replace(model.fitted_, choices=model.fitted_.choices._replace(radius=1)))
    model.calibrate(RIG)
    rows = RIG.values[0][:18]
    explanation = model.explain(rows[:12], rows[12:])
    assert explanation.bound is None
    assert explanation.trust().endswith("use a ridge, fewer features or more members")
    again = type(explanation).from_dict(json.loads(json.dumps(explanation.to_dict())))
    assert again.trust() == explanation.trust()
    explanation.to_html(tmp_path / "page.html")
    assert "fewer features or more members" in (tmp_path / "page.html").read_text()
    assert np.isnan(model.calibrations_["forced"].coverage(model.held_out(RIG, forced=True))).all()


def test_steps_whose_windows_are_too_small_are_not_calibrated_on():
    model = Forecaster(**{**SMALL, "radius": 1, "epochs": 1}).fit(RIG, validation=0.3, progress=False)
    assert model.held_out(RIG).gaps.shape == (1500 // 18, 5, 3)  # the first and the last step have two members


def test_bounds_survive_saving(trusted, tmp_path):
    trusted.save(tmp_path / "model")
    again = Forecaster.load(tmp_path / "model")
    rows = RIG.values[0][:12]
    np.testing.assert_array_equal(again.explain(rows).bound, trusted.explain(rows).bound)
