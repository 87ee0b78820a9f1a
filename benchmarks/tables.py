"""Benchmarks of the estimators of tables: fits beside scikit-learn's network, and explanations of many rows.

    python -m benchmarks.tables            # measure, save, and update the table in benchmarks/README.md
    python -m benchmarks.tables --smoke    # tiny sizes, nothing saved: shows that everything runs

All on one thread, with the settings that the estimators choose themselves. 100,000 rows are fitted and explained once:
that takes minutes.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
import pandas as pd
import torch
from benchmarks.run import publish
from numpy.typing import NDArray

from pellucid.tabular import TransparentRegressor


def table(rows: int) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Eight numbers, a category, a yes or no, and a date, of which some interact."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame({f"n{i}": rng.normal(size=rows) for i in range(8)})
    x["kind"] = rng.choice(list("abcde"), rows)
    x["flag"] = rng.random(rows) < 0.4
    x["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), "D")
    y = x.n0 * np.where(x.flag, 2, 1) + np.sin(x.n1) + x.n2 * x.n3 / 2 + np.where(x.kind == "a", 1, 0)
    return x, y.to_numpy() + 0.3 * rng.normal(size=rows)


def encoded(x: pd.DataFrame) -> NDArray[np.float64]:
    """The same columns as scikit-learn's network reads them."""
    from sklearn.preprocessing import StandardScaler

    days = (x.day - x.day.min()).dt.days
    plain = pd.get_dummies(x.assign(day=days), columns=["kind"], dtype=float).astype(float)
    return np.asarray(StandardScaler().fit_transform(plain))


def timed(action: Any) -> tuple[Any, float]:
    """What the action returns, and its seconds on one core: other work on the machine does not count."""
    start = time.process_time()
    result = action()
    return result, time.process_time() - start


def row(name: str, against: str, ratio: float, unit: str, goal: str = "", met: bool = True) -> dict[str, Any]:
    return {"name": name, "against": against, "ratio": ratio, "unit": unit, "goal": goal, "met": met, "threads": 1}


def small(smoke: bool) -> list[dict[str, Any]]:
    """A table as most people have it."""
    return measured(200 if smoke else 1000, epochs=1 if smoke else None)


def large(smoke: bool) -> list[dict[str, Any]]:
    """A hundred thousand rows, and the memory that they take."""
    rows = measured(300 if smoke else 100_000, epochs=1 if smoke else None)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [*rows, row("memory of all of it", "", memory, "GB", "under 4 GB", memory < 4)]


def measured(size: int, *, epochs: int | None) -> list[dict[str, Any]]:
    """Fits with and without a game, and all numbers of the laws of all rows."""
    from sklearn.neural_network import MLPRegressor

    torch.set_num_threads(1)
    settings: dict[str, Any] = {"witness": "linear", "random_state": 0, "epochs": epochs}
    x, y = table(size)
    test_x, test_y = (part[size:] for part in table(size + 1000))
    TransparentRegressor(**{**settings, "epochs": 1}).fit(x[:100], y[:100])  # compiles
    model, took = timed(lambda: TransparentRegressor(**settings).fit(x, y))
    _, deep = timed(lambda: TransparentRegressor(game=None, **settings).fit(x, y))
    both = encoded(pd.concat([x, test_x]))
    plain = MLPRegressor(hidden_layer_sizes=(128, 128), early_stopping=True, random_state=0)
    _, theirs = timed(lambda: plain.fit(both[:size], y))
    errors = [np.square(p - test_y).mean() for p in (model.predict(test_x), plain.predict(both[size:]))]
    _, numbers = timed(lambda: model.explain(x).contributions)
    some = min(size, 10_000)
    _, stable = timed(lambda: model.explain(x[:some]).stability)
    what = f"`TransparentRegressor.fit`, {size:,} rows, 11 columns"
    return [
        row(what, "", took, "s", "under 600 s", took < 600),
        row(what, "the same without a game", took / deep, "times the cost"),
        row(what, "`MLPRegressor` of two layers of 128, early stopping", took / theirs, "times the cost"),
        row(f"{what}: squared error of 1,000 other rows", "that of `MLPRegressor`", errors[0] / errors[1], "times",
            "at most 1.02", bool(errors[0] <= 1.02 * errors[1])),
        row(f"laws, contributions and held-out measures of {size:,} rows", "", numbers, "s", "under 600 s",
            numbers < 600),
        row(f"the same with stability, {some:,} rows", "", stable, "s"),
    ]  # fmt: skip


SECTIONS = (small, large)

if __name__ == "__main__":
    publish("tables", SECTIONS)
