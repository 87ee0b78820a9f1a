"""`pellucid train`, `predict`, `explain`, `compare`, `report` and `demo`, as a person would type them."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli.runner import run

from pellucid.molecules import PropertyModel, nav17
from pellucid.molecules.splitting import split
from pellucid.series import Forecaster, read, simulate_rig
from pellucid.summaries import Trial
from pellucid.weights import choose

pytestmark = pytest.mark.slow

SMALL = ["--epochs", "2", "--width", "8", "--quiet"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table of molecules and recordings, and a run on each."""
    folder = tmp_path_factory.mktemp("cli")
    table = nav17().select(range(0, 1017, 5))
    with (folder / "assay.csv").open("w", newline="") as stream:
        rows = [[f"M{i}", s, y, int(y > 6.5)] for i, (s, y) in enumerate(zip(table.smiles, table.y[:, 0], strict=True))]
        csv.writer(stream).writerows([["id", "smiles", "activity", "active"], *rows])
    (folder / "recordings").mkdir()
    rig = simulate_rig(files=2, rows=2500, bearings=2, seed=0)
    for values, name in zip(rig.values, ("a.csv", "b.csv"), strict=True):
        np.savetxt(folder / "recordings" / name, values, delimiter=",", header="left,right", comments="")
    run("train", "molecules", folder / "assay.csv", "-t", "activity", "-o", folder / "run", *SMALL)
    run("train", "series", folder / "recordings", "--context", 20, "--horizon", 10, "--radius", 4, "-o",
        folder / "series", *SMALL)  # fmt: skip
    return folder


# -- training ---------------------------------------------------------------------------------------------------------


def test_a_run_on_molecules_is_written_down(place):
    summary = json.loads((place / "run" / "summary.json").read_text())
    table = nav17().select(range(0, 1017, 5))
    assert summary["data"]["parts"] == {"train": 163, "validation": 21, "test": 20}
    assert summary["models"]["GAME"]["weight"] == 1.0
    assert summary["models"]["DEEP"]["weight"] is None
    test = split(table, 0).test
    for name, scores in ((name, model["scores"]) for name, model in summary["models"].items()):
        model = PropertyModel.load(place / "run" / name.lower())
        assert (model.game is None) == (name == "DEEP")
        again = model.evaluate(test)
        assert scores["accuracy"] == pytest.approx(again.accuracy[0])
        assert summary["deviations"][name] == pytest.approx(again.variations[again.sizes > 2])
    game = PropertyModel.load(place / "run" / "game")
    assert not set(game.smiles_) & set(test.smiles)
    first = summary["explanations"][0]
    assert str(type(game.explain(first["explanation"]["smiles"])).from_dict(first["explanation"])) == str(
        game.explain(first["explanation"]["smiles"])
    )
    assert first["rank"] == "most"
    row = table.smiles.index(first["explanation"]["smiles"]) + 2
    assert first["place"] == f"M{row - 2} (row {row})"
    assert summary["explanations"][-1]["rank"] == "least"
    off = [item["explanation"]["deviation"][0] for item in summary["explanations"]]
    assert off == sorted(off)
    assert (place / "run" / "report.html").read_text().startswith("<!")


def test_a_run_on_recordings_is_written_down(place):
    summary = json.loads((place / "series" / "summary.json").read_text())
    assert summary["outputs"] == ["left", "right"]
    model = Forecaster.load(place / "series" / "game")
    assert (model.context, model.horizon, model.radius, model.width) == (20, 10, 4, 8)
    deviations = summary["deviations"]["GAME"]
    assert summary["models"]["GAME"]["scores"]["sequences"] == len(deviations) == summary["data"]["parts"]["test"] // 30
    assert summary["trust"]["tested"] == len(deviations)
    shown = summary["explanations"][0]["explanation"]
    context, came = np.array(shown["context"]), np.array(shown["actual"])
    np.testing.assert_allclose(model.forecast(context).mean, shown["mean"])
    file, _, row = summary["explanations"][0]["place"].partition(", after row ")
    rows = slice(int(row) - 20, int(row) + 10)
    real = read(place / "recordings" / file).values[0][rows]
    np.testing.assert_allclose(np.concatenate([context, came]), real)
    assert came.shape == (10, 2)
    gaps = (np.array(shown["mean"]) - np.array(shown["witnessed"])) / model.scaling_.scale
    assert min(deviations) == pytest.approx(np.sqrt(np.square(gaps).mean()), rel=1e-3)


@pytest.fixture(scope="module")
def tuned(place):
    """What a run in `place / "auto"` prints whose weight is chosen."""
    return run("train", "molecules", place / "assay.csv", "-t", "activity", "--weight", "auto", "--tolerance", 0.05,
               "-o", place / "auto", *SMALL).output  # fmt: skip


