"""What a run on recordings reports."""

from pellucid.series.measures import MEASURES
from pellucid.summaries import HELD_OUT


def test_what_laws_explain_where_they_were_not_fitted_comes_before_how_close_they_are():
    transparency = (HELD_OUT, "relative_deviation", "deviation", "unstable", "spectral_radius", "variation")
    keys = [measure.key for measure in MEASURES]
    assert keys[0] == "relative_error"
    assert next(key for key in keys if key in transparency) == HELD_OUT
    assert set(transparency) < set(keys)
