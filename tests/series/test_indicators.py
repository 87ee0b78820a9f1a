"""Indicators of one recording, against NumPy, SciPy and closed forms."""

import numpy as np
import pytest
import torch
from scipy import signal, stats
from series.followed import HEALTHY, LEARNED

from pellucid.series import Forecaster
from pellucid.series.data import Recordings
from pellucid.series.indicators import INDICATORS, LagMoments, indicators_of


@pytest.mark.slow
def test_plain_indicators_are_those_of_numpy_and_scipy(sound_model, sound_rig):
    table = sound_rig.values[7]
    values = indicators_of(sound_model, sound_rig[7], 5, 2).values
    np.testing.assert_allclose(values[0], np.sqrt((table**2).mean(0)))
    np.testing.assert_allclose(values[1], table.std(0))
    np.testing.assert_allclose(values[2], stats.kurtosis(table, fisher=False))


@pytest.mark.slow
def test_the_likelihood_is_that_of_scipy(sound_model, sound_rig):
    part = sound_rig[7]
    part = Recordings(values=(part.values[0][:60],), channels=part.channels, sources=part.sources)  # two sequences
    z = sound_model.scaling_.standardize(part.sequences(30))
    with torch.no_grad():
        gaussian, _ = sound_model.network_(z[:, :-1], last=10)
    marginal, joint = [], []
    for s in range(2):
        for t in range(10):
            factor = gaussian.factor[s, t].double().numpy()
            covariance, mean, x = factor @ factor.T, gaussian.mean[s, t].numpy(), z[s, 20 + t].numpy()
            marginal.append([-stats.norm.logpdf(x[k], mean[k], np.sqrt(covariance[k, k])) for k in range(3)])
            joint.append(-stats.multivariate_normal.logpdf(x, mean, covariance))
    indicators = indicators_of(sound_model, part, 99, 2)
    np.testing.assert_allclose(indicators.values[3], np.mean(marginal, axis=0), rtol=1e-4)
    assert indicators.joint == pytest.approx(np.mean(joint), rel=1e-4)
    # In the units of the data it is the score that a run reports.
    expected = sound_model.evaluate(part, forced=True).negative_log_likelihood
    assert indicators.joint + np.log(sound_model.scaling_.scale).sum() == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_deviation_and_explained_are_those_of_held_out_steps(sound_model, sound_rig):
    held = sound_model.held_out(sound_rig[7], forced=True)
    values = indicators_of(sound_model, sound_rig[7], 1000, 2).values
    gaps = sound_model.in_units(held.gaps) / sound_model.scaling_.scale
    np.testing.assert_allclose(values[4], np.sqrt((gaps**2).mean((0, 1))))
    np.testing.assert_allclose(values[5], held.explained())


@pytest.mark.slow
def test_sequences_are_evenly_spaced_over_the_recording(sound_model, sound_rig, monkeypatch):
    seen = []
    monkeypatch.setattr(Forecaster, "held_out", lambda self, parts, **_: seen.append(parts) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        indicators_of(sound_model, sound_rig[7], 4, 2)
    starts = range(0, 1500, 30)
    expected = [sound_rig.values[7][starts[i] :][:30] for i in (0, 16, 33, 49)]
    np.testing.assert_array_equal(seen[0], np.stack(expected))


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 5])
def test_a_law_is_that_of_least_squares(sound_rig, order):
    z = stats.zscore(sound_rig.values[7])
    x = np.concatenate([z[order - 1 - i : len(z) - 1 - i] for i in range(order)], axis=1)
    theta, *_ = np.linalg.lstsq(x, z[order:], rcond=None)
    moments = LagMoments.of(sound_rig.values[7], order)
    np.testing.assert_allclose(moments.law(), theta, atol=2e-4)
    missed = ((z[order:] - x @ theta) ** 2).mean(0)
    np.testing.assert_allclose(moments.error(theta), missed, atol=2e-6)
    other = np.random.default_rng(0).normal(size=theta.shape)
    np.testing.assert_allclose(moments.error(other), ((z[order:] - x @ other) ** 2).mean(0), rtol=1e-6)
    assert (moments.change(other) > 0).all()


def test_the_change_between_two_first_order_laws_has_a_closed_form():
    generator = np.random.default_rng(0)
    a, b = 0.5, -0.3
    one, other = (signal.lfilter([1.0], [1.0, -rho], generator.normal(size=(400_000, 1)), axis=0) for rho in (a, b))
    law = LagMoments.of(one, 1).law()
    expected = 0.5 * np.log((1 - 2 * a * b + a**2) / (1 - b**2))
    assert LagMoments.of(other, 1).change(law)[0] == pytest.approx(expected, rel=0.02)
    assert LagMoments.of(one, 1).change(law)[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_moments_without_one_are_those_of_the_others(sound_rig):
    parts = [LagMoments.of(table, 2) for table in sound_rig.values[:5]]
    left = LagMoments.mean(parts).without(parts[2], 5)
    for moment, expected in zip(left, LagMoments.mean(parts[:2] + parts[3:]), strict=True):
        np.testing.assert_allclose(moment, expected, atol=1e-12)


@pytest.mark.slow
def test_healthy_laws_are_compared_with_those_of_the_others(follow, sound_rig):
    condition = follow()
    sound = [LagMoments.of(table, 2) for table in sound_rig[LEARNED:].values[:HEALTHY]]
    law = INDICATORS.index("law")
    expected = sound[3].change(LagMoments.mean(sound[:3] + sound[4:]).law())
    np.testing.assert_allclose(condition.values[3, law, :3], expected, rtol=1e-6)
    later = LagMoments.of(sound_rig[LEARNED:].values[60], 2).change(LagMoments.mean(sound).law())
    np.testing.assert_allclose(condition.values[60, law, :3], later, rtol=1e-6)
