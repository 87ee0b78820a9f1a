import csv
import json
import os
import re
import threading

import numpy as np
import pytest
from houses import houses
from typer.testing import CliRunner

from pellucid import InputError, load, registry, runs, summaries
from pellucid.cli import command_line
from pellucid.domains import Source
from pellucid.splitting import split
from pellucid.summaries import HELD_OUT
from pellucid.tabular.domain import TableDomain, TableReading, TableSettings
from pellucid.tabular.rows import rows_of_file, rows_of_text

SMALL = {"epochs": 8, "width": 16, "ensemble": 2, "witness": "linear", "learning_rate": 0.01}


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    x, price = houses(160)
    path = tmp_path_factory.mktemp("table") / "houses.csv"
    table = x.assign(price=price.round(2))
    table.loc[3, "price"] = np.nan
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def run(file, tmp_path_factory):
    domain, folder = TableDomain(), tmp_path_factory.mktemp("run") / "run"
    reading = TableReading(target="price")
    source = Source(domain.read(file, reading), path=file, reading=reading)
    runs.train(domain, source, TableSettings(**SMALL), folder, title="Houses", progress=False)
    return folder


def test_a_file_is_read_and_rows_without_the_target_are_rejected(file):
    rows = rows_of_file(file, "price")
    assert len(rows) == 159
    ((line, text, reason),) = rows.rejected
    assert (line, reason) == (5, "'price' is blank")
    assert text.split(", ")[0] == file.read_text().splitlines()[4].split(",")[0]
    assert rows.kind == "regression"
    assert rows.numbers[:4].tolist() == [2, 3, 4, 6]
    assert "price" not in rows.frame.names
    with pytest.raises(InputError, match="must be a column of houses.csv. Got 'prices'; did you mean 'price'?"):
        rows_of_file(file, "prices")
    with pytest.raises(
        InputError, match="The column to learn must be named. Got none; pass `target`; the columns are rooms"
    ):
        rows_of_file(file, None)


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["yes", "no"], "classification"), (["0", "1"], "classification"), (["1", "2", "3"], "classification"),
     (["1.5", "2"], "regression"), ([str(i) for i in range(9)], "regression")],
)  # fmt: skip
def test_what_is_learned_follows_from_the_target(values, kind, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i},{values[i % len(values)]}\n" for i in range(40)))
    assert rows_of_file(path, "y").kind == kind


def test_a_row_is_read_as_it_is_typed():
    rows = rows_of_text("rooms=6; colour = red", ["rooms", "colour", "age"])
    assert rows.frame.names == ("rooms", "colour", "age")
    assert rows.frame.columns[0].values.tolist() == [6.0]
    assert rows.frame.columns[1].values.tolist() == ["red"]
    assert rows_of_text("rooms=6;", ["rooms"]).frame.columns[0].values.tolist() == [6.0]
    with pytest.raises(InputError, match="A row must be a file, or values such as.*'6' has no sign ="):
        rows_of_text("rooms=5;6", ["rooms"])


def test_a_run_writes_models_numbers_and_a_report(run):
    summary = summaries.read(run)
    assert set(summary.models) == {"DEEP", "GAME"}
    for model in summary.models.values():
        assert 0 < model.scores["relative_error"] < 1
        assert model.scores[HELD_OUT] > 0.5
    assert [baseline.title for baseline in summary.baselines] == ["Linear regression", "Boosted trees"]
    assert all(baseline.scores["relative_error"] < 1 for baseline in summary.baselines)
    assert any(line.startswith("number: identifier") for line in summary.data.decisions)
    assert [row[0] for row in summary.data.rejected] == [5]
    page = (run / "report.html").read_text()
    assert 'id="map"' in page
    assert page.count('<g class="swarm" tabindex="0"') == len(summary.landscape["swarms"]) == 5
    assert "Explained rows" in page
    assert "16 explained rows. The least trustworthy first." in page


def test_rows_that_a_user_asks_for_stay_in_the_order_of_the_table(classifier, table, tmp_path):
    labels = [f"house {i}" for i in range(9)]
    explanations = classifier.explain(table[0][:9], labels=labels)
    path = tmp_path / "rows.html"
    TableDomain().write_explanations(dict(zip(labels, explanations, strict=True)), path, title="Houses")
    page = path.read_text()
    assert re.findall(r"<summary>(house \d)", page) == labels
    assert "trustworthy" not in page
    notes = re.findall(r'<span class="quiet">(.*?)</span>', page)
    assert notes == [f"{e.answer}, with probability {100 * e.probability:.1f}\u00a0%" for e in explanations]


