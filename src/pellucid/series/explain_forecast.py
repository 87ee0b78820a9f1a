"""From a trained forecaster and one context to the laws that the forecast follows."""

from __future__ import annotations

import numpy as np

from pellucid.series.explanation import ForecastExplanation
from pellucid.series.fitted import FittedForecaster
from pellucid.series.steadiness import forecast_steadiness
from pellucid.series.witness_fitter import WitnessedBatch, WitnessFitter
from pellucid.trust import FEWEST, Calibration, check_level, known_bounds, no_bound_reason


def explain_forecast(
    fitted: FittedForecaster,
    fitter: WitnessFitter,
    context: np.ndarray,
    actual: np.ndarray | None,
    *,
    forced: bool,
    level: float,
) -> ForecastExplanation:
    """The explanation of the forecast after a context (context, c); see `Forecaster.explain`."""
    scaling = fitted.scaling
    forced = forced and actual is not None
    seen = np.concatenate([context, actual]) if forced and actual is not None else context
    batch = fitter.witness(fitted.network, scaling.standardize(seen[None]), forced=forced)
    mean, covariance = scaling.moments(batch.gaussian)
    theta = fitter.parameters(batch.witnesses)
    lags = scaling.values(batch.features)[0]
    calibration = fitted.calibrations.get("forced" if forced else "generated")
    bound, why_not = _bound(batch, fitter, calibration, level)
    held_out = fitter.held_out_laws(batch.witnesses)
    return ForecastExplanation(
        channels=fitted.channels,
        shift=scaling.shift,
        scale=scaling.scale,
        order=fitter.order,
        radius=fitter.radius,
        context=context,
        mean=mean[0],
        covariance=covariance[0],
        parameters=theta,
        witnessed=theta[:, 0] + np.einsum("hp,hpk->hk", lags, theta[:, 1:]),
        held_out=mean[0] - fitter.in_units(held_out.at_centers().numpy()),
        fit=fitter.neighborhood_errors(batch.witnesses),
        actual=actual,
        forced=forced,
        level=check_level(level),
        bound=bound,
        calibrated=0 if calibration is None else len(calibration),
        why_not=why_not,
        explained=held_out.explained(),
        steadiness=forecast_steadiness(batch.witnesses, fitter.radius, fitter.units),
    )


def _bound(
    batch: WitnessedBatch, fitter: WitnessFitter, calibration: Calibration | None, level: float
) -> tuple[np.ndarray | None, str | None]:
    """(horizon, c) how far the law of each step can be trusted, in the units of the data; or why that is not known."""
    saturated = batch.witnesses.saturated().numpy()
    small = (batch.witnesses.hoods.sizes < FEWEST).numpy()
    bound = None
    if calibration is not None:
        sizes = batch.witnesses.hoods.sizes.numpy()
        bounds = fitter.in_units(calibration.bound(fitter.absolute_gaps(batch.witnesses), level, sizes))
        bound = known_bounds(np.where((saturated | small)[:, None], np.inf, bounds))
    if bound is not None:
        return bound, None
    full = bool(saturated[~small].all()) and not small.all()
    return None, no_bound_reason(level, 0 if calibration is None else len(calibration), saturated=full)
