"""ExpO's measures against their definitions, the rules of choice, and what is committed."""

import json

import numpy as np
import pytest
import torch
from paper import expo, expo_data, expo_measures, expo_results, runs
from sklearn.linear_model import Ridge

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(expo.REPORTS / "cpu")
CONFIG = runs.load_config("expo", "cpu")


def curved(x):
    return x[:, 0].square() + torch.sin(3 * x[:, 1]) - 2 * x[:, 2]


def test_the_study_runs(real_data, tmp_path):
    config = {**runs.load_config("expo", "smoke"), "data": ["autompg"], "steps": 20}
    for stage in expo.stages(config, tmp_path):
        for cell in stage.cells:
            runs.write_report(tmp_path / f"{cell['name']}.json", {"config": cell, **expo.run(cell), "commit": "0"})
    reports = runs.read_reports(tmp_path)
    assert set(reports) == {"autompg-network-trial0", "autompg-game-trial0", "autompg-trial0", "autompg-trial1"}
    assert reports["autompg-trial0"]["rows"] == {"train": 196, "validation": 98, "test": 98}
    error = np.mean([reports[f"autompg-trial{t}"]["results"][1]["error"] for t in (0, 1)])
    assert f"→ {error:.3f} ±" in expo_results.goals_table(config, reports)


def test_regressions_are_those_of_scikit_learn(generator):
    x = torch.randn(3, 40, 4, generator=generator, dtype=torch.float64)
    f = torch.randn(3, 40, generator=generator, dtype=torch.float64)
    weights = torch.rand(3, 40, generator=generator, dtype=torch.float64)
    laws = expo_measures.weighted_ridge(x, f, weights, 0.7)
    for i in range(3):
        ridge = Ridge(alpha=0.7).fit(x[i], f[i], sample_weight=weights[i])
        assert np.allclose(laws.coefficients[i], ridge.coef_)
        assert np.isclose(laws.intercepts[i], ridge.intercept_)
        assert np.allclose(laws.at(x)[i], ridge.predict(x[i]))


def test_lime_is_that_of_its_package(generator):
    lime_tabular = pytest.importorskip("lime.lime_tabular", reason="compares with the package lime")
    train = torch.randn(60, 3, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 2.0, 0.5]) + 1
    rows = train[:4] + 0.3
    explainer = lime_tabular.LimeTabularExplainer(
        train.numpy(), mode="regression", discretize_continuous=False, random_state=5
    )
    means, deviations = train.mean(0), train.std(0, correction=0)
    draws = torch.from_numpy(np.random.RandomState(5).normal(0, 1, 4 * 500 * 3).reshape(4, 500, 3))
    laws = expo_measures.lime_laws_of(curved, means, deviations, rows, draws)
    for i, row in enumerate(rows.numpy()):
        expected = explainer.explain_instance(
            row, lambda x: curved(torch.from_numpy(x)).numpy(), num_features=3, num_samples=500
        )
        coefficients = dict(expected.local_exp[1])
        theirs = np.array([coefficients[j] for j in range(3)]) / deviations.numpy()
        assert np.allclose(laws.coefficients[i], theirs)
        assert np.isclose(float(laws.at(rows[:, None])[i, 0]), expected.local_pred[0])


def test_lime_weighs_and_shrinks_as_it_is_written_down(generator):
    """The definition in a plain loop, with the regression of scikit-learn."""
    train = torch.randn(50, 3, generator=generator, dtype=torch.float64) * 2 - 1
    row = train[7]
    draws = torch.randn(1, 80, 3, generator=generator, dtype=torch.float64)
    means, deviations = train.mean(0), train.std(0, correction=0)
    points = [row.numpy(), *(draws[0, 1:] * deviations + means).numpy()]
    scaled = [(point - means.numpy()) / deviations.numpy() for point in points]
    width = 0.75 * np.sqrt(3)
    weights = [np.sqrt(np.exp(-np.square(z - scaled[0]).sum() / width**2)) for z in scaled]
    values = curved(torch.from_numpy(np.array(points))).numpy()
    ridge = Ridge(alpha=1.0).fit(scaled, values, sample_weight=weights)
    laws = expo_measures.lime_laws_of(curved, means, deviations, row[None], draws)
    assert np.allclose(laws.coefficients[0], ridge.coef_ / deviations.numpy())
    assert np.isclose(float(laws.at(row[None, None])[0, 0]), ridge.predict([scaled[0]])[0])


def linear(x):
    return x @ torch.tensor([1.0, -2.0, 0.5], dtype=x.dtype) + 3


def test_explanations_of_a_linear_network_miss_nothing(generator):
    train = torch.randn(100, 3, generator=generator, dtype=torch.float64)
    result = expo_measures.fidelities(linear, train, train[:10], samples=20_000, generator=generator)
    # LIME's ridge of 1 shrinks coefficients by a share of about one in 20,000 weighted samples.
    assert result["point"] < 1e-5
    assert result["neighborhood"] < 1e-5
    assert result["stability"] < 1e-5
    assert result["explained"] > 0.9995
    assert result["variance"] == pytest.approx(0.01 * (1 + 4 + 0.25) * 19 / 20, rel=0.2)
    near = expo_measures.witnessed(linear, train[:10], scale=0.1, generator=generator)
    assert near["explained"] > 1 - 1e-6
    assert near["missed"] < 1e-8


