"""Do explanations hold at rows that they have not seen? Pellucid beside LIME, SHAP and MAPLE, in one run.

Each tool explains the same black boxes at the same test rows of the same tables; its explanation is a linear law, which
is compared with the black box at fresh neighbors of the row. Results go to benchmarks/faithfulness.json, from which the
tables in benchmarks/README.md are made.

    python -m benchmarks.faithfulness            # measure, save, and update the tables
    python -m benchmarks.faithfulness --smoke    # tiny, nothing saved: shows that everything runs

An interrupted run goes on with the next table.

LIME and SHAP are left out where they are not installed (pip install 'pellucid[bench]'); three of the tables are found
in the folder tables of $PELLUCID_DATA, and left out otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.explainers import EXPLAINERS, PACKAGES, Array, Explainer, Task, missing, neighborhoods, pellucid
from benchmarks.run import HERE, README
from paper.expo_measures import Laws
from paper.runs import write_section
from threadpoolctl import threadpool_limits

from pellucid.datasets import find_data

TABLES = ("diabetes", "breast cancer", "housing", "autompg", "winequality-red")
BOXES = ("gradient boosting", "random forest", "MLP")
ROWS = 25
"""Test rows of each table that are explained."""
FRESH = 20
"""Fresh neighbors of a row that a law is held to."""
UNITS = {"diabetes": "points", "breast cancer": "probability", "housing": "1,000 $", "autompg": "miles per gallon",
         "winequality-red": "points"}  # fmt: skip
SEED_OF_NEIGHBORS = 1000
SPEED = 100
GOAL = 0.9


class Data(NamedTuple):
    """A table with standardized columns, divided into training and test rows."""

    train: Array
    test: Array
    y_train: Array
    y_test: Array
    scale: float
    """Standard deviation of the target, whose unit this is; 1 for classes."""
    classes: bool


def read(name: str) -> Data | None:
    """A table; None where it is not on this computer."""
    from sklearn import datasets

    if name in ("diabetes", "breast cancer"):
        loader = datasets.load_breast_cancer if name == "breast cancer" else datasets.load_diabetes
        x, y = loader(return_X_y=True)
    else:
        path = find_data(f"tables/{name}.csv")
        if path is None:
            return None
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        x, y = table[:, :-1], table[:, -1]
    order = np.random.default_rng(0).permutation(len(x))
    train, test = np.split(order, [round(0.75 * len(order))])
    x = (x - x[train].mean(0)) / x[train].std(0)
    classes = name == "breast cancer"
    scale = 1.0 if classes else float(y[train].std())
    y = y.astype(float) if classes else (y - y[train].mean()) / scale
    return Data(x[train], x[test], y[train], y[test], scale, classes)


def black_box(name: str, data: Data) -> Task:
    """A fitted model of scikit-learn; of two classes, the probability of the second is explained."""
    from sklearn import ensemble, neural_network
    from sklearn.exceptions import ConvergenceWarning

    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "gradient boosting": (ensemble.GradientBoostingRegressor, ensemble.GradientBoostingClassifier, {}),
        "random forest": (ensemble.RandomForestRegressor, ensemble.RandomForestClassifier, {}),
        "MLP": (neural_network.MLPRegressor, neural_network.MLPClassifier,
                {"hidden_layer_sizes": (64, 64), "alpha": 0.01}),
    }  # fmt: skip
    regressor, classifier, settings = kinds[name]
    model = (classifier if data.classes else regressor)(random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.train, data.y_train)

    def f(rows: Array) -> Array:
        values: Array = model.predict_proba(rows)[:, 1] if data.classes else model.predict(rows)
        return np.asarray(values, float)

    return Task(f=f, train=data.train, model=model, classes=data.classes)


def held_to(task: Task, laws: Laws, points: torch.Tensor) -> tuple[float, float]:
    """The share of the black box's variance around the rows that the laws account for at points (n, m, P), and the root
    mean square of what they miss:

        1 - sum (g_x(x') - f(x'))^2 / sum (f(x') - mean of f around x)^2.
    """
    n, m, p = points.shape
    values = torch.from_numpy(task.f(points.reshape(n * m, p).numpy())).reshape(n, m)
    missed = (laws.at(points) - values).square()
    spread = (values - values.mean(1, keepdim=True)).square()
    return float(1 - missed.sum() / spread.sum()), float(missed.mean().sqrt())


def change(laws: Laws, others: Laws) -> float:
    """How much coefficients differ, relative to their size: sqrt(sum |a - b|^2 / sum |a|^2)."""
    difference = (laws.coefficients - others.coefficients).square().sum()
    return float((difference / laws.coefficients.square().sum()).sqrt())


def judged(explain: Explainer, task: Task, rows: Array, fresh: torch.Tensor, near: torch.Tensor) -> dict[str, float]:
    """Everything that is measured of one explainer: all tools get the same rows and neighbors."""
    explain(task, rows[:2], 0)  # compile, fill caches
    start = time.process_time()
    laws = explain(task, rows, 0)
    seconds = time.process_time() - start
    explained, missed = held_to(task, laws, fresh)
    return {
        "explained": explained,
        "missed": missed,
        "explained_rows": held_to(task, laws, near)[0],
        "rerun": change(laws, explain(task, rows, 1)),
        "neighbor": change(laws, explain(task, np.ascontiguousarray(fresh[:, 0].numpy()), 0)),
        "seconds_per_1000": 1000 * seconds / len(rows),
    }


def compare(name: str, data: Data, smoke: bool) -> list[dict[str, Any]]:
    """All explainers of all black boxes of a table."""
    rows = data.test[: 3 if smoke else ROWS]
    fresh, near = neighbors_of(data, rows)
    results = []
    for box in BOXES[:1] if smoke else BOXES:
        task = black_box(box, data)
        for tool, explain in EXPLAINERS.items():
            if tool in PACKAGES and missing(PACKAGES[tool]):
                continue
            result = judged(explain, task, rows, fresh, near)
            if tool.startswith("Pellucid") and not smoke:
                many = np.resize(data.test, (1000, data.test.shape[1]))
                start = time.process_time()
                explain(task, many, 0)
                result["seconds_per_1000"] = time.process_time() - start
            result["missed"] *= data.scale
            print(f"  {box}, {tool}: {result['explained']:.3f}", flush=True)
            results.append({"data": name, "box": box, "tool": tool, **result})
    return results


def neighbors_of(data: Data, rows: Array) -> tuple[torch.Tensor, torch.Tensor]:
    """Points (n, m, P) that no explainer is fitted to: fresh ones sampled between and around a row's nearest training
    rows, and the five nearest other test rows.
    """
    import pellucid as pl

    points, _ = neighborhoods(data.train, rows, FRESH, SEED_OF_NEIGHBORS)
    near = pl.nearest(data.test, k=6, query=rows).members.reshape(len(rows), -1)[:, 1:]
    return points[len(rows) :].reshape(len(rows), FRESH, -1), torch.from_numpy(data.test)[near]


def network(name: str, data: Data, smoke: bool) -> dict[str, Any]:
    """Pellucid's network with a game and without, for three seeds: test error, and what its laws account for. Of two
    classes, these are laws of the log-odds.
    """
    from pellucid.tabular import TransparentClassifier, TransparentRegressor

    rows = data.test[: 3 if smoke else ROWS]
    fresh, near = neighbors_of(data, rows)
    result: dict[str, Any] = {"data": name}
    for game in ("symmetric", None):
        errors, explained, at_rows, missed = [], [], [], []
        for seed in range(1 if smoke else 3):
            kind = TransparentClassifier if data.classes else TransparentRegressor
            model = kind(game=game, random_state=seed, epochs=1 if smoke else None)
            model.fit(data.train, data.y_train.astype(int) if data.classes else data.y_train)

            def f(rows: Array, model: Any = model) -> Array:
                return np.asarray(model.model_.predict_values(rows)[:, 0], float)

            task = Task(f=f, train=data.train, model=model, classes=data.classes)
            answers = model.predict(data.test)
            wrong = answers != data.y_test if data.classes else np.square(answers - data.y_test)
            errors.append(float(wrong.mean()))
            laws = pellucid(task, rows, 0)
            share, root = held_to(task, laws, fresh)
            explained.append(share)
            missed.append(root * data.scale)
            at_rows.append(held_to(task, laws, near)[0])
        print(f"  network, game {game}: error {np.mean(errors):.3f}, {np.mean(explained):.3f}", flush=True)
        result["game" if game else "deep"] = {
            "errors": errors, "explained": explained, "explained_rows": at_rows, "missed": missed,
        }  # fmt: skip
    return result


def measure(smoke: bool, names: Sequence[str], drafts: Path | None = None) -> dict[str, Any]:
    """All tables that are on this computer, the black boxes first; what has a draft has been measured before."""
    torch.set_num_threads(1)
    threadpool_limits(1)  # of NumPy's matrix products, too: threads that wait would count
    tables = {name: read(name) for name in names}
    for name in [name for name, data in tables.items() if data is None]:
        print(f"{name}: left out, there is no tables/{name}.csv in $PELLUCID_DATA", flush=True)
    results: dict[str, list[Any]] = {"compare": [], "network": []}
    for what, function in (("compare", compare), ("network", network)):
        for name, data in tables.items():
            if data is None:
                continue
            print(f"{name}, {what} ...", flush=True)
            draft = None if drafts is None else drafts / f"faithfulness-{name.replace(' ', '-')}-{what}.json"
            if draft is not None and draft.exists():
                results[what].append(json.loads(draft.read_text()))
                continue
            results[what].append(function(name, data, smoke))
            if draft is not None:
                draft.parent.mkdir(parents=True, exist_ok=True)
                draft.write_text(json.dumps(results[what][-1]))
    rows, networks = [row for part in results["compare"] for row in part], results["network"]
    packages = ("torch", "scikit-learn", *(name for name in ("lime", "shap") if not missing(name)))
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()}
    return {"machine": {**machine, **{name: version(name) for name in packages}}, "rows": rows, "networks": networks}


def pivot(report: dict[str, Any], key: str, shown: str) -> str:
    """One row for each table and black box, one column for each tool."""
    tools = list(dict.fromkeys(row["tool"] for row in report["rows"]))
    lines = [f"| table | black box | {' | '.join(tools)} |", f"|---|---|{'---|' * len(tools)}"]
    for name, box in dict.fromkeys((row["data"], row["box"]) for row in report["rows"]):
        values = {row["tool"]: row[key] for row in report["rows"] if (row["data"], row["box"]) == (name, box)}
        label = f"{name}, {UNITS[name]}" if key == "missed" else name
        lines.append(f"| {label} | {box} | {' | '.join(format(values[tool], shown) for tool in tools)} |")
    return "\n".join(lines)


def network_table(report: dict[str, Any]) -> str:
    """Pellucid's network beside the same without a game."""
    lines = [
        "| table | test error | without a game | within the seeds' spread | held out | without a game | at test rows |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report["networks"]:
        game, deep = row["game"], row["deep"]
        spread = max(np.ptp(game["errors"]), np.ptp(deep["errors"]))
        within = np.mean(game["errors"]) <= np.mean(deep["errors"]) + spread
        held_out = np.mean(game["explained"])
        lines.append(
            f"| {row['data']} | {np.mean(game['errors']):.3f} | {np.mean(deep['errors']):.3f} ± {spread / 2:.3f} "
            f"| {'yes' if within else '**no**'} | {held_out:.3f}{'' if held_out > GOAL else ' (**missed**)'} "
            f"| {np.mean(deep['explained']):.3f} | {np.mean(game['explained_rows']):.3f} |"
        )
    return "\n".join(lines)


def goals(report: dict[str, Any]) -> str:
    """What was aimed at, and what holds."""
    groups: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in report["rows"]:
        groups.setdefault((row["data"], row["box"]), {})[row["tool"]] = row
    pairs = [(group["Pellucid"], [group[tool] for tool in ("LIME", "LIME, around") if tool in group])
             for group in groups.values()]  # fmt: skip
    pairs = [pair for pair in pairs if pair[1]]
    higher = [ours["explained"] > max(row["explained"] for row in lime) for ours, lime in pairs]
    at_rows = [ours["explained_rows"] > max(row["explained_rows"] for row in lime) for ours, lime in pairs]
    ratios = [min(row["seconds_per_1000"] for row in lime) / ours["seconds_per_1000"] for ours, lime in pairs]
    fast = sum(ratio >= SPEED for ratio in ratios)
    lines = ["| goal | holds |", "|---|---|"]
    if pairs:
        lines += [
            f"| more variance explained at held-out neighbors than LIME's laws | {sum(higher)} of {len(pairs)} |",
            f"| the same at the nearest other test rows (no goal) | {sum(at_rows)} of {len(pairs)} |",
            f"| at least {SPEED} times as fast as LIME | {fast} of {len(pairs)}: {min(ratios):.0f} to "
            f"{max(ratios):.0f} times |",
        ]
    held = [np.mean(row["game"]["explained"]) > GOAL for row in report["networks"]]
    lines.append(f"| the trained network's above {GOAL} | {sum(held)} of {len(held)} |")
    return "\n".join(lines)


def sections(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    machine = report["machine"]
    versions = ", ".join(
        f"{name} {machine[name]}" for name in ("torch", "scikit-learn", "lime", "shap") if name in machine
    )
    parts = [
        goals(report),
        "**Variance explained at held-out neighbors** (1 is all of it, 0 is what a constant explains):",
        pivot(report, "explained", ".3f"),
        "The same **at the five nearest other test rows**:",
        pivot(report, "explained_rows", ".3f"),
        "**What the laws miss** at held-out neighbors, root mean square in the unit of the target:",
        pivot(report, "missed", ".3g"),
        "**Stability**: relative change of the coefficients when the tool is run again with another seed:",
        pivot(report, "rerun", ".3f"),
        "and from the row to one of its neighbors, with the same seed:",
        pivot(report, "neighbor", ".3f"),
        f"**Processor seconds for 1,000 explanations**, measured for Pellucid, extrapolated from {ROWS} for others:",
        pivot(report, "seconds_per_1000", ".3g"),
        "**The network that Pellucid trains**, mean of three seeds, beside the same network without a game:",
        network_table(report),
        f"On one of {machine['cores']} cores ({machine['processor']}), Python {machine['python']}, {versions}.",
    ]
    return "\n\n".join(parts)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing saved")
    arguments = parser.parse_args(words)
    absent = missing("lime", "shap")
    if absent:
        print(f"{' and '.join(absent)} left out, not installed: pip install 'pellucid[bench]'", flush=True)
    drafts = None if arguments.smoke else HERE.parent / "out" / "benchmarks"
    report = measure(arguments.smoke, TABLES[:1] if arguments.smoke else TABLES, drafts)
    text = sections(report)
    print(text)
    if arguments.smoke:
        return
    if absent:
        print("Nothing is saved: the tables in benchmarks/README.md compare with LIME and SHAP.")
        return
    (HERE / "faithfulness.json").write_text(json.dumps(report, indent=1) + "\n")
    write_section(README, "benchmarks: faithfulness", text)
    for draft in (HERE.parent / "out" / "benchmarks").glob("faithfulness-*.json"):
        draft.unlink()


if __name__ == "__main__":
    main()
