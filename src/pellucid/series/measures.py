"""What a run on recordings compares, and what is said where laws explain nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pellucid.domains import Evaluation
from pellucid.series.steadiness_words import DRIFTING, STEADY
from pellucid.summaries import HELD_OUT, Measure
from pellucid.verdicts import poor_error

if TYPE_CHECKING:
    import numpy as np

    from pellucid.series.data import Recordings
    from pellucid.series.forecaster import Forecaster

UNEXPLAINED = "the laws explain nothing at steps they were not fitted to"
CURE = "try a lower order, a wider radius, a larger ridge, fewer channels or a larger weight"
# A relative error of the next step below this is clearly better than the mean.
_CLEARLY = 0.9

MEASURES = (
    Measure(key="relative_error", title="relative error", better="lower",
            about="error of the forecasts divided by that of always forecasting the mean, which is 1"),
    Measure(key="relative_error_one_step", title="relative error, one step", better="lower",
            about="the same for each value of the horizon from the real ones before it"),
    Measure(key="error", title="error", better="lower",
            about="root mean squared error of the forecasts, in the units of the data"),
    Measure(key="negative_log_likelihood", title="negative log-likelihood", better="lower",
            about="of each value given all before it, in nats"),
    Measure(key=HELD_OUT, title="held-out variance explained", better="higher",
            about="of the forecasts, by laws at steps whose values they have not seen: 0 is no better than a constant"),
    Measure(key="relative_held_out_deviation", title="relative held-out deviation", better="lower",
            about="how far laws and network are apart at such steps, relative to how much the forecasts move"),
    Measure(key="held_out_deviation", title="held-out deviation", better="lower",
            about="root mean squared error between law and network at such steps, in the units of the data"),
    Measure(key="relative_deviation", title="relative deviation where fitted", better="lower",
            about="the relative deviation at steps that the laws were fitted to"),
    Measure(key="deviation", title="deviation where fitted", better="lower",
            about="the deviation at steps that the laws were fitted to, in the units of the data"),
    Measure(key="law_change", title="change of the law", better="lower",
            about="along a forecast, the median: how much its laws differ at their steps, relative to how much the "
            f"forecast moves; steady below {STEADY:g}, drifting below {DRIFTING:g}"),
    Measure(key="unstable", title="unstable laws", better="lower",
            about="the share of laws whose own forecast would run away: their spectral radius is above 1"),
    Measure(key="spectral_radius", title="spectral radius", better="lower",
            about="of the laws, the median over all steps"),
    Measure(key="variation", title="variation", better="lower",
            about="how much all coefficients change from one step to the next, in the units of the data"),
)  # fmt: skip
"""What laws explain where they were not fitted comes before how close they are there."""


def poor_forecast(scores: Mapping[str, Any]) -> str:
    """A sentence about forecasts over a horizon that are hardly better than the mean; those of the next step may be."""
    ahead = scores.get("relative_error_one_step")
    if ahead is None or not ahead < _CLEARLY:
        return poor_error(scores)
    return (
        f"Over the whole horizon next to nothing can be forecast (relative error {scores['relative_error']:.3g}; "
        f"always forecasting the mean has 1). One step ahead it can (relative error {ahead:.3g}): choose a shorter "
        "horizon."
    )


def measured(model: Forecaster, test: Recordings) -> Evaluation:
    """Scores of a model's forecasts and of their laws."""
    import numpy as np

    scores = model.evaluate(test)
    deviations, held_out = deviations_of(model, test)
    at = "steps that the law has not seen" if held_out else "steps that it was fitted to"
    return Evaluation(
        # What is not known is left out: windows too short to hold a step out, forecasts that do not move.
        scores={key: value for key, value in scores._asdict().items() if np.isfinite(value)},
        tested=scores.sequences,
        deviations=deviations,
        deviation_unit=f"rms distance between law and network along a forecast, at {at}, in standard deviations",
        held_out=model.held_out(test, seed=1),
        calibration=model.calibrations_.get("generated"),
        units=model.in_units(np.ones(len(model.channels_))),
    )


def deviations_of(model: Forecaster, test: Recordings) -> tuple[np.ndarray, bool]:
    """(S,) held-out deviations along the forecasts of all sequences, and True; or those where fitted, and False, if
    windows are too short to hold a step out.
    """
    import numpy as np

    deviations = model.deviations(test, held_out=True)
    if np.isfinite(deviations).all():
        return deviations, True
    return model.deviations(test), False
