"""What all reports have in common: headings, links, the order of explanations, and text that is never markup."""

import copy
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from report.pages import MARKUP, Page, page_of, places_of
from report.summaries import write_molecules, write_series

from pellucid.molecules import MoleculeExplanation
from pellucid.report import write_audit


@pytest.mark.slow
def test_pages_are_whole_and_headings_are_in_order(molecules, series, audited, tmp_path):
    write_audit(audited, tmp_path / "audit.html", title="audit")
    audit = Page((tmp_path / "audit.html").read_text(encoding="utf-8"))
    for page in (
        page_of(write_molecules, molecules, tmp_path),
        page_of(write_series, series, tmp_path),
        audit,
    ):
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
        assert page.of("html") == [{"lang": "en"}]
        assert len(page.of("main")) == 1
        assert page.of("a")[0]["href"] == "#main"
        identities = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
        assert len(identities) == len(set(identities))
        links = [attrs["href"][1:] for attrs in page.of("a") + page.of("use")]
        assert set(links) <= set(identities)
        for attrs in page.of("svg"):
            assert "aria-label" in attrs or attrs.get("aria-hidden") == "true"


@pytest.mark.slow
@pytest.mark.parametrize("bad", MARKUP)
def test_names_of_users_are_never_markup(molecules, series, audited, bad, tmp_path):
    def poisoned(summary):
        content = copy.deepcopy(summary)
        content |= {"title": bad, "deviation_unit": bad, "settings": {bad: bad}, "versions": {bad: bad}}
        content["data"] |= {"source": bad, "description": bad, "rejected": [[1, bad, bad]], "parts": {bad: 3}}
        content["measures"][0] |= {"title": bad, "about": bad}
        content["trade_off"] |= {"loss": bad, "deviation": bad}
        for item in content["explanations"]:
            item["place"] = bad
        return content

    content = poisoned(molecules)
    content["outputs"] = [bad]
    for item in content["explanations"]:
        explanation = MoleculeExplanation.from_dict(item["explanation"])
        item["explanation"] = replace(explanation, targets=(bad,)).to_dict()
    channels = (bad, *series["outputs"][1:])
    sequence = poisoned(series) | {"outputs": list(channels)}
    for item in sequence["explanations"]:
        item["explanation"]["channels"] = list(channels)
    write_audit(audited, tmp_path / "audit.html", title=bad, names=[bad] * 60)
    named = replace(audited, witnesses=audited.witnesses.named([bad, "b"], [bad]))
    write_audit(named, tmp_path / "named.html")
    pages = [page_of(write_molecules, content, tmp_path), page_of(write_series, sequence, tmp_path)]
    pages += [Page((tmp_path / name).read_text(encoding="utf-8")) for name in ("audit.html", "named.html")]
    for page in pages:
        assert page.of("img") == []
        assert len(page.of("script")) <= 2
        assert " ".join(bad.split()) in page.words
        assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)


def test_the_least_trustworthy_come_first(series, tmp_path):
    found = places_of(write_series(series, tmp_path / "report.html"))
    places = [item["place"] for item in series["explanations"]]
    assert [place for place, _ in found] == [places[i] for i in (7, 6, 0, 1, 5, 4, 3, 2)]
    assert [rank for _, rank in found] == ["least"] * 2 + ["most"] * 2 + [""] * 4


@pytest.mark.slow
def test_of_few_none_is_the_least_or_the_most_trustworthy(molecules, series, tmp_path):
    few = series | {"explanations": series["explanations"][:7]}
    path = write_series(few, tmp_path / "report.html")
    assert places_of(path) == [(item["place"], "") for item in few["explanations"][::-1]]
    words = Page(path.read_text(encoding="utf-8")).words
    assert "7 of 8 forecasts, chosen evenly by deviation. The largest deviation first." in words
    assert "trustworthy" not in words
    page = page_of(write_molecules, molecules | {"explanations": molecules["explanations"][:7]}, tmp_path)
    assert "7 of 12 test molecules, chosen evenly by deviation" in page.words
    assert "trustworthy" not in page.words
    assert len(page.of("dialog")) == 7
