"""Runs on recordings: what is said before the numbers."""

import numpy as np
import pytest
from typer.testing import CliRunner

from pellucid import runs
from pellucid.cli import command_line
from pellucid.cli.output import table_of
from pellucid.series import Forecaster, recordings
from pellucid.series.runs import MEASURES, train


def test_what_laws_explain_where_they_were_not_fitted_comes_before_how_close_they_are():
    keys = [measure["key"] for measure in MEASURES]
    transparency = [key for key in keys if key in TRANSPARENCY]
    assert transparency[0] == "explained_left_out"
    assert sorted(transparency) == sorted(TRANSPARENCY)
    (title,) = (measure["title"] for measure in MEASURES if measure["key"] == "explained_left_out")
    assert title == "held-out variance explained"


TRANSPARENCY = ("explained_left_out", "relative_deviation", "deviation", "unstable", "spectral_radius", "variation")


def test_a_run_says_what_it_chose_and_that_its_laws_say_nothing(tmp_path):
    # Each value follows from the one 25 steps before: along 20 steps no law of the last few values holds.
    generator = np.random.default_rng(0)
    table = generator.normal(size=(3000, 2))
    for t in range(25, 3000):
        table[t] = 0.97 * table[t - 25] + 0.2 * table[t]
    said = []
    model = Forecaster(context=30, width=4, epochs=1, weight=0.01, linear=25)
    summary = train(recordings(table), model, tmp_path / "run", title="far", progress=False, say=said.append)
    (laws,) = (text for text in said if text.startswith("laws: "))
    (network,) = (text for text in said if text.startswith("network: "))
    assert "(chosen by leave-one-out): " in laws
    assert laws.startswith(f"laws: order {summary['settings']['order']}, radius {summary['settings']['radius']}, ")
    assert network == "network: begins as one linear law of the last 25 values (as you say)"
    assert summary["choices"] == [laws, network]
    assert summary["baseline"]["about"].startswith("one linear law of the last 25 values for everything, ")
    assert any(text.startswith("So few validation sequences (") for text in summary["verdict"])
    # Rows are those of the recording, as --at counts them.
    for item in summary["explanations"]:
        label, _, row = item["place"].rpartition(", after row ")
        assert label == "the array"
        np.testing.assert_array_equal(item["explanation"]["context"], table[int(row) - 30 : int(row)])
    assert summary["models"]["DEEP"]["scores"]["relative_error"] < 0.5
    assert max(model["scores"]["explained_left_out"] for model in summary["models"].values()) < 0.05
    nothing = "the laws explain nothing at steps they were not fitted to"
    told = [text.partition(":")[0] for text in summary["verdict"] if nothing in text]
    assert told == ["DEEP", "GAME"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.index("Held-out variance explained") < page.index("Relative deviation")
    compared = CliRunner().invoke(command_line(), ["compare", str(tmp_path / "run"), str(tmp_path / "run")])
    for text in (page, table_of(summary)):
        assert f"GAME: {nothing} (held-out variance explained " in text
    assert "A: GAME: its witnesses explain nothing at points they were not fitted to (held-out " in compared.stdout
    explained = Forecaster.load(tmp_path / "run" / "game").explain(table[100:130])
    assert nothing in str(explained)


@pytest.mark.parametrize(
    ("deep", "game", "tested", "words"),
    [
        ((0.5, 0.2), (0.5, 0.1), 100, []),
        ((0.5, 0.2), (1.0, 0.1), 100, ["hardly better"]),
        ((0.5, 0.2), (0.5, 0.2), 100, ["no more transparent"]),
        ((0.5, 0.2), (float("nan"), 0.3), 5, ["hardly better", "no more transparent", "The test is small (5)"]),
        ((1.0, None), None, 100, ["hardly better"]),
    ],
)
def test_what_is_said_before_the_numbers(deep, game, tested, words):
    models = {
        name: {"scores": {"relative_error": scores[0], "deviation": scores[1]}}
        for name, scores in (("DEEP", deep), ("GAME", game))
        if scores is not None
    }
    found = runs.verdict(models, tested=tested, deviation="deviation")
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))
    assert runs.verdict(models, tested=tested, deviation="deviation", more=["first"])[0] == "first"


def test_a_good_step_is_not_called_no_better_than_the_mean():
    def told(near):
        scores = {"relative_error": 1.02, "relative_error_one_step": near, "deviation": 0.1}
        return runs.verdict({"DEEP": {"scores": scores}}, tested=100, deviation="deviation")

    (sentence,) = told(0.27)
    assert sentence.startswith("Over the whole horizon next to nothing can be forecast (relative error 1.02; ")
    assert "One step ahead it can (relative error 0.27)" in sentence
    assert "Train longer" not in sentence
    (sentence,) = told(0.97)
    assert sentence.startswith("The network is hardly better than always predicting the mean (relative error 1.02)")