def test_auto_takes_the_most_transparent_weight_within_the_tolerance(place, tuned):
    summary = json.loads((place / "auto" / "summary.json").read_text())
    found = summary["trade_off"]
    trials = [Trial(**trial) for trial in found["trials"]]
    assert [trial.weight for trial in trials] == [None, 0.3, 1.0, 3.0, 10.0]
    good = [t for t in trials if t.weight is not None and t.loss <= 1.05 * trials[0].loss]
    assert found["chosen"] == min(good, key=lambda trial: trial.deviation).weight
    assert PropertyModel.load(place / "auto" / "game").weight == found["chosen"]
    table = nav17().select(range(0, 1017, 5))
    validation = split(table, 0).validation
    scores = PropertyModel.load(place / "auto" / "deep").evaluate(validation)
    assert trials[0].loss == pytest.approx(
        scores.accuracy[0] / PropertyModel.load(place / "auto" / "deep").task_.scale[0]
    )
    assert trials[0].deviation == pytest.approx(scores.deviation)
    line = next(line for line in tuned.splitlines() if line.endswith("chosen"))
    assert line.split()[0] == f"{found['chosen']:g}"
    assert "5 % above DEEP's" in tuned


@pytest.mark.parametrize(
    ("trials", "tolerance", "weight"),
    [
        ([(None, 1.0, 0.5), (1, 1.0, 0.4), (2, 1.04, 0.3)], 0.02, 1),
        ([(None, 1.0, 0.5), (1, 1.0, 0.4), (2, 1.04, 0.3)], 0.05, 2),
        ([(None, 1.0, 0.5), (1, 1.2, 0.4), (2, 1.1, 0.3)], 0.02, 2),  # none is good enough: the least costly
        ([(None, 1.0, 0.1), (1, 1.0, 0.4), (2, 1.0, 0.4)], 0.02, 1),  # equally transparent: the smaller one
    ],
)
def test_the_choice_of_a_weight(trials, tolerance, weight):
    assert choose([Trial(*trial) for trial in trials], tolerance).weight == weight


def test_without_a_game_deep_is_trained_alone(place):
    shown = run(
        "train", "molecules", place / "assay.csv", "-t", "active", "--game", "none", "-o", place / "none", *SMALL
    )
    assert "task: classification" in shown.output
    summary = json.loads((place / "none" / "summary.json").read_text())
    assert list(summary["models"]) == ["DEEP"]
    assert not (place / "none" / "game").exists()
    assert "model:" in shown.output
    assert run("explain", place / "none", nav17().smiles[0]).output


@pytest.mark.parametrize("game", ["asymmetric", "uniform"])
def test_every_game_can_be_played(place, game):
    run("train", "molecules", place / "assay.csv", "-t", "activity", "--game", game, "-o", place / game, *SMALL)
    assert PropertyModel.load(place / game / "game").game == game


def test_rows_that_cannot_be_used_are_an_error_or_listed(place, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text((place / "assay.csv").read_text() + "X1,C1CC,6.0,0\n")
    error = run("train", "molecules", bad, "-t", "activity", "-o", tmp_path / "run", *SMALL, code=1).stderr
    assert "row 206" in error
    assert "--skip-bad-rows" in error
    run("train", "molecules", bad, "-t", "activity", "--skip-bad-rows", "-o", tmp_path / "run", *SMALL)
    left = json.loads((tmp_path / "run" / "summary.json").read_text())["data"]
    assert left["rejected"] == [[206, "C1CC", "not a valid SMILES"]]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-t", "nonsense"], 1, "Every target must be a column of assay.csv. Got 'nonsense'"),
        (["-t", "activity", "--names", "nonsense"], 1, "--names must be a column of assay.csv. Got 'nonsense'"),
        (["--weight", "much"], 2, "must be a number or auto"),
        (["--weight", "1", "--game", "none"], 1, "--weight is for games that have a weight. Got no game"),
        (["--weight", "1", "--game", "uniform"], 1, "set --margin instead"),
        (["--epochs", "0"], 2, "--epochs"),
        (["--game", "chess"], 2, "chess"),
        (["--weight", "-1", "-t", "activity"], 1, "--weight must be a finite number >= 0"),
        (["--tolerance", "-1", "-t", "activity"], 1, "--tolerance must be a share"),
        (["--level", "90", "-t", "activity"], 1, "--level must be a confidence"),
    ],
)
def test_mistakes_are_told_before_the_work_begins(place, tmp_path, words, code, message):
    result = run("train", "molecules", place / "assay.csv", "-o", tmp_path / "run", "--quiet", *words, code=code)
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "run").exists()


