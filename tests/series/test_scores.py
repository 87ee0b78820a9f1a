"""Scores, by their definitions."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from series.small_forecasters import fit
from sklearn.linear_model import Ridge

from pellucid.series import Gaussian, simulate_rig


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
