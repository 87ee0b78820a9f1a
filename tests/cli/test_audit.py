"""`pellucid audit`: witnesses of any model, from a table of its predictions."""

import json

import numpy as np
import pytest
from blockers import blockers
from cli.audits import LOAD, SPEED, WAVE, rows_of, run, write
from cli.runner import exit_code
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeRegressor

from pellucid import audit
from pellucid import nearest as near
from pellucid.choosing import RIDGES, candidates_for, choose, prefix
from pellucid.witnesses.scaled import ScaledLinearFamily


def nearest(count):
    x = np.stack([SPEED, LOAD], axis=1)
    x = (x - x.mean(0)) / x.std(0)
    return NearestNeighbors(n_neighbors=count).fit(x).kneighbors(x)[1]


def test_a_linear_predictor_is_exact_in_the_units_of_the_columns(tmp_path):
    columns = {"id": range(80), "speed": SPEED, "load": LOAD, "prediction": 2 + 3 * SPEED - 0.01 * LOAD}
    result = run(write(tmp_path / "a.csv", columns), "-o", tmp_path / "out.csv")
    assert result.exit_code == 0
    assert (
        "all 80 witnesses are exact at their members, up to rounding:\nprediction = 2 + 3 speed - 0.01 load\n"
        in result.stdout
    )
    assert "ignored columns:\n  id: an identifier\n" in result.stdout
    assert "no ridge (held-out variance explained among the 10 nearest 100 %" in result.stdout
    for row in rows_of(tmp_path / "out.csv"):
        assert float(row["deviation"]) < 1e-20
        assert float(row["intercept"]) == pytest.approx(2)
        assert float(row["coefficient of speed"]) == pytest.approx(3)
        assert float(row["coefficient of load"]) == pytest.approx(-0.01)


def test_witnesses_are_those_of_a_loop_over_scikit_learn(tmp_path):
    columns = {"speed": SPEED, "load": LOAD, "prediction": WAVE}
    path = write(tmp_path / "a.csv", columns)
    result = run(path, "--neighbors", 12, "--ridge", 0, "-o", tmp_path / "out.csv")
    assert "chosen" not in result.stdout
    x = np.stack([SPEED, LOAD], axis=1)
    found = rows_of(tmp_path / "out.csv")
    assert [int(row["row"]) for row in found] == list(range(2, 82))
    for row, members in zip(found, nearest(12), strict=True):
        model = LinearRegression().fit(x[members], WAVE[members])
        assert float(row["intercept"]) == pytest.approx(model.intercept_, abs=1e-9)
        assert float(row["coefficient of speed"]) == pytest.approx(model.coef_[0], abs=1e-9)
        assert float(row["coefficient of load"]) == pytest.approx(model.coef_[1], abs=1e-9)
        error = np.mean((model.predict(x[members]) - WAVE[members]) ** 2)
        assert float(row["deviation"]) == pytest.approx(error)


def test_a_ridge_treats_all_columns_alike_and_is_told_in_their_units(tmp_path):
    path = write(tmp_path / "a.csv", {"speed": SPEED, "load": LOAD, "prediction": WAVE})
    run(path, "--neighbors", 12, "--ridge", 2, "-o", tmp_path / "out.json")
    x = np.stack([SPEED, LOAD], axis=1)
    scale = x.std(0)
    for row, members in zip(json.loads((tmp_path / "out.json").read_text())["rows"], nearest(12), strict=True):
        model = Ridge(2.0).fit((x[members] - x.mean(0)) / scale, WAVE[members])
        np.testing.assert_allclose(np.ravel(row["witness"]["coefficients"]), model.coef_ / scale)


