"""What a run on recordings reports."""

from pellucid.series.measures import MEASURES
from pellucid.summaries import HELD_OUT


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
