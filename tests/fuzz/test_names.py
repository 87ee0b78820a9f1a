"""Hostile names of files, folders and columns: they end where they say, and no terminal obeys them."""

import csv
import os
import random
import unicodedata

import pytest
from cli.runner import run
from toy import CurveDomain

from pellucid import registry, summaries

pytestmark = pytest.mark.slow

NAMES = (
    "a\x1b[31mred", "bell\x07", "two\nlines", "tab\there", "back\rward", "\u202egnp", "c1\x9b31m",
    "\u2066isolate\u2069", "~", "~root", "a::b", "s3::z", "s3:z", "simplecache::x", "file:", "memory:", "-o", "--force",
    "-", "%s%n", "{0}{x}", "$(touch pwned)", "`id`", "'quote\"", "<script>alert(1)<", "&amp;", "=1+1", "@SUM(A1)", "+1",
    " blank ", "é", "名前", "\udcff", "x" * 200, "..a", "a;b", "a,b", "a|b", "a*b", "a[b", "?", "#", "\\",
)  # fmt: skip


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {"curves": CurveDomain()})


def shown(*words, code=0):
    """What a command prints, after a look at every character of it."""
    result = run(*words, code=code)
    assert "Traceback" not in result.output
    strange = {c for c in result.output if unicodedata.category(c) in ("Cc", "Cf", "Cs")} - {"\n", "\t"}
    assert not strange, (words, strange)
    return result


def named(seed, size):
    names = list(NAMES[seed::4])
    if size == "large":
        names = list(NAMES)
        generator = random.Random(seed)
        signs = "".join(NAMES) + "".join(map(chr, range(1, 32))) + "\x7f\x80\x9f\u200f\ufeff"
        names += ["".join(generator.sample(signs, 12)).replace("/", "").replace("\0", "") for _ in range(200)]
    return [name for name in names if name not in (".", "..")]


def table(path, column):
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = [[i / 150 - 1, (i / 150 - 1) ** 2] for i in range(300)]
        csv.writer(stream).writerows([["x", column], *rows])


@pytest.fixture(scope="module")
def curve_run(tmp_path_factory):
    """A run, and the table that it learned from."""
    folder = tmp_path_factory.mktemp("names")
    table(folder / "curve.csv", "y")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_registered", {"curves": CurveDomain()})
        run("train", "curves", folder / "curve.csv", "-o", folder / "run", "--epochs", 1, "--game", "none", "--quiet")
    return folder


def test_output_ends_where_it_is_sent(curve_run, tmp_path, monkeypatch, fuzz_size, tally):
    monkeypatch.chdir(tmp_path)
    names = named(0, fuzz_size)
    counts = tally("hostile names of files", len(names), len(names))
    for number, name in enumerate(names):
        shown("predict", curve_run / "run", curve_run / "curve.csv", "-o", f"./{name}.csv")
        shown("predict", curve_run / "run", curve_run / "curve.csv", "-o", f"./{name}.csv", code=1)
        shown("predict", curve_run / "run", f"./{name}.csv", code=1)  # it has no column y
        shown("predict", curve_run / "run", f"./{name} is absent", code=1)
        counts.add(number, "used")
    assert sorted(os.listdir(tmp_path)) == sorted({f"{name}.csv" for name in names})


def test_columns_have_any_name(curve_run, tmp_path, fuzz_size, tally):
    counts = tally("hostile names of columns", 0, 0)
    for i, name in enumerate(named(1, fuzz_size)):
        path = tmp_path / f"{i}.csv"
        if "\udcff" in name or not name.strip():
            continue
        table(path, name)
        shown("predict", curve_run / "run", path, code=1)
        shown("predict", curve_run / "run", path, f"--column={name}", code=0 if name == name.strip() else 1)
        shown("audit", path, code=1)
        counts.add(i, "used")


@pytest.mark.parametrize("name", ["~", "a::b", "s3::z", "-o", "two\nlines \x1b[31m"])
def test_runs_end_where_they_are_sent(curve_run, tmp_path, monkeypatch, name, tally):
    monkeypatch.chdir(tmp_path)
    words = [
        "train",
        "curves",
        curve_run / "curve.csv",
        f"--out={name}/run",
        "--epochs",
        1,
        "--game",
        "none",
        "--quiet",
    ]
    text = shown(*words).stdout
    assert os.listdir(tmp_path) == [name]
    folder = tmp_path / name / "run"
    assert {path.name for path in (folder / "checkpoints" / "deep").iterdir()} == {
        "identity.json", "history.json", "result.ckpt",
    }  # fmt: skip
    if name == "-o":
        assert "next:    pellucid explain ./-o/run new.csv" in text
    before = summaries.read(folder)
    shown(*words, "--resume")
    assert summaries.read(folder).models["DEEP"].scores == before.models["DEEP"].scores
    shown("report", f"./{name}/run")
    shown("compare", f"./{name}/run", curve_run / "run")
    (tmp_path / name / "out").mkdir()
    shown("explain", f"./{name}/run", curve_run / "curve.csv", "-o", f"./{name}/out/x.json")
    tally("hostile names of runs", 1, 1).add(0, "used")
