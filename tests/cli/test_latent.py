"""The latent space on the command line."""

import csv
import subprocess
import sys

import pytest
from blockers import blockers
from typer.testing import CliRunner

from pellucid.cli import command_line
from pellucid.molecules import SimilarityRule
from pellucid.molecules.vae import Corpus, JunctionTreeVAE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    smiles = list(blockers().smiles[:30])
    rule = SimilarityRule(analogs=False, threshold=0.3)
    model = JunctionTreeVAE(similar=rule, width=8, latent=4, epochs=1, game=None, centers=5, pool=30)
    home = tmp_path_factory.mktemp("latent")
    model.fit(Corpus.of(smiles), validation=0, progress=False).save(home / "model")
    rows = "".join(f"{text},{len(text)}\n" for text in smiles)
    (home / "data.csv").write_text(f"SMILES,length\n{rows}C[C@H](N)O,\n")
    return home


def call(*words):
    result = CliRunner().invoke(command_line(), [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


def test_points_neighbors_and_a_search(folder):
    model, data = folder / "model", folder / "data.csv"
    code, text, warnings = call("encode", model, data)
    assert code == 0
    loaded = JunctionTreeVAE.load(model)
    mean = loaded.encode(blockers().smiles[0]).mean[0]
    head, first, *_ = text.splitlines()
    assert head.split(",")[:4] == ["SMILES", "length", "mean of tree 1", "mean of tree 2"]
    assert [float(cell) for cell in first.split(",")[2:10]] == pytest.approx(mean, rel=1e-4)
    assert "stereochemistry, which the encoder does not see, is dropped in 1 of 31 rows" in warnings
    start = blockers().smiles[0]
    code, text, _ = call("near", model, start, "--count", "5", "--spread", "4")
    assert code == 0
    assert [row.split(",")[0] for row in text.splitlines()[1:]] == loaded.sample_near(start, 5, spread=4.0)
    code, text, warnings = call(
        "optimize", model, data, "--target", "length", "--steps", "1", "--start", start, "-o", folder / "way.csv"
    )
    assert code == 0
    assert "length: at molecules left out it " in warnings
    assert "a linear function of the latent space, learned from 30 molecules" in warnings
    columns = "step,SMILES,predicted: length,within (90 %),measured: length,molecule,similarity to the first"
    assert (folder / "way.csv").read_text().startswith(f"{columns}\n0,")
    assert "around the first:" in text
    assert "step 0: length = " in text


def test_a_search_is_explained_step_by_step(folder, tmp_path):
    model, data, page = folder / "model", folder / "data.csv", tmp_path / "way.html"
    words = ["optimize", model, data, "--target", "length", "--steps", "3", "--lower"]
    code, text, _ = call(*words, "-o", page, "-o", tmp_path / "way.csv")
    assert code == 0
    rows = (tmp_path / "way.csv").read_text().splitlines()[1:]
    assert len(rows) > 1
    html = page.read_text()
    for number, row in enumerate(rows):
        assert f"step {number}: length = " in text
        assert f"step {number}" in html
        assert row.split(",")[1] in html
    assert f"around the last:\n{rows[-1].split(',')[1]}" in text
    # Beginning with the best of the table, as the mean of the rows of one molecule says.
    assert float(rows[0].split(",")[4]) == min(len(text) for text in blockers().smiles[:30])
    code, _, error = call(*words, "-o", page)
    assert code == 1
    assert "What is written must be a new file" in error


def test_a_table_in_a_pipe_is_alone_there(folder):
    command = [sys.executable, "-m", "pellucid.cli"]
    words = [folder / "model", folder / "data.csv", "--target", "length", "--steps", "1", "-o", "/dev/stdout"]
    result = subprocess.run([*command, "optimize", *map(str, words)], capture_output=True, text=True, check=True)  # noqa: S603
    assert {len(row) for row in csv.reader(result.stdout.splitlines())} == {7}
    assert "around the first:" in result.stderr
    assert "written: /dev/stdout" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seed", "-3"], "--seed must be a whole number between 0 and"),
        (["--start", "nonsense"], "Got 'nonsense': not a valid SMILES"),
    ],
)
def test_a_search_that_cannot_begin_reads_nothing(folder, monkeypatch, words, message):
    def unread(*args, **settings):
        raise AssertionError("the table was read")

    monkeypatch.setattr("pellucid.molecules.vae.files.measured_property", unread)
    code, _, error = call("optimize", folder / "model", folder / "data.csv", "--target", "length", *words)
    assert code == 1
    assert message in error


def test_what_is_doubtful_is_said(folder, tmp_path):
    model, data = folder / "model", folder / "data.csv"
    (other,) = JunctionTreeVAE.load(model).reconstruct(["C[C@H](N)CO"])
    code, _, warnings = call("near", model, "C[C@H](N)CO", "--count", "2")
    assert code == 0
    assert "stereochemistry, which the encoder does not see, is dropped in 1 of 1 row." in warnings
    assert f"The model does not give this molecule back, but {other}" in warnings
    code, _, error = call("optimize", model, data, "--target", "SMILES")
    assert code == 1
    assert "--target must be a column of numbers. Got 'SMILES', where no cell is one" in error


def test_tables_have_names_of_tables(folder, tmp_path):
    model, data = folder / "model", folder / "data.csv"
    for command in (["encode", model, data], ["near", model, "CCO"], ["optimize", model, data, "--target", "length"]):
        code, _, error = call(*command, "-o", tmp_path / "out.xlsx")
        assert code == 1
        assert "The name of a table must end in .csv or .parquet" in error


@pytest.mark.parametrize("name", ["once.csv", "once.parquet"])
def test_a_table_that_was_encoded_before_is_refused(folder, tmp_path, name):
    once = tmp_path / name
    assert call("encode", folder / "model", folder / "data.csv", "-o", once)[0] == 0
    code, _, error = call("encode", folder / "model", once, "-o", tmp_path / f"twice-{name}")
    assert code == 1
    assert f"{name} must have no column that predictions are written into. Got 'mean of tree 1'" in error


def test_models_without_a_latent_space_are_refused(tmp_path, property_model_folder):
    code, _, error = call("near", property_model_folder, "CCO")
    assert code == 1
    assert "MODEL must be a model with a latent space: autoencoder" in error
