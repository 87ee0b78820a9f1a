"""Predictions of a table of molecules, how sure each is, and how far its witness can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import rdBase

from pellucid.domains import MessageCallback
from pellucid.errors import InputError
from pellucid.molecules.certainty import Certainty
from pellucid.molecules.explanation import MoleculeExplanation
from pellucid.molecules.files import smiles_column
from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.table import canonical
from pellucid.numbers import percent, significant
from pellucid.tables import Table, read_table
from pellucid.trust import FEWEST, no_bound_reason

# The column of what is predicted in place of a salt or a mixture.
_FRAGMENT = "predicted as"


def prediction_table(
    model: PropertyModel,
    path: Path,
    *,
    column: str | None,
    certainty: bool = False,
    trust: bool,
    level: float,
    progress: bool,
    warn: MessageCallback,
) -> Iterator[list[Any]]:
    """The rows of a table, each followed by its predictions, or by why it has none.

    Parameters
    ----------
    model : PropertyModel
        A trained model.
    path : Path
        A table with a column of SMILES.
    column : str, optional
        The column of SMILES; by default it is found by its name.
    certainty : bool
        Also write how sure each prediction is: the interval of the measured value, or the calibrated probability, and
        the nearest training molecule.
    trust : bool
        Also write the values of each molecule's witness, its deviation and its bound.
    level : float
        The confidence of intervals and bounds.
    progress : bool
        Show progress bars.
    warn : callable
        Called with sentences on rows without a prediction, a witness or a bound.
    """
    table = read_table(path)
    texts = table.column(smiles_column(table.header, column, table.source))
    with rdBase.BlockLogs():  # what is wrong with a row is written into the table
        molecules = [canonical(text) for text in texts]
    valid = list(dict.fromkeys(smiles for smiles, reason in molecules if not reason))
    values = dict(zip(valid, model.predict(valid), strict=True)) if valid else {}
    explanations, sure = {}, {}
    if certainty and valid:
        sure = dict(zip(valid, model.certainty(valid, level=level), strict=True))
    if trust and valid:
        explanations = {e.smiles: e for e in model.explain_many(valid, level=level, progress=progress)}
    invalid = [row for row, (_, reason) in zip(table.numbers, molecules, strict=True) if reason]
    if invalid:
        warn(
            f'{len(invalid)} of {len(molecules)} rows have no prediction, see the column "problem"; the first is row '
            f"{invalid[0]}."
        )
    rows = zip(table.numbers, texts, molecules, strict=True)
    fragments = [row for row, text, (_, reason) in rows if "." in text and not reason]
    if fragments:
        warn(
            f"{len(fragments)} of {len(molecules)} rows, the first of them row {fragments[0]}, hold several fragments, "
            f'and the largest organic one is predicted; see the column "{_FRAGMENT}".'
        )
    names = [f"predicted: {name}" for name in model.targets_]
    if certainty:
        names += _certainty_names(model, level)
        _warn_of_unknown(model, [sure[smiles] for smiles, reason in molecules if not reason], warn)
    if trust:
        noun = model.witness_noun
        kinds = (noun, "deviation", f"{noun}-network bound {percent(level)}")
        names += [*(f"{kind}: {name}" for kind in kinds for name in model.targets_), "members", "note"]
        _warn_of_missing([explanations[smiles] for smiles, reason in molecules if not reason], warn)
    header = [*names, *([_FRAGMENT] if fragments else []), *(["problem"] if invalid else [])]
    _require_new(header, table)
    yield [*table.header, *header]
    for row, text, (smiles, reason) in zip(table.rows, texts, molecules, strict=True):
        cells: list[Any] = [""] * len(names)
        if not reason:
            cells = [
                *_short(values[smiles]),
                *(_certainty_cells(sure[smiles], model) if certainty else []),
                *(_trust_cells(explanations[smiles]) if trust else []),
            ]
        fragment = [smiles if "." in text else ""] if fragments else []
        yield [*row, *cells, *fragment, *([reason] if invalid else [])]


def _require_new(names: Sequence[str], table: Table) -> None:
    """Refuse a table that has columns of the names of those that are added: predictions of predictions."""
    both = [name for name in names if name in table.header]
    if both:
        raise InputError(
            f"{table.source} must have no column that predictions are written into",
            got=f"{both[0]!r}, as in a table of predictions",
            cure="predict the table that this was made of, or rename the column",
        )


def _certainty_names(model: PropertyModel, level: float) -> list[str]:
    """The names of the columns on how sure predictions are."""
    kinds = [f"{percent(level)} interval {end}" for end in ("from", "to")]
    if model.task == "classification":
        kinds = ["calibrated probability"]
    near = ["nearest training molecule", "similarity to it"]
    return (
        [f"{kind}: {name}" for name in model.targets_ for kind in kinds]
        + near
        + [f"measured of it: {name}" for name in model.targets_]
    )


def _certainty_cells(certainty: Certainty, model: PropertyModel) -> list[Any]:
    """Interval or probability of each target, then the nearest molecule, its similarity and its measured values."""
    if model.task == "classification":
        known = [""] * len(model.targets_) if certainty.probability is None else _short(certainty.probability)
    else:
        interval = certainty.interval
        known = [""] * (2 * len(model.targets_)) if interval is None else _short(interval.ravel())
    nearest = certainty.nearest
    return [*known, nearest.smiles, *_short([nearest.similarity]), *_short(nearest.measured)]


def _warn_of_unknown(model: PropertyModel, known: Sequence[Certainty], warn: MessageCallback) -> None:
    """Warn of predictions of which it is not known how sure they are."""
    kind = "prediction intervals" if model.task == "regression" else "calibrated probabilities"
    if model.intervals_ is None and model.probabilities_ is None:
        warn(f"There are no {kind}: the model was not calibrated on held-out molecules with measured values.")
        return
    missing = [c for c in known if c.interval is not None and np.isnan(c.interval).any()]
    if missing:
        warn(
            f"There are no {kind} in {len(missing)} rows: too few molecules that are about as similar to the training "
            f"molecules were held out for {percent(missing[0].level)} confidence."
        )


def _note(explanation: MoleculeExplanation) -> str:
    """Why there is no witness; empty where there is one."""
    if len(explanation.members) == 1:
        return "no similar molecule in the training data"
    return "too few similar molecules" if len(explanation.members) < FEWEST else ""


def _trust_cells(explanation: MoleculeExplanation) -> list[Any]:
    """Value of the witness, deviation, bound, members and note."""
    blank, note = [""] * len(explanation.targets), _note(explanation)
    answers = blank * 2 if note else [*_short(explanation.witnessed), *_short(explanation.deviation)]
    bound = blank if note or explanation.bound is None else _short(explanation.bound)
    return [*answers, *bound, len(explanation.members), note]


def _warn_of_missing(explanations: Sequence[MoleculeExplanation], warn: MessageCallback) -> None:
    """Warn of molecules without a witness, or without a bound."""
    witnessed = [explanation for explanation in explanations if not _note(explanation)]
    if len(witnessed) < len(explanations):
        count = f"{len(explanations) - len(witnessed)} of {len(explanations)} molecules"
        warn(f'{count} have too few similar ones for a {explanations[0].noun}; see the column "note".')
    unbounded = [e for e in witnessed if e.bound is None or (e.bound != e.bound).any()]
    if unbounded:
        none = all(explanation.bound is None for explanation in witnessed)
        count = "no bounds" if none else f"bounds missing in {len(unbounded)} rows"
        warn(f"There are {count}: {no_bound_reason(unbounded[0].level, unbounded[0].calibrated)}.")


def _short(values: Any) -> list[Any]:
    """Numbers with six digits; empty where a value is NaN."""
    return ["" if value != value else significant(value) for value in values]