def test_fidelities_are_those_of_the_definitions():
    train = torch.randn(30, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    rows = train[:4]
    result = expo_measures.fidelities(curved, train, rows, samples=50, generator=torch.Generator().manual_seed(1))
    same = torch.Generator().manual_seed(1)  # the same draws in the same order
    laws = expo_measures.lime_laws(curved, train, rows, samples=50, generator=same)
    fresh = expo_measures.neighbors(rows, 5, 0.1, same)
    around = expo_measures.neighbors(rows, 20, 0.1, same)
    moved = expo_measures.lime_laws(curved, train, fresh[:, 0], samples=50, generator=same)
    point, neighborhood, stability, variance = [], [], [], []
    for i in range(4):
        a, b = float(laws.intercepts[i]), laws.coefficients[i]
        point.append((a + float(b @ rows[i]) - float(curved(rows[i : i + 1]))) ** 2)
        neighborhood += [(a + float(b @ x) - float(curved(x[None]))) ** 2 for x in fresh[i]]
        stability.append(float((moved.coefficients[i] - b).square().sum()) + (float(moved.intercepts[i]) - a) ** 2)
        variance.append(np.var([float(curved(x[None])) for x in around[i]]))
    assert result["point"] == pytest.approx(np.mean(point))
    assert result["neighborhood"] == pytest.approx(np.mean(neighborhood))
    assert result["stability"] == pytest.approx(np.mean(stability))
    assert result["variance"] == pytest.approx(np.mean(variance))
    assert result["explained"] == pytest.approx(1 - np.mean(neighborhood) / np.mean(variance))


def test_witnesses_of_noise_explain_less_than_nothing(generator):
    rows = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    noise = torch.Generator().manual_seed(9)
    result = expo_measures.witnessed(
        lambda x: torch.randn(len(x), generator=noise, dtype=torch.float64), rows, scale=0.1, generator=generator
    )
    assert -0.6 < result["explained"] < 0


def test_the_game_with_the_best_explanations_within_the_allowed_error_is_chosen():
    games = [{"weight": weight} for weight in (1, 2, 3)]
    results = [
        {"error": 0.10, "neighborhood": 0.5},
        {"error": 0.11, "neighborhood": 0.2},
        {"error": 0.20, "neighborhood": 0.1},
    ]
    assert expo.best_game(games, results, 0.12) == {"weight": 2}
    assert expo.best_game(games, results, 0.30) == {"weight": 3}
    assert expo.best_game(games, results, 0.05) == {"weight": 1}
    assert expo.best_network(games, results) == {"weight": 1}


def test_parts_are_standardized_by_training_rows_and_blanks_are_filled(real_data):
    table = expo_data.read("support2", 0, [0.5, 0.25, 0.25])
    assert table.classes
    assert [len(rows) for rows in table.x.values()] == [4552, 2277, 2276]
    assert torch.allclose(table.x["train"].mean(0), torch.zeros(1), atol=1e-4)
    assert torch.allclose(table.x["train"].std(0, correction=0), torch.ones(1), atol=1e-3)
    assert all(bool(rows.isfinite().all()) for rows in table.x.values())
    assert 0.6 < float(table.y["train"].mean()) < 0.75


def test_blanks_become_the_median_of_the_training_rows_and_are_marked():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 6.0, None, 100.0], "b": ["x", None, "y", "x", "y"]})
    coded = expo_data.encoded(frame, np.array([0, 1, 2, 3]))
    assert coded.tolist() == [
        [1, 0, 0, 1, 0],
        [2, 0, 1, 0, 0],
        [6, 0, 0, 0, 1],
        [2, 1, 0, 1, 0],
        [100, 0, 0, 0, 1],
    ]


def test_a_table_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path))
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match="housing.csv must be in the folder tables"):
        expo_data.read("housing", 0, [0.5, 0.25, 0.25])


def test_the_readme_shows_what_was_measured():
    text = expo_results.README.read_text()
    for table in (expo_results.goals_table, expo_results.measures_table, expo_results.settings_table):
        assert table(CONFIG, COMMITTED) in text


def test_the_committed_reports_are_of_the_committed_configuration():
    """A run that was stopped may lack trials, and the tables say how many there are."""
    cells = {cell["name"]: cell for stage in expo.stages(CONFIG, expo.REPORTS / "cpu") for cell in stage.cells}
    assert set(COMMITTED) <= set(cells)
    for name, report in COMMITTED.items():
        assert report["config"] == json.loads(json.dumps(cells[name]))
    for data in CONFIG["data"]:
        assert expo_results.finals(COMMITTED, data)