@pytest.mark.slow
def test_settings_are_chosen_by_leave_one_out_and_told(tmp_path):
    """Columns in different units, most of them noise: what was asked for stays, the rest is chosen."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(60, 10)) * 10.0 ** np.arange(10)
    f = np.tanh(x[:, 0]) + 0.5 * x[:, 1] / 10 + 0.3 * generator.normal(size=60)
    path = write(tmp_path / "a.csv", {f"x{k}": x[:, k] for k in range(10)} | {"prediction": f})
    result = run(path, "-o", tmp_path / "out.json", "-o", tmp_path / "out.html")
    content = json.loads((tmp_path / "out.json").read_text())
    standardized = (x - x.mean(0)) / x.std(0)
    hoods = near(standardized, k=25)
    choice = choose(f, x / x.std(0), hoods, neighbors=candidates_for(60))
    assert content["choice"] == choice.to_dict()
    best, plainest = choice.best, choice.at(choice.best.neighbors, 0.0)
    sentence = (
        f"chosen by leave-one-out: {best.neighbors} neighbors, ridge {best.ridge:g} (held-out variance explained among "
        f"the 10 nearest {100 * best.explained:.0f} %; without a ridge {100 * plainest.explained:.0f} %; 30 "
        "neighborhoods chose)"
    )
    assert sentence in result.stdout
    assert f"the {best.neighbors} nearest rows in standardized features" in result.stdout
    page = (tmp_path / "out.html").read_text()
    assert sentence in page
    assert "How it was chosen" in page
    assert page.count(" neighbors</th>") == len(candidates_for(60))
    lines = result.stdout.splitlines()
    assert lines[lines.index("") + 1].startswith("held-out variance explained ")
    family = ScaledLinearFamily(step=x.std(0), ridge=best.ridge)
    judged = audit(f, x, prefix(hoods, best.neighbors), family, judges=choice.others)
    assert content["audit"]["held_out_variance_explained"] == pytest.approx(
        judged.to_dict()["held_out_variance_explained"]
    )


@pytest.mark.slow
def test_what_is_asked_for_is_not_chosen(tmp_path):
    path = write(tmp_path / "a.csv", {"speed": SPEED, "load": LOAD, "prediction": WAVE})

    def candidates(*options):
        run(path, *options, "-o", tmp_path / "out.json", "--force")
        choice = json.loads((tmp_path / "out.json").read_text())["choice"]
        return choice and {(c["neighbors"], c["ridge"]) for c in choice["candidates"]}

    counts = candidates_for(80)
    assert candidates("--neighbors", 30) == {(30, ridge) for ridge in RIDGES}
    assert candidates("--ridge", 1) == {(count, 1) for count in counts}
    assert candidates("--ridge", 1, "--neighbors", 30) is None
    assert candidates("--family", "tree") == candidates("--family", "constant") == {(count, None) for count in counts}
    assert candidates("--neighbors", 500, "--ridge", 0) is None
    everything = run(path, "--neighbors", 500).stdout
    assert "chosen by leave-one-out: 80 neighbors" in everything
    assert "every neighborhood is the whole table of 80 rows" in everything


def test_a_model_that_laws_do_not_explain_is_said_so_plainly(tmp_path):
    generator = np.random.default_rng(1)
    path = write(tmp_path / "a.csv", {"a": generator.normal(size=90), "prediction": generator.normal(size=90)})
    result = run(path, "-o", tmp_path / "out.html", "-o", tmp_path / "out.json")
    share = json.loads((tmp_path / "out.json").read_text())["audit"]["held_out_variance_explained"]
    assert share < 0.05
    for text in (result.stdout, (tmp_path / "out.html").read_text()):
        assert f"eld-out variance explained is {100 * share:.1f} %" in text
        assert "do not read witnesses as the predictor" in text
        assert "No other candidate does better: name with --features what the model read, try another --family" in text
    fixed = run(path, "--neighbors", 9, "--ridge", 0).stdout
    assert "Take larger neighborhoods, a ridge, fewer features, or another family" in fixed


def test_trees_find_a_step(tmp_path):
    step = np.where(SPEED > 5, 1.0, 0.0)
    path = write(tmp_path / "a.csv", {"speed": SPEED, "load": LOAD, "f": step})
    result = run(path, "--family", "tree", "--depth", 1, "--neighbors", 40, "-o", tmp_path / "out.json")
    x = np.stack([SPEED, LOAD], axis=1)
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["audit"]["deviation_where_fitted"] == 0
    assert content["outputs"] == ["f"]
    splits = 0
    for row, members in zip(content["rows"], nearest(40), strict=True):
        tree = DecisionTreeRegressor(max_depth=1).fit(x[members], step[members]).tree_
        nodes = row["witness"]["nodes"]
        assert (nodes["feature"][0] < 0) == (tree.feature[0] < 0)
        if tree.feature[0] >= 0:
            splits += 1
            assert nodes["feature"][0] == tree.feature[0] == 0
            assert nodes["threshold"][0] == pytest.approx(tree.threshold[0])
    assert splits > 20
    assert "if speed <= " in result.stdout or "f = " in result.stdout


def test_bounds_hold_at_points_that_the_witness_has_not_seen(tmp_path):
    """With the level asked for: at the nearest row that is no member, a further point of the neighborhood's kind."""
    generator = np.random.default_rng(5)
    x = generator.uniform(size=(600, 2))
    f = np.sin(5 * x[:, 0]) * x[:, 1]
    path = write(tmp_path / "a.csv", {"a": x[:, 0], "b": x[:, 1], "prediction": f})
    result = run(path, "--level", 0.8, "-o", tmp_path / "out.csv")
    assert "with 80 % confidence a witness is within" in result.stdout
    found = rows_of(tmp_path / "out.csv")
    fresh = x + generator.normal(size=x.shape) * 0.02
    truth = np.sin(5 * fresh[:, 0]) * fresh[:, 1]
    names = ("intercept", "coefficient of a", "coefficient of b")
    theta = np.array([[float(row[name]) for name in names] for row in found])
    said = theta[:, 0] + (theta[:, 1:] * fresh).sum(1)
    bounds = np.array([float(row["bound"]) for row in found])
    assert (np.abs(said - truth) <= bounds).mean() >= 0.78


