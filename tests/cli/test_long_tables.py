"""`pellucid predict` and `explain` of tables in ranges: the same bytes by one process, by several and by a cluster."""

import csv
import json

import pytest
from cli.runner import run
from pyarrow import parquet
from report.pages import Page

from pellucid.molecules.domain import MoleculeDomain

pytestmark = pytest.mark.slow


@pytest.fixture
def short(monkeypatch):
    """Ranges of so few rows that a small file has several."""
    monkeypatch.setattr(MoleculeDomain, "piece", 5)
    monkeypatch.setattr(MoleculeDomain, "explained_piece", 5)
    monkeypatch.setattr(MoleculeDomain, "explained_at_once", 10)


@pytest.fixture
def table(sulfonamides, tmp_path):
    lines = [f"{i};{smiles}" for i, smiles in enumerate(sulfonamides.smiles[:18])]
    lines[7], lines[12] = "7;C1CC", f"{lines[12]}.Cl"
    (tmp_path / "table.csv").write_text("name;smiles\n" + "\n".join(lines) + "\n")
    return tmp_path / "table.csv"


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as started:
        yield started.scheduler_address


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predictions_in_ranges_are_those_of_the_whole(
    property_model_folder, table, cluster, suffix, tmp_path, monkeypatch
):
    whole, parts, workers = (tmp_path / f"{name}{suffix}" for name in ("whole", "parts", "workers"))
    said = run("predict", property_model_folder, table, "-o", whole).stderr
    assert "1 of 18 rows have no prediction" in said
    assert "row 14, hold several fragments" in said
    monkeypatch.setattr(MoleculeDomain, "piece", 5)
    assert run("predict", property_model_folder, table, "-o", parts).stderr == said
    assert run("predict", property_model_folder, table, "-o", workers, "--cluster", cluster).stderr == said
    assert whole.read_bytes() == parts.read_bytes() == workers.read_bytes()
    assert not list(tmp_path.glob("*.parts"))


def test_explanations_in_ranges_are_those_of_the_whole(
    property_model_folder, table, cluster, tmp_path, short, monkeypatch
):
    names = [tmp_path / f"parts{suffix}" for suffix in (".csv", ".json", ".html")]
    monkeypatch.setattr(MoleculeDomain, "max_examples", 4)
    result = run("explain", property_model_folder, table, *(f"-o{name}" for name in names), "--cluster", cluster)
    assert "17 molecules explained" in result.stdout
    assert "table.csv: 1 of 18 rows cannot be used; the first is row 9: not a valid SMILES." in result.stderr
    assert "parts.html shows 4 of 17: those that are least and most close to their witnesses" in result.stderr
    monkeypatch.setattr(MoleculeDomain, "explained_at_once", 100)
    run("explain", property_model_folder, table, "-o", tmp_path / "whole.csv", "-o", tmp_path / "whole.json")
    assert names[0].read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert names[1].read_bytes() == (tmp_path / "whole.json").read_bytes()
    for name, options in {"short": ["--force"], "long": []}.items():  # the last one in ranges
        monkeypatch.setattr(MoleculeDomain, "explained_at_once", 10 if name == "long" else 100)
        run("explain", property_model_folder, table, "-o", tmp_path / f"{name}.parquet", *options)
        columns = parquet.read_table(tmp_path / f"{name}.parquet").to_pydict()
        with names[0].open() as stream:
            head, *rows = csv.reader(stream)
        assert list(columns) == head
        for row, cells in zip(rows, zip(*columns.values(), strict=True), strict=True):
            for text, cell in zip(row, cells, strict=True):
                assert text == ("" if cell is None else cell) or float(text) == cell
    content = json.loads(names[1].read_text())
    worst = max(content, key=lambda each: sum(each["deviation"]))
    assert worst["place"] in Page(names[2].read_text()).words
    assert f"farthest from it: {worst['place'].split('(')[1][:-1]}" in result.stdout


def test_what_cannot_be_divided_or_shown_is_refused(property_model_folder, forecaster_folder, table, tmp_path, short):
    wrong = run("explain", property_model_folder, table, "-o", tmp_path / "a.png", code=1).stderr
    assert "A .png file is for one explanation. Got 18 molecules; write .html" in wrong
    assert (
        "--jobs is for tables of rows. Got CCO; leave it out."
        in run("explain", property_model_folder, "CCO", "--jobs", 2, code=1).stderr
    )
    assert (
        "--cluster needs a file to write"
        in run("predict", property_model_folder, table, "--cluster", "tcp://127.0.0.1:1", code=1).stderr
    )
    assert (
        "--jobs is for tables of rows. Got a series model"
        in run("predict", forecaster_folder, table, "--jobs", 2, code=1).stderr
    )
    (tmp_path / "again.csv").write_text("smiles,predicted: activity\nCCO,1\n")
    assert (
        "must have no column that predictions are written into. Got 'predicted: activity'"
        in run("predict", property_model_folder, tmp_path / "again.csv", "-o", tmp_path / "b.csv", code=1).stderr
    )
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "again.csv"}


def test_an_interrupted_job_goes_on_where_it_stopped(property_model_folder, table, tmp_path, short, monkeypatch):
    predict_rows, done = MoleculeDomain.predict_rows, []

    def stopping(self, model, rows, *arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(rows.numbers[0])
        return predict_rows(self, model, rows, *arguments)

    out = tmp_path / "out.csv"
    monkeypatch.setattr(MoleculeDomain, "predict_rows", stopping)
    stopped = run("predict", property_model_folder, table, "-o", out, code=130).stderr
    assert f"Stopped. 2 of 4 parts are kept in {out}.parts: the same command goes on from there" in stopped
    assert not out.exists()
    done[:] = [0]  # one more until it stops
    stopped = run("predict", property_model_folder, table, "-o", out, code=130).stderr
    assert "2 of 4 parts are there from before." in stopped
    assert done == [0, 12]
    done.clear()
    damaged = sorted((tmp_path / "out.csv.parts").glob("*.shard"))[0]
    damaged.write_bytes(damaged.read_bytes()[:-3])
    monkeypatch.setattr(MoleculeDomain, "predict_rows", predict_rows)
    run("predict", property_model_folder, table, "-o", out)
    assert not (tmp_path / "out.csv.parts").exists()
    assert [row["name"] for row in csv.DictReader(out.read_text().splitlines())] == [str(i) for i in range(18)]