def test_a_run_is_not_overwritten(place):
    again = ["train", "molecules", place / "assay.csv", "-t", "activity", "-o", place / "run", *SMALL]
    assert "resume that run with --resume, or choose another folder with --out" in run(*again, code=1).stderr
    # Before anything is read.
    for kind, folder in (("molecules", "run"), ("series", "series")):
        early = run("train", kind, place / "nothing.csv", "-o", place / folder, code=1).stderr
        assert "The folder of a new run must hold no other run" in early
    absent = run(*again[: -len(SMALL) - 1], place / "absent", *SMALL, "--resume", code=1).stderr
    assert "There must be an interrupted run to resume" in absent
    before = json.loads((place / "run" / "summary.json").read_text())
    run(*again, "--resume")  # it was not interrupted: the same once more
    after = json.loads((place / "run" / "summary.json").read_text())
    assert {**after, "made": 0} == {**before, "made": 0, "models": after["models"]}
    assert after["models"]["GAME"]["scores"] == before["models"]["GAME"]["scores"]
    other = run(*again[: -len(SMALL)], "--epochs", "3", "--width", "8", "--quiet", "--resume", code=1).stderr
    assert "must have the settings and data of the interrupted one" in other


def test_an_interrupted_run_goes_on_to_the_same_result(place, tmp_path):
    words = ["train", "molecules", str(place / "assay.csv"), "-t", "activity", "--epochs", "20", "--width", "8"]
    command = [sys.executable, "-m", "pellucid.cli", *words, "-o", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    checkpoint = tmp_path / "run" / "checkpoints" / "deep" / "last.ckpt"
    for _ in range(1200):
        if checkpoint.exists() or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"Resume with: pellucid {' '.join(words)} -o {tmp_path / 'run'} --resume" in stderr
    assert "Traceback" not in stderr
    assert checkpoint.exists()
    assert not (tmp_path / "run" / "summary.json").exists()
    run(*words, "-o", tmp_path / "run", "--quiet", "--resume")
    run(*words, "-o", tmp_path / "whole", "--quiet")
    for name in ("game", "deep"):
        one, other = ((tmp_path / folder / name / "network.safetensors").read_bytes() for folder in ("run", "whole"))
        assert one == other
    one, other = (json.loads((tmp_path / folder / "summary.json").read_text()) for folder in ("run", "whole"))
    assert one["explanations"] == other["explanations"]
    assert one["trust"] == other["trust"]


# -- use --------------------------------------------------------------------------------------------------------------


def test_predictions_stand_beside_the_rows(place, tmp_path):
    smiles = nav17().smiles[:2]
    (tmp_path / "new.csv").write_text(f"name;SMILES\na;{smiles[0]}\nb;C1CC\nc;{smiles[1]}\na again;{smiles[0]}\n")
    result = run("predict", place / "run", tmp_path / "new.csv", "--trust")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    model = PropertyModel.load(place / "run" / "game")
    assert [row["name"] for row in rows] == ["a", "b", "c", "a again"]
    for k, i in ((0, 0), (2, 1), (3, 0)):
        explanation = model.explain(smiles[i])
        assert float(rows[k]["predicted: activity"]) == pytest.approx(explanation.prediction[0], rel=1e-5)
        assert float(rows[k]["tree: activity"]) == pytest.approx(explanation.witnessed[0], rel=1e-5)
        assert float(rows[k]["tree-network bound 90 %: activity"]) == pytest.approx(explanation.bound[0], rel=1e-5)
        assert rows[k]["members"] == str(len(explanation.members))
    assert rows[1]["predicted: activity"] == ""
    assert rows[1]["problem"] == "not a valid SMILES"
    assert "1 of 4 rows have no prediction" in result.stderr
    run("predict", place / "run", tmp_path / "new.csv", "--model", "deep", "-o", tmp_path / "out.csv")
    written = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    deep = PropertyModel.load(place / "run" / "deep").predict(smiles[0])[0, 0]
    assert float(written[0]["predicted: activity"]) == pytest.approx(deep, rel=1e-5)


def test_forecasts_follow_every_recording(place):
    rows = list(csv.DictReader(run("predict", place / "series", place / "recordings").stdout.splitlines()))
    assert len(rows) == 2 * 10 * 2
    model = Forecaster.load(place / "series" / "game")
    forecast = model.forecast(place / "recordings" / "b.csv")
    last = rows[-1]
    assert (last["recording"], last["step"], last["channel"]) == ("b.csv", "10", "right")
    assert float(last["forecast"]) == pytest.approx(forecast.mean[9, 1], rel=1e-5)
    assert float(last["one-step sd"]) == pytest.approx(forecast.covariance[9, 1, 1] ** 0.5, rel=1e-5)


def test_an_explanation_on_the_terminal_and_in_files(place, tmp_path):
    smiles = nav17().smiles[0]
    model = PropertyModel.load(place / "run" / "game")
    assert run("explain", place / "run", smiles).stdout == f"{model.explain(smiles)}\n"
    assert "with 80 % confidence" in run("explain", place / "run", smiles, "--level", 0.8).stdout
    files = [tmp_path / f"x{kind}" for kind in (".html", ".svg", ".png", ".json", ".csv")]
    run("explain", place / "run", smiles, *(word for file in files for word in ("-o", file)))
    assert files[0].read_text().startswith("<!")
    assert "<svg" in files[1].read_text()
    assert files[2].read_bytes().startswith(b"\x89PNG")
    assert json.loads(files[3].read_text()) == json.loads(json.dumps(model.explain(smiles).to_dict()))
    assert len(files[4].read_text().splitlines()) == 1 + len(model.explain(smiles).members)


def test_a_table_of_molecules_is_explained_in_one_page(place, tmp_path):
    (tmp_path / "few.csv").write_text("smiles\n" + "\n".join(nav17().smiles[:3]) + "\nC1CC\n")
    result = run("explain", place / "run", tmp_path / "few.csv", "-o", tmp_path / "x.html", "-o", tmp_path / "x.json")
    assert "row 5 is rejected: not a valid SMILES" in result.stderr
    assert [item["smiles"] for item in json.loads((tmp_path / "x.json").read_text())] == list(nav17().smiles[:3])
    assert all(smiles in (tmp_path / "x.html").read_text() for smiles in nav17().smiles[:3])
    few = run("explain", place / "run", tmp_path / "few.csv", "-o", tmp_path / "x.svg", code=1).stderr
    assert "holds one explanation. Got 3 molecules" in few


def test_the_forecast_after_a_recording_is_explained(place, tmp_path):
    file = place / "recordings" / "a.csv"
    model = Forecaster.load(place / "series" / "game")
    shown = run("explain", place / "series", file).stdout
    explanation = replace(model.explain(file), overall=model.law_of(file))
    rows = len(read(file).values[0])
    assert shown.startswith(f"a.csv, after row {rows}\neach step from the forecast so far\n")
    assert explanation.table() in shown
    assert "; --target shows the other channels:" in shown
    assert explanation.table("right") in run("explain", place / "series", file, "--channel", "right").stdout
    lines = run("explain", place / "series", file, "--at", 500, "--forced").stdout.splitlines()
    assert lines[:2] == ["a.csv, after row 500", "each step from the real values before it"]
    assert lines[3].split()[:3] == ["step", "forecast", "real"]
    real = read(file).values[0][500:510, 0]
    assert [float(line.split()[2]) for line in lines[4:14]] == pytest.approx(real, rel=1e-3)
    run("explain", place / "series", file, "--at", 500, "-o", tmp_path / "at.html")
    page = (tmp_path / "at.html").read_text()
    assert "<h1>a.csv, after row 500</h1>" in page
    assert "10 steps of left and right, each step from the forecast so far" in page
    for kind in ("html", "svg", "png", "json", "csv"):
        run("explain", place / "series", file, "-o", tmp_path / f"x.{kind}")
        assert (tmp_path / f"x.{kind}").stat().st_size > 500


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["absent", "CCO"], 1, "Got absent, where there is nothing"),
        (["run", "C1CC"], 1, "not a valid SMILES"),
        (["run", "few.csv"], 1, "Got few.csv, which does not exist"),
        (["run", "CCO", "-o", "x.pdf"], 2, "must end in one of .html"),
        (["run", "CCO", "--model", "best"], 1, '--model must be "game" or "deep"'),
        (["run", "CCO", "--target", "nonsense"], 1, "--target must be one of activity"),
        (["run", "CCO", "--at", 3], 1, "--at is for series. Got a model of the domain molecules"),
        (["run", "CCO", "--forced"], 1, "--forced is for series"),
    ],
)
def test_what_cannot_be_explained_is_said(place, monkeypatch, words, code, message):
    monkeypatch.chdir(place)
    assert message in " ".join(run("explain", *words, code=code).stderr.replace("│", " ").split())


