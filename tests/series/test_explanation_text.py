"""Explanations of forecasts in words."""

import json
from dataclasses import replace
from textwrap import dedent

import numpy as np

from pellucid.series import ForecastExplanation, explanation_text


def test_it_prints_as_a_table(explanation):
    assert str(explanation) == dedent(
        """\
        Channel 'left' and the law that it follows; `target` shows the other channels:
        step  forecast  one-step sd  witness  offset  left[t]  $<b>right$[t]  left[t-1]  $<b>right$[t-1]
           1         1          0.5        1     0.5        1              0      -0.25                0
           2         3          0.2      3.3     0.5     0.75            0.1      -0.25                0
        deviation from the law where fitted, rms over the steps (and relative to how much the forecast moves):
          left 0.212 (21 %), $<b>right$ 0.283 (28 %)
        variation 2.35: mean change of all parameters from step to step
        spectral radius of the laws 0.5 (median over the steps)
        how far it can be trusted is not known: the model was not calibrated on held-out neighborhoods of 3 members or more; add validation data with some"""  # noqa: E501
    )


def test_the_weaker_parameters_are_left_out_of_wide_tables(explanation):
    lines = explanation.table(columns=3).splitlines()
    assert lines[0].split()[5:] == ["offset", "left[t]", "left[t-1]"]
    assert lines[-1] == "... and 2 weaker parameters; `columns=None` shows all"


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
    assert f"\nheld-out variance explained -45 % along this forecast: {nothing}\ndeviation from the law" in str(bad)
    assert "\nheld-out variance explained 40 % along this forecast\ndeviation" in str(good)
    assert "held-out" not in explanation.summary().partition("\nhow far")[0]
    again = ForecastExplanation.from_dict(json.loads(json.dumps(bad.to_dict())))
    assert explanation_text.held_out(again) == explanation_text.held_out(bad)
    assert f"-45 % along this forecast: {nothing}." in bad._repr_html_()
    partly = replace(explanation, explained=np.array([np.nan, 0.5]))
    assert explanation_text.held_out(partly) == "held-out variance explained 50 % along this forecast"


def test_the_text_of_a_channel_begins_with_what_the_steps_are_predicted_from(explanation):
    complete = replace(explanation, forced=False)
    first, second, *_ = complete.text("$<b>right$").splitlines()
    assert first == "each step from the forecast so far"
    assert second == "Channel '$<b>right$' and the law that it follows:"
    assert complete.table(1) in complete.text(1)
    assert complete.text(1) == complete.text("$<b>right$")
    assert explanation.text().startswith("Channel 'left'")  # nothing is said of what is not known
