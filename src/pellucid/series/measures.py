"""What a run on recordings compares, and what is said where laws explain nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.domains import Evaluation
from pellucid.summaries import HELD_OUT, Measure

if TYPE_CHECKING:
    from pellucid.series.data import Recordings
    from pellucid.series.forecaster import Forecaster

UNEXPLAINED = "the laws explain nothing at steps they were not fitted to"
CURE = "try a lower order, a wider radius, a larger ridge, fewer channels or a larger weight"

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
            about="of the forecasts, by laws at steps that they were not fitted to: 0 is no better than a constant"),
    Measure(key="relative_deviation", title="relative deviation", better="lower",
            about="how far laws and network are apart, relative to how much the forecasts move"),
    Measure(key="deviation", title="deviation", better="lower",
            about="root mean squared error between law and network, in the units of the data"),
    Measure(key="unstable", title="unstable laws", better="lower",
            about="the share of laws whose own forecast would run away: their spectral radius is above 1"),
    Measure(key="spectral_radius", title="spectral radius", better="lower",
            about="of the laws, the median over all steps"),
    Measure(key="variation", title="variation", better="lower",
            about="how much all coefficients change from one step to the next, in the units of the data"),
)  # fmt: skip
"""What laws explain where they were not fitted comes before how close they are there."""


def measured(model: Forecaster, test: Recordings) -> Evaluation:
    """Scores of a model's forecasts and of their laws."""
    import numpy as np

    scores = model.evaluate(test)
    return Evaluation(
        scores=scores._asdict(),
        tested=scores.sequences,
        deviations=model.deviations(test),
        deviation_unit="rms distance between law and network along a forecast, in standard deviations",
        held_out=model.held_out(test, seed=1),
        calibration=model.calibrations_.get("generated"),
        units=model.in_units(np.ones(len(model.channels_))),
    )
