import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from pellucid.auditing.columns import Column
from pellucid.auditing.outcomes import alike, named_outcomes, revealing, squared_correlation


def column(name, values, levels=False):
    values = np.asarray(values, dtype=np.float64)
    return Column(name, (name,), values[:, None], values, levels=levels)


def test_strength_is_the_squared_rank_correlation():
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 9, 200), generator.normal(size=200)
    b = b + a
    assert squared_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic ** 2)
    assert squared_correlation(a, np.exp(b)) == pytest.approx(squared_correlation(a, b))
    assert squared_correlation(np.ones(200), b) == 0
    # Levels have no order; by chance they say nothing.
    shuffled = np.array([4, 0, 7, 2, 8, 1, 5, 3, 6])[a]
    assert squared_correlation(shuffled, b, levels=True) == pytest.approx(squared_correlation(a, b, levels=True))
    assert squared_correlation(shuffled, b, levels=True) > 0.8 > 0.3 > squared_correlation(shuffled, b)
    assert squared_correlation(generator.integers(0, 40, 200), generator.normal(size=200), levels=True) < 0.1


@pytest.mark.parametrize(
    ("names", "outcomes"),
    [
        ({"age": 5, "time": 9, "cens": 2}, {"time", "cens"}),  # GBSG2
        ({"age": 5, "lenfol": 9, "fstat": 2, "hr": 7}, {"lenfol", "fstat"}),  # WHAS500
        ({"Survival_in_days": 9, "Status": 2, "Age_in_years": 5}, {"Survival_in_days", "Status"}),  # veteran
        ({"futime": 9, "death": 2, "creatinine": 8}, {"futime", "death"}),  # flchain
        ({"survtime": 9, "reltime": 9, "stat": 2, "rcens": 2, "dx": 3}, {"survtime", "reltime", "stat", "rcens"}),
        ({"OS months": 9, "event": 2}, {"OS months", "event"}),
        ({"time": 9, "speed": 9}, set()),  # no event
        ({"status": 2, "speed": 9}, set()),  # no time
        ({"time": 9, "status": 5}, set()),  # five kinds of status are no event
        ({"Survived": 2, "fare": 9}, {"Survived"}),
    ],
)
def test_outcomes_by_their_names(names, outcomes):
    columns = {name: [str(i % levels) for i in range(20)] for name, levels in names.items()}
    assert set(named_outcomes(columns)) == outcomes


def study(seed, rows=400):
    """Four features, and something measured that depends on three of them and on chance."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, 4))
    truth = 1.5 * x[:, 0] + np.sin(2 * x[:, 1]) + 0.5 * x[:, 2] + generator.normal(size=rows)
    return x, truth, generator


@pytest.mark.parametrize("model", [LinearRegression(), GradientBoostingRegressor(random_state=0)])
@pytest.mark.parametrize("seed", range(5))
def test_what_a_model_read_is_kept_and_what_it_could_not_read_is_not(model, seed):
    x, truth, generator = study(seed)
    f = model.fit(x[:200], truth[:200]).predict(x)[200:]
    x, truth = x[200:], truth[200:]
    columns = [column(f"x{k}", x[:, k]) for k in range(4)]
    assert revealing(columns, f[:, None], truth, "y") == {}
    later = [
        column("in other units", 7 - 3 * truth),
        column("a consequence", truth + 0.7 * generator.normal(size=200)),
        column("high or low", truth > np.median(truth), levels=True),
    ]
    reasons = revealing([*columns, *later], f[:, None], truth, "y")
    assert set(reasons) == {"in other units", "a consequence", "high or low"}
    assert reasons["in other units"].startswith("closer to y than the predictions are, as no column is")
    assert "squared rank correlation 1.00 with y" in reasons["in other units"]
    assert reasons["in other units"].endswith("keep it with `features=`")


def test_a_strong_feature_that_the_model_read_is_kept():
    """It alone gives the truth away, and so do the predictions."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=300)
    truth = np.exp(x)
    for f in (truth, truth + 0.01 * generator.normal(size=300)):
        assert revealing([column("x", x)], f[:, None], truth, "y") == {}


def test_few_rows_and_blanks_accuse_nobody():
    x, truth, _ = study(0, rows=60)
    leak = truth.copy()
    assert revealing([column("y2", leak)], x[:, :1], truth, "y")
    assert revealing([column("y2", leak[:15])], x[:15, :1], truth[:15], "y") == {}
    assert revealing([column("y2", leak)], x[:, :1], np.ones(60), "y") == {}
    mostly = np.where(np.arange(60) < 15, leak, np.nan)
    assert revealing([column("y2", mostly)], x[:, :1], truth, "y") == {}
    assert revealing([column("y2", leak)], x[:, :1], np.where(np.arange(60) < 15, truth, np.nan), "y") == {}


def test_what_rises_and_falls_with_the_predictions_is_asked_about():
    x, truth, generator = study(1)
    f = (truth + 0.3 * generator.normal(size=400))[:, None]
    asked = alike([column("weight", truth), column("x0", x[:, 0]), column("kind", truth > 0, levels=True)], f)
    assert set(asked) == {"weight"}
    assert asked["weight"] == pytest.approx(abs(spearmanr(truth, f[:, 0]).statistic))