@pytest.mark.usefixtures("tuned")
def test_runs_are_compared(place):
    shown = run("compare", place / "run", place / "auto").stdout
    summary = json.loads((place / "run" / "summary.json").read_text())
    line = next(line for line in shown.splitlines() if line.startswith("RMSE of the network"))
    errors = [summary["models"][name]["scores"]["accuracy"] for name in ("DEEP", "GAME")]
    assert [float(cell) for cell in line.split()[-4:-2]] == [float(f"{error:.4g}") for error in errors]
    shown = run("compare", place / "run", place / "auto", "--data", place / "assay.csv").stdout
    line = next(line for line in shown.splitlines() if line.startswith("deviation"))
    table = nav17().select(range(0, 1017, 5))
    again = PropertyModel.load(place / "run" / "game").evaluate(table)
    assert float(line.split()[-3]) == pytest.approx(again.deviation, rel=1e-3)
    assert "predict the same" in run("compare", place / "run", place / "series", code=1).stderr
    assert "which has none" in run("compare", place / "run", place, code=1).stderr


DIFFERENT = "tested on different data"


def test_runs_on_the_same_test_data_are_compared_without_a_warning(place, tmp_path):
    # The same rows in another file, in columns of another order: the same split, and the same test molecules.
    with (place / "assay.csv").open(newline="") as stream:
        rows = [[row["activity"], row["smiles"]] for row in csv.DictReader(stream)]
    with (tmp_path / "other.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["activity", "smiles"], *rows])
    run("train", "molecules", tmp_path / "other.csv", "-t", "activity", "-o", tmp_path / "same", *SMALL)
    assert run("compare", place / "run", tmp_path / "same").stderr == ""
    run("train", "molecules", place / "assay.csv", "-t", "activity", "--seed", 1, "-o", tmp_path / "other", *SMALL)
    assert DIFFERENT in run("compare", place / "run", tmp_path / "other").stderr
    # A measured value that was corrected makes other test data of the same molecules.
    test = split(nav17().select(range(0, 1017, 5)), 0).test.smiles[0]
    rows = [[8.125 if smiles == test else value, smiles] for value, smiles in rows]
    with (tmp_path / "other.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["activity", "smiles"], *rows])
    run("train", "molecules", tmp_path / "other.csv", "-t", "activity", "-o", tmp_path / "mended", *SMALL)
    assert DIFFERENT in run("compare", place / "run", tmp_path / "mended").stderr


def test_recordings_that_were_tested_on_are_compared(place, tmp_path):
    options = ["--context", 20, "--horizon", 10, "--radius", 4, *SMALL]
    a, b = place / "recordings" / "a.csv", place / "recordings" / "b.csv"
    half = tmp_path / "half.csv"
    half.write_text("\n".join(a.read_text().splitlines()[:1500]) + "\n")
    copy = tmp_path / "copy.csv"
    copy.write_text(b.read_text())
    run("train", "series", a, "--test", b, "-o", tmp_path / "whole", *options)
    run("train", "series", half, "--test", copy, "--seed", 3, "-o", tmp_path / "half", *options)
    assert run("compare", tmp_path / "whole", tmp_path / "half").stderr == ""
    run("train", "series", a, "-o", tmp_path / "own", *options)
    assert DIFFERENT in run("compare", tmp_path / "whole", tmp_path / "own").stderr
    shown = run("compare", tmp_path / "own", tmp_path / "whole").stdout
    assert "settings that differ" not in shown
    others = ["--split", "time", "--gaps", "ignore", "--fill", "linear", "--epochs", 1]
    result = run("train", "series", a, "-o", tmp_path / "time", *options, *others)
    assert "training: 1 epoch at most, " in result.stdout
    shown = run("compare", tmp_path / "own", tmp_path / "time").stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("settings that differ: "))
    for part in ("split: random and time", "fill: None and linear", "gaps: split and ignore", "epochs: 2 and 1"):
        assert part in line
    assert "decimal" not in line
    assert "drop" not in line
    run("train", "series", a, "--seed", 1, "-o", tmp_path / "seed", *options)
    assert DIFFERENT in run("compare", tmp_path / "own", tmp_path / "seed").stderr


def test_of_runs_of_earlier_versions_nothing_is_known(place, tmp_path):
    shutil.copytree(place / "run", tmp_path / "old")
    summary = json.loads((tmp_path / "old" / "summary.json").read_text())
    del summary["data"]["test_digest"]
    (tmp_path / "old" / "summary.json").write_text(json.dumps(summary))
    told = run("compare", tmp_path / "old", place / "run").stderr
    assert "same data is not known, as an earlier version wrote one" in told


def test_a_report_is_written_once_more(place, tmp_path):
    for name in ("run", "series"):
        run("report", place / name, "-o", tmp_path / "again.html")
        assert (tmp_path / "again.html").read_text() == (place / name / "report.html").read_text()


def test_the_demo_ends_with_its_report(tmp_path):
    for _ in range(2):  # it may be repeated
        shown = run("demo", "--size", "smoke", "--quiet", "-o", tmp_path / "demo").stdout
    assert shown.splitlines()[-1].startswith(f"report:   {tmp_path / 'demo' / 'report.html'}")
    assert (tmp_path / "demo" / "report.html").exists()
    assert "with 90 % confidence the tree is within activity" in shown
    assert "<svg" in (tmp_path / "demo" / "tree.svg").read_text()


def test_help_is_there_for_every_command():
    shown = run("--help").stdout
    for name in ("audit", "compare", "data", "demo", "explain", "predict", "report", "train"):
        assert name in shown
        assert "Usage" in run(name, "--help").stdout
    assert run("--version").stdout.startswith("pellucid ")


# -- what two trials by fresh eyes found ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def commas(tmp_path_factory):
    """A run on recordings without names, with a decimal comma, beside a file that is none; and other recordings."""
    folder = tmp_path_factory.mktemp("commas")
    rig = simulate_rig(files=3, rows=900, bearings=2, seed=0)
    for values, name in zip(rig.values, ("data/a.dat", "data/b.dat", "other/c.dat"), strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        lines = [";".join(f"{value:.6f}".replace(".", ",") for value in row) for row in values]
        (folder / name).write_text("\n".join(lines) + "\n")
        (folder / name).with_name("readme.txt").write_text("This is no recording.\n")
    run("train", "series", folder / "data", "--pattern", "*.dat", "--decimal", ",", "--no-header", "--context", 20,
        "--horizon", 10, "--radius", 4, "--test", folder / "other", "-o", folder / "run", *SMALL)  # fmt: skip
    return folder


def test_recordings_are_read_as_those_of_the_model(commas):
    rows = list(csv.DictReader(run("predict", commas / "run", commas / "other").stdout.splitlines()))
    assert {row["recording"] for row in rows} == {"c.dat"}
    values = simulate_rig(files=3, rows=900, bearings=2, seed=0).values[2]
    expected = Forecaster.load(commas / "run" / "game").forecast(np.round(values, 6)).mean
    assert [float(row["forecast"]) for row in rows] == pytest.approx(expected.ravel(), rel=1e-4, abs=1e-6)
    assert "Channel 'channel 1'" in run("explain", commas / "run" / "deep", commas / "other" / "c.dat").stdout
    shown = run("compare", commas / "run", commas / "run", "--data", commas / "other").stdout
    summary = json.loads((commas / "run" / "summary.json").read_text())
    line = next(line for line in shown.splitlines() if line.startswith("relative error"))
    error = summary["models"]["GAME"]["scores"]["relative_error"]
    assert float(line.split()[-1]) == float(f"{error:.4g}")
    assert "must be a number" in run("explain", commas / "run", commas / "other", "--decimal", ".", code=1).stderr
    assert "readme.txt" in run("predict", commas / "run", commas / "other", "--pattern", "*", code=1).stderr


@pytest.mark.parametrize("option", [["--trust"], ["--level", "0.8"]])
def test_a_forecast_has_no_bounds_in_a_table(commas, option):
    assert f"{option[0]} is for molecules" in run("predict", commas / "run", commas / "other", *option, code=1).stderr


@pytest.mark.parametrize("test", ["recordings", "recordings/b.csv"])
def test_nothing_is_tested_on_what_was_learned_from(place, tmp_path, test):
    words = ["train", "series", place / "recordings", "--test", place / test, "-o", tmp_path / "run"]
    assert "--test must be other recordings" in run(*words, code=1).stderr
    assert not (tmp_path / "run").exists()


def test_times_are_no_channels_unless_asked_for(place, tmp_path):
    values = np.loadtxt(place / "recordings" / "a.csv", delimiter=",", skiprows=1)[:400]
    times, drift = np.round(np.arange(400) * 0.0123, 3), np.cumsum(np.arange(400))
    table = np.c_[times, values, drift]
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header="Time [s],left,right,t drift", comments="", fmt="%.6g")
    words = [
        "train",
        "series",
        tmp_path / "a.csv",
        "--context",
        20,
        "--horizon",
        10,
        "--radius",
        4,
        "--game",
        "none",
        *SMALL,
    ]
    shown = run(*words, "-o", tmp_path / "run").stdout
    assert "Time [s] is ignored" in shown
    assert "--channels 'Time [s],left,right,t drift'" in shown
    assert Forecaster.load(tmp_path / "run" / "deep").channels_ == ("left", "right", "t drift")
    run(*words, "-o", tmp_path / "all", "--channels", "Time [s],left")
    assert Forecaster.load(tmp_path / "all" / "deep").channels_ == ("Time [s]", "left")


def test_molecules_without_neighbors_have_no_tree(place, tmp_path):
    smiles = nav17().smiles[0]
    (tmp_path / "new.smi").write_text(f"CCO ethanol\n{smiles}\tM0\n")
    result = run("predict", place / "run", tmp_path / "new.smi", "--trust")
    alone, known = csv.DictReader(result.stdout.splitlines())
    assert (alone["name"], alone["members"], alone["note"]) == (
        "ethanol",
        "1",
        "no similar molecule in the training data",
    )
    kinds = ("tree", "deviation", "tree-network bound 90 %")
    assert [alone[f"{kind}: activity"] for kind in kinds] == ["", "", ""]
    assert float(alone["predicted: activity"]) > 0
    assert known["note"] == ""
    assert all(float(known[f"{kind}: activity"]) >= 0 for kind in kinds)
    assert "1 of 2 molecules have too few similar ones" in result.stderr
    unknown = run("predict", place / "run", tmp_path / "new.smi", "--trust", "--level", 0.999)
    assert "There are no bounds" in unknown.stderr
    assert "ask for less confidence" in unknown.stderr
    assert "add it" in run("predict", place / "run", tmp_path / "new.smi", "--level", 0.8, code=1).stderr


def test_explanations_of_a_table_keep_names(place, tmp_path):
    smiles = nav17().smiles
    (tmp_path / "few.csv").write_text(f"code,id,smiles\nx1,A,{smiles[0]}\nx2,B,{smiles[5]}\nx3,C,{smiles[0]}\n")
    run("explain", place / "run", tmp_path / "few.csv", "-o", tmp_path / "x.json", "-o", tmp_path / "x.html")
    assert [item["place"] for item in json.loads((tmp_path / "x.json").read_text())] == ["A, C (row 2, 4)", "B (row 3)"]
    assert "A, C (row 2, 4)" in (tmp_path / "x.html").read_text()
    assert "x2 (row 3)\n" in run("explain", place / "run", tmp_path / "few.csv", "--names", "code").stdout
    series = run("explain", place / "series", place / "recordings" / "a.csv", "-o", tmp_path / "s.html")
    assert series.exit_code == 0
    assert "a.csv, after row 2500" in (tmp_path / "s.html").read_text()
    assert "must end in .html" in run("report", place / "run", "-o", tmp_path / "x.pdf", code=2).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "molecules", "absent.csv"], "absent.csv, which does not exist"),
        (["train", "molecules", "."], "which is a folder"),
        (["train", "molecules", "few.smi"], "few.smi, which holds SMILES and names"),
        (["train", "molecules", "assay.csv", "-t", "Activity"], "did you mean 'activity'?"),
        (["train", "molecules", "assay.csv", "-t", "id"], "a column of text: row 2 is 'M0'"),
        (["train", "molecules", "assay.csv", "-t", "activity", "--task", "classification"], "use --task regression"),
        (["train", "molecules", "five.csv"], "At least 10 molecules are needed"),
        (["train", "molecules", "numbered.csv"], "name it among the targets if it is measured"),
        (["train", "molecules", "assay.csv", "--smiles", "x"], "--smiles must be a column"),
        (["train", "series", "recordings", "--channels", "up"], "Got 'up'; its columns are left, right"),
        (["train", "series", "recordings", "--pattern", "*.dat"], "change --pattern"),
        (["train", "series", "recordings", "--context", "2000"], "record more, or choose a shorter --context"),
        (["train", "series", "recordings", "--weight", "-1"], "--weight must be a finite number"),
        (["train", "series", "recordings", "--level", "2"], "--level must be a confidence"),
        (
            ["train", "series", "recordings", "--horizon", "3", "--order", "2", "--radius", "1", "--ridge", "0"],
            "Got 5 coefficients (2 channels, order 2) on 3 steps with a ridge of 0, which fit anything; lower --order",
        ),
        (["explain", "run", "C1CC"], "Got 'C1CC': not a valid SMILES"),
        (["explain", "series", "recordings", "--level", "2"], "--level must be a confidence"),
        (["explain", "run", "."], "which is a folder"),
    ],
)
def test_messages_are_in_words_of_the_shell(place, monkeypatch, words, message):
    monkeypatch.chdir(place)
    lines = (place / "assay.csv").read_text().splitlines()
    (place / "five.csv").write_text("\n".join(lines[:6]) + "\n")
    (place / "few.smi").write_text("CCO ethanol\n")
    (place / "numbered.csv").write_text("smiles,count\n" + "".join(f"{'C' * n},{n}\n" for n in range(1, 13)))
    options = ["-o", place / "mistake"] if words[0] == "train" else []
    stderr = run(*words, *options, code=1).stderr
    assert message in stderr
    assert "`" not in stderr
    assert not (place / "mistake").exists()


