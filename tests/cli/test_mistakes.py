"""Plain mistakes get a sentence, and what a terminal would obey is written out."""

import csv
import errno
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.runner import exit_code, run

from pellucid.text_tables import aligned, printable

SAVED = Path(__file__).parents[1] / "saved" / "v0.1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(SAVED, tmp_path / "saved")
    monkeypatch.chdir(tmp_path / "saved")
    values = np.loadtxt("recordings/a.csv", delimiter=",", skiprows=1)
    np.save("half.npy", values.astype(np.float16))
    np.save("long.npy", values.astype(np.longdouble))
    np.save("large.npy", values * 1e200)
    return tmp_path / "saved"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "series-run", "recordings", "--pattern", ""], "--pattern must be a pattern of names"),
        (["train", "series", "recordings", "--pattern", "/etc/*"], "--pattern must be a pattern of names"),
        (["score", "series-run", "recordings", "--pattern", "a**b"], "--pattern must be a pattern of names"),
        (["train", "series", "recordings", "--width", 2**63 - 1], "--width must be a whole number between 1 and 16384"),
        (["train", "molecules", "assay.csv", "--width", 2**63 - 1], "--width must be a whole number between 1 and 163"),
        (["train", "series", "recordings", "--level", "1e-320"], "--level must be a confidence of at least 0.001"),
        (["explain", "series-run", "recordings", "--level", "1e-320"], "--level must be a confidence of at least 0.00"),
        (["train", "series", "recordings", "--seed", 2**70], "--seed"),
        (["train", "series", "recordings", "--learning-rate", "1e300"], "--learning-rate must be at most 1e+30"),
        (["near", "autoencoder", "CCO", "--count", 10**12], "--count must be a whole number between 1 and 1000000"),
        (["train", "series", "half.npy"], "must be of float32, float64 or whole numbers. Got float16; convert it"),
        (["train", "series", "large.npy"], "Recordings must have no values beyond 1e+30"),
        (["predict", "molecules-run", "C" * 300], "which does not exist"),
    ],
)
def test_a_mistake_is_a_sentence(folder, words, message):
    result = run(*words, *(["-o", "run"] if words[0] == "train" else []), code=1)
    assert message in result.stderr
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "", "assay.csv"],
        ["predict", "molecules-run", ""],
        ["predict", "molecules-run", "assay.csv", "--out="],
        ["explain", "molecules-run", "CCO", "-o", "x.json", "-o", ""],
        ["train", "series", "recordings", "-o", ""],
        ["train", "series", "recordings", "-o", "run", "--test", ""],
        ["train", "molecules", "assay.csv", "-o", "run", "--pool", ""],
        ["compare", "molecules-run", "molecules-run", "--data="],
        ["demo", "-o", ""],
    ],
)
def test_an_empty_path_is_not_the_current_folder(folder, words):
    before = sorted(folder.iterdir())
    assert "must be a path. Got ''." in run(*words, code=2).stderr
    assert sorted(folder.iterdir()) == before


def test_columns_and_recordings_of_no_name_are_refused(folder):
    error = run("score", "series-run", "recordings", "--healthy", "", code=1).stderr
    assert "--healthy must be a number of recordings" in " ".join(error.split())
    assert run("predict", "molecules-run", ".", code=1).stderr.startswith("pellucid: ")  # a dot is a path
    assert "--targets must name columns. Got ''" in run("train", "molecules", "assay.csv", "-t", "", code=1).stderr


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="has no longer numbers")
def test_long_numbers_are_refused_before_anything_is_learned(folder):
    assert "whole numbers. Got float128" in run("train", "series", "long.npy", "-o", "run", code=1).stderr


@pytest.mark.slow
def test_a_molecule_may_be_longer_than_a_name_of_a_file(folder):
    assert "C" * 300 in run("explain", "molecules-run", "C" * 300).stdout


@pytest.mark.slow
def test_predictions_are_not_predicted_again(folder):
    run("predict", "molecules-run", "assay.csv", "-o", "predicted.csv")
    error = run("predict", "molecules-run", "predicted.csv", code=1).stderr
    assert "predicted.csv must have no column that predictions are written into. Got 'predicted: activity'" in error


@pytest.mark.slow
def test_salts_are_predicted_as_their_largest_fragment_and_say_so(folder):
    (folder / "salts.csv").write_text("smiles\nCC(=O)O\n[Na+].CC(=O)O\n")
    result = run("predict", "molecules-run", "salts.csv")
    acid, salt = csv.DictReader(result.stdout.splitlines())
    assert salt["predicted: activity"] == acid["predicted: activity"]
    assert (acid["predicted as"], salt["predicted as"]) == ("", "CC(=O)O")
    assert "1 of 2 rows, the first of them row 3, hold several fragments" in result.stderr
    assert "the largest organic one is explained" in run("explain", "molecules-run", "[Na+].CC(=O)O").stderr
    assert "1 of 2 molecules, the first in row 3, of several fragments" in run(
        "explain", "molecules-run", "salts.csv"
    ).stderr  # fmt: skip
    assert "predicted as" not in run("predict", "molecules-run", "assay.csv").stdout


def test_control_characters_are_written_out(folder, monkeypatch, capsys):
    evil = "evil\x1b[31m\x07\u202e\n.csv"
    code = exit_code(monkeypatch, "predict", "molecules-run", evil)
    assert code == 1
    error = capsys.readouterr().err
    assert r"evil\x1b[31m\x07\u202e" in error
    assert not set("\x1b\x07\u202e") & set(error)
    assert exit_code(monkeypatch, "explain", "molecules-run", "CCO", "-o", "x\x1b.pdf") == 2
    assert "\x1b" not in capsys.readouterr().err
    (folder / "names.csv").write_text("smiles,a\x1b[31m\nCCO,1\n")
    words = ["predict", "molecules-run", "names.csv"]
    assert exit_code(monkeypatch, *words) == 0
    assert "a\x1b[31m" in capsys.readouterr().out  # a program gets the table as it is
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    assert exit_code(monkeypatch, *words) == 0
    assert r"a\x1b[31m" in capsys.readouterr().out


def test_what_is_written_out():
    assert printable("a\tb\nc\x00\x9b\udcff", keep="\n") == "a\\tb\nc\\x00\\x9b\\xff"
    assert printable("é 名前 …") == "é 名前 …"
    assert aligned(["a\nb"], [["\x1b"]]) == "a\\nb\n----\n\\x1b"


def test_a_full_disk_that_names_no_file_has_a_cure(monkeypatch):
    def full(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pellucid.summaries.read", full)
    error = " ".join(run("compare", "a", "b", code=1).stderr.split())
    assert error.startswith("pellucid: There must be room on the disk: No space left on device. Free some")
    assert "NUMBA_CACHE_DIR" in error
