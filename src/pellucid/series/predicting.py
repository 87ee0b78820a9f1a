"""Forecasts as a table: what comes after the end of every recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pellucid.numbers import significant

if TYPE_CHECKING:
    from pellucid.series.data import Recordings
    from pellucid.series.forecaster import Forecaster


def forecast_table(model: Forecaster, source: Recordings) -> Iterator[list[Any]]:
    """A line of names, then a row per recording, step and channel.

    "one-step sd" is the standard deviation of one step given those before it, which is not accumulated.
    """
    yield ["recording", "step", "channel", "forecast", "one-step sd"]
    labels = source.labels()
    for i in source.last_pieces():
        forecast = model.forecast(source.values[i])
        for step, (mean, covariance) in enumerate(zip(forecast.mean, forecast.covariance, strict=True), 1):
            for k, channel in enumerate(model.channels_):
                yield [labels[i], step, channel, _short(mean[k]), _short(covariance[k, k] ** 0.5)]


def _short(value: float) -> Any:
    """Six digits; empty where a value is unknown."""
    return "" if value != value else significant(value)
