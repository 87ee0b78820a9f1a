"""Forecasts as a table."""

import numpy as np
import pytest
from series.machines import DOMAIN, RIG, ROWS, stamps, write

from pellucid.series import Forecaster, read
from pellucid.series.reading import SeriesReading


def test_forecasts_are_a_table(tmp_path, machine):
    when = stamps(range(ROWS))
    columns = [when * 2, ["left"] * ROWS + ["right"] * ROWS, RIG[0].T.ravel()]
    path = write(tmp_path / "a.csv", ["when", "sensor", "value"], columns)
    model, reading = Forecaster.load(machine[0] / "run" / "deep"), SeriesReading(pivot="sensor")
    head, *rows = DOMAIN.predict(model, path, reading, None, progress=False, warn=lambda _: None)
    assert head == ["recording", "step", "channel", "forecast", "one-step sd"]
    forecast = model.forecast(read(path, pivot="sensor"))
    assert [row[:3] for row in rows[:3]] == [["a.csv", 1, "left"], ["a.csv", 1, "right"], ["a.csv", 2, "left"]]
    assert [row[3] for row in rows] == pytest.approx(forecast.mean.ravel(), rel=1e-5)
    deviations = np.sqrt(np.diagonal(forecast.covariance, axis1=1, axis2=2))
    assert [row[4] for row in rows] == pytest.approx(deviations.ravel(), rel=1e-5)
