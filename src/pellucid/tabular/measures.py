"""The measures that a run on a table compares, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.runs import finite_mean
from pellucid.summaries import HELD_OUT, Measure
from pellucid.tabular.tasks import TableTask

if TYPE_CHECKING:
    from pellucid.tabular.explanations import RowExplanations


def measures(task: str) -> list[Measure]:
    """The measures of a run on numbers or classes."""
    account = "share of what the network does around each row that its law accounts for"
    if task == "regression":
        accuracy = [
            Measure(key="relative_error", title="relative error", better="lower",
                    about="RMSE divided by that of always predicting the mean, which is 1"),
            Measure(key="rmse", title="RMSE of the network", better="lower", about="against the measured values"),
            Measure(key="law_rmse", title="RMSE of its laws", better="lower", about="each law at its own row"),
        ]  # fmt: skip
    else:
        accuracy = [
            Measure(key="accuracy", title="accuracy", better="higher", about="share of the rows with the right class"),
            Measure(key="cross_entropy", title="cross-entropy", better="lower", about="of the network's probabilities"),
        ]
    return [
        *accuracy,
        Measure(key=HELD_OUT, title="held-out variance explained", better="higher",
                about=f"{account}, at a point that the law was not fitted to: 0 is no better than a constant"),
        Measure(key="deviation", title="deviation where fitted", better="lower",
                about="mean distance between law and network where the law was fitted"),
        Measure(key="stability", title="stability", better="higher",
                about="share of a law that those of the nearest rows repeat, the median over the rows"),
    ]  # fmt: skip


def prediction_scores(task: TableTask, y: np.ndarray, prediction: np.ndarray) -> dict[str, Any]:
    """Scores of predictions (N, K) in the units of the table."""
    if task.kind == "regression":
        errors = np.square(prediction[:, 0] - y.astype(np.float64))
        alone = np.square(y.astype(np.float64) - task.shift)
        rmse = float(np.sqrt(errors.mean()))
        return {"rmse": rmse, "relative_error": rmse / max(float(np.sqrt(alone.mean())), 1e-300)}
    probabilities = task.probabilities(prediction)
    places = task.inner(y).numpy()
    chosen = np.clip(probabilities[np.arange(len(places)), places], 1e-7, 1)
    accuracy = float((probabilities.argmax(1) == places).mean())
    return {"accuracy": accuracy, "cross_entropy": float(-np.log(chosen).mean())}


def law_scores(explanations: RowExplanations, y: np.ndarray) -> dict[str, Any]:
    """Scores of the laws, each at its own row against what was measured, and around it against the network."""
    task = explanations.model.task_
    stability = explanations.stability[~np.isnan(explanations.stability)]
    return {
        "law_rmse": prediction_scores(task, y, explanations.law)["rmse"] if task.kind == "regression" else None,
        "deviation": finite_mean(explanations.deviation),
        "stability": float(np.median(stability)) if len(stability) else None,
    }
