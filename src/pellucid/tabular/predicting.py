"""The predictions of rows, beside their cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.numbers import significant
from pellucid.row_domains import PredictedRows
from pellucid.tables import Table
from pellucid.tabular.frames import Frame
from pellucid.tabular.model import TableModel

# Of numbers in files: the last ones of a double differ with the rows that are predicted together.
_DIGITS = 10


def predicted_rows(model: TableModel, table: Table, frame: Frame, *, trust: bool, level: float) -> PredictedRows:
    """The cells of a table, each row followed by its prediction.

    Parameters
    ----------
    model : TableModel
        The model.
    table : Table
        The cells.
    frame : Frame
        What the model reads of them.
    trust : bool
        Also write intervals, the values of laws, bounds, the held-out measure, and stability.
    level : float
        The confidence of intervals and bounds.
    """
    columns = _columns(model, frame, trust=trust, level=level)
    rows = [[*row, *cells] for row, *cells in zip(table.rows, *columns.values(), strict=True)]
    return PredictedRows(header=[*table.header, *columns], rows=rows)


def _columns(model: TableModel, frame: Frame, *, trust: bool, level: float) -> dict[str, list[Any]]:
    """What is added to rows, by the names of the columns."""
    task = model.task_
    answers = model.predict(frame)
    columns = {f"predicted: {task.target}": answers.tolist() if task.classes else _cells(answers)}
    if task.classes:
        probabilities = task.probabilities(model.predict_values(frame))
        columns |= {f"probability: {name}": _cells(probabilities[:, i]) for i, name in enumerate(task.classes)}
    if not trust:
        return columns
    explanations = model.explain(frame, level=level)
    which = np.arange(len(explanations)), explanations.output
    if not task.classes:
        columns["measured above"], columns["measured below"] = (_cells(end) for end in explanations.intervals.T)
    columns["explained"] = [task.outputs[k] for k in explanations.output]
    columns["law"] = _cells(explanations.law[which])
    columns["bound"] = _cells(explanations.bound[which])
    columns["held-out variance explained"] = _cells(explanations.held_out_explained[which])
    columns["stability"] = _cells(explanations.stability)
    return columns


def _cells(values: np.ndarray) -> list[Any]:
    return ["" if np.isnan(value) else significant(value, _DIGITS) for value in values.tolist()]
