"""How sure predictions of tables are: intervals of measured numbers, and probabilities that mean what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.tabular.fitting import LabeledRows
from pellucid.tabular.tasks import TableTask

if TYPE_CHECKING:
    from pellucid.tabular.model import TableModel


def certainty_of(model: TableModel, data: LabeledRows) -> dict[str, Any]:
    """Intervals or probabilities, learned from rows that the fit did not see; by the fields of `FittedTable`."""
    values = model.predict_values(data.frame)
    if model.task == "classification":
        places = model.task_.inner(data.y).numpy()
        labels = np.eye(len(model.task_.classes))[places]
        first = int(labels.shape[1] == 2)
        probabilities = model.task_.probabilities(values)
        return {"probabilities": ProbabilityCalibration.of(labels[:, first:], probabilities[:, first:])}
    familiarity = model.fitted_.familiarity(model.read(data.frame))
    edges = np.unique(np.quantile(familiarity, (0.25, 0.75))).tolist()
    return {"intervals": PredictionIntervals.of(data.y.astype(np.float64)[:, None], values, familiarity, edges)}


def calibrated_probabilities(
    task: TableTask, calibration: ProbabilityCalibration | None, log_odds: np.ndarray
) -> np.ndarray:
    """(N, classes) from the log-odds (N, K) of the network; without a calibration as they are."""
    probabilities = task.probabilities(log_odds)
    if calibration is None:
        return probabilities
    if len(task.classes) == 2:
        second = calibration(probabilities[:, 1:])
        return np.concatenate([1 - second, second], axis=1)
    calibrated = calibration(probabilities)
    return np.asarray(calibrated / calibrated.sum(1, keepdims=True))
