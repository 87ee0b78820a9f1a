"""Explanations as the command line asks for them: of a row that is typed, or of the rows of a file."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.domains import MessageCallback
from pellucid.errors import InputError, Parameter
from pellucid.options import names_in
from pellucid.row_domains import ExplainedRows
from pellucid.tables import number_of
from pellucid.tabular.domain_options import TableExplaining
from pellucid.tabular.rows import TableRows, rows_of_text, typed_label

if TYPE_CHECKING:
    from pellucid.explanations import Explanation
    from pellucid.tabular.explanations import RowExplanations
    from pellucid.tabular.model import TableModel

# Rows of a file that are put into words: a page of more could not be opened.
_MOST = 1000


def explained(
    model: TableModel,
    what: str,
    rows: TableRows | None,
    settings: TableExplaining,
    *,
    level: float,
    warn: MessageCallback,
) -> dict[str, Explanation]:
    """Explanations by the labels of the rows.

    Parameters
    ----------
    model : TableModel
        The model.
    what : str
        What was typed: the path of a file, or the values of a row.
    rows : TableRows, optional
        The rows of the file; None for a row that is typed.
    settings : TableExplaining
        What counterfactuals may change, and are to reach.
    level : float
        The confidence of bounds and intervals.
    warn : callable
        Takes a sentence about rows that are left out.
    """
    if rows is not None and len(rows) > _MOST:
        warn(
            f"{what} has {len(rows):,} rows: the first {_MOST:,} are explained. Predicting with "
            f"{Parameter('trust', True)} writes laws, bounds and stability of all."
        )
        rows = rows.select(np.arange(_MOST))
    if rows is None:
        columns = [column.name for column in model.encoding_.used]
        explanations = _explanations(model, rows_of_text(what, columns), [typed_label(what)], settings, level=level)
    else:
        explanations = _explanations(model, rows, rows.labels(), settings, level=level)
    return dict(zip(explanations.labels, explanations, strict=True))


def explained_rows(model: TableModel, rows: TableRows, settings: TableExplaining, *, level: float) -> ExplainedRows:
    """Explanations of rows of a file, all of them in words.

    Parameters
    ----------
    model : TableModel
        The model.
    rows : TableRows
        The rows.
    settings : TableExplaining
        What counterfactuals may change, and are to reach.
    level : float
        The confidence of bounds and intervals.
    """
    explanations = _explanations(model, rows, rows.labels(), settings, level=level)
    return ExplainedRows(
        labels=explanations.labels,
        explanations=explanations,
        deviations=explanations.deviation.mean(1).tolist(),
        numbers=rows.numbers.tolist(),
    )


def _explanations(
    model: TableModel, rows: TableRows, labels: list[str], settings: TableExplaining, *, level: float
) -> RowExplanations:
    columns = [column.name for column in model.encoding_.used]
    return model.explain(
        rows.frame,
        level=level,
        changeable=names_in(settings.change, "changeable", columns),
        wanted=_wanted(settings.wanted, model),
        labels=labels,
    )


def _wanted(text: str | None, model: TableModel) -> Any:
    """What is typed as a class, or as a pair of numbers."""
    if text is None:
        return None
    if model.task == "classification":
        return next((name for name in model.task_.classes if str(name) == text or _number(text) == name), text)
    low, sign, high = text.partition(":")
    ends = (_number(low), _number(high))
    mistaken = any(end is None and part.strip() for part, end in zip((low, high), ends, strict=True))
    if not sign or mistaken or ends == (None, None):
        raise InputError(
            f"{Parameter('wanted')} must be a range of the prediction",
            got=f"{text!r}",
            cure='write it as "20:30", "20:" or ":30"',
            parameter="wanted",
        )
    return ends


def _number(text: str) -> float | None:
    value = number_of(text.strip())
    return value if value is None or isfinite(value) else None
