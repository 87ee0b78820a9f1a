import csv
import json

import numpy as np
import pytest
from blockers import blockers
from cli.runner import exit_code
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeRegressor
from typer.testing import CliRunner

from pellucid import InputError, audit
from pellucid import nearest as near
from pellucid.auditing.reading import read_predictions
from pellucid.choosing import RIDGES, candidates_for, choose, prefix
from pellucid.cli import command_line
from pellucid.registry import structure_features
from pellucid.witnesses.scaled import ScaledLinearFamily

SPEED, LOAD = (np.random.default_rng(seed).uniform(size=80) * unit for seed, unit in enumerate((10, 1000)))
WAVE = np.sin(SPEED) + LOAD / 500


def write(path, columns, separator=","):
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=separator).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def run(*arguments):
    result = CliRunner().invoke(command_line(), ["audit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


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


def test_what_is_asked_for_is_not_chosen(tmp_path):
    path = write(tmp_path / "a.csv", {"speed": SPEED, "load": LOAD, "prediction": WAVE})

    def candidates(*options):
        run(path, *options, "-o", tmp_path / "out.json")
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


def test_columns_of_every_kind(tmp_path):
    generator = np.random.default_rng(2)
    colour, smoker = generator.choice(["red", "green", "blue"], 120, p=[0.5, 0.3, 0.2]), np.tile(["yes", "no"], 60)
    dose = generator.uniform(size=120)
    f = 3 * dose + (colour == "green") - 2.0 * (smoker == "yes")
    cells = ["" if i == 5 else value for i, value in enumerate(dose)]
    columns = {"dose": cells, "colour": colour, "smoker": smoker, "when": ["2021-01-05"] * 120, "prediction": f}
    path = write(tmp_path / "a.csv", columns)
    result = run(path, "-o", tmp_path / "out.json", "-o", tmp_path / "out.html")
    assert "features: dose, colour, smoker\n" in result.stdout
    assert f"dose: 1 blank cell filled with the median, {np.median(np.delete(dose, 5)):.4g}\n" in result.stdout
    assert "colour: green or blue against red\n" in result.stdout
    assert "when: dates; write them as numbers" in result.stdout
    content = json.loads((tmp_path / "out.json").read_text())
    assert [column[:2] for column in content["columns"]] == [
        ["prediction", "prediction"], ["dose", "feature"], ["colour", "feature"], ["smoker", "feature"],
        ["when", "ignored"],
    ]  # fmt: skip
    page = (tmp_path / "out.html").read_text()
    assert "What each column was taken for" in page
    assert "green or blue against red" in page
    exact = run(path, "--blanks", "drop", "--ridge", 0, "--neighbors", 60, "-o", tmp_path / "out.csv")
    assert "rejected rows: 1 (row 7: 'dose' is blank)" in exact.stdout
    rows = rows_of(tmp_path / "out.csv")
    assert len(rows) == 119
    for row in rows:
        assert float(row["coefficient of (colour = green)"]) == pytest.approx(1)
        assert float(row["coefficient of (smoker = yes)"]) == pytest.approx(-2)


def test_an_outcome_is_flagged_and_kept_if_it_is_named(tmp_path):
    generator = np.random.default_rng(3)
    age = generator.normal(55, 10, 100)
    columns = {"age": age, "time": np.exp(generator.normal(size=100) - age / 20), "event": [0, 1] * 50, "risk": age / 9}
    path = write(tmp_path / "a.csv", columns)
    shown = run(path, "--prediction", "risk").stdout
    assert "features: age\n  they must be what the model read: if not, name those that are with --features\n" in shown
    assert "  time: by its name an outcome, with 'event': keep it with --features if the model read it\n" in shown
    assert "features: age, time\n" in run(path, "--prediction", "risk", "--features", "age,time").stdout
    measured = {"age": age, "km driven": age * 3 + generator.normal(size=100), "prediction": age * 3}
    asked = run(write(tmp_path / "b.csv", measured)).stdout
    assert "note: km driven rises and falls with the predictions (rank correlation 1.00)" in asked
    assert "set --truth 'km driven'; if the model read it, name it among the --features." in asked


def test_trees_find_a_step(tmp_path):
    step = np.where(SPEED > 5, 1.0, 0.0)
    path = write(tmp_path / "a.csv", {"speed": SPEED, "load": LOAD, "f": step})
    result = run(path, "--family", "tree", "--depth", 1, "--neighbors", 40, "-o", tmp_path / "out.json")
    x = np.stack([SPEED, LOAD], axis=1)
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["audit"]["deviation"] == 0
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


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["pred", "proba"], ["pred"]),
        (["pred_a", "pred_b"], ["pred_a", "pred_b"]),
        (["wear_pred"], ["wear_pred"]),
        (["Y-hat"], ["Y-hat"]),
        (["prob_0", "prob_1"], ["prob_0", "prob_1"]),
        (["probability", "score"], ["probability"]),
        (["score"], ["score"]),
    ],
)
def test_predictions_are_found_by_their_names(tmp_path, names, found):
    columns = {"problem size": [1, 5, 2, 7], "predator": [4, 3, 9, 1]} | {name: [3, 4, 1, 0] for name in names}
    given = read_predictions(write(tmp_path / "a.csv", columns))
    assert list(given.outputs) == found
    assert set(given.features) == {"problem size", "predator"} | (set(names) - set(found) - {"proba"})


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


