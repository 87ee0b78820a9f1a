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
    assert head.split(",")[-1] == "predicted as"
    assert (first.split(",")[-1], text.splitlines()[-1].split(",")[-1]) == ("", "CC(N)O")
    assert head.split(",")[:4] == ["SMILES", "length", "mean of tree 1", "mean of tree 2"]
    assert [float(cell) for cell in first.split(",")[2:10]] == pytest.approx(mean, rel=1e-4)
    assert "stereochemistry, which the encoder does not see, is dropped in 1 of 31 rows" in warnings
    start = blockers().smiles[0]
    code, text, _ = call("near", model, start, "--count", "5", "--spread", "4")
    assert code == 0
    assert [row.split(",")[0] for row in text.splitlines()[1:]] == loaded.sample_near(start, 5, spread=4.0)
    code, text, warnings = call("sample", model, "--count", "3", "--seed", "1")
    assert (code, text.splitlines()) == (0, ["SMILES", *loaded.sample(3, seed=1)])
    assert "points of N(0, I) are far from molecules: --prior fitted draws where those of training" in warnings
    code, text, warnings = call("sample", model, "--count", "3", "--prior", "fitted")
    assert (code, text.splitlines(), warnings) == (0, ["SMILES", *loaded.sample(3, prior="fitted")], "")
    code, text, warnings = call(
        "optimize", model, data, "--target", "length", "--steps", "1", "--start", start, "-o", folder / "way.csv"
    )
    assert code == 0
    assert "\nlength: at molecules left out it " in text
    assert "a linear function of the latent space, learned from 30 molecules" in text
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
    # The page says what the terminal does, above the steps in their order.
    for remark in ("at molecules left out it ", " different molecules compared", "the network is the encoder"):
        assert remark in html
    assert f">step 0: the start, measured {float(rows[0].split(',')[4]):.4g}<" in html
    cards = [html.index(f">step {number}: ") for number in range(len(rows))]
    assert cards == sorted(cards)
    code, _, error = call(*words, "-o", tmp_path / "way.pdf")
    assert code == 1
    assert "must end in .csv or .parquet, that of a page in .html. Got" in error
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
    assert "stereochemistry, which the encoder does not see, is dropped." in warnings
    assert f"The model does not give this molecule back, but {other}" in warnings
    code, _, error = call("optimize", model, data, "--target", "SMILES")
    assert code == 1
    assert "--target must be a column of numbers. Got 'SMILES', where no cell is one" in error


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_of_salts_the_largest_organic_fragment_is_taken_by_every_command(folder, tmp_path):
    model, start = folder / "model", blockers().smiles[0]
    (tmp_path / "salts.csv").write_text(f"SMILES\n{start}\n{start}.Cl\n[Na+].[Cl-]\n")
    code, text, warnings = call("encode", model, tmp_path / "salts.csv")
    assert code == 0
    alone, salt, other = rows_of(text)
    assert float(salt["mean of tree 1"]) == pytest.approx(float(alone["mean of tree 1"]), rel=1e-4)
    assert (alone["predicted as"], salt["predicted as"]) == ("", JunctionTreeVAE.load(model).flat(start)[0])
    assert other["problem"] == "several parts that are not bonded to each other"
    assert "1 of 3 rows, the first of them row 3, hold several fragments: the largest organic one is taken." in warnings
    for command in ("near", "explain"):
        code, text, warnings = call(command, model, f"{start}.Cl")
        assert code == 0
        assert text == call(command, model, start)[1]
        assert f"{start}.Cl has several fragments: the largest organic one" in warnings
    words = ["optimize", model, folder / "data.csv", "--target", "length", "--steps", "1", "--start"]
    code, text, warnings = call(*words, f"{start}.Cl")
    assert code == 0
    assert text == call(*words, start)[1]
    assert "has several fragments" in warnings


def test_a_table_of_nothing_that_can_be_read_is_written_with_its_problems(folder, tmp_path):
    (tmp_path / "bad.csv").write_text("SMILES\nnonsense\nC[Si](C)(C)C\n")
    code, text, warnings = call("encode", folder / "model", tmp_path / "bad.csv")
    assert code == 0
    first, second = rows_of(text)
    assert first["problem"] == "not a valid SMILES"
    assert second["problem"].endswith("is not in the vocabulary")
    assert first["mean of tree 1"] == ""
    assert '2 of 2 rows have no encoding, see the column "problem"; the first is row 2.' in warnings


def measured(path, cells, separator=","):
    """A table of as many molecules as cells."""
    rows = zip(blockers().smiles, cells, strict=False)
    path.write_text("".join(f"{text}{separator}{cell}\n" for text, cell in [("SMILES", "y"), *rows]))
    return path