def test_groups_are_neighborhoods(tmp_path):
    site = np.where(np.arange(80) % 3, "north", "south")
    f = np.where(site == "north", 2 * SPEED, LOAD)
    path = write(tmp_path / "a.csv", {"speed": SPEED, "load": LOAD, "site": site, "prediction": f})
    result = run(path, "--groups", "site", "-o", tmp_path / "out.csv")
    assert "2 neighborhoods: the rows of each group; linear witnesses" in result.stdout
    for row, name, value in zip(rows_of(tmp_path / "out.csv"), site, f, strict=True):
        assert row["group"] == name
        assert float(row["prediction"]) == pytest.approx(value)
        assert float(row["coefficient of speed"]) == pytest.approx(2 if name == "north" else 0, abs=1e-9)
        assert float(row["coefficient of load"]) == pytest.approx(0 if name == "north" else 1, abs=1e-9)


def test_constants_and_several_predictions(tmp_path):
    columns = {"speed": SPEED, "load": LOAD, "prediction A": WAVE, "prediction B": -WAVE}
    path = write(tmp_path / "a.csv", columns)
    result = run(path, "--family", "constant", "--neighbors", 5, "-o", tmp_path / "out.csv")
    assert "predictions: prediction A, prediction B" in result.stdout
    for row, members in zip(rows_of(tmp_path / "out.csv"), nearest(5), strict=True):
        assert float(row["prediction A: intercept"]) == pytest.approx(WAVE[members].mean())
        assert float(row["prediction B: intercept"]) == pytest.approx(-WAVE[members].mean())


def test_the_error_and_the_least_trustworthy_rows(tmp_path):
    bent = np.where(np.abs(SPEED - 5) < 0.4, 30.0, SPEED)
    path = write(tmp_path / "a.csv", {"speed": SPEED, "measured": bent + 0.5, "prediction": bent})
    result = run(path, "--truth", "measured", "--neighbors", 15, "-o", tmp_path / "out.json")
    assert "error of prediction against measured: 0.5 (root mean squared)" in result.stdout
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["features"] == ["speed"]
    worst = max(content["rows"], key=lambda row: row["relative"])
    table = result.stdout.partition("least trustworthy:\n")[2].splitlines()
    assert table[1].startswith(worst["place"] + " ")
    assert f"around {worst['place']}: 15 members" in result.stdout.partition("the worst:")[2]


@pytest.mark.slow
def test_outputs_of_different_units_are_ranked_by_their_own(tmp_path):
    large = 1000 * np.sin(LOAD / 100)
    columns = {"speed": SPEED, "load": LOAD, "proba_0": WAVE, "proba_1": large, "label": [0, 1] * 40}
    path = write(tmp_path / "a.csv", columns)
    asked = ("--truth", "label", "--neighbors", 15, "--ridge", 0)
    result = run(path, *asked, "-o", tmp_path / "out.json", "-o", tmp_path / "out.html")
    assert "predictions: proba_0, proba_1" in result.stdout
    assert "no error against label is reported: --truth needs one --prediction, and there are 2" in result.stdout
    assert "error of" not in result.stdout
    f, x = np.stack([WAVE, large], axis=1), np.stack([SPEED, LOAD], axis=1)
    gaps = [f[m] - LinearRegression().fit(x[m], f[m]).predict(x[m]) for m in nearest(15)]
    off = [(np.abs(gap).mean(0) / f.std(0)).mean() for gap in gaps]
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [row["relative"] for row in rows] == pytest.approx(off)
    worst = int(np.argmax(off))
    first, second = result.stdout.partition("least trustworthy:\n")[2].splitlines()[1:3]
    assert first.startswith(f"row {worst + 2} ")
    rmse = np.sqrt(np.square(gaps[worst]).mean(0))
    assert [first.split()[-3], second.split()[-3]] == [f"{value:.3g}" for value in rmse]
    page = (tmp_path / "out.html").read_text()
    assert "the 15 nearest rows in standardized features" in page
    one = run(path, "--prediction", "proba_0,proba_1", "--features", "speed, load")
    assert "features: speed, load\n" in one.stdout
    assert "they must be what the model read" not in one.stdout
    assert "they must be what the model read" in result.stdout


