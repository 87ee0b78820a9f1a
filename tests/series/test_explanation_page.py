"""Pages of forecasts."""

from dataclasses import replace

import numpy as np
import pytest
from report.pages import Page, page_of
from report.summaries import write_series

from pellucid.report.numbers import number
from pellucid.series import ForecastExplanation
from pellucid.series.explanation_page import law_texts


@pytest.mark.slow
def test_a_forecast_alone(series, tmp_path):
    explanation = ForecastExplanation.from_dict(series["explanations"][0]["explanation"])
    explanation.to_html(tmp_path / "one.html", title="rig.csv, the last 40 rows")
    explanation.to_html(tmp_path / "bare.html")
    page, bare = (Page((tmp_path / name).read_text(encoding="utf-8")) for name in ("one.html", "bare.html"))
    fragment = Page(explanation._repr_html_())
    for found in (page, fragment):
        assert [text for text in found.text if text in explanation.channels] == list(explanation.channels)
        assert "confidence the law of a step is within" in found.words
        for bound in np.median(explanation.bound, axis=0):
            told = f"bound with 90 % confidence, median over the steps {number(float(bound))}"
            assert told in found.words.replace("\u00a0", " ")
        assert found.words.count("coefficient, standardized") == len(explanation.channels)
    assert fragment.of("script") == []
    assert "rig.csv, the last 40 rows" in page.text
    *names, last = explanation.channels
    assert f"{len(explanation)} steps of {', '.join(names)} and {last}, each step from the " in bare.words
    raw = replace(explanation, scale=None, shift=None)
    assert "coefficient, in the units of the data" in Page(raw._repr_html_()).words
    assert explanation._repr_svg_().lstrip().startswith("<?xml")


def test_the_law_of_a_step_reads_as_the_explanation_prints_it(series):
    explanation = ForecastExplanation.from_dict(series["explanations"][0]["explanation"])
    for k in range(len(explanation.channels)):
        for h, law in enumerate(law_texts(explanation, k)):
            expected = replace(explanation[h], digits=4).text().splitlines()[k]
            equation, _, remark = law.replace("\u2212", "-").partition(" (unstable: spectral radius ")
            assert equation == expected
            assert bool(remark) == (explanation.spectral_radius[h] > 1)


@pytest.mark.slow
def test_pages_of_forecasts_say_what_their_colors_mean(series, tmp_path):
    ForecastExplanation.from_dict(series["explanations"][0]["explanation"]).to_html(tmp_path / "one.html")
    for page in (page_of(write_series, series, tmp_path), Page((tmp_path / "one.html").read_text("utf-8"))):
        assert "Where the colors do not change from column to column, one law holds." in page.words
        assert "Everything is in this one file. It loads nothing from the internet." in page.words
