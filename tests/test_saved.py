"""Models and runs written by earlier versions still load, answer alike, and can be explained and reported."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pellucid import registry
from pellucid.cli import command_line

SAVED = Path(__file__).parent / "saved" / "v0.1"
ANSWERS = json.loads((SAVED / "answers.json").read_text())


def run(*words):
    result = CliRunner().invoke(command_line(), [str(word) for word in words])
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def test_a_saved_property_model_predicts_and_explains_as_before():
    model = registry.load(SAVED / "molecules-run")
    assert model.predict(ANSWERS["smiles"]) == pytest.approx(np.array(ANSWERS["predictions"]), abs=1e-5)
    explanation = model.explain(ANSWERS["smiles"][0])
    assert len(explanation.members) == ANSWERS["members"]
    assert explanation.witnessed == pytest.approx([ANSWERS["tree"]], abs=1e-5)


@pytest.mark.slow
def test_a_saved_property_model_keeps_its_trees_and_one_bound_for_all_sizes(tmp_path):
    model = registry.load(SAVED / "molecules-run")
    assert (model.shrinkage, model.min_leaf) == (0.0, 1)
    assert (model.explained_groups, model.explained_members) == (20, 300)
    assert (model.fitted_.held_out, model.fitted_.intervals) == ((), None)
    assert model.calibration_.edges == ()
    explanation = model.explain(ANSWERS["smiles"][0])
    assert explanation.calibrated == len(model.calibration_)
    assert "of what the network does in the neighborhood" in str(explanation)
    model.save(tmp_path / "again")
    again = registry.load(tmp_path / "again")
    assert again.settings() == model.settings()
    assert str(again.explain(ANSWERS["smiles"][0])) == str(explanation)


def test_a_saved_forecaster_forecasts_and_explains_as_before():
    model = registry.load(SAVED / "series-run", "game")
    context = np.loadtxt(SAVED / "recordings" / "a.csv", delimiter=",", skiprows=1)[:20]
    assert model.forecast(context).mean == pytest.approx(np.array(ANSWERS["forecast"]), abs=1e-6)
    assert model.explain(context).parameters[0] == pytest.approx(np.array(ANSWERS["law"]), abs=1e-5)


def test_a_saved_autoencoder_encodes_as_before():
    from blockers import blockers

    model = registry.load(SAVED / "autoencoder")
    assert model.encode(list(blockers().smiles[:3])).mean == pytest.approx(np.array(ANSWERS["codes"]), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["molecules-run", "series-run"])
def test_a_saved_run_is_reported_and_compared(tmp_path, name):
    shutil.copytree(SAVED / name, tmp_path / "run")
    run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    summary = json.loads((SAVED / name / "summary.json").read_text())
    assert summary["title"] in page
    error = summary["models"]["DEEP"]["scores"]["relative_error"]
    assert f"{error:.3g}" in page
    assert "Held-out variance explained" in page  # by the name of today
    printed = run("compare", SAVED / name, tmp_path / "run")
    assert "held-out variance explained (higher is better)" in printed
    assert f"{error:.4g}" in printed


@pytest.mark.slow
def test_saved_runs_explain_from_the_command_line(tmp_path):
    assert "6.645" in run("explain", SAVED / "molecules-run", ANSWERS["smiles"][0])
    assert "left" in run("explain", SAVED / "series-run", SAVED / "recordings" / "a.csv")


def test_the_page_of_a_molecule_that_was_learned_from_shows_what_was_measured(tmp_path):
    explanation = registry.load(SAVED / "molecules-run").explain(ANSWERS["smiles"][0])
    explanation.to_html(tmp_path / "why.html")
    assert "<dt>measured</dt><dd>5.48" in (tmp_path / "why.html").read_text()
