"""`pellucid explain`: on the terminal, as files, alone and many at once."""

import csv
import json
from dataclasses import replace

import pytest
from blockers import blockers
from cli.runner import run

from pellucid.molecules import PropertyModel
from pellucid.series import Forecaster, read

pytestmark = pytest.mark.slow


def test_an_explanation_on_the_terminal_and_in_files(place, tmp_path):
    smiles = blockers().smiles[0]
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
    (tmp_path / "few.csv").write_text("smiles\n" + "\n".join(blockers().smiles[:3]) + "\nC1CC\n")
    result = run("explain", place / "run", tmp_path / "few.csv", "-o", tmp_path / "x.html", "-o", tmp_path / "x.json")
    assert "few.csv: 1 of 4 rows cannot be used; the first is row 5: not a valid SMILES." in result.stderr
    assert [item["smiles"] for item in json.loads((tmp_path / "x.json").read_text())] == list(blockers().smiles[:3])
    assert all(smiles in (tmp_path / "x.html").read_text() for smiles in blockers().smiles[:3])
    outs = ["-o", tmp_path / "y.json", "-o", tmp_path / "x.svg"]
    few = run("explain", place / "run", tmp_path / "few.csv", *outs, code=1).stderr
    assert "holds one explanation. Got 3 molecules" in few
    assert not (tmp_path / "y.json").exists()


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
        (["run", "CCO", "--at", 3], 1, "--at is for series. Got a molecules model"),
        (["run", "CCO", "--forced"], 1, "--forced is for series"),
    ],
)
def test_what_cannot_be_explained_is_said(place, monkeypatch, words, code, message):
    monkeypatch.chdir(place)
    assert message in " ".join(run("explain", *words, code=code).stderr.replace("│", " ").split())


def test_molecules_without_neighbors_have_no_tree(place, tmp_path):
    smiles = blockers().smiles[0]
    (tmp_path / "new.smi").write_text(f"CCO ethanol\n{smiles}\tM0\n")
    result = run("predict", place / "run", tmp_path / "new.smi", "--trust")
    alone, known = csv.DictReader(result.stdout.splitlines())
    assert (alone["name"], alone["members"], alone["note"]) == (
        "ethanol",
        "1",
        "no similar molecule in the training data",
    )
    noun = PropertyModel.load(place / "run" / "game").witness_noun
    kinds = (noun, "deviation", f"{noun}-network bound 90 %")
    assert [alone[f"{kind}: activity"] for kind in kinds] == ["", "", ""]
    assert float(alone["predicted: activity"]) > 0
    assert known["note"] == ""
    assert all(float(known[f"{kind}: activity"]) >= 0 for kind in kinds)
    assert "1 of 2 molecules have too few similar ones" in result.stderr
    unknown = run("predict", place / "run", tmp_path / "new.smi", "--trust", "--level", 0.999)
    assert "There are no bounds" in unknown.stderr
    assert "ask for less confidence" in unknown.stderr
    assert "add one" in run("predict", place / "run", tmp_path / "new.smi", "--level", 0.8, code=1).stderr


def test_explanations_of_a_table_keep_names(place, tmp_path):
    smiles = blockers().smiles
    (tmp_path / "few.csv").write_text(f"code,id,smiles\nx1,A,{smiles[0]}\nx2,B,{smiles[5]}\nx3,C,{smiles[0]}\n")
    run("explain", place / "run", tmp_path / "few.csv", "-o", tmp_path / "x.json", "-o", tmp_path / "x.html")
    assert [item["place"] for item in json.loads((tmp_path / "x.json").read_text())] == ["A, C (row 2, 4)", "B (row 3)"]
    assert "A, C (row 2, 4)" in (tmp_path / "x.html").read_text()
    assert "x2 (row 3)\n" in run("explain", place / "run", tmp_path / "few.csv", "--names", "code").stdout
    series = run("explain", place / "series", place / "recordings" / "a.csv", "-o", tmp_path / "s.html")
    assert series.exit_code == 0
    assert "a.csv, after row 2500" in (tmp_path / "s.html").read_text()
    assert "must end in .html" in run("report", place / "run", "-o", tmp_path / "x.pdf", code=2).stderr