def test_neighborhoods_that_say_nothing_are_told(tmp_path):
    small = write(tmp_path / "a.csv", {"speed": SPEED[:9], "yhat": WAVE[:9]})
    assert "every neighborhood is the whole table of 9 rows" in run(small).stdout
    groups = ["a"] * 2 + ["b"] * 8 + ["c"] * 2 + ["d"] * 8
    columns = {"speed": SPEED[:20], "load": LOAD[:20], "site": groups, "pred": WAVE[:20]}
    shown = run(write(tmp_path / "b.csv", columns), "--groups", "site", "--family", "constant").stdout
    assert "group a" not in shown.partition("least trustworthy:")[2]
    assert "around group b" in shown
    lonely = run(tmp_path / "b.csv", "--groups", "load", "--features", "speed", "--family", "constant").stdout
    assert "no neighborhood has 3 members or more" in lonely


@pytest.mark.slow
def test_molecules_are_judged_by_their_substructures(tmp_path):
    series = blockers().select(range(60))
    f = [float("S(=O)(=O)Nc1nccs1" in text or "c1nccs1" in text) for text in series.smiles]
    columns = {"smiles": [*series.smiles, "none such"], "name": ["m"] * 61, "prediction": [*f, 1.0]}
    path = write(tmp_path / "a.csv", columns)
    result = run(path, "-o", tmp_path / "out.json")
    assert "features: 2048 bits of fingerprints" in result.stdout
    assert "rejected rows: 1 (row 62: 'none such': not a valid SMILES)" in result.stdout
    assert "molecules with a Tanimoto similarity above 0.6; tree witnesses" in result.stdout
    content = json.loads((tmp_path / "out.json").read_text())
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in series.smiles]
    for i, row in enumerate(content["rows"]):
        similar = DataStructs.BulkTanimotoSimilarity(prints[i], prints)
        assert row["witness"]["size"] == sum(value > 0.6 for value in similar)
    used = {bit for row in content["rows"] for bit in row["witness"]["nodes"]["feature"]} - {-1}
    assert {int(bit) for bit in content["substructures"]} == used
    assert run(path, "--family", "linear").exit_code == 2


def test_too_few_members_for_a_linear_witness_are_told(tmp_path):
    columns = {f"x{a}": np.random.default_rng(a).normal(size=60) for a in range(9)}
    path = write(tmp_path / "a.csv", {**columns, "prediction": np.prod(list(columns.values()), axis=0)})
    assert "10 members determine a linear function of 9 features" in run(path, "--neighbors", 10, "--ridge", 0).stdout
    assert "note:" not in run(path, "--neighbors", 10, "--ridge", 1).stdout


@pytest.mark.slow
def test_exit_codes(tmp_path, monkeypatch, capsys):
    path = write(tmp_path / "a.csv", {"speed": SPEED, "prediction": WAVE})
    assert exit_code(monkeypatch, "audit", tmp_path / "b.csv") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("pellucid: The table must be a CSV or Parquet file. Got ")
    assert printed.err.count("\n") == 1
    assert exit_code(monkeypatch, "audit", path, "-o", tmp_path / "nowhere" / "a.json") == 1
    printed = capsys.readouterr()
    assert "--out: The folder of what is written must exist" in printed.err
    assert "Traceback" not in printed.err
    for wrong in (["-o", "a.pdf"], ["--level", 2], ["--ridge", 1, "--family", "tree"], ["--depth", 2, "--ridge", 1]):
        assert run(path, *wrong).exit_code == 2