def test_what_predict_writes_is_understood(tmp_path):
    columns = {
        "smiles": blockers().smiles[:20],
        "activity": np.arange(20) ** 0.5,
        "predicted: activity": np.arange(20) ** 0.4,
        "tree: activity": np.arange(20) ** 0.3,
        "bound 90 %: activity": np.arange(20) ** 0.2,
        "members": [3, 4] * 10,
    }
    path = write(tmp_path / "a.csv", columns)
    with pytest.raises(InputError, match="Got none for column 'smiles' of a.csv; pass `pellucid.registry.structure_"):
        read_predictions(path)
    given = read_predictions(path, structures=structure_features)
    assert given.outputs == ("predicted: activity",)
    assert given.smiles is not None
    assert len(given.features) == 2048
    reasons = dict(given.ignored)
    assert reasons["tree: activity"] == reasons["members"] == "comes with the predictions"
    assert reasons["activity"].startswith("looks like measured values")


def test_semicolons_decimal_commas_tabs_and_blanks(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;prediction\n1,5;2;3,25\n2;NA;1\n\n3;4;5\n4;2;NaN\n7;1;2\n")
    filled = read_predictions(tmp_path / "a.csv")
    np.testing.assert_array_equal(filled.x, [[1.5, 2], [2, 2], [3, 4], [7, 1]])
    assert filled.notes == (("b", "1 blank cell filled with the median, 2"),)
    assert filled.rejected == ((6, "'prediction' is blank"),)
    given = read_predictions(tmp_path / "a.csv", blanks="drop")
    np.testing.assert_array_equal(given.x, [[1.5, 2], [3, 4], [7, 1]])
    np.testing.assert_array_equal(given.f, [[3.25], [5], [2]])
    assert given.rows == (2, 5, 7)
    assert given.rejected == ((3, "'b' is blank"), (6, "'prediction' is blank"))
    path = write(tmp_path / "b.csv", {"a": [1, 5, 2], "prediction": [1, 2, 3]}, separator="\t")
    np.testing.assert_array_equal(read_predictions(path).x, [[1], [5], [2]])


def test_columns_that_are_no_features_are_told(tmp_path):
    columns = {
        "sample_id": [7, 3, 9, 1],
        "no": [1, 2, 3, 4],
        "time": [10, 11, 12, 13],
        "site": list("abca"),
        "batch": [1] * 4,
        "empty": [""] * 4,
        "y_true": [1, 2, 3, 5],
        "speed": [1, 5, 2, 2],
        "y_pred": [3, 4, 1, 0],
    }
    path = write(tmp_path / "a.csv", columns)
    given = read_predictions(path)
    assert given.features == ("speed",)
    assert dict(given.ignored) == {
        "sample_id": "an identifier",
        "no": "an identifier",
        "time": "numbers the rows",
        "site": "a name: 3 different texts in 4 rows",
        "batch": "always the same",
        "empty": "blank",
        "y_true": "looks like measured values; name it with `truth=`, or with `features=`",
    }
    assert read_predictions(path, features=["time", "y_true"]).features == ("time", "y_true")
    assert read_predictions(path, truth="y_true").errors() == {"y_pred": pytest.approx(np.sqrt(37 / 4))}
    # A numbering is better than nothing; coordinates are no measured values.
    assert read_predictions(write(tmp_path / "b.csv", {"t": [1, 2, 3], "f": [1, 0, 2]})).features == ("t",)
    coordinates = {"x": [1, 4, 3], "y": [3, 9, 4], "prediction": [1, 0, 2]}
    assert read_predictions(write(tmp_path / "c.csv", coordinates)).features == ("x", "y")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "must have a line of names and at least one row. Got 0 lines"),
        ("a,prediction\n1,2\n", {}, "must have features beside the predictions.*Got a .always the same"),
        ("a,prediction\n1,2\n4,3\n", {}, "must have at least 3 complete rows. Got 2 of 2; add some"),
        (
            "a,prediction\n1,2\n,3\n5,\n9,1\n",
            {"blanks": "drop"},
            "Got 2 of 4; row 3: 'a' is blank; leave out columns with blanks",
        ),
        ("a,prediction\n1,high\n5,low\n2,3\n", {}, "Column 'prediction'.*finite numbers. Got 'high' in row 2"),
        ("a,prediction\n1,inf\n5,3\n2,3\n", {}, "Got 'inf' in row 2"),
        ("a,b\n1,2\n5,3\n", {}, "must have a column of predictions.*Got a, b; name it with `prediction=`"),
        ("a,a,f\n1,2,1\n5,3,1\n", {}, "must have its own name. Got 'a' twice"),
        (
            "a,f\n1,2\n5,3\n",
            {"features": ["b"]},
            "`features=` must be a column of a.csv. Got 'b'; its columns are a, f",
        ),
        ("a,f\n1,2\n5,3\n", {"features": ["f"]}, "must be one thing. Got 'f' twice"),
        ("a,y,f\n1,,2\n5,,3\n3,,1\n", {"truth": "y"}, "must hold measured values. Got 'y', which is blank"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, options, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_predictions(tmp_path / "a.csv", **options)


def test_too_few_members_for_a_linear_witness_are_told(tmp_path):
    columns = {f"x{a}": np.random.default_rng(a).normal(size=60) for a in range(9)}
    path = write(tmp_path / "a.csv", {**columns, "prediction": np.prod(list(columns.values()), axis=0)})
    assert "10 members determine a linear function of 9 features" in run(path, "--neighbors", 10, "--ridge", 0).stdout
    assert "note:" not in run(path, "--neighbors", 10, "--ridge", 1).stdout


def test_names_are_never_markup(tmp_path):
    path = write(tmp_path / "a.csv", {"[red]a[/]": SPEED, "prediction": WAVE, "<u>load": LOAD})
    result = run(path, "-o", tmp_path / "out.html")
    assert "features: [red]a[/], <u>load" in result.stdout
    page = (tmp_path / "out.html").read_text()
    assert "[red]a[/]" in page
    assert "<u>load" not in page
    assert "&lt;u&gt;load" in page


def test_exit_codes(tmp_path, monkeypatch, capsys):
    path = write(tmp_path / "a.csv", {"speed": SPEED, "prediction": WAVE})
    assert exit_code(monkeypatch, "audit", tmp_path / "b.csv") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("pellucid: The table must be a CSV file. Got ")
    assert printed.err.count("\n") == 1
    assert exit_code(monkeypatch, "audit", path, "-o", tmp_path / "nowhere" / "a.json") == 1
    printed = capsys.readouterr()
    assert "No such file or directory" in printed.err
    assert "Traceback" not in printed.err
    for wrong in (["-o", "a.pdf"], ["--level", 2], ["--ridge", 1, "--family", "tree"], ["--depth", 2, "--ridge", 1]):
        assert run(path, *wrong).exit_code == 2


def test_a_column_that_varies_by_rounding_alone_is_no_feature(tmp_path):
    generator = np.random.default_rng(0)
    x = generator.normal(size=60)
    noise = np.where(generator.random(60) < 0.5, 0.3, 0.1 + 0.2)
    columns = {"x": x, "noise": noise, "prediction": 0.7 * x + 0.1 * generator.normal(size=60)}
    path = write(tmp_path / "a.csv", {name: [repr(float(v)) for v in values] for name, values in columns.items()})
    result = run(path, "-o", tmp_path / "out.json")
    assert "  noise: always the same\n" in result.stdout
    assert run(path, "--features", "x,noise", "-o", tmp_path / "both.json").exit_code == 0
    one, both = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("out", "both"))
    settings = [(content["choice"]["neighbors"], content["choice"]["ridge"]) for content in (one, both)]
    assert settings[0] == settings[1]  # nor does it move anybody's neighbors
    for first, second in zip(one["rows"], both["rows"], strict=True):
        (slope,), (same, none) = (np.ravel(row["witness"]["coefficients"]) for row in (first, second))
        assert none == 0
        assert same == pytest.approx(slope)
