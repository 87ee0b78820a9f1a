"""`pellucid score`, as a person would type it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from cli.runner import run
from scipy import signal

from pellucid.series import Forecaster, simulate_rig
from pellucid.series.monitoring import SeriesAssessing, assess_files
from pellucid.series.reading import SeriesReading

pytestmark = pytest.mark.slow

LEARNED, FILES, BEGIN = 6, 50, 38
SAVED = Path(__file__).parent.parent / "saved" / "v0.1"
HEALTHY = ["--healthy", "30", "--level", "0.95", "--sequences", "10", "--quiet"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A run on a healthy machine, and recordings with a fault of the second channel: other dynamics, just as loud."""
    folder = tmp_path_factory.mktemp("score")
    rig = simulate_rig(files=LEARNED + FILES, rows=1200, bearings=2, wear=0.0, seed=0)
    for name in ("learned", "machine", "sound"):
        (folder / name).mkdir()
    for i, table in enumerate(rig.values):
        if i >= LEARNED + BEGIN:
            rough = signal.lfilter([1.0, -0.6], [1.0], table[:, 1])
            table[:, 1] = rough * table[:, 1].std() / rough.std()
        file = folder / ("learned" if i < LEARNED else "machine") / f"{i}.csv"
        np.savetxt(file, table, delimiter=";", header="left;right", comments="", fmt="%.7g")
    run("train", "series", folder / "learned", "--context", 20, "--horizon", 10, "--radius", 4, "--width", 16,
        "--epochs", 6, "--batch-size", 32, "--learning-rate", 0.02, "-o", folder / "run", "--quiet")  # fmt: skip
    return folder


def test_the_fault_is_named_with_its_channel_and_its_time(workspace, tmp_path):
    outs = [tmp_path / name for name in ("a.csv", "a.json", "a.html", "a.svg", "a.png")]
    result = run("score", workspace / "run", workspace / "machine", *HEALTHY, *(w for out in outs for w in ("-o", out)))
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


def test_healthy_recordings_from_elsewhere_or_by_their_places(workspace, tmp_path):
    by_number = run("score", workspace / "run", workspace / "machine", *HEALTHY, "-o", tmp_path / "a.json")
    assert "calibrated on 30" in by_number.output
    for i in range(LEARNED, LEARNED + 30):
        (workspace / "sound" / f"{i}.csv").write_bytes((workspace / "machine" / f"{i}.csv").read_bytes())
    options = [*HEALTHY[2:], "-o"]
    for healthy, name in ((workspace / "sound", "b"), ("0:30", "c"), ("0.6", "d")):
        run(
            "score", workspace / "run", workspace / "machine", "--healthy", healthy, *options, tmp_path / f"{name}.json"
        )
    contents = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "abcd"]
    assert [content["limit"] for content in contents[1:]] == [contents[0]["limit"]] * 3
    assert [len(content["healthy"]) for content in contents] == [30, 0, 30, 30]


def test_one_long_file_is_cut(workspace, tmp_path):
    tables = [
        np.loadtxt(workspace / "machine" / f"{i}.csv", delimiter=";", skiprows=1) for i in range(LEARNED, LEARNED + 8)
    ]
    np.savetxt(tmp_path / "long.csv", np.concatenate(tables), delimiter=";", header="left;right", comments="")
    alone = run("score", workspace / "run", tmp_path / "long.csv", code=1)
    assert "There must be several recordings to follow a machine over time. Got 1; cut it into pieces" in alone.stderr
    assert "with --every" in alone.stderr
    options = ("--every", 300, "--healthy", 20, "--level", 0.9)
    result = run("score", workspace / "run", tmp_path / "long.csv", *options)
    assert result.output.startswith("32 recordings")


def values_of(workspace, count):
    """The first recordings of the machine, one after the other."""
    tables = [np.loadtxt(workspace / "machine" / f"{LEARNED + i}.csv", delimiter=";", skiprows=1) for i in range(count)]
    return np.concatenate(tables)


def write(path, values, **columns):
    """A table with further columns of texts before the channels."""
    lines = [";".join([*columns, "left", "right"])]
    cells = zip(*columns.values(), strict=True) if columns else [()] * len(values)
    lines += [";".join([*map(str, own), *(f"{v:.7g}" for v in row)]) for own, row in zip(cells, values, strict=True)]
    path.write_text("\n".join(lines) + "\n")


CUT = ("--every", 300, "--healthy", 10, "--level", 0.9, "--sequences", 3)