def test_the_map_of_laws_in_the_summary_is_that_of_the_test_rows(run):
    landscape = summaries.read(run).landscape
    assert landscape["rows"] == 16
    assert sum(region["count"] for region in landscape["regions"]) == 16
    amounts = [np.abs(swarm["contributions"]).mean() for swarm in landscape["swarms"]]
    assert amounts == sorted(amounts, reverse=True)


@pytest.mark.slow
def test_predict_explain_compare_and_report_from_the_command_line(run, file, tmp_path):
    runner = CliRunner()
    out = tmp_path / "predictions.csv"
    result = runner.invoke(command_line(), ["predict", str(run), str(file), "--trust", "-o", str(out)])
    assert result.exit_code == 0, result.output
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    model = load(run)
    np.testing.assert_allclose(
        [float(row["predicted: price"]) for row in rows],
        model.predict(TableDomain().read(file, TableReading(), model).frame),
    )
    assert {"law", "bound", "stability", "measured above", "held-out variance explained"} <= set(rows[0])
    typed = "rooms=6; age=30; colour=red; city=yes; sold=2024-03-01"
    result = runner.invoke(
        command_line(),
        ["explain", str(run), typed, "--change", "rooms", "--wanted", ":50", "-o", str(tmp_path / "row.json")],
    )
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "row.json").read_text())
    assert content["wanted"] == "at most 50"
    assert all(c["column"] == "rooms" for one in content["counterfactuals"] for c in one["changes"])
    assert runner.invoke(command_line(), ["compare", str(run), str(run)]).exit_code == 0
    assert runner.invoke(command_line(), ["report", str(run)]).exit_code == 0


def test_the_domain_is_known():
    assert isinstance(registry.domains()["table"], TableDomain)


def test_texts_are_no_numbers_to_learn(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(40)))
    domain = TableDomain()
    source = Source(domain.read(path, TableReading(target="y")), path=path)
    with pytest.raises(InputError, match="Numbers must stand in every cell of 'y', to learn them. Got 'a'"):
        domain.plan(source, TableSettings(task="regression"))
    plan = domain.plan(source, TableSettings(seed=1))
    assert plan.model.task == "classification"


# The other class is among the test rows alone.
ONE_IN_THE_TEST = ["there" if i == split(40, seed=0)[2][0] else "here" for i in range(40)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["here"], "'y' must vary, to be learned from the other columns. Got 'here' in every row; is it"),
        (ONE_IN_THE_TEST, "There must be at least two classes of 'y' to tell apart. Got 'here' in all rows to learn"),
        ([f"name {i}" for i in range(40)], "Every class of 'y' must be among the rows to learn from. Got 'name "),
    ],
)
def test_classes_that_cannot_be_learned_are_refused_before_training(values, message, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{values[i % len(values)]}\n" for i in range(40)))
    with pytest.raises(InputError, match=message):
        TableDomain().plan(Source(rows_of_file(path, "y")), TableSettings())


def test_a_target_that_is_blank_everywhere_is_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i},\n" for i in range(50)))
    with pytest.raises(InputError, match="Got 0 in table.csv, besides 50 without 'y'; is it the right column?"):
        rows_of_file(path, "y")


@pytest.mark.slow
def test_models_are_compared_on_the_rows_of_another_table(run, file, tmp_path):
    def compared(path, code):
        result = CliRunner().invoke(command_line(), ["compare", str(run), str(run), "--data", str(path)])
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    with file.open() as stream:
        measured = [(i, float(row["price"])) for i, row in enumerate(csv.DictReader(stream)) if row["price"]]
    assert len(measured) == 159  # and a blank
    model, rows = load(run), rows_of_file(file, "price")
    errors = model.predict(rows.frame) - np.array([price for _, price in measured])
    shown = compared(file, 0).split("RMSE of the network (lower is better) ")[1].split()[1]
    assert float(shown) == pytest.approx(np.sqrt(np.square(errors).mean()), rel=1e-3)
    (tmp_path / "none.csv").write_text("rooms,age\n1,2\n")
    (tmp_path / "texts.csv").write_text("rooms,age,price\n1,2,dear\n")
    assert "rows with numbers in 'price'. Got none; pass a table with that column" in compared(tmp_path / "none.csv", 1)
    assert "rows with numbers in 'price'. Got texts" in compared(tmp_path / "texts.csv", 1)


