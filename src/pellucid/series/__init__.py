"""Multi-channel time series: forecasts, and the local autoregressive laws that they follow."""

from pellucid.series.assessment import assess
from pellucid.series.bearing import load_bearing
from pellucid.series.condition import Alarm, Condition
from pellucid.series.condition_figure import plot_condition
from pellucid.series.explanation import ForecastExplanation
from pellucid.series.figures import plot_explanations
from pellucid.series.files import read
from pellucid.series.forecaster import Forecast, Forecaster
from pellucid.series.network import Gaussian, Network
from pellucid.series.overall import RecordingLaw
from pellucid.series.recordings import Recordings
from pellucid.series.rig import simulate_rig
from pellucid.series.scores import ForecastScores
from pellucid.series.sources import recordings

__all__ = [
    "Alarm",
    "Condition",
    "Forecast",
    "ForecastExplanation",
    "ForecastScores",
    "Forecaster",
    "Gaussian",
    "Network",
    "RecordingLaw",
    "Recordings",
    "assess",
    "load_bearing",
    "plot_condition",
    "plot_explanations",
    "read",
    "recordings",
    "simulate_rig",
]
