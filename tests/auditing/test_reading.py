import csv

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import NearestNeighbors

from pellucid import InputError
from pellucid.auditing.reading import read_predictions


def write(path, columns):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def mixed(rows=40):
    generator = np.random.default_rng(0)
    return {
        "patient_id": list(range(rows)),
        "age": generator.normal(50, 10, rows).round(1),
        "rare": [1 if i == 7 else 0 for i in range(rows)],
        "colour": [("red", "red", "green", "blue")[i % 4] for i in range(rows)],
        "smoker": [("no", "yes")[i % 2] for i in range(rows)],
        "visit": [f"2021-{1 + i % 12:02d}-03" for i in range(rows)],
        "comment": [f"text {i}" for i in range(rows)],
        "lab": [*[f"{i / 7:.2f}" for i in range(rows - 1)], "<0.1"],
        "seldom": [i * i if i % 3 == 0 else "" for i in range(rows)],
        "prediction": generator.normal(size=rows),
    }


def test_every_column_is_a_feature_or_left_out_with_a_reason(tmp_path):
    given = read_predictions(write(tmp_path / "a.csv", mixed()))
    assert given.columns == ("age", "rare", "colour", "smoker")
    assert given.features == ("age", "rare", "(colour = blue)", "(colour = green)", "(smoker = yes)")
    assert given.categories == ((2, 4), (4, 5))
    assert dict(given.notes) == {"colour": "blue or green against red", "smoker": "yes against no"}
    assert dict(given.ignored) == {
        "patient_id": "an identifier",
        "visit": "dates; write them as numbers, such as days, to use them",
        "comment": "a name: 40 different texts in 40 rows",
        "lab": "'<0.1' in row 41 is not a number; correct it, or leave the cell blank",
        "seldom": "blank in 26 of 40 rows; name it with `features=`",
    }
    assert len(given.columns) + len(given.ignored) + 1 == len(mixed())
    summary = given.summary()
    assert "features: age, rare, colour, smoker\n  they must be what the model read" in summary
    assert "ignored columns:\n  patient_id: an identifier\n" in summary


def test_what_is_asked_for_is_read(tmp_path):
    path = write(tmp_path / "a.csv", mixed())
    given = read_predictions(path, features=["seldom", "comment", "colour"])
    assert given.columns == ("seldom", "comment", "colour")
    assert given.named
    assert not given.ignored
    assert dict(given.notes)["seldom"] == "26 blank cells filled with the median, 382.5"
    assert "40 levels, the 33 rarest are 'other'" in dict(given.notes)["comment"]
    for name, message in {"visit": "a date; write it as a number", "lab": "Got '<0.1' in row 41: fix it"}.items():
        with pytest.raises(InputError, match=message):
            read_predictions(path, features=[name])


def test_rows_that_differ_in_a_category_are_one_apart(tmp_path):
    """As far as rows that differ by one standard deviation of a number, whichever the levels and however rare."""
    given = read_predictions(write(tmp_path / "a.csv", mixed()))
    columns = mixed()
    age, rare = np.array(columns["age"]), np.array(columns["rare"], dtype=float)
    expected = ((age[:, None] - age) / age.std()) ** 2 + (rare[:, None] - rare) ** 2
    for name in ("colour", "smoker"):
        cells = np.array(columns[name])
        expected += cells[:, None] != cells
    coordinates = given.coordinates()
    np.testing.assert_allclose(((coordinates[:, None] - coordinates) ** 2).sum(2), expected, atol=1e-12)
    near = given.neighborhoods(neighbors=9)
    oracle = NearestNeighbors(n_neighbors=9, metric="precomputed").fit(np.sqrt(expected))
    for i, reach in enumerate(oracle.kneighbors()[0][:, 7]):
        assert (np.sqrt(expected[i, near.members_of(i).numpy()]) <= reach + 1e-9).all()


def test_laws_of_categories_are_those_of_scikit_learn_in_their_units(tmp_path):
    columns = mixed()
    age = np.array(columns["age"])
    green, smoker = (np.array(columns[name]) == level for name, level in (("colour", "green"), ("smoker", "yes")))
    columns["prediction"] = 3 + 0.2 * age + 5.0 * green - smoker
    given = read_predictions(write(tmp_path / "a.csv", columns), features=["age", "colour", "smoker"])
    x, f, hoods = torch.from_numpy(given.x), torch.from_numpy(given.f), given.neighborhoods(neighbors=25)
    np.testing.assert_array_equal(given.x[:, 2], green)
    exact = given.linear_family().best_response(x, f, hoods)
    np.testing.assert_allclose(exact.theta[:, :, 0], np.tile([3, 0.2, 0, 5, -1], (40, 1)), atol=1e-9)
    step = given.step
    assert step.tolist() == [pytest.approx(age.std()), 1, 1, 1]
    shrunk = given.linear_family(ridge=2.0).best_response(x, f, hoods)
    for i in (0, 21):
        own = hoods.members_of(i).numpy()
        model = Ridge(2.0).fit(given.x[own] / step, given.f[own, 0])
        np.testing.assert_allclose(shrunk.coefficients[i, :, 0], model.coef_ / step, rtol=1e-8)


