"""Pictures of explanations."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pellucid import InputError
from pellucid.series import ForecastExplanation, explanation_text, plot_explanations


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