def test_units_of_one_table_are_not_strung_together(workspace, tmp_path):
    values = values_of(workspace, 3)
    times = [10 * i for i in range(1200)]
    write(tmp_path / "fleet.csv", values, machine=["A"] * 1200 + ["B"] * 1200 + ["C"] * 1200, seconds=times * 3)
    result = run("score", workspace / "run", tmp_path / "fleet.csv", *CUT, code=1)
    message = " ".join(result.stderr.split())
    assert "Pieces of --every rows must be of one machine. Got 3 units in fleet.csv (machine A, machine B, " in message
    assert "or leave --every out if each unit is one recording of the same machine" in message
    result = run("score", workspace / "run", tmp_path / "fleet.csv", "--healthy", 2, "--sequences", 3)
    assert "note: fleet.csv: 3 units (machine A, machine B, machine C), each taken for a recording of" in result.output
    # Units in files of their own are followed one by one.
    write(tmp_path / "a.csv", values[:1200], machine=["A"] * 1200, seconds=times)
    assert run("score", workspace / "run", tmp_path / "a.csv", *CUT[:2]).output.startswith("4 recordings")


def test_gaps_blanks_and_rows_that_are_not_used_are_told(workspace, tmp_path):
    values = values_of(workspace, 4)[:4700]
    seconds = np.arange(4700) * 10
    seconds[3100:] += 5000  # after ten pieces of 300 rows and 100 more
    seconds[3250:] += 5000  # 150 rows between two gaps
    write(tmp_path / "long.csv", values, seconds=seconds)
    result = run("score", workspace / "run", tmp_path / "long.csv", *CUT)
    # 3,100 = 10 * 300 + 100; 150; 1,450 = 4 * 300 + 250.
    assert result.output.startswith("14 recordings")
    assert "note: long.csv: 2 gaps in time, the longest" in result.output
    assert "to ignore gaps would join what is on either side" in result.output
    assert (
        "note: 500 rows are not used: 350 at the ends of recordings, too few for a further piece; 150 in 1 part of "
        "fewer than 300 rows" in result.output
    )
    out = tmp_path / "a.json"
    joined = run("score", workspace / "run", tmp_path / "long.csv", *CUT, "--gaps", "ignore", "-o", out)
    assert joined.output.startswith("15 recordings")
    assert "note: 200 rows are not used: 200 at the ends" in joined.output
    names = json.loads(out.read_text())["recordings"]
    assert names[10] == "long.csv, rows 3001 to 3300"
    run("score", workspace / "run", tmp_path / "long.csv", *CUT, "-o", out, "--force")
    # Rows are counted in the file, not in what was cut from it at a gap.
    assert json.loads(out.read_text())["recordings"][10] == "long.csv, rows 3251 to 3550"


def test_blanks_are_filled_as_asked(workspace, tmp_path):
    write(tmp_path / "long.csv", values_of(workspace, 4))
    lines = (tmp_path / "long.csv").read_text().splitlines()
    lines[100] = ";1.0"
    (tmp_path / "long.csv").write_text("\n".join(lines))
    assert "--fill linear" in run("score", workspace / "run", tmp_path / "long.csv", *CUT, code=1).stderr
    result = run("score", workspace / "run", tmp_path / "long.csv", *CUT, "--fill", "linear")
    assert result.output.startswith("16 recordings")
    assert "note: long.csv: 1 blank cell filled by straight lines (left 1)" in result.output
    split = run("score", workspace / "run", tmp_path / "long.csv", *CUT, "--fill", "split")
    assert "note: long.csv: 1 row with blanks cut out" in split.output
    # 99 rows before the blank, and 4,700 = 15 * 300 + 200 after it.
    assert split.output.startswith("15 recordings")
    assert "299 rows are not used" in split.output


def test_a_file_that_is_no_recording_is_told_with_the_cure(workspace, tmp_path):
    for i in range(3):
        write(tmp_path / f"{i}.csv", values_of(workspace, 1))
    (tmp_path / "readme.md").write_text("# The test rig\n\nWe recorded this in May, twice.\n")
    stderr = " ".join(run("score", workspace / "run", tmp_path, "--sequences", 3, code=1).stderr.split())
    assert stderr.endswith("If readme.md is no recording, leave it out with --pattern.")
    result = run("score", workspace / "run", tmp_path, "--sequences", 3, "--pattern", "*.csv")
    assert result.output.startswith("3 recordings")


