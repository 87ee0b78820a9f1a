"""Explanations of forecasts: numbers, channels and files."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from pellucid import InputError
from pellucid.series import ForecastExplanation


def test_deviation_and_variation(explanation):
    np.testing.assert_allclose(explanation.deviation, [0, 0.25**0.5 * 0.5**0.5])
    np.testing.assert_allclose(explanation.variation, [0.25 + 0.1 + 2])


def test_standardized_parameters_are_those_of_standardized_values(explanation):
    rescaled = replace(explanation, shift=np.array([10.0, -1]), scale=np.array([2.0, 0.5]))
    law, lags = rescaled[1], np.array([[3.0, 1, 4, 1]])
    z = (lags - [10, -1, 10, -1]) / [2, 0.5, 2, 0.5]
    values = rescaled.standardized[1, 0] + z[0] @ rescaled.standardized[1, 1:]
    np.testing.assert_allclose([10, -1] + values * [2, 0.5], law(lags)[0])
    np.testing.assert_array_equal(explanation.standardized, explanation.parameters)


def test_the_law_of_a_step_can_be_read_and_evaluated(explanation):
    law = explanation[-2]
    assert str(law).splitlines()[0] == "left[t+1] = 0.5 + 1 left[t] - 0.25 left[t-1]"
    assert str(law).splitlines()[-1] == "  around step 1: 2 members, rmse 0.1 from the predictor where fitted"
    np.testing.assert_allclose(law([[2.0, 9, 4, 9]])[0], [0.5 + 2 - 1, 0])
    with pytest.raises(IndexError, match="Steps run from 0 to 1. Got 2"):
        explanation[2]


def test_json_holds_everything(explanation, tmp_path):
    explanation.to_json(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["names"] == ["offset", "left[t]", "$<b>right$[t]", "left[t-1]", "$<b>right$[t-1]"]
    again = ForecastExplanation.from_dict(content)
    assert str(again) == str(explanation)
    np.testing.assert_array_equal(again.covariance, explanation.covariance)
    assert again.actual is None


def test_csv_has_a_row_per_step_and_channel(explanation, tmp_path):
    explanation.to_csv(tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0].startswith(
        "step,channel,forecast,real,one-step sd,held-out deviation,witness,deviation where fitted,bound,spectral ra"
    )
    assert lines[1] == "1,left,1.0,,0.5,,1.0,0.0,,0.5,0.5,1.0,0.0,-0.25,0.0"
    assert len(lines) == 5
    assert lines[4].startswith("2,$<b>right$,4.0,,3.0,,3.6,0.3999")


def test_what_really_came_stands_beside_the_forecast(explanation, tmp_path):
    complete = replace(explanation, actual=np.array([[1.5, 2.5], [3.5, 4.5]]), forced=True)
    head, first, second = (line.split() for line in complete.table().splitlines())
    assert head[:6] == ["step", "forecast", "real", "one-step", "sd", "witness"]
    assert first[:5] == ["1", "1", "1.5", "0.5", "1"]
    assert second[2] == "3.5"
    complete.to_csv(tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [float(row["real"]) for row in rows] == [1.5, 2.5, 3.5, 4.5]
    assert [float(row["one-step sd"]) for row in rows] == [0.5, 1, 0.2, 3]


def test_channels_go_by_name_or_place(explanation):
    assert explanation.table("$<b>right$") == explanation.table(1) == explanation.table(-1)
    with pytest.raises(InputError, match="must be one of left, .* Got 'middle'"):
        explanation.table("middle")
    assert explanation.table(np.int64(1)) == explanation.table(1)
    with pytest.raises(InputError, match="Got 2"):
        explanation.plot(2)
