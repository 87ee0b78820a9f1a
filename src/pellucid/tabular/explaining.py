"""Explanations as the command line asks for them: of a row that is typed, or of the rows of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.options import names_in
from pellucid.tables import number_of
from pellucid.tabular.domain_options import TableExplaining
from pellucid.tabular.rows import TableRows, rows_of_text

if TYPE_CHECKING:
    from pellucid.explanations import Explanation
    from pellucid.tabular.model import TableModel


def explained(
    model: TableModel, what: str, rows: TableRows | None, settings: TableExplaining, *, level: float
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
    """
    columns = [column.name for column in model.encoding_.used]
    labels = [what] if rows is None else rows.labels()
    explanations = model.explain(
        (rows_of_text(what, columns) if rows is None else rows).frame,
        level=level,
        changeable=names_in(settings.change, columns),
        wanted=_wanted(settings.wanted, model),
        labels=labels,
    )
    return dict(zip(labels, explanations, strict=True))


def _wanted(text: str | None, model: TableModel) -> Any:
    """What is typed as a class, or as a pair of numbers."""
    if text is None:
        return None
    if model.task == "classification":
        return next((name for name in model.task_.classes if str(name) == text or _number(text) == name), text)
    low, sign, high = text.partition(":")
    if not sign:
        return text
    return (_number(low), _number(high))


def _number(text: str) -> float | None:
    return number_of(text.strip())