def test_a_stop_before_the_first_checkpoint_leaves_nothing(place, tmp_path, monkeypatch):
    def stop(*_, folder, **__):
        folder.mkdir(parents=True)
        (folder / "identity.json").write_text("{}")
        raise KeyboardInterrupt

    words = ["train", "molecules", str(place / "assay.csv"), "-t", "activity", "-o", str(tmp_path / "run"), *SMALL]
    monkeypatch.setattr(sys, "argv", ["pellucid", *words])
    monkeypatch.setattr(PropertyModel, "fit", stop)
    stderr = run(*words, code=130).stderr
    assert f"Stopped before anything was learned; start again with: pellucid {' '.join(words)}\n" in stderr
    assert not (tmp_path / "run").exists()


def test_what_will_be_done_is_told_first(place, tmp_path):
    words = ["train", "molecules", place / "assay.csv", "-t", "activity", "--epochs", 2, "--width", 8, "--game", "none"]
    result = run(*words, "-o", tmp_path / "run")
    assert "molecules: 163 to learn from, 21 to validate on, 20 to test on\n" in result.stdout
    assert "training: 2 epochs, width 8, batch size 32, learning rate 0.003\n" in result.stdout
    assert result.stderr == ""  # no progress bars where nobody sees them


def test_the_demo_spares_the_runs_of_others(place):
    before = (place / "run" / "summary.json").read_text()
    error = run("demo", "--size", "smoke", "--quiet", "-o", place / "run", code=1).stderr
    assert "must hold no other run" in error
    assert (place / "run" / "summary.json").read_text() == before


