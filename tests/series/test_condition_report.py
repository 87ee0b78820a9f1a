"""The page of a machine that is followed over time."""

import json
import re
from dataclasses import replace

import pytest
from report.pages import MARKUP, Page
from report.summaries import condition_over_time

from pellucid.series.indicators import INDICATORS


def test_the_page_says_where_the_fault_is(tmp_path):
    condition = condition_over_time()
    condition.to_html(tmp_path / "a.html", title="machine")
    page = Page((tmp_path / "a.html").read_text())
    assert (
        "right: alarm since recording 34 of 40 (2024-06-14 10-00-00.csv), 144.0 h before the last, above" in page.words
    )
    assert "no alarm: left" in page.words
    svgs = page.of("svg")
    assert len(svgs) == 2 * 7 + 1
    assert [s["aria-label"] for s in svgs].count("law of right over 40 recordings: first alarm at recording 34") == 1
    text = (tmp_path / "a.html").read_text()
    numbers = json.loads(re.search(r'id="numbers">(.*?)</script>', text, flags=re.DOTALL)[1])
    assert len(numbers["values"]) == len(numbers["distances"]) == 15
    place = [INDICATORS[m] for m in range(7)].index("law") + 7
    assert numbers["values"][place][33] == 50.0
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels == [1, 2, 2, 3, 3, 3, 2]
    identities = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(identities) == len(set(identities))


def test_the_page_tells_how_recordings_were_read(tmp_path):
    few = replace(condition_over_time(), notes=("a.csv: 1 gap; `gaps='ignore'` joins",))
    few = replace(few, reference=few.reference[:5], level=0.5)
    few.to_html(tmp_path / "a.html")
    words = Page((tmp_path / "a.html").read_text()).words
    assert "Note: a.csv: 1 gap; gaps='ignore' joins." in words
    assert "Note: 5 healthy recordings are hardly enough to tell their standard deviation" in words
    assert "in their standard deviations: linear up to 3, logarithmic beyond" in words


def test_a_page_without_levels_says_what_to_do(tmp_path):
    replace(condition_over_time(), level=0.99).to_html(tmp_path / "a.html")
    words = Page((tmp_path / "a.html").read_text()).words
    assert "Alarm levels of 99 % are not known: 20 healthy recordings are enough for 95.2 %" in words


@pytest.mark.slow
@pytest.mark.parametrize("bad", MARKUP)
def test_names_are_never_markup(bad, tmp_path):
    condition = replace(condition_over_time(), channels=(bad, "right", "all channels"), recordings=(bad,) * 40)
    condition.to_html(tmp_path / "a.html", title=bad)
    page = Page((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert page.of("img") == []
    assert len(page.of("script")) == 2
    assert " ".join(bad.split()) in page.words
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    condition.plot().savefig(tmp_path / "a.svg")
