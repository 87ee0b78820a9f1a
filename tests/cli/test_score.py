"""`pellucid score`, as a person would type it."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import signal
from typer.testing import CliRunner

from pellucid import runs
from pellucid.cli import app
from pellucid.series import simulate_rig

LEARNED, FILES, BEGIN = 6, 50, 38
HEALTHY = ["--healthy", "30", "--level", "0.95", "--sequences", "10", "--quiet"]


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run on a healthy machine, and recordings with a fault of the second channel: other dynamics, just as loud."""
    folder = tmp_path_factory.mktemp("score")
    rig = simulate_rig(files=LEARNED + FILES, rows=1200, bearings=2, wear=0.0, seed=0)
    for name in ("learned", "machine", "sound"):
        (folder / name).mkdir()
    for i, table in enumerate(rig.values):
        if i >= LEARNED + BEGIN:
            rough = signal.lfilter([1.0, -0.6], [1.0], table[:, 1])
            table[:, 1] = rough * table[:, 1].std() / rough.std()
        place = folder / ("learned" if i < LEARNED else "machine") / f"{i}.csv"
        np.savetxt(place, table, delimiter=";", header="left;right", comments="", fmt="%.7g")
    run("train", "series", folder / "learned", "--context", 20, "--horizon", 10, "--radius", 4, "--width", 16,
        "--epochs", 6, "--batch-size", 32, "--learning-rate", 0.02, "-o", folder / "run", "--quiet")  # fmt: skip
    return folder


def test_the_fault_is_named_with_its_channel_and_its_time(place, tmp_path):
    outs = [tmp_path / name for name in ("a.csv", "a.json", "a.html", "a.svg", "a.png")]
    result = run("score", place / "run", place / "machine", *HEALTHY, *(w for out in outs for w in ("-o", out)))
    assert (
        "50 recordings, 10 sequences of each through the network; healthy: 30 of them, number 1 to 30" in result.output
    )
    lines = result.output.splitlines()
    first = next(line for line in lines if line.startswith("right: "))
    # Raised with the fourth rough recording.
    assert first.startswith(
        f"right: alarm since recording {BEGIN + 4} of 50 ({LEARNED + BEGIN + 3}.csv), above healthy"
    )
    assert next(i for i, line in enumerate(lines) if line.startswith("right: ")) < next(
        (i for i, line in enumerate(lines) if line.startswith(("left: ", "no alarm: left"))), 10**6
    )
    table = next(line for line in lines if line.startswith("right  "))
    assert table.split()[1:3] == ["-", "-"]  # neither rms nor sd
    assert [f"written: {out}" in result.output for out in outs] == [True] * 5
    with outs[0].open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 50 * 3
    assert [row["recording"] for row in rows[::3]] == [f"{LEARNED + i}.csv" for i in range(50)]  # 9 before 10
    alarms = json.loads(outs[1].read_text())["alarms"]
    assert {"right"} <= {alarm["channel"] for alarm in alarms}
    assert outs[2].read_text().startswith("<!doctype html>")
    assert outs[3].read_text().startswith("<?xml")
    assert outs[4].read_bytes().startswith(b"\x89PNG")


def test_healthy_recordings_from_elsewhere_or_by_their_places(place, tmp_path):
    by_number = run("score", place / "run", place / "machine", *HEALTHY, "-o", tmp_path / "a.json")
    assert "calibrated on 30" in by_number.output
    for i in range(LEARNED, LEARNED + 30):
        (place / "sound" / f"{i}.csv").write_bytes((place / "machine" / f"{i}.csv").read_bytes())
    options = [*HEALTHY[2:], "-o"]
    run("score", place / "run", place / "machine", "--healthy", place / "sound", *options, tmp_path / "b.json")
    run("score", place / "run", place / "machine", "--healthy", "0:30", *options, tmp_path / "c.json")
    run("score", place / "run", place / "machine", "--healthy", "0.6", *options, tmp_path / "d.json")
    contents = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "abcd"]
    assert [content["limit"] for content in contents[1:]] == [contents[0]["limit"]] * 3
    assert [len(content["healthy"]) for content in contents] == [30, 0, 30, 30]


def test_one_long_file_is_cut(place, tmp_path):
    tables = [
        np.loadtxt(place / "machine" / f"{i}.csv", delimiter=";", skiprows=1) for i in range(LEARNED, LEARNED + 8)
    ]
    np.savetxt(tmp_path / "long.csv", np.concatenate(tables), delimiter=";", header="left;right", comments="")
    alone = run("score", place / "run", tmp_path / "long.csv", code=1)
    assert "There must be several recordings to follow a machine over time. Got 1; cut it into pieces" in alone.stderr
    assert "with --every" in alone.stderr
    options = ("--every", 300, "--healthy", 20, "--level", 0.9)
    result = run("score", place / "run", tmp_path / "long.csv", *options)
    assert result.output.startswith("32 recordings")


def test_levels_that_are_not_known_are_told_with_the_cure(place):
    result = run("score", place / "run", place / "machine", "--healthy", 12, "--sequences", 5)
    assert "Alarm levels of 99 % are not known: 12 healthy recordings are enough for 92.3 %" in result.output
    assert "name more of them with --healthy, or lower --level" in result.output


def test_healthy_recordings_that_were_learned_from_are_told(place):
    options = ("--healthy", place / "learned", "--level", 0.8, "--sequences", 5)
    result = run("score", place / "run", place / "machine", *options)
    assert "the run was trained on recordings from a folder called learned, too" in result.stderr
    others = run("score", place / "run", place / "machine", *HEALTHY)
    assert "trained on" not in others.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--healthy", "nowhere"], 1, "--healthy must be a number of recordings, a share such as 0.2, places such as"),
        (["--healthy", "60:70"], 1, "There must be healthy recordings to compare with. Got none of the 50"),
        (["--healthy", "0"], 1, "--healthy must be a whole number >= 1. Got 0"),
        (["--persistence", "four"], 2, "must be K/N, as in 4/5. Got 'four'"),
        (["--persistence", "6/5"], 1, "--persistence must be a whole number between 1 and 5. Got 6"),
        (["--level", "2"], 2, "must be between 0 and 1. Got 2"),
        (["-o", "scores.txt"], 2, "must end in one of .html, .json, .csv, .svg, .png, not 'scores.txt'"),
        (["--pattern", "*.dat"], 1, "The folder must hold files that match '*.dat'. Got none in"),
        (["--every", "20"], 1, "--every must be a whole number >= 30. Got 20"),
    ],
)
def test_what_cannot_be_scored_is_refused(place, options, code, message):
    result = run("score", place / "run", place / "machine", "--sequences", 2, *options, code=code)
    assert message in " ".join(result.stderr.split())


def test_other_channels_and_other_models_are_refused(place, tmp_path, monkeypatch):
    np.savetxt(tmp_path / "a.csv", np.random.default_rng(0).normal(size=(90, 2)), delimiter=";", header="up;down",
               comments="")  # fmt: skip
    result = run("score", place / "run", tmp_path / "a.csv", code=1)
    assert "Every channel must be a column of a.csv. Got 'left'; its columns are up, down" in result.stderr
    monkeypatch.setattr(runs, "load", lambda folder, which: SimpleNamespace(predict=None))  # a property model
    result = run("score", place / "run", place / "machine", code=1)
    assert "RUN must be a model of recordings. Got" in result.stderr
    assert "pellucid train series" in result.stderr