def test_molecules_are_split_by_scaffold(place, tmp_path):
    words = ["train", "molecules", place / "assay.csv", "-t", "activity", "--split", "scaffold"]
    run(*words, "-o", tmp_path / "run", *SMALL)
    data = json.loads((tmp_path / "run" / "summary.json").read_text())["data"]
    assert data["split"] == "scaffold"
    assert sum(data["parts"].values()) == 204


# -- messages ---------------------------------------------------------------------------------------------------------

SAVED = Path(__file__).parents[1] / "saved" / "v0.1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # Nothing is read before: the file is not there.
        (["train", "molecules", "absent.csv", "--weight", "-1"], "--weight must be a finite number >= 0. Got -1.0"),
        (["train", "series", "absent.csv", "--level", "2"], "--level must be a confidence between 0 and 1. Got 2.0"),
        (["train", "series", "absent.csv", "--tolerance", "-1"], "--tolerance must be a share"),
        (["explain", "absent", "CCO", "--level", "2"], "--level must be a confidence between 0 and 1. Got 2.0"),
        (["explain", "series-run", "absent.csv", "--channel", "up"], "--target must be one of left, right. Got 'up'"),
        (["explain", "molecules-run", "CCO", "--target", "up"], "--target must be one of activity. Got 'up'"),
        (["explain", "autoencoder", "CCO", "--target", "up"], "mean of tree 1, mean of tree 2, "),
        # What was typed is named, also where the library speaks of what it stands for.
        (["train", "molecules", "assay.csv", "-t", "up"], "--targets: Every target must be a column of assay.csv"),
        (["train", "series", "recordings", "-c", "up"], "--channels: Every channel must be a column of a.csv"),
        # Options of other commands come with their names.
        (["report", "."], "resume an interrupted run with `pellucid train ... --resume`."),
        (["demo", "curves"], "DOMAIN must be molecules. Got 'curves', which has no demo; try pellucid demo molecules."),
    ],
)
def test_messages_name_what_was_typed(monkeypatch, words, message):
    monkeypatch.chdir(SAVED)
    assert message in run(*words, code=1).stderr


def test_help_is_in_plain_words():
    for words in ("demo", "train molecules", "train series", "train autoencoder", "predict", "explain", "score",
                  "compare", "report", "audit", "data list", "data get"):  # fmt: skip
        shown = run(*words.split(), "--help").stdout
        assert not set("<{") & set(shown), shown
    assert "report [OPTIONS] RUN\n" in run("report", "--help").stdout
    assert "demo [OPTIONS] [DOMAIN]\n" in run("demo", "--help").stdout
    assert "DOMAIN  What to learn from: molecules.  [default: molecules]" in run("demo", "--help").stdout
