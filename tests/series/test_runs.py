"""Runs on recordings: what a linear law does, and what is said before the numbers."""

import numpy as np
import pytest
from typer.testing import CliRunner

from pellucid import runs
from pellucid.cli import app
from pellucid.cli.output import table_of
from pellucid.series import Forecaster, recordings
from pellucid.series.runs import MEASURES, baseline, compared, train


def test_the_linear_law_forecasts_a_linear_recording():
    generator = np.random.default_rng(0)
    table = np.zeros((3000, 2))
    for t in range(2, 3000):
        table[t] = 0.5 * table[t - 1] - 0.3 * table[t - 2, ::-1] + generator.normal(size=2) * [0.1, 0.1]
    found = baseline(recordings(table[:2000]), recordings(table[2000:]), 4, 1)
    # What is left is the noise.
    noise = 0.1 / table[2000:].std()
    assert found["scores"]["relative_error"] == pytest.approx(noise, rel=0.05)
    assert found["scores"]["error"] == pytest.approx(0.1, rel=0.05)
    far = baseline(recordings(table[:2000]), recordings(table[2000:]), 4, 30)
    assert found["scores"]["relative_error"] < far["scores"]["relative_error"] < 1.05
    # One step ahead it is as good, however far the horizon.
    assert far["scores"]["relative_error_one_step"] == pytest.approx(noise, rel=0.05)
    assert found["scores"]["relative_error_one_step"] == pytest.approx(found["scores"]["relative_error"])


@pytest.mark.parametrize(
    ("deep", "game", "words"),
    [
        ((0.8, 0.6), (0.81, 0.6), None),
        ((0.9, 0.7), (0.92, 0.72), "Use the linear law: one for everything forecasts better than the networks."),
        ((0.8, 0.75), (0.8, 0.76), "Use the linear law"),  # one step ahead counts too
        ((0.8, 0.6), (0.9, 0.72), "GAME forecasts worse than one linear law for everything; use the linear law or"),
        ((0.879, 0.701), (0.881, 0.7), "One linear law for everything forecasts as well as the networks"),
        ((0.9, 0.7), None, "Use the linear law"),
    ],
)
def test_networks_are_held_against_the_linear_law(deep, game, words):
    scores = {
        name: {"relative_error": pair[0], "relative_error_one_step": pair[1]}
        for name, pair in (("DEEP", deep), ("GAME", game))
        if pair is not None
    }
    found = compared(scores, {"relative_error": 0.88, "relative_error_one_step": 0.7})
    if words is None:
        assert found == []
        return
    (sentence,) = found
    assert sentence.startswith(words)
    assert "linear law 0.88 (0.7)" in sentence
    assert f"DEEP {deep[0]:.3g} ({deep[1]:.3g})" in sentence


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
    assert summary["models"]["DEEP"]["scores"]["relative_error"] < 0.5
    assert max(model["scores"]["explained_left_out"] for model in summary["models"].values()) < 0.05
    nothing = "the laws explain nothing at steps they were not fitted to"
    told = [text.partition(":")[0] for text in summary["verdict"] if nothing in text]
    assert told == ["DEEP", "GAME"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.index("Held-out variance explained") < page.index("Relative deviation")
    compared = CliRunner().invoke(app, ["compare", str(tmp_path / "run"), str(tmp_path / "run")])
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
