"""`pellucid compare`: runs side by side, with a warning where they were tested on different data."""

import csv
import json
import shutil

import pytest
from blockers import blockers
from cli.runner import ACTIVITY, SMALL, run

from pellucid.molecules import PropertyModel
from pellucid.molecules.splitting import split

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("tuned")
def test_runs_are_compared(place):
    shown = run("compare", place / "run", place / "auto").stdout
    summary = json.loads((place / "run" / "summary.json").read_text())
    line = next(line for line in shown.splitlines() if line.startswith("RMSE of the network"))
    errors = [summary["models"][name]["scores"]["accuracy"] for name in ("DEEP", "GAME")]
    assert [float(cell) for cell in line.split()[-4:-2]] == [float(f"{error:.4g}") for error in errors]
    shown = run("compare", place / "run", place / "auto", "--data", place / "assay.csv").stdout
    line = next(line for line in shown.splitlines() if line.startswith("deviation"))
    table = blockers().select(range(0, 1017, 5))
    again = PropertyModel.load(place / "run" / "game").evaluate(table)
    assert float(line.split()[-3]) == pytest.approx(again.deviation, rel=1e-3)
    other = run("compare", place / "run", place / "series", code=1).stderr
    assert "if they have the same outputs. Got molecules (activity) and series (left, right); choose others" in other
    assert "which has none" in run("compare", place / "run", place, code=1).stderr


def test_data_for_both_runs_are_counted_and_rejected_rows_are_reported(place, tmp_path):
    rows = (place / "assay.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([*rows[:4], "M9,C1CC,5.0,0", "M10,CCCCO,>10,0"]) + "\n")
    result = run("compare", place / "run", place / "run", "--data", tmp_path / "new.csv")
    assert "\non 3 molecules of new.csv " in result.stdout
    assert "note: The test is small (3): differences between the models may be chance." in result.stdout
    assert result.stderr == "pellucid: new.csv: 2 of 5 rows cannot be used; the first is row 5: not a valid SMILES.\n"
    shown = run("compare", place / "series", place / "series", "--data", place / "recordings" / "a.csv").stdout
    assert "\non 2,500 rows of a.csv " in shown


DIFFERENT = "tested on different data"


def test_runs_on_the_same_test_data_are_compared_without_a_warning(place, tmp_path):
    # The same rows in another file, in columns of another order: the same split, and the same test molecules.
    with (place / "assay.csv").open(newline="") as stream:
        rows = [[row["activity"], row["smiles"]] for row in csv.DictReader(stream)]
    with (tmp_path / "other.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["activity", "smiles"], *rows])
    run("train", "molecules", tmp_path / "other.csv", *ACTIVITY, "-o", tmp_path / "same", *SMALL)
    assert run("compare", place / "run", tmp_path / "same").stderr == ""
    run("train", "molecules", place / "assay.csv", *ACTIVITY, "--seed", 1, "-o", tmp_path / "other", *SMALL)
    assert DIFFERENT in run("compare", place / "run", tmp_path / "other").stderr
    # A measured value that was corrected makes other test data of the same molecules.
    test = split(blockers().select(range(0, 1017, 5)), 0).test.smiles[0]
    rows = [[8.125 if smiles == test else value, smiles] for value, smiles in rows]
    with (tmp_path / "other.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["activity", "smiles"], *rows])
    run("train", "molecules", tmp_path / "other.csv", *ACTIVITY, "-o", tmp_path / "mended", *SMALL)
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


def test_of_settings_within_settings_those_that_differ_are_named(place, tmp_path):
    shutil.copytree(place / "run", tmp_path / "other")
    summary = json.loads((tmp_path / "other" / "summary.json").read_text())
    least = summary["settings"]["similar"]["threshold"]
    summary["settings"]["similar"]["threshold"] = 0.25
    (tmp_path / "other" / "summary.json").write_text(json.dumps(summary))
    shown = run("compare", place / "run", tmp_path / "other").stdout
    assert shown.splitlines()[-1] == f"settings that differ: threshold of similar: {least} and 0.25"
