"""One linear law for everything, against which networks are held."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.series import Forecaster, recordings
from pellucid.series.baseline import Baseline, compare_with_baseline, sequence_errors
from pellucid.series.fitting import ForecastFit


def test_the_linear_law_forecasts_a_linear_recording():
    generator = np.random.default_rng(0)
    table = np.zeros((3000, 2))
    for t in range(2, 3000):
        table[t] = 0.5 * table[t - 1] - 0.3 * table[t - 2, ::-1] + generator.normal(size=2) * [0.1, 0.1]
    law = Baseline.of(recordings(table[:2000]), 4, 1)
    assert law.about == "one linear law of the last 4 values for everything, fitted by least squares"
    near = law.measured(recordings(table[2000:]), 4, 1)
    # What is left is the noise.
    noise = 0.1 / table[2000:].std()
    assert near.scores["relative_error"] == pytest.approx(noise, rel=0.05)
    assert near.scores["error"] == pytest.approx(0.1, rel=0.05)
    far = law.measured(recordings(table[2000:]), 4, 30)
    assert near.scores["relative_error"] < far.scores["relative_error"] < 1.05
    # One step ahead it is as good, however far the horizon.
    assert far.scores["relative_error_one_step"] == pytest.approx(noise, rel=0.05)
    assert near.scores["relative_error_one_step"] == pytest.approx(near.scores["relative_error"])


def errors_of(*relative, count=40, noise=0.0, seed=1):
    """(S, 2) squared errors whose means have these roots, over a spread of 1."""
    pair = np.square(relative) * np.exp(0.5 * np.random.default_rng(0).normal(size=(count, 2)))
    pair = pair + noise * np.random.default_rng(seed).normal(size=(count, 2))
    return pair * np.square(relative) / pair.mean(0)


@pytest.mark.parametrize(
    ("deep", "game", "words"),
    [
        ((0.8, 0.6), (0.81, 0.6), None),
        ((0.9, 0.72), (0.92, 0.73), "Use the linear law: one for everything forecasts better than the networks."),
        ((0.88, 0.75), (0.88, 0.76), "Use the linear law"),  # one step ahead counts too
        ((0.8, 0.75), (0.81, 0.75), None),  # better in the one, worse in the other
        ((0.8, 0.6), (0.9, 0.72), "GAME forecasts worse than one linear law for everything; where only the forecast "
                                  "matters, use the linear law or DEEP, or a smaller weight."),
        ((0.9, 0.72), (0.8, 0.6), "DEEP forecasts worse than one linear law for everything; where only the forecast "
                                  "matters, use the linear law or GAME."),
        ((0.881, 0.701), (0.8801, 0.7001), "One linear law for everything forecasts as well as the networks"),
        ((0.9, 0.72), None, "Use the linear law: one for everything forecasts better than the network."),
    ],
)  # fmt: skip
def test_networks_are_held_against_the_linear_law(deep, game, words):
    pairs = {name: errors_of(*pair) for name, pair in (("DEEP", deep), ("GAME", game)) if pair is not None}
    sentences = compare_with_baseline(pairs, errors_of(0.88, 0.7), 1.0)
    if words is None:
        assert sentences == []
        return
    (sentence,) = sentences
    assert sentence.startswith(words)
    assert "linear law 0.88 (0.7)" in sentence
    assert f"DEEP {deep[0]:.3g} ({deep[1]:.3g})" in sentence


def test_differences_within_their_error_are_none():
    # A per cent more than the law, on average: with so much noise between sequences that is chance.
    deep = errors_of(0.889, 0.707, noise=0.4)
    (sentence,) = compare_with_baseline({"DEEP": deep}, errors_of(0.88, 0.7), 1.0)
    assert sentence.startswith("One linear law for everything forecasts as well as the network:")
    (sentence,) = compare_with_baseline({"DEEP": errors_of(0.889, 0.707)}, errors_of(0.88, 0.7), 1.0)
    assert sentence.startswith("Use the linear law")


def test_few_sequences_decide_nothing():
    deep, game, law = (errors_of(*pair, count=4) for pair in ((0.49, 0.3), (0.365, 0.27), (0.36, 0.26)))
    (sentence,) = compare_with_baseline({"DEEP": deep, "GAME": game}, law, 1.0)
    assert sentence.startswith("4 validation sequences are too few to decide whether the networks or one linear law")
    assert "Use the" not in sentence


def test_the_law_that_networks_begin_as_is_the_one_they_are_held_against():
    table = np.random.default_rng(0).normal(size=(1500, 2))
    for t in range(1, 1500):
        table[t] += 0.8 * table[t - 1]
    model, _ = Forecaster(context=8, horizon=4, width=4, epochs=1, linear=1).settled(table[:1000])
    learned, other = recordings(table[:1000]), recordings(table[1000:])
    model.fit(learned, validation=other, progress=False)
    # As the network is before it is trained.
    model = model.with_fitted(replace(model.fitted_, network=ForecastFit(model, learned, other).network.eval()))
    linear = Baseline.of(learned, 8, 4, lags=1)
    assert linear.about.startswith("one linear law of the last value for everything, ")
    np.testing.assert_allclose(sequence_errors(model, other), linear.sequence_errors(other, 8, 4), rtol=1e-4)
    scores, errors = model.evaluate(other), linear.measured(other, 8, 4).scores
    for key in ("relative_error", "relative_error_one_step", "error"):
        assert errors[key] == pytest.approx(getattr(scores, key), rel=1e-4)
    spread = linear.spread(other, 8, 4)
    relative = np.sqrt(linear.sequence_errors(other, 8, 4).mean(0) / spread)
    np.testing.assert_allclose(relative, [errors["relative_error"], errors["relative_error_one_step"]], rtol=1e-9)
