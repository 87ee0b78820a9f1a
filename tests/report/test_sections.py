"""The sections of a report, from the summary of a run."""

import copy

import pytest
from report.pages import page_of
from report.summaries import write_molecules, write_series

from pellucid.report.sections import scores, settings, tiles, trust, trust_sentence
from pellucid.summaries import RunSummary


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


def test_trust_is_told_wherever_it_is_known():
    words = {"witness": "the tree", "points": "a similar molecule that it was not fitted to"}
    assert trust_sentence("0.41", 0.9, 98, "", **words) == (
        "With 90\u00a0% confidence the tree is within 0.41 of the network at a similar molecule that it was not fitted "
        "to (calibrated on 98 held-out neighborhoods)."
    )
    assert trust_sentence(None, 0.9, 0, "it is not known: see `here`", **words) == "It is not known: see here."


@pytest.mark.slow
def test_the_choice_of_the_weight_is_told_as_it_was_made(molecules, tmp_path):
    assert "Chosen is the most transparent" in page_of(write_molecules, molecules, tmp_path).words
    costly = copy.deepcopy(molecules)
    for trial in costly["trade_off"]["trials"][1:]:
        trial["loss"] += 1
    words = page_of(write_molecules, costly, tmp_path).words
    assert "The loss of none is at most 2\u00a0% above DEEP" in words.replace("2 %", "2\u00a0%")


def test_of_very_many_outputs_the_first_are_listed_and_a_sentence_says_so(series, tmp_path):
    content = copy.deepcopy(series)
    content["trust"] |= {"bound": {"DEEP": [0.5] * 224}, "coverage": {"DEEP": [0.9] * 224}}
    listed = trust(RunSummary.from_json(content))
    assert (listed["outputs"], len(listed["rows"])) == (224, 24)
    words = page_of(write_series, content, tmp_path).words
    assert "Shown are the first 24 of 224 outputs; summary.json has all." in words
    assert "Shown are the first" not in page_of(write_series, series, tmp_path).words


def test_bounds_of_several_outputs_are_never_pooled(series, tmp_path):
    names = series["outputs"]
    content = copy.deepcopy(series)
    content["trust"] |= {"bound": {"DEEP": [0.2, 700.0, 3.0], "GAME": [None, 500.0, 2.0]}}
    tile = tiles(RunSummary.from_json(content))[-1]
    assert tile["name"] == f"Trust bound, {names[1]}"
    assert tile["value"] == "500"
    assert (
        tile["note"] == "28.6\u00a0% below DEEP's 700; witness to network, with 90\u00a0% confidence; the others below"
    )
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
    assert rows["RMSE"]["baselines"] == [0.4]
    assert rows["RMSE"]["winners"] == [0]
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
