import base64
import copy
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
import torch
from report.summaries import write_molecules, write_series

import pellucid as pl
from pellucid import InputError
from pellucid.molecules import MoleculeExplanation
from pellucid.molecules import report as molecules_report
from pellucid.molecules.explanation_text import title
from pellucid.report import embed, write_audit
from pellucid.report.numbers import number
from pellucid.report.sections import scores, settings, tiles, trust_sentence
from pellucid.series import ForecastExplanation
from pellucid.series.explanation_page import law_texts
from pellucid.summaries import RunSummary

VOID = {"meta", "link", "input", "use", "path", "rect", "circle", "polyline", "polygon", "br", "img"}
MARKUP = ("<img src=x onerror=alert(1)>", "</script><script>window.bad=1</script>")


class Page(HTMLParser):
    """A page as a browser sees it: elements, their text, and whether every one is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def page_of(write, summary, folder):
    path = write(summary, folder / "report.html")
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture
def audited():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(60, 2, generator=generator)
    f = torch.sin(4 * x[:, 0]) + x[:, 1]
    return pl.audit(f, x, pl.nearest(x, k=10), pl.LinearFamily())


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


def test_embedded_data_cannot_end_their_element():
    data = {"a": "</script><!--", "b": ["<", "&", "\u2028", 0.5, None]}
    text = str(embed(data))
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == data


def test_only_the_scripts_of_the_page_may_run(molecules, tmp_path):
    text = write_molecules(molecules, tmp_path / "report.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}" in text or f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text
    assert not re.search(r"https?://", text)


@pytest.mark.slow
def test_sections_without_data_are_left_out(molecules, tmp_path):
    every = page_of(write_molecules, molecules, tmp_path)
    bare = {"kind": "molecules", "title": "bare", "explanations": [], "targets": ["a"]}
    few = page_of(write_molecules, bare, tmp_path)
    sections = {attrs["id"] for attrs in every.of("section")}
    assert sections == {"scores", "deviations", "cost", "trust", "extremes", "gallery", "made"}
    assert few.of("section") == []
    alone = copy.deepcopy(molecules) | {"trade_off": None, "trust": None}
    del alone["models"]["GAME"], alone["deviations"]["GAME"]
    deep = page_of(write_molecules, alone, tmp_path)
    assert {attrs["id"] for attrs in deep.of("section")} == sections - {"cost", "trust"}
    assert "GAME" not in deep.words


def test_the_better_model_of_each_measure_is_marked(molecules):
    rows = {row["title"]: row for row in scores(RunSummary.from_json(molecules))}
    assert rows["RMSE"]["winners"] == ["DEEP"]
    assert rows["Deviation"]["winners"] == ["GAME"]
    assert rows["Explained"]["winners"] == ["GAME"]
    assert rows["Variation"]["winners"] == []
    close = copy.deepcopy(molecules)
    close["models"]["GAME"]["scores"]["accuracy"] = 0.52001
    assert scores(RunSummary.from_json(close))[0]["winners"] == []
    assert rows["Deviation"]["change"] == "\u221220.6\u00a0%"


def test_settings_are_told_as_they_are():
    content = {"seed": 0, "depth": 1, "analogs": False, "weight": 1.0, "game": None, "similar": {"most_of": [1, 2]}}
    assert settings(content) == [
        ("seed", "0"),
        ("depth", "1"),
        ("analogs", "no"),
        ("weight", "1"),
        ("similar: most of", "1, 2"),
    ]


def places_of(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r'<article class="item"[^>]*>\s*<h3>(.*?)(?: <span class="rank (\w+)">.*?)?</h3>', text)


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


def test_trust_is_told_wherever_it_is_known():
    words = {"witness": "the tree", "points": "a similar molecule that it was not fitted to"}
    assert trust_sentence("0.41", 0.9, 98, "", **words) == (
        "With 90\u00a0% confidence the tree is within 0.41 of the network at a similar molecule that it was not fitted "
        "to (calibrated on 98 held-out neighborhoods)."
    )
    assert trust_sentence(None, 0.9, 0, "it is not known: see `here`", **words) == "It is not known: see here."


def test_a_molecule_alone(molecules, tmp_path):
    content = molecules["explanations"][0]["explanation"]
    explanation = MoleculeExplanation.from_dict(content)
    explanation.to_html(tmp_path / "one.html")
    page = Page((tmp_path / "one.html").read_text(encoding="utf-8"))
    fragment = Page(explanation._repr_html_())
    for found in (page, fragment):
        assert explanation.smiles in found.words
        assert found.words.count("this molecule") >= 1
        assert "confidence the tree is within" in found.words
        assert found.of("script") == []
        leaves = [text for text in found.text if re.fullmatch(r"\d+ members?", text)]
        sizes = explanation.witness.nodes["size"][explanation.witness.nodes["feature"] < 0]
        assert sorted(int(text.split()[0]) for text in leaves) == sorted(sizes.tolist())
    explanation.to_html(tmp_path / "titled.html", title="assay.csv, row 4")
    titled = Page((tmp_path / "titled.html").read_text(encoding="utf-8"))
    assert titled.words.count("assay.csv, row 4") == 2  # in the window's title and on the page
    unknown = replace(explanation, bound=None, calibrated=0)
    assert "is not known" in Page(unknown._repr_html_()).words
    # Of several targets one may have a bound and another none; where none has, the reason is told.
    nothing = replace(explanation, bound=np.array([np.nan]), calibrated=50)
    for words in (Page(nothing._repr_html_()).words, nothing.trust()):
        assert "a bound would be as wide as the predictions range" in words
    assert nothing.to_dict()["bound"] == [None]
    assert np.isnan(
        MoleculeExplanation.from_dict(json.loads(json.dumps(nothing.to_dict(), allow_nan=False))).bound
    ).all()
    assert "nearby within" not in title(nothing, [0])


def test_the_way_of_the_molecule_is_marked(molecules):
    for item in molecules["explanations"]:
        explanation = MoleculeExplanation.from_dict(item["explanation"])
        if len(explanation.members) < 3:
            assert '<div class="tree">' not in explanation._repr_html_()  # two members say nothing
            continue
        tree = re.search(r'<div class="tree">.*?<p class="key">', explanation._repr_html_(), flags=re.DOTALL)[0]
        assert len(re.findall(r'<li class="on', tree)) == len(explanation.path) - 1
        assert tree.count('class="here"') == 1


@pytest.mark.slow
def test_the_choice_of_the_weight_is_told_as_it_was_made(molecules, tmp_path):
    assert "Chosen is the most transparent" in page_of(write_molecules, molecules, tmp_path).words
    costly = copy.deepcopy(molecules)
    for trial in costly["trade_off"]["trials"][1:]:
        trial["loss"] += 1
    words = page_of(write_molecules, costly, tmp_path).words
    assert "The loss of none is at most 2\u00a0% above DEEP" in words.replace("2 %", "2\u00a0%")


def test_of_many_outputs_those_that_differ_are_shown(molecules):
    e = MoleculeExplanation.from_dict(molecules["explanations"][0]["explanation"])
    names, scale = tuple(f"z{k}" for k in range(20)), np.arange(20.0)
    tree = replace(e.witness, nodes=e.witness.nodes | {"value": e.witness.nodes["value"] * scale}, output_names=names)
    many = {name: np.full(20, 0.5) for name in ("prediction", "deviation", "local_auc")}
    members = tuple(
        m._replace(prediction=m.prediction * scale, witness=m.witness * scale, measured=None) for m in e.members
    )
    wide = replace(e, targets=names, witness=tree, members=members, bound=None, divergence=0.25, **many)
    words = Page(wide._repr_html_()).words
    assert "3 of 20 outputs" in words
    assert "is 0.250 nats on average" in words
    assert "z19" in words
    assert "z2 " not in words


def test_several_molecules_of_several_targets(molecules, tmp_path):
    explanations = []
    for item in molecules["explanations"][:3]:
        e = MoleculeExplanation.from_dict(item["explanation"])
        nodes = e.witness.nodes | {"value": np.repeat(e.witness.nodes["value"], 2, axis=1)}
        twice = {name: np.repeat(getattr(e, name), 2) for name in ("prediction", "deviation", "local_auc", "bound")}
        pairs = [(np.repeat(m.prediction, 2), np.repeat(m.witness, 2)) for m in e.members]
        members = tuple(m._replace(prediction=prediction, witness=witness, measured=None)
                        for m, (prediction, witness) in zip(e.members, pairs, strict=True))  # fmt: skip
        tree = replace(e.witness, nodes=nodes, output_names=["a", "b"])
        explanations.append(replace(e, targets=("a", "b"), witness=tree, members=members, **twice))
    named = {f"molecule {i}": explanation for i, explanation in enumerate(explanations)}
    path = molecules_report.write_explanations(named, tmp_path / "some.html", title="some.csv")
    page = Page(path.read_text(encoding="utf-8"))
    assert [attrs["id"] for attrs in page.of("section")] == ["gallery"]
    assert [attrs for attrs in page.of("select") if attrs["id"] == "target"]
    assert len(page.of("dialog")) == 3
    bound = number(float(explanations[0].bound[0]), 2)
    assert f"within {bound} (a), {bound} (b) of the network" in page.words


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


def test_an_audit_names_its_extremes(audited, tmp_path):
    names = [f"row {i}" for i in range(60)]
    audited.to_html(tmp_path / "audit.html", title="forest", names=names)
    page = Page((tmp_path / "audit.html").read_text(encoding="utf-8"))
    shown = re.findall(r"\brow (\d+)\b", page.words)
    order = np.argsort(-audited.relative(), kind="stable").tolist()
    assert [int(i) for i in shown] == [*order[:5], *order[::-1][:5]]
    assert audited.witnesses[order[0]].text() in "".join(page.text)
    assert "confidence a witness is within" in page.words
    assert "confidence a witness is within" in Page(audited._repr_html_()).words
    with pytest.raises(InputError, match="a name for each of the 60 neighborhoods. Got 2"):
        write_audit(audited, tmp_path / "audit.html", names=["a", "b"])


@pytest.fixture
def audited_twice():
    """Two outputs, one a hundred times the other and exactly linear."""
    x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
    f = torch.stack([torch.sin(4 * x[:, 0]) + x[:, 1], 100 * x[:, 0]], 1)
    return pl.audit(f, x, pl.nearest(x, k=10), pl.LinearFamily(), outputs=["yield", "mass"])


def test_bounds_of_an_audit_are_told_for_each_output(audited_twice, tmp_path):
    names = [f"row {i + 2}" for i in range(60)]
    conditions = [("family", "linear"), ("columns left out", "<b>id</b>")]
    path = write_audit(audited_twice, tmp_path / "audit.html", names=names, level=0.8, conditions=conditions)
    page = Page(path.read_text(encoding="utf-8"))
    bounds = np.median(audited_twice.bound(0.8), axis=0)
    told = [number(float(bound), 2) for bound in bounds]
    assert f"a witness is within {told[0]} (yield), {told[1]} (mass) of the predictor" in page.words
    tile = page.words.partition("Trust bound, yield")[2]
    assert tile.split()[0] == told[0]
    assert "Rows are lines of the file" in page.words
    assert "columns left out <b>id</b>" in page.words
    # A card of the worst: prediction, witness, rmse and bound of each output.
    i = int(np.argmax(audited_twice.relative()))
    card = page.words.partition(f" row {i + 2} ")[2].split(" row ")[0]
    center = int(audited_twice.witnesses.hoods.centers[i])
    predicted, said = audited_twice.witnesses.f[center], audited_twice.witnesses.at_centers()[i]
    row = card.partition("yield ")[2].split()[:4]
    assert float(row[0]) == pytest.approx(float(predicted[0]), abs=0.006)
    assert float(row[1]) == pytest.approx(float(said[0]), abs=0.006)
    assert row[3] == number(float(audited_twice.bound(0.8)[i, 0]), 2)
    with_few = Page(write_audit(audited_twice, tmp_path / "plain.html").read_text(encoding="utf-8"))
    assert "Rows are lines" not in with_few.words


def test_an_audit_tells_which_variance_is_honest(audited, tmp_path):
    page = Page(write_audit(audited, tmp_path / "audit.html").read_text(encoding="utf-8"))
    found = audited.to_dict()
    words = page.words.replace("\u00a0", " ")
    held_out, fitted = (f"{100 * found[key]:.0f} %" for key in ("held_out_variance_explained", "explained"))
    assert f"Held-out variance explained {held_out} at members not fitted to; {fitted} at those fitted to" in words
    assert f"high even for noise {100 * found['explained']:.1f} %" in words
    assert f"no better than a constant {100 * found['held_out_variance_explained']:.1f} %" in words


def test_an_audit_that_explains_nothing_says_so_first(tmp_path):
    generator = torch.Generator().manual_seed(0)
    x, f = torch.rand(80, 3, generator=generator), torch.rand(80, generator=generator)
    noise = pl.audit(f, x, pl.nearest(x, k=8), pl.LinearFamily())
    share = noise.to_dict()["held_out_variance_explained"]
    assert share < 0
    page = Page(write_audit(noise, tmp_path / "audit.html").read_text(encoding="utf-8"))
    sentence = (
        f"Held-out variance explained is {100 * share:.1f} %: at members that it was not fitted to, a witness says no"
    )
    assert page.words.index(sentence) < page.words.index("confidence a witness is within")
    assert "Take larger neighborhoods, a ridge, fewer features, or another family." in page.words
    assert sentence in Page(noise._repr_html_()).words


def test_an_audit_shows_candidates_and_columns(audited, tmp_path):
    candidates = (["ridge 0", "ridge <1>"], [("10 neighbors", [("5 %", False), ("48 %", True)])], "Held out.")
    columns = [("<dose>", "feature", "3 blank cells filled"), ("time", "left out", "by its name an outcome")]
    path = write_audit(audited, tmp_path / "audit.html", columns=columns, candidates=candidates)
    words = Page(path.read_text(encoding="utf-8")).words
    assert "How it was chosen Held out. ridge 0 ridge <1> 10 neighbors 5 % 48 % (chosen)" in words
    assert "<dose> feature 3 blank cells filled time left out by its name an outcome" in words


def test_of_few_neighborhoods_none_is_the_least_trustworthy(tmp_path):
    x = torch.rand(7, 1, generator=torch.Generator().manual_seed(0))
    few = pl.audit(x[:, 0] ** 2, x, pl.nearest(x, k=4), pl.LinearFamily())
    page = Page(write_audit(few, tmp_path / "audit.html").read_text(encoding="utf-8"))
    order = np.argsort(-few.relative(), kind="stable").tolist()
    assert [int(i) for i in re.findall(r"\bpoint (\d+)\b", page.words)] == order
    assert "Trust bound \u2013 not known with 90" in page.words
    assert "trustworthy" not in page.words


def test_bounds_of_several_outputs_are_never_pooled(series, tmp_path):
    names = series["outputs"]
    content = copy.deepcopy(series)
    content["trust"] |= {"bound": {"DEEP": [0.2, 700.0, 3.0], "GAME": [None, 500.0, 2.0]}}
    tile = tiles(RunSummary.from_json(content))[-1]
    assert tile["name"] == f"Trust bound, {names[1]}"
    assert tile["value"] == "500"
    assert tile["note"] == "witness to network, with 90\u00a0% confidence; the others below"
    assert tiles(RunSummary.from_json(series))[-1]["name"] == "Trust bound"


@pytest.mark.parametrize(
    ("deep", "game", "note"),
    [
        (0.49, 0.3646, "25.6\u00a0% below DEEP's 0.490"),
        (0.4, 0.5, "25.0\u00a0% above DEEP's 0.400"),
        (0.4, 0.4, "as DEEP's 0.400"),
        (0.0, 0.5, "DEEP 0"),
    ],
)
def test_a_tile_says_how_it_compares_with_deep(series, deep, game, note):
    content = copy.deepcopy(series)
    key = content["measures"][0]["key"]
    content["models"]["DEEP"]["scores"][key], content["models"]["GAME"]["scores"][key] = deep, game
    assert tiles(RunSummary.from_json(content))[0]["note"] == note


def test_pages_of_forecasts_say_what_their_colors_mean(series, tmp_path):
    ForecastExplanation.from_dict(series["explanations"][0]["explanation"]).to_html(tmp_path / "one.html")
    for page in (page_of(write_series, series, tmp_path), Page((tmp_path / "one.html").read_text("utf-8"))):
        assert "Where the colors do not change from column to column, one law holds." in page.words
        assert "Everything is in this one file. It loads nothing from the internet." in page.words


@pytest.mark.slow
def test_the_verdict_and_the_baseline_are_told(series, tmp_path):
    content = copy.deepcopy(series)
    content["measures"].append({"key": "none", "title": "Nothing", "better": "lower", "about": ""})
    for model in content["models"].values():
        model["scores"]["none"] = None
    content["verdict"] = ["GAME is no more transparent than DEEP here.", "<b>bold</b>"]
    content["baseline"] = {"title": "one line", "about": "a law for all", "scores": {"accuracy": 0.4, "none": 1.0}}
    page = page_of(write_series, content, tmp_path)
    assert "GAME is no more transparent than DEEP here." in page.text
    assert "<b>bold</b>" in page.text
    assert "one line: a law for all." in page.words
    assert "Nothing" not in page.words
    rows = {row["title"]: row for row in scores(RunSummary.from_json(content))}
    assert rows["RMSE"]["baseline"] == 0.4
    assert rows["RMSE"]["winners"] == [None]
    assert rows["Deviation"]["winners"] == ["GAME"]
    cells = [attrs for attrs in page.of("td") if attrs.get("data-of") == "one line"]
    assert ["best" in attrs["class"] for attrs in cells] == [True, False, False, False]
    assert page.words.count("one line") == 2
    assert "verdict" not in {attrs.get("class") for attrs in page_of(write_series, series, tmp_path).of("ul")}


def test_one_is_not_many(series, tmp_path):
    content = copy.deepcopy(series)
    content["trust"] |= {"calibrated": 1, "tested": 1}
    words = page_of(write_series, content, tmp_path).words
    assert "calibrated on 1 held-out sequence and tried on 1 other:" in words


def test_what_is_no_file_is_refused(series, tmp_path):
    with pytest.raises(InputError, match="must be written to a file. Got the folder"):
        write_series(series, tmp_path)
    with pytest.raises(InputError, match="folder of a report must exist"):
        write_series(series, tmp_path / "missing" / "report.html")


@pytest.mark.slow
def test_molecules_that_are_shown_again_are_not_drawn_again(molecules, tmp_path):
    again = copy.deepcopy(molecules)
    again["explanations"] *= 2
    once, twice = (write_molecules(content, tmp_path / "report.html").read_text() for content in (molecules, again))
    assert twice.count("<use") > once.count("<use")
    assert twice.count("<symbol") == once.count("<symbol") > 0


@pytest.mark.slow
def test_neighbors_show_what_was_measured(molecules):
    e = MoleculeExplanation.from_dict(max((item["explanation"] for item in molecules["explanations"]),
                                  key=lambda content: len(content["members"])))  # fmt: skip
    members = tuple(m._replace(measured=np.array([7.125]) if k == 1 else None) for k, m in enumerate(e.members))
    words = Page(replace(e, members=members)._repr_html_()).words
    assert words.count(", measured 7.1") >= 1
    assert (
        ", measured"
        not in Page(replace(e, members=tuple(m._replace(measured=None) for m in members))._repr_html_()).words
    )
