import csv
import json
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from pellucid import InputError
from pellucid.series import ForecastExplanation, explanation_text, plot_explanations


@pytest.fixture
def explanation():
    """Two steps of two channels, small enough to check by hand."""
    parameters = np.zeros((2, 5, 2))
    parameters[0, :, 0] = [0.5, 1, 0, -0.25, 0]
    parameters[1, :, 0] = [0.5, 0.75, 0.1, -0.25, 0]
    parameters[1, 0, 1] = 2
    return ForecastExplanation(
        channels=("left", "$<b>right$"),
        order=2,
        radius=1,
        context=np.arange(6.0).reshape(3, 2),
        mean=np.array([[1.0, 2], [3, 4]]),
        covariance=np.array([np.diag([0.25, 1]), np.diag([0.04, 9])]),
        parameters=parameters,
        witnessed=np.array([[1.0, 2], [3.3, 3.6]]),
        fit=np.array([0.1, 0.2]),
    )


def test_deviation_and_variation(explanation):
    np.testing.assert_allclose(explanation.deviation, [0, 0.25**0.5 * 0.5**0.5])
    np.testing.assert_allclose(explanation.variation, [0.25 + 0.1 + 2])


def test_it_prints_as_a_table(explanation):
    assert str(explanation) == dedent(
        """\
        Channel 'left' and the law that it follows; `target` shows the other channels:
        step  forecast  one-step sd  witness  offset  left[t]  $<b>right$[t]  left[t-1]  $<b>right$[t-1]
           1         1          0.5        1     0.5        1              0      -0.25                0
           2         3          0.2      3.3     0.5     0.75            0.1      -0.25                0
        deviation from the law, rms over the steps (and relative to how much the forecast moves):
          left 0.212 (21%), $<b>right$ 0.283 (28%)
        variation 2.35: mean change of all parameters from step to step
        spectral radius of the laws 0.5 (median over the steps)
        how far it can be trusted is not known: the model was not calibrated on held-out neighborhoods of 3 members or more; calibrate it on some"""  # noqa: E501
    )


def test_the_weaker_parameters_are_left_out_of_wide_tables(explanation):
    lines = explanation.table(columns=3).splitlines()
    assert lines[0].split()[5:] == ["offset", "left[t]", "left[t-1]"]
    assert lines[-1] == "... and 2 weaker parameters; `columns=None` shows all"


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
    assert str(law).splitlines()[-1] == "  around step 1: 2 members, rmse 0.1 from the predictor"
    np.testing.assert_allclose(law([[2.0, 9, 4, 9]])[0], [0.5 + 2 - 1, 0])
    with pytest.raises(IndexError, match="Steps run from 0 to 1. Got 2"):
        explanation[2]


def test_unstable_laws_are_called_unstable(explanation):
    parameters = explanation.parameters.copy()
    parameters[1, 1, 0] = 1.5  # s^2 = 1.5 s - 0.25: s = 1.3090
    shaky = replace(explanation, parameters=parameters)
    np.testing.assert_allclose(shaky.spectral_radius, [0.5, (1.5 + 1.25**0.5) / 2])
    assert str(shaky[1]).splitlines()[-1].startswith("  around step 2 (unstable: spectral radius 1.31): 2 members")
    assert "unstable" not in str(shaky[0])
    assert explanation_text.stability(shaky).endswith("; unstable (above 1) at 1 of 2 steps: 2")
    assert "unstable" not in explanation_text.stability(explanation)


def test_laws_that_explain_nothing_are_said_to(explanation):
    nothing = "the laws explain nothing at steps they were not fitted to"
    bad, good = (replace(explanation, explained=np.array(shares)) for shares in ([0.3, -1.2], [0.3, 0.5]))
    assert f"\nheld-out variance explained -45% along this forecast: {nothing}\ndeviation from the law" in str(bad)
    assert "\nheld-out variance explained 40% along this forecast\ndeviation" in str(good)
    assert "held-out" not in explanation.summary().partition("\nhow far")[0]
    again = ForecastExplanation.from_dict(json.loads(json.dumps(bad.to_dict())))
    assert explanation_text.held_out(again) == explanation_text.held_out(bad)
    assert f"-45% along this forecast: {nothing}." in bad._repr_html_()
    partly = replace(explanation, explained=np.array([np.nan, 0.5]))
    assert explanation_text.held_out(partly) == "held-out variance explained 50% along this forecast"


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
        "step,channel,forecast,real,one-step sd,witness,deviation,bound,spectral radius,offset,l"
    )
    assert lines[1] == "1,left,1.0,,0.5,1.0,0.0,,0.5,0.5,1.0,0.0,-0.25,0.0"
    assert len(lines) == 5
    assert lines[4].startswith("2,$<b>right$,4.0,,3.0,3.6,0.3999")


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


@pytest.mark.parametrize("forced", [True, False, None])
def test_the_deviation_of_one_step_is_drawn_only_along_real_values(explanation, forced, tmp_path):
    changed = replace(explanation, actual=explanation.mean, forced=forced)
    changed.to_html(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert ('<polygon class="sd"' in page) == bool(forced)
    assert ("± one standard deviation of one step" in page) == bool(forced)
    labels = [text.get_text() for text in changed.plot().legends[0].get_texts()]
    assert ("± one-step sd" in labels) == bool(forced)
    words = {True: "each step from the real values before it", False: "each step from the forecast so far", None: ""}
    assert explanation_text.basis(changed) == words[forced]
    assert words[forced] in page
    assert ForecastExplanation.from_dict(json.loads(json.dumps(changed.to_dict()))).forced is forced


def test_channels_go_by_name_or_place(explanation):
    assert explanation.table("$<b>right$") == explanation.table(1) == explanation.table(-1)
    with pytest.raises(InputError, match="must be one of left, .* Got 'middle'"):
        explanation.table("middle")
    assert explanation.table(np.int64(1)) == explanation.table(1)
    with pytest.raises(InputError, match="Got 2"):
        explanation.plot(2)


@pytest.mark.slow
def test_heat_maps_show_the_parameters_and_names_as_text(explanation, tmp_path):
    figure = plot_explanations({"DEEP": explanation, "GAME": explanation}, "$<b>right$")
    left, first, second = figure.axes[:3]
    for axis in (first, second):
        np.testing.assert_array_equal(axis.images[0].get_array(), explanation.parameters[:, :, 1].T)
        assert axis.images[0].get_clim() == (-2, 2)
    np.testing.assert_array_equal(left.lines[1].get_ydata(), explanation.mean[:, 1])
    figure.savefig(tmp_path / "a.svg")
    figure.savefig(tmp_path / "a.png")
    assert "<b>" not in (tmp_path / "a.svg").read_text()
    assert left.get_title("left") == r"\$<b>right\$"
    odd = plot_explanations({"_one": explanation, "$two$": explanation})
    odd.savefig(tmp_path / "b.svg")
    assert [text.get_text() for text in odd.legends[0].get_texts()][1] == " _one"
    assert odd.axes[2].get_title("left").startswith(r"\$two\$:")
    with pytest.raises(InputError, match="at least one explanation"):
        plot_explanations({})


def test_the_text_of_a_channel_begins_with_what_the_steps_are_predicted_from(explanation):
    complete = replace(explanation, forced=False)
    first, second, *_ = complete.text("$<b>right$").splitlines()
    assert first == "each step from the forecast so far"
    assert second == "Channel '$<b>right$' and the law that it follows:"
    assert complete.table(1) in complete.text(1)
    assert complete.text(1) == complete.text("$<b>right$")
    assert explanation.text().startswith("Channel 'left'")  # nothing is said of what is not known
