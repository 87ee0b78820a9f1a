"""Where commands write: to new files, and over what Pellucid wrote only with --force."""

import json
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest
from cli.runner import run

from pellucid.cli.outputs import quoted

SAVED = Path(__file__).parents[1] / "saved" / "v0.1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Runs and data of the first version, to be spoiled."""
    shutil.copytree(SAVED, tmp_path / "saved")
    monkeypatch.chdir(tmp_path / "saved")
    (tmp_path / "saved" / "few.csv").write_text("id,smiles\nM1,CCO\n")
    return tmp_path / "saved"


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("predict molecules-run few.csv -o few.csv", "another file than what is read. Got few.csv"),
        ("predict molecules-run few.csv -o link.csv", "another file than what is read. Got link.csv"),
        ("explain molecules-run few.csv -o few.csv", "another file than what is read. Got few.csv"),
        ("audit few.csv -o few.csv", "another file than what is read. Got few.csv"),
        ("predict series-run recordings -o recordings/a.csv", "another file than what is read"),
        ("score series-run recordings -o recordings/a.csv", "another file than what is read"),
        ("predict molecules-run few.csv -o molecules-run/game/property_model.json", "of a run or model holds nothing"),
        ("predict molecules-run few.csv -o molecules-run/new.csv", "of a run or model holds nothing else"),
        ("explain molecules-run few.csv -o autoencoder/x.html", "of a run or model holds nothing else"),
        ("report molecules-run -o series-run/report.html", "of a run or model holds nothing else"),
        ("predict molecules-run few.csv -o recordings", "must be a file. Got the folder recordings"),
        ("predict molecules-run few.csv -o absent/x.csv", "The folder of what is written must exist. Got absent"),
        ("predict molecules-run few.csv -o mine.csv", "Only what Pellucid wrote is replaced. Got mine.csv"),
        ("explain molecules-run CCO -o mine.html", "Only what Pellucid wrote is replaced. Got mine.html"),
        ("explain molecules-run CCO -o mine.json", "Only what Pellucid wrote is replaced. Got mine.json"),
        ("explain molecules-run CCO -o mine.svg", "Only what Pellucid wrote is replaced. Got mine.svg"),
        ("report molecules-run -o mine.html", "Only what Pellucid wrote is replaced. Got mine.html"),
    ],
)
def test_what_is_not_ours_is_never_replaced(folder, words, message):
    (folder / "link.csv").symlink_to("few.csv")
    for name, text in {"csv": "a,b\n1,2\n", "html": "<title>mine</title>", "json": '{"a": 1}', "svg": "<svg/>"}.items():
        (folder / f"mine.{name}").write_text(text)
    before = content(folder)
    assert message in run(*words.split(), "--force", code=1).stderr
    assert content(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "html", "json", "svg", "png"])
def test_what_is_ours_is_replaced_where_it_is_asked_for(folder, kind):
    path = folder / f"x.{kind}"
    words = ["explain", "molecules-run", "CCO", "-o", path]
    run(*words)
    before = path.read_bytes()
    error = run("explain", "molecules-run", "CCN", "-o", path, code=1).stderr
    assert f"What is written must be a new file. Got {path}, which exists; replace it with --force, or" in error
    assert path.read_bytes() == before
    run("explain", "molecules-run", "CCN", "-o", path, "--force")
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((folder / "few.csv").stat().st_mode)
    path.write_text("")  # nothing is lost
    run(*words)


@pytest.mark.slow
def test_the_report_of_a_run_is_made_once_more(folder):
    run("report", "molecules-run")
    before = (folder / "molecules-run" / "report.html").read_bytes()
    run("report", "molecules-run")
    assert (folder / "molecules-run" / "report.html").read_bytes() == before
    (folder / "molecules-run" / "report.html").write_text("mine")
    assert "Only what Pellucid wrote is replaced" in run("report", "molecules-run", code=1).stderr
    assert (folder / "molecules-run" / "report.html").read_text() == "mine"


def test_data_are_no_folder_of_a_run(folder):
    before = content(folder)
    error = run("train", "series", "recordings", "-o", "./recordings", "--quiet", code=1).stderr
    assert "A run has a folder of its own. Got recordings, the folder of the data" in error
    error = run("train", "series", "recordings", "-o", "series-run/game", "--quiet", "--force", code=1).stderr
    assert "A run has a folder of its own, which is in no other run and no model" in error
    assert content(folder) == before


@pytest.mark.slow
def test_pipes_are_read_and_written(folder):
    os.mkfifo("in.csv")
    os.mkfifo("out.csv")
    texts = []

    def exchange(source):
        Path("in.csv").write_text(Path(source).read_text())

    def through(*words, source):
        writer = threading.Thread(target=exchange, args=[source])
        writer.start()
        text = run(*words).stdout
        writer.join()
        return text

    assert (
        through("predict", "molecules-run", "in.csv", source="few.csv")
        == run("predict", "molecules-run", "few.csv").stdout
    )
    for command in ("predict", "explain"):
        alone = run(command, "series-run", "recordings/a.csv").stdout
        assert through(command, "series-run", "in.csv", source="recordings/a.csv") == alone.replace("a.csv", "in.csv")
    pieces = ["--every", 150]
    alone = run("score", "series-run", "recordings/a.csv", *pieces).stdout
    assert through("score", "series-run", "in.csv", *pieces, source="recordings/a.csv") == alone.replace(
        "a.csv", "in.csv"
    )
    alone = run("compare", "series-run", "series-run", "--data", "recordings/a.csv").stdout
    piped = through("compare", "series-run", "series-run", "--data", "in.csv", source="recordings/a.csv")
    assert piped.split() == alone.replace("a.csv", "in.csv").split()
    explained = through("explain", "molecules-run", "in.csv", source="few.csv")
    assert explained == run("explain", "molecules-run", "few.csv").stdout
    error = run("train", "molecules", "few.csv", "-o", "new", "--pool", "in.csv", code=1).stderr
    assert "--pool must be a table of molecules. Got in.csv, which can be read only once; write it to a file first" in (
        " ".join(error.split())
    )
    reader = threading.Thread(target=lambda: texts.append(Path("out.csv").read_text()))
    reader.start()
    run("predict", "molecules-run", "few.csv", "-o", "out.csv")
    reader.join()
    assert texts == [run("predict", "molecules-run", "few.csv").stdout]


def test_every_model_file_has_the_permissions_of_its_neighbors(tmp_path):
    from pellucid import load

    before = os.umask(0o022)
    try:
        load(SAVED / "molecules-run").save(tmp_path / "model")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "model").iterdir()} == {0o644}
    assert json.loads((tmp_path / "model" / "property_model.json").read_text())["format"] == 1


def test_names_are_written_as_a_shell_takes_them():
    assert quoted("-o") == "./-o"
    assert quoted("a b") == "'a b'"
    assert quoted(Path("run")) == "run"
