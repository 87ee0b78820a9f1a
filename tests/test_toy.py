"""A domain of a user's own gets every command and the report, without an edit of the library."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from cli.runner import run
from toy import CurveDomain, CurveModel

from pellucid import registry, summaries

SMALL = ["--epochs", 3, "--batch-size", 64, "--learning-rate", 0.05, "--quiet"]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The domains of Pellucid and the toy, for one test."""
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(CurveDomain())


@pytest.fixture(scope="module")
def curve(tmp_path_factory):
    path = tmp_path_factory.mktemp("curve") / "curve.csv"
    x = np.random.default_rng(0).uniform(-2, 2, 600)
    np.savetxt(path, np.c_[x, np.sin(2 * x)], delimiter=",", header="x,y", comments="")
    return path


def test_a_toy_domain_fits_in_180_lines_types_included():
    assert len(Path(__file__).with_name("toy.py").read_text().splitlines()) < 180


@pytest.mark.slow
def test_it_is_trained_predicted_explained_compared_and_reported(curve, tmp_path):
    folder = tmp_path / "run"
    shown = run("train", "curves", curve, "-o", folder, *SMALL).stdout
    summary = summaries.read(folder)
    model = CurveModel.load(folder / "game")
    table = np.loadtxt(curve, delimiter=",", skiprows=1)
    assert summary.data.parts == {"train": 480, "validation": 60, "test": 60}
    assert f"{summary.models['GAME'].scores['error']:.4g}" in shown
    assert summary.main == "GAME"
    assert 0 < summary.trust.bound["GAME"][0] < 1
    rows = list(csv.reader(run("predict", folder, curve).stdout.splitlines()))[1:]
    np.testing.assert_allclose(
        np.array(rows, dtype=float)[:, 1],
        model.predict(torch.tensor(table, dtype=torch.float32)).numpy()[:, 0],
        rtol=1e-6,
    )
    run("explain", folder, curve, "-o", tmp_path / "x.json", "-o", tmp_path / "x.html", "-o", tmp_path / "x.csv")
    assert len(json.loads((tmp_path / "x.json").read_text())) == 600
    assert "near it" in (tmp_path / "x.html").read_text()
    compared = run("compare", folder, folder, "--data", curve).stdout
    error = np.square(model.predict(torch.tensor(table, dtype=torch.float32)).numpy()[:, 0] - table[:, 1]).mean()
    (line,) = (line for line in compared.splitlines() if line.startswith("error"))
    assert float(line.split()[-1]) == pytest.approx(error, rel=1e-3)
    before = (folder / "report.html").read_text()
    run("report", folder)
    assert (folder / "report.html").read_text() == before
    assert "Held-out variance explained" in before
    assert summary.explanations[0].explanation["law"].replace("-", "\u2212")[:5] in before.replace("-", "\u2212")


@pytest.mark.slow
def test_one_point_is_written_in_every_form(curve, tmp_path):
    run("train", "curves", curve, "-o", tmp_path / "run", "--game", "none", *SMALL)
    (tmp_path / "one.csv").write_text("\n".join(curve.read_text().splitlines()[:17]) + "\n")
    assert "near it" in run("explain", tmp_path / "run", tmp_path / "one.csv").stdout
    refused = run("explain", tmp_path / "run", tmp_path / "one.csv", "-o", tmp_path / "x.svg", code=1).stderr
    assert "A .svg file holds one explanation. Got 16 rows" in refused
    assert "--at is for series" in run("explain", tmp_path / "run", tmp_path / "one.csv", "--at", 3, code=1).stderr


@pytest.mark.slow
def test_its_weight_is_chosen_by_the_validation_data(curve, tmp_path):
    run("train", "curves", curve, "-o", tmp_path / "run", "--weight", "auto", "--tolerance", 0.5, *SMALL)
    costs = summaries.read(tmp_path / "run").trade_off
    assert [trial.weight for trial in costs.trials] == [None, 0.3, 1.0, 3.0, 10.0]
    allowed = [trial for trial in costs.trials if trial.weight is not None and trial.loss <= costs.limit]
    assert costs.best == min(allowed or costs.trials[1:], key=lambda trial: trial.deviation if allowed else trial.loss)
    assert CurveModel.load(tmp_path / "run" / "game").weight == costs.chosen


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_result(curve, tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from toy import CurveDomain; from pellucid import registry\n"
        "registry.register(CurveDomain()); from pellucid.cli import main; main()"
    )
    words = ["train", "curves", curve, *SMALL[2:-1], "--epochs", 60]
    command = [sys.executable, "-c", code, Path(__file__).parent, *words, "-o", tmp_path / "run"]
    process = subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    checkpoint = tmp_path / "run" / "checkpoints" / "deep" / "last.ckpt"
    for _ in range(1200):
        if checkpoint.exists() or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "--resume" in stderr
    run(*words, "-o", tmp_path / "run", "--quiet", "--resume")
    run(*words, "-o", tmp_path / "whole", "--quiet")
    for name in ("deep", "game"):
        one, other = ((tmp_path / folder / name / "network.safetensors").read_bytes() for folder in ("run", "whole"))
        assert one == other


def test_a_column_that_is_not_there_is_an_error_and_not_a_traceback(curve, tmp_path):
    refused = run("train", "curves", curve, "-o", tmp_path / "run", "--column", "z", code=1).stderr
    assert "must be a column of curve.csv. Got 'z'" in refused


@pytest.mark.slow
def test_a_target_that_cannot_be_shown_alone_is_refused(curve, tmp_path):
    run("train", "curves", curve, "-o", tmp_path / "run", "--game", "none", *SMALL)
    refused = run("explain", tmp_path / "run", curve, "--target", "z", code=1).stderr
    assert refused == (
        "pellucid: --target is for models whose outputs are explained one by one. Got a curves model; leave it out.\n"
    )


def test_a_cell_that_is_no_number_is_an_error_and_not_a_traceback(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("x,y\n0.5,1\n0.6,oops\n")
    refused = run("train", "curves", path, "-o", tmp_path / "run", code=1).stderr
    assert "Every cell must be a number. Got 'oops' in curve.csv, column 'y', row 3" in refused
