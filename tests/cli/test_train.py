"""`pellucid train`: runs on molecules and recordings."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from blockers import blockers
from cli.runner import ACTIVITY, SMALL, run

from pellucid.molecules import PropertyModel
from pellucid.molecules.splitting import split
from pellucid.series import Forecaster, read
from pellucid.summaries import Trial

pytestmark = pytest.mark.slow


def test_a_run_on_molecules_is_written_down(place):
    summary = json.loads((place / "run" / "summary.json").read_text())
    table = blockers().select(range(0, 1017, 5))
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
    gaps = (np.array(shown["mean"]) - np.array(shown["held_out"])) / model.scaling_.scale
    assert min(deviations) == pytest.approx(np.sqrt(np.square(gaps).mean()), rel=1e-3)


def test_auto_takes_the_most_transparent_weight_within_the_tolerance(place, tuned):
    summary = json.loads((place / "auto" / "summary.json").read_text())
    found = summary["trade_off"]
    trials = [Trial(**trial) for trial in found["trials"]]
    assert [trial.weight for trial in trials] == [None, 0.3, 1.0, 3.0, 10.0]
    good = [t for t in trials if t.weight is not None and t.loss <= 1.05 * trials[0].loss]
    assert found["chosen"] == min(good, key=lambda trial: trial.deviation).weight
    assert PropertyModel.load(place / "auto" / "game").weight == found["chosen"]
    table = blockers().select(range(0, 1017, 5))
    validation = split(table, 0).validation
    scores = PropertyModel.load(place / "auto" / "deep").evaluate(validation)
    assert trials[0].loss == pytest.approx(
        scores.accuracy[0] / PropertyModel.load(place / "auto" / "deep").task_.scale[0]
    )
    assert trials[0].deviation == pytest.approx(scores.deviation)
    line = next(line for line in tuned.splitlines() if line.endswith("chosen"))
    assert line.split()[0] == f"{found['chosen']:g}"
    assert "5 % above DEEP's" in tuned


def test_without_a_game_deep_is_trained_alone(place):
    shown = run(
        "train", "molecules", place / "assay.csv", "-t", "active", "--game", "none", "-o", place / "none", *SMALL
    )
    assert "task: classification" in shown.output
    summary = json.loads((place / "none" / "summary.json").read_text())
    assert list(summary["models"]) == ["DEEP"]
    assert not (place / "none" / "game").exists()
    # Nobody said what explains predictions: what holds better does.
    assert PropertyModel.load(place / "none" / "deep").witness == "auto"
    assert "model:" in shown.output
    assert run("explain", place / "none", blockers().smiles[0]).output


@pytest.mark.parametrize("game", ["asymmetric", "uniform"])
def test_every_game_can_be_played(place, game):
    run("train", "molecules", place / "assay.csv", *ACTIVITY, "--game", game, "-o", place / game, *SMALL)
    assert PropertyModel.load(place / game / "game").game == game


def test_rows_that_cannot_be_used_are_an_error_or_listed(place, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text((place / "assay.csv").read_text() + "X1,C1CC,6.0,0\n")
    error = run("train", "molecules", bad, *ACTIVITY, "-o", tmp_path / "run", *SMALL, code=1).stderr
    assert "row 206" in error
    assert "--skip-bad-rows" in error
    run("train", "molecules", bad, *ACTIVITY, "--skip-bad-rows", "-o", tmp_path / "run", *SMALL)
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
    again = [
        "train", "molecules", place / "assay.csv", *ACTIVITY, "--witness", "tree", "-o", place / "run", *SMALL
    ]  # fmt: skip
    assert (
        "resume that run with --resume, replace it with --force, or choose another folder with --out"
        in run(*again, code=1).stderr
    )
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


def test_a_stop_before_the_first_checkpoint_leaves_nothing(place, tmp_path, monkeypatch):
    def stop(*_, folder, **__):
        folder.mkdir(parents=True)
        (folder / "identity.json").write_text("{}")
        raise KeyboardInterrupt

    words = ["train", "molecules", str(place / "assay.csv"), *ACTIVITY, "-o", str(tmp_path / "run"), *SMALL]
    monkeypatch.setattr(sys, "argv", ["pellucid", *words])
    monkeypatch.setattr(PropertyModel, "fit", stop)
    stderr = run(*words, code=130).stderr
    assert f"Stopped before anything was learned; start again with: pellucid {' '.join(words)}\n" in stderr
    assert not (tmp_path / "run").exists()


def test_what_will_be_done_is_told_first(place, tmp_path):
    words = ["train", "molecules", place / "assay.csv", *ACTIVITY, "--epochs", 2, "--width", 8, "--game", "none"]
    result = run(*words, "-o", tmp_path / "run")
    assert "molecules: 163 for training, 21 for validation, 20 for testing\n" in result.stdout
    assert "training: 2 epochs, width 8, batch size 32, learning rate 0.003\n" in result.stdout
    assert result.stderr == ""  # no progress bars where nobody sees them


def test_molecules_are_split_by_scaffold(place, tmp_path):
    words = ["train", "molecules", place / "assay.csv", *ACTIVITY, "--split", "scaffold"]
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
        (
            ["demo", "curves"],
            "DOMAIN must be molecules or table. Got 'curves', which has no demo; try pellucid demo molecules.",
        ),
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
    assert "DOMAIN  What to learn from: molecules, table.  [default: molecules]" in run("demo", "--help").stdout
