"""The explainers of the benchmark against their definitions; LIME and SHAP are skipped where they are not installed."""

import json

import numpy as np
import pytest
import torch
from benchmarks import explainers, faithfulness
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge

SLOPES = np.array([1.5, -2.0, 0.5])


def linear_task(rows=80):
    train = np.random.default_rng(0).normal(size=(rows, 3))
    model = LinearRegression().fit(train, train @ SLOPES + 3)
    return explainers.Task(f=model.predict, train=train, model=model, classes=False)


@pytest.mark.parametrize("tool", explainers.EXPLAINERS)
def test_every_tool_recovers_a_linear_black_box(tool):
    if tool in explainers.PACKAGES:
        pytest.importorskip(explainers.PACKAGES[tool], reason="needs pip install 'pellucid[bench]'")
    task = linear_task()
    rows = np.array([[0.5, -0.7, 1.2], [-1.0, 0.4, 0.6]])
    laws = explainers.EXPLAINERS[tool](task, rows, 0)
    assert np.allclose(laws.coefficients, [SLOPES, SLOPES], atol=0.02)
    assert np.allclose(laws.at(torch.from_numpy(rows)[:, None])[:, 0], task.f(rows), atol=0.02)


def test_weights_of_a_forest_are_shares_of_leaves():
    rng = np.random.default_rng(1)
    x, rows = rng.normal(size=(40, 2)), rng.normal(size=(3, 2))
    forest = RandomForestRegressor(7, min_samples_leaf=4, random_state=0).fit(x, x[:, 0] ** 2)
    weights = explainers.forest_weights(forest.apply(x), forest.apply(rows))
    for i in range(3):
        expected = np.zeros(40)
        for tree in forest.estimators_:
            alike = [j for j in range(40) if tree.apply(x[j : j + 1]) == tree.apply(rows[i : i + 1])]
            for j in alike:
                expected[j] += 1 / len(alike)
        assert np.allclose(weights[i], expected)


def test_laws_of_a_forest_are_weighted_regressions_on_the_columns_kept():
    rng = np.random.default_rng(2)
    x, values, weights = rng.normal(size=(30, 4)), rng.normal(size=30), rng.random((2, 30))
    kept = np.array([3, 0])
    laws = explainers.forest_laws(x, values, weights, kept, 0.01)
    for i in range(2):
        ridge = Ridge(alpha=0.01).fit(x[:, kept], values, sample_weight=weights[i])
        assert np.allclose(laws.coefficients[i, kept], ridge.coef_)
        assert np.isclose(laws.intercepts[i], ridge.intercept_)
        assert not laws.coefficients[i, [1, 2]].any()


def test_what_a_law_accounts_for_is_that_of_the_definition():
    task = explainers.Task(f=lambda x: x[:, 0] ** 2, train=np.zeros((2, 1)), model=None, classes=False)
    laws = explainers.Laws(torch.tensor([0.0, 1.0]).double(), torch.tensor([[1.0], [0.0]]).double())
    points = torch.tensor([[[1.0], [2.0], [3.0]], [[0.0], [1.0], [2.0]]]).double()
    missed = [0.0, (2 - 4) ** 2, (3 - 9) ** 2, (1 - 0) ** 2, 0.0, (1 - 4) ** 2]
    spread = [(v - 14 / 3) ** 2 for v in (1, 4, 9)] + [(v - 5 / 3) ** 2 for v in (0, 1, 4)]
    explained, root = faithfulness.held_to(task, laws, points)
    assert explained == pytest.approx(1 - sum(missed) / sum(spread))
    assert root == pytest.approx(np.sqrt(np.mean(missed)))


def test_change_is_relative_to_the_size_of_the_coefficients():
    laws = explainers.Laws(torch.zeros(2), torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    others = explainers.Laws(torch.zeros(2), torch.tensor([[3.0, 4.0], [0.0, 2.5]]))
    assert faithfulness.change(laws, laws) == 0
    assert faithfulness.change(laws, others) == pytest.approx(0.5)


def test_neighbors_that_laws_are_held_to_are_not_those_they_are_fitted_to():
    data = faithfulness.read("diabetes")
    rows = data.test[:5]
    fresh, near = faithfulness.neighbors_of(data, rows)
    assert fresh.shape == (5, 20, 10)
    points, _ = explainers.neighborhoods(data.train, rows, 63, 0, nearest=True)
    assert float(torch.cdist(fresh.flatten(0, 1), points).min()) > 1e-6
    for i, row in enumerate(rows):
        order = np.argsort(np.linalg.norm(data.test - row, axis=1))
        assert np.allclose(near[i], data.test[order[1:6]])


def test_packages_that_are_missing_are_named_and_left_out(monkeypatch, capsys):
    monkeypatch.setattr(explainers, "find_spec", lambda _: None)
    monkeypatch.setattr(faithfulness, "network", lambda name, *_: NETWORK | {"data": name})
    faithfulness.main(["--smoke"])
    printed = capsys.readouterr().out
    assert "lime and shap left out, not installed: pip install 'pellucid[bench]'" in printed
    assert "| table | black box | MAPLE | Pellucid |" in printed


NETWORK = {
    key: {"errors": [0.5], "explained": [0.95], "explained_rows": [0.9], "missed": [1.0]} for key in ("game", "deep")
}


def test_a_table_that_is_not_there_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(faithfulness, "find_data", lambda _: None)
    report = faithfulness.measure(True, ["housing"])
    assert report["rows"] == []
    assert "housing: left out" in capsys.readouterr().out


def test_goals_are_counted():
    def row(tool, explained, seconds):
        measures = {"explained": explained, "explained_rows": -explained, "seconds_per_1000": seconds}
        return {"data": "diabetes", "box": "MLP", "tool": tool, **measures}

    report = {"rows": [row("LIME", 0.5, 300.0), row("LIME, around", 0.6, 200.0), row("Pellucid", 0.7, 1.0)]}
    report["networks"] = [NETWORK | {"data": "diabetes"}]
    lines = faithfulness.goals(report).splitlines()
    assert lines[2].endswith("| 1 of 1 |")
    assert lines[3].endswith("| 0 of 1 |")
    assert lines[4].endswith("| 1 of 1: 200 to 200 times |")
    assert lines[5].endswith("| 1 of 1 |")


def test_the_tables_are_what_was_measured():
    report = json.loads((faithfulness.HERE / "faithfulness.json").read_text())
    assert faithfulness.sections(report) in faithfulness.README.read_text()
