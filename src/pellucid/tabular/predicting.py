"""The predictions of a file as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pellucid.tables import Table
from pellucid.tabular.model import TableModel
from pellucid.tabular.rows import TableRows


def prediction_table(
    model: TableModel, table: Table, rows: TableRows, *, trust: bool, level: float
) -> Iterator[Sequence[Any]]:
    """The cells of a file, each row followed by its prediction; the names of the columns come first.

    Parameters
    ----------
    model : TableModel
        The model.
    table : Table
        The cells of the file.
    rows : TableRows
        The rows that were read from it.
    trust : bool
        Also write intervals, the values of laws, bounds, the held-out measure, and stability.
    level : float
        The confidence of intervals and bounds.
    """
    task = model.task_
    answers = model.predict(rows.frame)
    columns: dict[str, Any] = {f"predicted: {task.target}": answers.tolist()}
    explanations = model.explain(rows.frame, level=level)
    if task.classes:
        probabilities = task.probabilities(explanations.prediction)
        columns |= {f"probability: {name}": probabilities[:, i].tolist() for i, name in enumerate(task.classes)}
    if trust:
        which = np.arange(len(explanations)), explanations.output
        if not task.classes:
            columns["measured above"], columns["measured below"] = (_cells(end) for end in explanations.intervals.T)
        columns["explained"] = [task.outputs[k] for k in explanations.output]
        columns["law"] = _cells(explanations.law[which])
        columns["bound"] = _cells(explanations.bound[which])
        columns["held-out variance explained"] = _cells(explanations.held_out_explained[which])
        columns["stability"] = _cells(explanations.stability)
    yield [*table.header, *columns]
    for row, *cells in zip(table.rows, *columns.values(), strict=True):
        yield [*row, *cells]


def _cells(values: np.ndarray) -> list[Any]:
    return ["" if np.isnan(value) else float(value) for value in values]