def test_classes_that_are_blank_are_not_measured(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,dear\n2,\n3,cheap\n")
    rows = rows_of_file(tmp_path / "a.csv", "y", columns=["a"])
    assert rows.y.tolist() == ["dear", None, "cheap"]
    assert rows.measured(numeric=False).y.tolist() == ["dear", "cheap"]


def test_each_of_several_classes_has_a_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{i % 11},{'abc'[i % 3]}\n" for i in range(60)))
    plan = TableDomain().plan(Source(rows_of_file(path, "y")), TableSettings())
    assert plan.outputs == ("log-odds of (y = a)", "log-odds of (y = b)", "log-odds of (y = c)")


@pytest.mark.parametrize("wanted", [":", "nan:1", "x", "1:y"])
def test_a_range_that_is_none_is_refused(run, wanted):
    result = CliRunner().invoke(command_line(), ["explain", str(run), "rooms=5", "--wanted", wanted])
    assert result.exit_code == 1
    assert f"--wanted must be a range of the prediction. Got '{wanted}'; write it as" in " ".join(result.stderr.split())


def test_counterfactuals_that_may_change_no_column_are_refused(run):
    result = CliRunner().invoke(command_line(), ["explain", str(run), "rooms=5", "--change", ""])
    assert result.exit_code == 1
    assert "--change must name columns. Got ''; name some, or leave it out" in " ".join(result.stderr.split())


def test_settings_that_no_model_accepts_are_refused_before_a_file_is_read(tmp_path):
    words = ["train", "table", str(tmp_path / "missing.csv"), "--target", "y", "-o", str(tmp_path / "run")]
    result = CliRunner().invoke(command_line(), [*words, "--width", str(2**63 - 1)])
    assert result.exit_code == 1
    assert "--width must be a whole number between 1 and 16384" in " ".join(result.stderr.split())


def test_long_tables_are_predicted_in_pieces_and_parquet_is_a_format(run, file, tmp_path, monkeypatch):
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    whole, parts, arrow = (tmp_path / name for name in ("whole.csv", "parts.csv", "predictions.parquet"))
    predict = ["predict", str(run), str(file), "--trust", "-o"]
    assert CliRunner().invoke(command_line(), [*predict, str(whole)]).exit_code == 0
    monkeypatch.setattr(TableDomain, "piece", 7)
    assert CliRunner().invoke(command_line(), [*predict, str(parts)]).exit_code == 0
    assert parts.read_text() == whole.read_text()
    parquet.write_table(arrow_csv.read_csv(file), tmp_path / "houses.parquet")
    predict[2] = str(tmp_path / "houses.parquet")
    result = CliRunner().invoke(command_line(), [*predict, str(arrow)])
    assert result.exit_code == 0, result.output
    table = parquet.read_table(arrow)
    assert str(table.schema.field("predicted: price").type) == "double"
    with whole.open() as stream:
        rows = list(csv.DictReader(stream))
    for name in ("predicted: price", "law", "bound"):
        assert table[name].to_pylist() == pytest.approx([float(row[name]) for row in rows], abs=1e-9)


def test_a_target_that_is_too_large_is_named_with_its_row(file, tmp_path):
    (tmp_path / "large.csv").write_text("rooms,price\n" + "".join(f"{i},{i}\n" for i in range(40)) + "5,1e200\n")
    with pytest.raises(InputError, match="'price' must hold numbers up to 1e.30, to learn them. Got 1e.200 in row 42"):
        rows_of_file(tmp_path / "large.csv", "price")


def test_a_table_comes_through_a_pipe_and_is_predicted_as_from_its_file(run, file, tmp_path):
    os.mkfifo(tmp_path / "houses.csv")
    writer = threading.Thread(target=(tmp_path / "houses.csv").write_text, args=[file.read_text()])
    writer.start()
    piped = CliRunner().invoke(command_line(), ["predict", str(run), str(tmp_path / "houses.csv")])
    writer.join()
    assert piped.exit_code == 0, piped.output
    assert piped.stdout == CliRunner().invoke(command_line(), ["predict", str(run), str(file)]).stdout


def test_a_row_that_is_longer_than_a_path_is_read_as_it_is_typed(run):
    text = f"rooms=5; colour={'red' * 200}"
    result = CliRunner().invoke(command_line(), ["explain", str(run), text])
    assert result.exit_code == 0, result.output
    with pytest.raises(InputError, match="A row has one value in each column. Got two for 'rooms'; drop one"):
        rows_of_text("rooms=5; rooms=6", ["rooms"])


def test_a_target_with_which_nothing_can_be_computed_is_refused():
    from pellucid.tabular.tasks import TableTask

    with pytest.raises(InputError, match=r"must hold finite numbers up to 1e\+100. Got 1e\+200"):
        TableTask.of("regression", np.array([1.0, 1e200]), "y")
    task = TableTask.of("regression", np.array([1.0, 3.0]), "y")
    with pytest.raises(InputError, match=r"such as were learned from, about 2. Got 1e\+40; correct it"):
        task.inner(np.array([1e40]))
