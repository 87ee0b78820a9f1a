"""Multi-channel time series: forecasts, and the local autoregressive laws that they follow."""

from pellucid.series.bearing import load_bearing
from pellucid.series.explanation import Explanation
from pellucid.series.figures import plot_explanations
from pellucid.series.files import read
from pellucid.series.forecaster import Forecast, Forecaster
from pellucid.series.network import Gaussian, Network
from pellucid.series.overall import RecordingLaw
from pellucid.series.recordings import Recordings, recordings
from pellucid.series.rig import simulate_rig
from pellucid.series.scores import Scores

__all__ = [
    "Explanation",
    "Forecast",
    "Forecaster",
    "Gaussian",
    "Network",
    "RecordingLaw",
    "Recordings",
    "Scores",
    "load_bearing",
    "plot_explanations",
    "read",
    "recordings",
    "simulate_rig",
]
