"""`pellucid predict`: tables of molecules and recordings, with a prediction beside every row."""

import csv
import json

import numpy as np
import pytest
from blockers import blockers
from cli.runner import SMALL, run

from pellucid.molecules import PropertyModel
from pellucid.series import Forecaster, simulate_rig

pytestmark = pytest.mark.slow


def test_predictions_stand_beside_the_rows(place, tmp_path):
    smiles = blockers().smiles[:2]
    (tmp_path / "new.csv").write_text(f"name;SMILES\na;{smiles[0]}\nb;C1CC\nc;{smiles[1]}\na again;{smiles[0]}\n")
    result = run("predict", place / "run", tmp_path / "new.csv", "--trust")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    model = PropertyModel.load(place / "run" / "game")
    assert [row["name"] for row in rows] == ["a", "b", "c", "a again"]
    for k, i in ((0, 0), (2, 1), (3, 0)):
        explanation = model.explain(smiles[i])
        assert float(rows[k]["predicted: activity"]) == pytest.approx(explanation.prediction[0], rel=1e-5)
        witness, bound = f"{model.witness_noun}: activity", f"{model.witness_noun}-network bound 90 %: activity"
        assert float(rows[k][witness]) == pytest.approx(explanation.witnessed[0], rel=1e-5)
        assert float(rows[k][bound]) == pytest.approx(explanation.bound[0], rel=1e-5)
        assert rows[k]["members"] == str(len(explanation.members))
    assert rows[1]["predicted: activity"] == ""
    assert rows[1]["problem"] == "not a valid SMILES"
    assert "1 of 4 rows have no prediction" in result.stderr
    run("predict", place / "run", tmp_path / "new.csv", "--model", "deep", "-o", tmp_path / "out.csv")
    written = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    deep = PropertyModel.load(place / "run" / "deep").predict(smiles[0])[0, 0]
    assert float(written[0]["predicted: activity"]) == pytest.approx(deep, rel=1e-5)


def test_how_sure_predictions_are_stands_beside_them(place, tmp_path):
    smiles = blockers().smiles[1]
    (tmp_path / "new.csv").write_text(f"smiles\n{smiles}\nCCO\n")
    result = run("predict", place / "run", tmp_path / "new.csv", "--certainty", "--level", 0.8)
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert list(rows[0]) == [
        "smiles", "predicted: activity", "80 % interval from: activity", "80 % interval to: activity",
        "nearest training molecule", "similarity to it", "measured of it: activity",
    ]  # fmt: skip
    model = PropertyModel.load(place / "run" / "game")
    for row, text in zip(rows, (smiles, "CCO"), strict=True):
        ends = [float(row[f"80 % interval {end}: activity"]) for end in ("from", "to")]
        assert ends == pytest.approx(model.predict_interval(text, level=0.8)[0, 0], rel=1e-5)
        (nearest,) = model.nearest(text)
        assert row["nearest training molecule"] == nearest.smiles
        assert float(row["similarity to it"]) == pytest.approx(nearest.similarity, rel=1e-5)
        assert float(row["measured of it: activity"]) == pytest.approx(nearest.measured[0], rel=1e-5)
    assert float(rows[0]["similarity to it"]) > float(rows[1]["similarity to it"])
    # With 99.9 % confidence nothing is known: 20 validation molecules are too few.
    unknown = run("predict", place / "run", tmp_path / "new.csv", "--certainty", "--level", 0.999)
    assert "There are no prediction intervals in 2 rows: too few molecules" in unknown.stderr
    assert [row["99.9 % interval to: activity"] for row in csv.DictReader(unknown.stdout.splitlines())] == ["", ""]


def test_forecasts_follow_every_recording(place):
    rows = list(csv.DictReader(run("predict", place / "series", place / "recordings").stdout.splitlines()))
    assert len(rows) == 2 * 10 * 2
    model = Forecaster.load(place / "series" / "game")
    forecast = model.forecast(place / "recordings" / "b.csv")
    last = rows[-1]
    assert (last["recording"], last["step"], last["channel"]) == ("b.csv", "10", "right")
    assert float(last["forecast"]) == pytest.approx(forecast.mean[9, 1], rel=1e-5)
    assert float(last["one-step sd"]) == pytest.approx(forecast.covariance[9, 1, 1] ** 0.5, rel=1e-5)


@pytest.fixture(scope="module")
def commas(tmp_path_factory):
    """A run on recordings without names, with a decimal comma, beside a file that is none; and other recordings."""
    folder = tmp_path_factory.mktemp("commas")
    rig = simulate_rig(files=3, rows=900, bearings=2, seed=0)
    for values, name in zip(rig.values, ("data/a.dat", "data/b.dat", "other/c.dat"), strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        lines = [";".join(f"{value:.6f}".replace(".", ",") for value in row) for row in values]
        (folder / name).write_text("\n".join(lines) + "\n")
        (folder / name).with_name("readme.txt").write_text("This is no recording.\n")
    run("train", "series", folder / "data", "--pattern", "*.dat", "--decimal", ",", "--no-header", "--context", 20,
        "--horizon", 10, "--radius", 4, "--test", folder / "other", "-o", folder / "run", *SMALL)  # fmt: skip
    return folder


def test_recordings_are_read_as_those_of_the_model(commas):
    rows = list(csv.DictReader(run("predict", commas / "run", commas / "other").stdout.splitlines()))
    assert {row["recording"] for row in rows} == {"c.dat"}
    values = simulate_rig(files=3, rows=900, bearings=2, seed=0).values[2]
    expected = Forecaster.load(commas / "run" / "game").forecast(np.round(values, 6)).mean
    assert [float(row["forecast"]) for row in rows] == pytest.approx(expected.ravel(), rel=1e-4, abs=1e-6)
    assert "Channel 'channel 1'" in run("explain", commas / "run" / "deep", commas / "other" / "c.dat").stdout
    shown = run("compare", commas / "run", commas / "run", "--data", commas / "other").stdout
    summary = json.loads((commas / "run" / "summary.json").read_text())
    line = next(line for line in shown.splitlines() if line.startswith("relative error"))
    error = summary["models"]["GAME"]["scores"]["relative_error"]
    assert float(line.split()[-1]) == float(f"{error:.4g}")
    assert "must be a number" in run("explain", commas / "run", commas / "other", "--decimal", ".", code=1).stderr
    assert "readme.txt" in run("predict", commas / "run", commas / "other", "--pattern", "*", code=1).stderr


@pytest.mark.parametrize("option", [["--trust"], ["--level", "0.8"]])
def test_a_forecast_has_no_bounds_in_a_table(commas, option):
    assert f"{option[0]} is for molecules" in run("predict", commas / "run", commas / "other", *option, code=1).stderr
