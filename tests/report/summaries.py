"""Summaries of small real runs, as `pellucid train` writes them."""

import copy
import json

import numpy as np
from blockers import blockers

from pellucid.molecules import PropertyModel, SimilarityRule
from pellucid.molecules import report as molecules_report
from pellucid.series import Condition, Forecaster, simulate_rig
from pellucid.series import report as series_report
from pellucid.series.indicators import INDICATORS
from pellucid.summaries import RunSummary


def molecules_summary(*, step=6, explained=12, **settings):
    """The summary of a small model of sodium-channel blockers."""
    table = blockers().select(range(0, 1017, step))
    cut = len(table.smiles) - explained
    train, test = table.select(range(cut)), table.select(range(cut, len(table.smiles)))
    small = {"width": 16, "depth": 2, "epochs": 2, "batch_size": 16, "learning_rate": 3e-3} | settings
    small |= {"similar": SimilarityRule(analogs=False), "explain_with_analogs": False, "play": "banked"}
    small |= {"min_leaf": 1, "shrinkage": 0.0}  # neighborhoods are small
    model = PropertyModel(task="regression", **small)
    model.fit(train, progress=False)
    explanations = [model.explain(text).to_dict() for text in test.smiles]
    order = np.argsort([-e["deviation"][0] for e in explanations], kind="stable").tolist()
    ranks = dict.fromkeys(order, "others") | dict.fromkeys(order[:3], "least") | dict.fromkeys(order[-3:], "most")
    deviations = np.array([e["deviation"][0] for e in explanations])
    content = _summary("molecules", "sulfonamides.csv", deviations)
    content |= {
        "outputs": list(train.targets),
        "explanations": [
            {
                "rank": ranks[i],
                "place": f"test molecule {i}",
                "measured": [float(test.y[i, 0])],
                "explanation": explanations[i],
            }
            for i in range(len(explanations))
        ],
    }
    return json.loads(json.dumps(content))


def series_summary(*, explained=8, **settings):
    """The summary of a small forecaster of a simulated rig."""
    rig = simulate_rig(files=2, rows=2500)
    small = {"context": 40, "width": 16, "epochs": 2, "batch_size": 32} | settings
    model = Forecaster(**small).fit(rig, progress=False)
    span = 40 + model.horizon
    items = []
    for i in range(explained):
        rows = rig.values[0][100 * i : 100 * i + span]
        content = model.explain(rows[:40], rows[40:]).to_dict()
        items.append({"place": f"rig.csv, rows {100 * i} to {100 * i + span}", "explanation": content})
    items.sort(key=lambda item: np.mean(item["explanation"]["deviation"]))
    for i, item in enumerate(items):
        item["rank"] = "most" if i < 2 else "least" if i >= explained - 2 else "others"
    deviations = np.array([np.mean(item["explanation"]["deviation"]) for item in items])
    content = _summary("series", "rig.csv", deviations)
    content |= {"outputs": list(rig.channels), "explanations": items}
    return json.loads(json.dumps(content))


def with_bounds(content, level=0.9, calibrated=98):
    """The same summary with a bound of three deviations for every explanation."""
    content = copy.deepcopy(content)
    for item in content["explanations"]:
        e = item["explanation"]
        size = np.shape(e["mean"]) if content["kind"] == "series" else np.shape(e["prediction"])
        bound = 3 * np.broadcast_to(np.mean(e["deviation"]), size)
        e |= {"level": level, "calibrated": calibrated, "bound": bound.tolist()}
    return content


def _summary(kind, source, deviations):
    game = {"accuracy": 0.523, "deviation": 0.135, "explained": 0.84, "variation": 0.2}
    deep = {"accuracy": 0.52, "deviation": 0.17, "explained": 0.81, "variation": 0.2}
    return {
        "kind": kind,
        "title": source,
        "made": "2026-11-16T10:00:00+00:00",
        "pellucid": "0.1.0",
        "versions": {"python": "3.11.2", "torch": "2.13.0"},
        "seed": 0,
        "data": {
            "source": source,
            "description": "1017 rows, of which 3 were left out",
            "parts": {"train": 813, "validation": 102, "test": 102},
            "rejected": [[4, "C1CC", "ring is not closed"], [17, "", "no structure"]],
            "rejected_count": 3,
        },
        "settings": {"game": "symmetric", "weight": 1.0, "width": 64, "epochs": 60, "learning_rate": 0.005},
        "measures": [
            {"key": key, "title": title, "better": better, "about": about}
            for key, title, better, about in (
                ("accuracy", "RMSE", "lower", "error of the network against measurements"),
                ("deviation", "Deviation", "lower", "mean distance of network and witness"),
                ("explained", "Explained", "higher", "share of the variance that witnesses account for"),
                ("variation", "Variation", "lower", "change of the parameters"),
            )
        ],
        "models": {
            "DEEP": {"scores": deep, "seconds": 41.2, "epochs": 60, "weight": None},
            "GAME": {"scores": game, "seconds": 147.0, "epochs": 60, "weight": 1.0},
        },
        "deviations": {"DEEP": (1.4 * deviations + 0.01).tolist(), "GAME": deviations.tolist()},
        "deviation_unit": "total variation, in standard deviations",
        "trade_off": {
            "trials": [
                {"weight": None, "loss": 0.270, "deviation": 0.170},
                {"weight": 0.3, "loss": 0.268, "deviation": 0.150},
                {"weight": 1.0, "loss": 0.273, "deviation": 0.135},
                {"weight": 3.0, "loss": 0.291, "deviation": 0.110},
            ],
            "tolerance": 0.02,
            "chosen": 1.0,
            "loss": "validation loss",
            "deviation": "deviation on validation neighborhoods",
        },
        "trust": {
            "level": 0.9,
            "calibrated": 98,
            "tested": 95,
            "coverage": {"DEEP": [0.91], "GAME": [0.88]},
            "bound": {"DEEP": [0.51], "GAME": [0.37]},
        },
    }  # fmt: skip


def condition_over_time():
    """Forty recordings of two channels, the second of which leaves what is healthy from the 31st on."""
    values = np.random.default_rng(0).normal(size=(40, len(INDICATORS), 3))
    values[:, np.array(INDICATORS) != "likelihood", 2] = np.nan
    values[30:, INDICATORS.index("law"), 1] = 50.0
    values[36:, INDICATORS.index("rms"), 1] = -200.0
    return Condition(
        channels=("left", "right", "all channels"),
        recordings=tuple(f"2024-05-{day:02d} 10-00-00.csv" for day in range(1, 21))
        + tuple(f"2024-06-{day:02d} 10-00-00.csv" for day in range(1, 21)),
        values=values,
        reference=values[:20],
        healthy=np.arange(40) < 20,
        level=0.95,
        persistence=(4, 5),
        sequences=50,
        order=2,
    )


def write_molecules(content, path):
    """Write the report of a run on molecules, from the content of its summary.json."""
    return molecules_report.write(RunSummary.from_json(content), path)


def write_series(content, path):
    """Write the report of a run on recordings, from the content of its summary.json."""
    return series_report.write(RunSummary.from_json(content), path)
