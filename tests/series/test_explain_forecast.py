"""Explanations of forecasts, with the laws in the units of the data and the bounds of their trust."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from series.small_forecasters import RIG, SMALL, fit
from torch import nn

from pellucid.series import Forecaster, Gaussian, simulate_rig


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_steps_whose_windows_are_too_small_are_not_calibrated_on():
    model = Forecaster(**{**SMALL, "radius": 1, "epochs": 1}).fit(RIG, validation=0.3, progress=False)
    assert model.held_out(RIG).gaps.shape == (1500 // 18, 5, 3)  # the first and the last step have two members
