"""Recordings on the command line: what is ignored, cut and filled, how they are divided, and what is explained."""

import csv
import json
import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from cli.runner import run

from pellucid.series import Forecaster, read, simulate_rig

pytestmark = pytest.mark.slow

SMALL = ["--context", "20", "--horizon", "10", "--radius", "4", "--epochs", "1", "--width", "8", "--game", "none", "-q"]
ROWS = 700
RIG = simulate_rig(files=2, rows=ROWS, bearings=2, seed=0).values


def write(path, head, columns):
    """A table of columns; None is a blank."""
    rows = zip(*columns, strict=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([*([head] if head else []), *rows])
    return path


def stamps(keep):
    return [(datetime(2024, 5, 1) + timedelta(seconds=10 * i)).isoformat(sep=" ") for i in keep]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A folder of two recordings with gaps and times, and a run on them."""
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "data").mkdir()
    for values, name in zip(RIG, ("a.csv", "b.csv"), strict=True):
        keep = [i for i in range(ROWS) if name == "b.csv" or not 300 <= i < 400]
        left, right = values[keep].round(5).T
        write(folder / "data" / name, ["when", "left", "right"], [stamps(keep), left, right])
    output = run("train", "series", folder / "data", "-o", folder / "run", *SMALL, "--split", "time").stdout
    return folder, output


def test_what_was_decided_is_said_and_written_down(workspace):
    folder, output = workspace
    decisions = [
        "when is ignored, as it holds dates or times",
        "1 gap in time, 16.8 min after row 300 of a.csv, where a step is 10 s: the recording is cut there; "
        "a fill would close up to 5 missing rows, and to ignore gaps would join what is on either side",
    ]
    assert output.splitlines()[:3] == [*decisions, "data: 3 recordings of left, right; 1,300 rows"]
    data = json.loads((folder / "run" / "summary.json").read_text())["data"]
    assert data["decisions"] == decisions
    assert "1 gap in time, 16.8 min" in (folder / "run" / "report.html").read_text()


def test_the_split_is_said_and_written_down(workspace):
    folder, output = workspace
    assert "split: tested on the end of each recording, validated on the rows before" in output
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert summary["data"]["split"] == "time"
    # Of 19 and 23 sequences two each.
    assert summary["data"]["parts"]["test"] == 4 * 30
    assert "tested on the end of each recording" in (folder / "run" / "report.html").read_text()


def test_a_trend_is_told_before_the_training_and_with_the_numbers(tmp_path):
    drift = RIG[0][:, 0] + np.arange(ROWS) * 0.01
    path = write(tmp_path / "a.csv", ["wear", "right"], [drift, RIG[0][:, 1]])
    words = ["train", "series", path, *SMALL]
    output = run(*words, "-o", tmp_path / "run").stdout
    assert output.count("The recordings trend (the level of wear)") == 2
    assert "split: validation and test pieces cut out at random" in output
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["verdict"][0].endswith("split by time, which tests on the end.")
    assert "The recordings trend" not in run(*words, "-o", tmp_path / "time", "--split", "time").stdout


def test_clocks_of_files_without_names_are_left_out(tmp_path):
    micro = 65_664 + 390 * np.arange(ROWS)
    clock = [np.full(ROWS, 9), np.full(ROWS, 39), 39 + micro // 1_000_000, micro % 1_000_000]
    path = write(tmp_path / "acc_00001.csv", None, [*clock, *RIG[0].T])
    output = run("train", "series", path, "-o", tmp_path / "run", *SMALL).stdout
    assert "channel 1, channel 2, channel 3 and channel 4 are ignored, as each belongs to a clock" in output
    assert "keep with --channels 'channel 1,channel 2,channel 3,channel 4,channel 5,channel 6'" in output
    # What is stored names no option: Python reads it, too.
    (stored,) = json.loads((tmp_path / "run" / "summary.json").read_text())["data"]["decisions"]
    assert stored.endswith("channel 4 are ignored, as each belongs to a clock in the first 4 columns")
    assert Forecaster.load(tmp_path / "run" / "deep").channels_ == ("channel 5", "channel 6")


def test_blanks_and_columns_are_treated_as_asked(tmp_path):
    left = RIG[0][:, 0].tolist()
    left[100] = left[101] = None
    path = write(tmp_path / "a.csv", ["left", "right", "note"], [left, RIG[0][:, 1], [f"n{i}" for i in range(ROWS)]])
    words = ["train", "series", path, "-o", tmp_path / "run", *SMALL]
    assert "column 'note', row 2; correct it, or leave that column out with --drop" in run(*words, code=1).stderr
    stopped = run(*words, "--drop", "note", code=1).stderr
    assert "row 102 (2 in all); fill with --fill linear or --fill previous, or cut there with" in stopped
    output = run(*words, "--drop", "note", "--fill", "linear").stdout
    assert "2 blank cells filled by straight lines (left 2)" in output
    # Other commands read as the run did, or as they are told.
    assert len(run("predict", tmp_path / "run", path).stdout.splitlines()) == 1 + 10 * 2
    refused = run("predict", tmp_path / "run", path, "--fill", "split").stdout.splitlines()
    assert len(refused) == 1 + 10 * 2
    assert json.loads((tmp_path / "run" / "reading.json").read_text())["fill"] == "linear"


def test_long_tables_are_pivoted_or_taken_apart(tmp_path):
    when = stamps(range(ROWS))
    columns = [when * 2, ["left"] * ROWS + ["right"] * ROWS, RIG[0].T.ravel()]
    path = write(tmp_path / "a.csv", ["when", "sensor", "value"], columns)
    words = ["train", "series", path, *SMALL]
    refused = run(*words, "-o", tmp_path / "run", code=1).stderr
    assert "make each a channel with --pivot sensor, or a recording of its own with --recordings-by sensor" in refused
    assert "1 recording of left, right; 700 rows" in run(*words, "-o", tmp_path / "a", "--pivot", "sensor").stdout
    apart = run(*words, "-o", tmp_path / "b", "--recordings-by", "sensor").stdout
    assert "2 recordings of value; 1,400 rows" in apart
    model = Forecaster.load(tmp_path / "a" / "deep")
    rows = list(csv.DictReader(run("predict", tmp_path / "a", path).stdout.splitlines()))
    expected = model.forecast(read(path, pivot="sensor")).mean
    assert [float(row["forecast"]) for row in rows] == pytest.approx(expected.ravel(), rel=1e-4, abs=1e-6)


# -- explain -----------------------------------------------------------------------------------------------------------


def explained(path):
    return json.loads(path.read_text())


def test_a_forecast_is_explained_after_any_row(workspace, tmp_path):
    folder, _ = workspace
    file, model = folder / "data" / "b.csv", Forecaster.load(folder / "run" / "deep")
    values = read(file).values[0]
    run("explain", folder / "run", file, "--at", 250, "-o", tmp_path / "x.json")
    generated = explained(tmp_path / "x.json")
    assert generated["place"] == "b.csv, after row 250"
    np.testing.assert_allclose(generated["mean"], model.explain(values[:250]).mean)
    np.testing.assert_allclose(generated["actual"], values[250:260])
    run("explain", folder / "run", file, "--at", 250, "--forced", "-o", tmp_path / "x.json", "--force")
    forced = explained(tmp_path / "x.json")
    np.testing.assert_allclose(forced["mean"], model.explain(values[:250], values[250:260]).mean)
    assert not np.allclose(forced["mean"], generated["mean"])
    # Without a row: along the last values of the file.
    run("explain", folder / "run", file, "--forced", "-o", tmp_path / "x.json", "--force")
    assert explained(tmp_path / "x.json")["place"] == f"b.csv, after row {ROWS - 10}"
    np.testing.assert_allclose(explained(tmp_path / "x.json")["actual"], values[-10:])


def test_rows_are_counted_across_gaps(workspace, tmp_path):
    folder, _ = workspace
    result = run(
        "explain", folder / "run", folder / "data" / "a.csv", "--at", 350, "-o", tmp_path / "x.json", "--force"
    )
    assert "1 gap in time" in result.stderr
    np.testing.assert_allclose(explained(tmp_path / "x.json")["context"], RIG[0][430:450], atol=1e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at", 305], "A forecast needs the 20 rows before it. Got 5 in a.csv (rows 301 to 600) up to row 305"),
        (["--at", 601], "--at must be a row of the recording. Got 601 for a.csv, which has the rows 1 to 300, 301 to"),
        (["--at", 595, "--forced"], "--forced needs the 10 rows that came after. Got 5 in a.csv"),
    ],
)
def test_rows_that_cannot_be_explained_are_said(workspace, words, message):
    folder, _ = workspace
    assert message in run("explain", folder / "run", folder / "data" / "a.csv", *words, code=1).stderr


def test_every_recording_of_a_folder_is_explained(workspace, tmp_path):
    folder, _ = workspace
    words = ["explain", folder / "run", folder / "data"]
    output = run(*words).stdout.splitlines()
    assert output.pop(0) == "each step from the forecast so far"
    assert [line.split(",")[0] for line in output[2:4]] == ["a.csv", "b.csv"]
    assert output[4].startswith("held-out variance explained and the change of the law are over one-step predictions")
    for kind in ("html", "json", "csv"):
        run(*words, "-o", tmp_path / f"x.{kind}")
    contents = explained(tmp_path / "x.json")
    assert [content["place"] for content in contents] == ["a.csv, after row 600", f"b.csv, after row {ROWS}"]
    model = Forecaster.load(folder / "run" / "deep")
    law = model.law_of(folder / "data" / "b.csv")
    np.testing.assert_allclose(contents[1]["overall"]["parameters"], law.parameters)
    overall, local = law.shares()
    assert re.split("  +", output[3])[1:3] == [f"{100 * local:.0f} %", f"{100 * overall:.0f} %"]
    enough = sum(np.mean(c["overall"]["explained"]) >= np.mean(c["overall"]["local"]) for c in contents)
    sentence = f"in {enough} of 2 one law for the whole recording is enough"
    assert any(line.startswith(sentence) for line in output) == (enough > 0)
    rows = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    assert len(rows) == 2 * 10 * 2
    assert rows[-1]["recording"] == f"b.csv, after row {ROWS}"
    page = (tmp_path / "x.html").read_text()
    assert "a.csv, after row 600" in page
    assert f"b.csv, after row {ROWS}" in page
    assert "<h1>data, each step from the forecast so far</h1>" in page
    assert page.count("Law of the recording as a whole") == 4
    refused = run(*words, "-o", tmp_path / "x.png", code=1).stderr
    assert "A .png file holds one explanation. Got 2 recordings; write .html, .json or .csv" in refused


@pytest.mark.parametrize("bad", [True, False])
def test_files_that_cannot_be_explained_are_skipped_and_listed(workspace, tmp_path, bad):
    folder, _ = workspace
    good = (folder / "data" / "b.csv").read_text()
    (tmp_path / "b.csv").write_text(good)
    (tmp_path / "c.csv").write_text(good)
    (tmp_path / "short.csv").write_text("\n".join(good.splitlines()[:9]) + "\n")
    if bad:
        (tmp_path / "a.csv").write_text("when,left\n2024-05-01 12:00:00,1\n")
    result = run("explain", folder / "run", tmp_path)
    rows = [line.split(",")[0] for line in result.stdout.partition("---\n")[2].splitlines()]
    assert rows[:2] == ["b.csv", "c.csv"]
    assert f"{1 + bad} of {3 + bad} recordings {'are' if bad else 'is'} skipped:" in result.stderr
    assert "short.csv: A forecast needs the 20 rows before it. Got 8 in short.csv" in result.stderr
    assert ("a.csv: Every channel must be a column of a.csv. Got 'right'" in result.stderr) == bad
    # The same explanations as without the others; of a file alone it is an error.
    run("explain", folder / "run", tmp_path, "-o", tmp_path / "x.json")
    run("explain", folder / "run", folder / "data" / "b.csv", "-o", tmp_path / "y.json")
    assert explained(tmp_path / "x.json")[0] == explained(tmp_path / "y.json")
    assert "needs the 20 rows" in run("explain", folder / "run", tmp_path / "short.csv", code=1).stderr


def test_a_folder_of_which_nothing_can_be_explained_is_an_error(workspace, tmp_path):
    folder, _ = workspace
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("when,left\n2024-05-01 12:00:00,1\n")
    assert "Got 'right'; its columns are when, left" in run("explain", folder / "run", tmp_path, code=1).stderr
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\n".join((folder / "data" / "b.csv").read_text().splitlines()[:9]) + "\n")
    assert "Got 8 in a.csv up to row 8" in run("explain", folder / "run", tmp_path, code=1).stderr


def test_a_page_of_many_recordings_shows_the_worst(workspace, tmp_path, monkeypatch):
    folder, _ = workspace
    monkeypatch.setattr("pellucid.series.report._PANELS", 4)
    for i in range(3):
        (tmp_path / f"{i}.csv").write_bytes((folder / "data" / "b.csv").read_bytes())
    result = run("explain", folder / "run", tmp_path, "--pattern", "*.csv", "-o", tmp_path / "x.html")
    assert "x.html shows the 2 that are least close to their witnesses; write .json or .csv for all 3" in result.stderr