def test_measured_values_are_read_as_in_all_tables(folder, tmp_path):
    """A decimal comma is one, and what Python alone takes for a number is none."""
    values = [0.5 * (i % 7) for i in range(20)]
    points = measured(tmp_path / "points.csv", values)
    commas = measured(tmp_path / "commas.csv", [f"{value:g}".replace(".", ",") for value in values], ";")
    words = ["--target", "y", "--steps", "1"]
    code, text, warnings = call("optimize", folder / "model", commas, *words)
    assert code == 0
    assert (text, warnings) == call("optimize", folder / "model", points, *words)[1:]
    # The odd ones are left out, though Python's float takes them for 20, infinity and 1e300; none is the best.
    odd = measured(tmp_path / "odd.csv", ["2_0", "inf", "1e300", *values[3:]])
    code, text, warnings = call("optimize", folder / "model", odd, *words)
    assert code == 0
    assert "3 of 20 rows without a value or an encoding are left out; the first is row 2." in warnings
    assert "learned from 17 molecules" in text


def test_rows_of_one_molecule_count_once_and_their_stereochemistry_is_told(folder, tmp_path):
    path = measured(tmp_path / "a.csv", [i % 7 for i in range(20)])
    # The larger value alone would be the best of the table, the mean of both is not.
    path.write_text(path.read_text() + "C[C@H](N)CO,9\nC[C@@H](N)CO,-9\n")
    code, text, warnings = call("optimize", folder / "model", path, "--target", "y", "--steps", "1")
    assert code == 0
    assert "stereochemistry, which the encoder does not see, is dropped in 2 of 22 rows." in warnings
    assert "1 molecule with different values in several rows, such as those of stereoisomers: their mean" in warnings
    assert "learned from 21 molecules" in text
    best = JunctionTreeVAE.load(folder / "model").flat(blockers().smiles[6])[0]
    assert best in text


def test_mistakes_in_names_of_columns_are_told(folder, tmp_path):
    model, data = folder / "model", folder / "data.csv"
    for words in (["encode", model, data], ["optimize", model, data, "--target", "length"]):
        code, _, error = call(*words, "--names", "bogus")
        assert code == 1
        assert "--names must be a column of data.csv. Got 'bogus'" in error
    code, _, error = call("optimize", model, data, "--target", "lenght")
    assert code == 1
    assert "--target must be a column of data.csv. Got 'lenght'; did you mean 'length'?" in error
    bad = measured(tmp_path / "a.csv", [1, 2])
    bad.write_text("SMILES,y\nnonsense,1\n")
    code, _, error = call("optimize", model, bad, "--target", "y")
    assert code == 1
    assert "a.csv must have molecules with a value that the encoder can read. Got none; row 2: not a valid" in error


def test_an_autoencoder_is_refused_before_its_data_are_read(tmp_path):
    for words, message in (
        (["--kl-weight", 2], "--kl-weight"),
        (["--free", "inf"], "--free"),
        (["--held-out", "--game", "none"], "--held-out is for games. Got no game (--game none)"),
    ):
        code, _, error = call("train", "autoencoder", tmp_path / "none.csv", *words)
        assert code == 1
        assert message in error
        assert "none.csv" not in error


def test_explanations_count_the_stereochemistry_of_what_is_explained(folder, tmp_path):
    texts = [blockers().smiles[0], "C[C@H](N)O", "C[C@](F)(Cl)[Si](C)(C)C", "nonsense"]
    (tmp_path / "a.csv").write_text("\n".join(["SMILES", *texts]) + "\n")
    code, _, warnings = call("explain", folder / "model", tmp_path / "a.csv")
    assert code == 0
    assert "stereochemistry, which the encoder does not see, is dropped in 1 of 2 rows." in warnings


def test_what_cannot_be_measured_has_no_columns(folder, tmp_path):
    start = blockers().smiles[0]
    assert call("explain", folder / "model", start, "-o", tmp_path / "why.csv")[0] == 0
    header = (tmp_path / "why.csv").read_text().splitlines()[0].split(",")
    assert "predicted: mean of tree 1" in header
    assert not [name for name in header if name.startswith("measured")]


def test_help_says_what_the_defaults_are():
    _, text, _ = call("train", "autoencoder", "--help")
    for option, default in (("--latent N", "56"), ("--width N", "64"), ("--epochs N", "20"), ("--depth N", "3")):
        assert f"[default: {default};" in " ".join(text.partition(option)[2].split())[:250]


def test_points_that_give_nothing_else_ask_for_a_larger_spread(folder, monkeypatch):
    monkeypatch.setattr(JunctionTreeVAE, "sample_near", lambda *_, **__: [])
    code, text, warnings = call("near", folder / "model", blockers().smiles[0], "--count", "3")
    assert code == 0
    assert text == "SMILES,similarity\n"
    assert "All 3 points gave the molecule itself: a larger --spread than 1 goes further." in warnings


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
