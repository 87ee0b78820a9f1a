"""`pellucid audit`: what it reads from the columns of a table."""

import json

import numpy as np
import pytest
from blockers import blockers
from cli.audits import LOAD, SPEED, WAVE, rows_of, run, write

from pellucid import InputError
from pellucid.auditing.reading import read_predictions
from pellucid.registry import structure_features


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_what_predict_writes_is_understood(tmp_path):
    columns = {
        "smiles": blockers().smiles[:20],
        "activity": np.arange(20) ** 0.5,
        "predicted: activity": np.arange(20) ** 0.4,
        "tree: activity": np.arange(20) ** 0.3,
        "90 % interval from: activity": np.arange(20) ** 0.5,
        "similarity to it": np.sin(np.arange(20)),
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
    for name in ("tree: activity", "members", "90 % interval from: activity", "similarity to it"):
        assert reasons[name] == "comes with the predictions"
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
        ("", {}, "must have a line of names and at least one row. Got nothing"),
        (
            "a,b,prediction\n1,2,3\n1e200,5,1\n7,8,9\n",
            {},
            "Column 'a' of .* must hold numbers up to 1e.30. Got 1e.200 in row 3",
        ),
        ("a,b,prediction\n1,2,3\n4,5,-1e99\n7,8,9\n", {}, "Column 'prediction' of .* up to 1e.30. Got -1e.99 in row 3"),
        ("a,prediction\n1,2\n", {}, "must have features beside the predictions.*Got a .always the same"),
        ("a,prediction\n1,2\n4,3\n", {}, "must have at least 3 complete rows. Got 2 of 2; add some"),
        (
            "a,prediction\n1,2\n,3\n5,\n9,1\n",
            {"blanks": "drop"},
            "Got 2 of 4; row 3: 'a' is blank; use `blanks='fill'`, or name the columns without blanks with `features=`",
        ),
        (
            "a,prediction\n1,2\n4,\n5,\n",
            {},
            "Got 1 of 3; row 3: 'prediction' is blank; correct these rows",
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


@pytest.mark.slow
def test_names_are_never_markup(tmp_path):
    path = write(tmp_path / "a.csv", {"[red]a[/]": SPEED, "prediction": WAVE, "<u>load": LOAD})
    result = run(path, "-o", tmp_path / "out.html")
    assert "features: [red]a[/], <u>load" in result.stdout
    page = (tmp_path / "out.html").read_text()
    assert "[red]a[/]" in page
    assert "<u>load" not in page
    assert "&lt;u&gt;load" in page


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