def test_few_healthy_recordings_are_told(workspace):
    few = run("score", workspace / "run", workspace / "machine", "--healthy", 3, "--level", 0.5, "--sequences", 3)
    assert (
        "note: 3 healthy recordings are hardly enough to tell their standard deviation, so that distances in healthy "
        "sd mean little; name 10 or more with --healthy" in few.output
    )
    one = run("score", workspace / "run", workspace / "machine", "--healthy", 1, "--sequences", 3)
    assert "1 healthy recording is enough for 50 %" in one.output
    assert "note: 1 healthy recording is hardly enough" in one.output
    enough = run("score", workspace / "run", workspace / "machine", "--healthy", 10, "--level", 0.5, "--sequences", 3)
    assert "note: 10" not in enough.output


def test_levels_that_are_not_known_are_told_with_the_cure(workspace):
    result = run("score", workspace / "run", workspace / "machine", "--healthy", 12, "--sequences", 5)
    assert "Alarm levels of 99 % are not known: 12 healthy recordings are enough for 92.3 %" in result.output
    assert "name more of them with --healthy, or lower --level" in result.output


def test_healthy_recordings_that_were_learned_from_are_told(workspace, tmp_path):
    options = ("--healthy", workspace / "learned", "--level", 0.8, "--sequences", 5)
    result = run("score", workspace / "run", workspace / "machine", *options)
    assert "the run was trained on a folder of the same name, learned: if the healthy recordings are" in result.stderr
    others = run("score", workspace / "run", workspace / "machine", *HEALTHY)
    assert "trained on" not in others.stderr
    # A file of the same name is called a file, and one of another name is no reason to warn.
    write(tmp_path / "long.csv", values_of(workspace, 8))
    model, reading = Forecaster.load(workspace / "run" / "game"), SeriesReading()
    settings = SeriesAssessing(every=300, healthy="20", level=0.9, sequences=1)
    sentences = []
    assess_files(model, tmp_path / "long.csv", reading, settings, trained_on="long.csv", warn=sentences.append)
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        "the run was trained on a file of the same name, long.csv"
    ]
    sentences.clear()
    assess_files(model, tmp_path / "long.csv", reading, settings, trained_on="other.csv", warn=sentences.append)
    assert sentences == []


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--healthy", "nowhere"], 1, "--healthy must be a number of recordings, a share such as 0.2, places such as"),
        (["--healthy", "60:70"], 1, "There must be healthy recordings to compare with. Got none of the 50"),
        (["--healthy", "0"], 1, "--healthy must be a whole number >= 1. Got 0"),
        (["--healthy", "60:70"], 1, "Got none of the 50 by 60:70; name others with --healthy"),
        (["--healthy", "1.5"], 1, "or a folder. Got 1.5, which is no share; a share is more than 0 and at most 1."),
        (["--persistence", "four"], 1, "--persistence must be K/N with K from 1 to N, as in 4/5. Got 'four'"),
        (["--persistence", "6/5"], 1, "--persistence must be K/N with K from 1 to N, as in 4/5. Got '6/5'"),
        (["--persistence", "0/5"], 1, "--persistence must be K/N with K from 1 to N, as in 4/5. Got '0/5'"),
        (["--level", "2"], 1, "--level must be between 0 and 1. Got 2"),
        (["-o", "scores.txt"], 2, "must end in one of .html, .json, .csv, .svg, .png, not 'scores.txt'"),
        (["--pattern", "*.dat"], 1, "The folder must hold files that match '*.dat'. Got none in"),
        (["--every", "20"], 1, "--every must be a whole number >= 30. Got 20"),
    ],
)
def test_what_cannot_be_scored_is_refused(workspace, options, code, message):
    result = run("score", workspace / "run", workspace / "machine", "--sequences", 2, *options, code=code)
    assert message in " ".join(result.stderr.split())


def test_other_channels_and_other_models_are_refused(workspace, tmp_path):
    np.savetxt(tmp_path / "a.csv", np.random.default_rng(0).normal(size=(90, 2)), delimiter=";", header="up;down",
               comments="")  # fmt: skip
    result = run("score", workspace / "run", tmp_path / "a.csv", code=1)
    assert "Every channel must be a column of a.csv. Got 'left'; its columns are up, down" in result.stderr
    result = run("score", SAVED / "molecules-run", workspace / "machine", code=1)
    assert "RUN must be a series model. Got" in result.stderr
    assert "molecules-run, a molecules model; train one with pellucid train series" in " ".join(result.stderr.split())
