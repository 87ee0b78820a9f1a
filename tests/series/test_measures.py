"""What a run on recordings reports."""

import pytest

from pellucid.series.measures import MEASURES, poor_forecast
from pellucid.summaries import HELD_OUT, ModelSummary
from pellucid.verdicts import verdict


def test_what_laws_explain_where_they_were_not_fitted_comes_before_how_close_they_are():
    held_out = (HELD_OUT, "relative_held_out_deviation", "held_out_deviation")
    fitted = ("relative_deviation", "deviation")
    transparency = (*held_out, *fitted, "law_change", "unstable", "spectral_radius", "variation")
    keys = [measure.key for measure in MEASURES]
    assert keys[0] == "relative_error"
    assert next(key for key in keys if key in transparency) == HELD_OUT
    assert set(transparency) < set(keys)
    assert tuple(key for key in keys if key in held_out + fitted) == held_out + fitted
    titles = {measure.key: measure.title for measure in MEASURES}
    assert all("held-out" in titles[key] for key in held_out)
    assert all("where fitted" in titles[key] for key in fitted)


@pytest.mark.parametrize(
    ("near", "beginning"),
    [
        (0.27, "Over the whole horizon next to nothing can be forecast (relative error 1.02; "),
        (0.97, "The network is hardly better than always predicting the mean (relative error 1.02)"),
    ],
)
def test_a_good_step_is_not_called_no_better_than_the_mean(near, beginning):
    scores = {"relative_error": 1.02, "relative_error_one_step": near, "deviation": 0.1}
    (sentence,) = verdict(
        {"DEEP": ModelSummary(scores=scores)}, tested=100, transparency="deviation", poor=poor_forecast
    )
    assert sentence.startswith(beginning)
    assert ("One step ahead it can (relative error 0.27)" in sentence) == (near < 0.9)
    assert ("Train longer" in sentence) == (near > 0.9)