def test_blanks_are_filled_or_their_rows_dropped(tmp_path):
    columns = mixed() | {"dose": ["" if i in (3, 4) else i for i in range(40)]}
    columns["colour"][10] = ""
    path = write(tmp_path / "a.csv", columns)
    filled = read_predictions(path, features=["dose", "colour"])
    assert len(filled) == 40
    assert filled.x[[3, 4], 0].tolist() == [20.5, 20.5]
    assert dict(filled.notes)["dose"] == "2 blank cells filled with the median, 20.5"
    assert filled.features[-1] == "(colour = blank)"
    dropped = read_predictions(path, features=["dose", "colour"], blanks="drop")
    assert dropped.rejected == ((5, "'dose' is blank"), (6, "'dose' is blank"), (12, "'colour' is blank"))
    assert "(colour = blank)" not in dropped.features
    with pytest.raises(InputError, match="`blanks` must be 'fill' or 'drop'. Got 'mean'"):
        read_predictions(path, blanks="mean")


def survival(rows=300):
    """A study with its outcome in the table, as GBSG2 has it: the model read age and size."""
    generator = np.random.default_rng(1)
    age, size = generator.normal(55, 10, rows), generator.gamma(4, 6, rows)
    time = np.exp(7 - 0.02 * age - 0.03 * size + 0.8 * generator.normal(size=rows))
    event = (generator.random(rows) < 0.6).astype(int)
    risk = -LinearRegression().fit(np.c_[age, size], np.log(time)).predict(np.c_[age, size])
    return {"age": age, "size": size, "time": time.round(), "cens": event, "risk": risk}


def test_the_outcome_of_a_study_is_no_feature(tmp_path):
    path = write(tmp_path / "a.csv", survival())
    given = read_predictions(path, prediction=["risk"])
    assert given.features == ("age", "size")
    assert dict(given.ignored) == {
        "time": "by its name an outcome, with 'cens': keep it with `features=` if the model read it",
        "cens": "by its name an outcome, with 'time': keep it with `features=` if the model read it",
    }
    assert read_predictions(path, prediction=["risk"], features=["age", "time"]).features == ("age", "time")


def test_a_column_that_explains_the_truth_too_well_is_no_feature(tmp_path):
    """Without a name that gives it away, but with measured values; these need not be named."""
    study = survival()
    columns = {"age": study["age"], "size": study["size"], "m3": study["time"] ** 0.5, "prediction": study["risk"]}
    truth = np.log(study["time"])
    named = read_predictions(write(tmp_path / "a.csv", columns | {"log t": truth}), truth="log t")
    recognized = read_predictions(write(tmp_path / "b.csv", columns | {"y_true": truth}))
    for given in (named, recognized):
        assert given.features == ("age", "size")
        assert "closer to" in dict(given.ignored)["m3"]
        assert not given.alike
    kept = read_predictions(tmp_path / "b.csv", features=["age", "m3"])
    assert kept.features == ("age", "m3")
    with pytest.raises(
        InputError, match=r"must have features beside the predictions.*Got y_true.*m3 .closer to y_true"
    ):
        read_predictions(
            write(tmp_path / "c.csv", {"m3": columns["m3"], "prediction": columns["prediction"], "y_true": truth})
        )


def test_what_may_be_measured_is_asked_about(tmp_path):
    generator = np.random.default_rng(2)
    x = generator.normal(size=(100, 2))
    mpg = x @ [2, 1] + 0.2 * generator.normal(size=100)
    columns = {"weight": x[:, 0], "power": x[:, 1], "mpg": mpg, "prediction": x @ [2, 1]}
    path = write(tmp_path / "a.csv", columns)
    given = read_predictions(path)
    assert given.features == ("weight", "power", "mpg")
    assert [name for name, _ in given.alike] == ["mpg"]
    assert read_predictions(path, truth="mpg").alike == ()
    assert read_predictions(path, features=["mpg"]).alike == ()


@pytest.mark.parametrize("name", ["mpg_pred", "pred_mpg", "predicted mpg", "Predicted: mpg", "yhat_mpg"])
def test_what_a_prediction_is_named_after_is_measured(tmp_path, name):
    columns = {"weight": [3, 1, 2, 5], "mpg": [9, 2, 4, 4], name: [8, 3, 3, 5]}
    given = read_predictions(write(tmp_path / "a.csv", columns))
    assert given.features == ("weight",)
    assert dict(given.ignored)["mpg"].startswith("looks like measured values")
