"""Predictions of a table of molecules, how sure each is, and how far its witness can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rdkit import rdBase

from pellucid.molecules.certainty import Certainty
from pellucid.molecules.explanation import MoleculeExplanation
from pellucid.molecules.files import smiles_column
from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.table import canonical
from pellucid.numbers import percent, significant
from pellucid.row_domains import PredictedRows
from pellucid.tables import Table
from pellucid.trust import FEWEST, no_bound_reason

# The columns of what is predicted in place of a salt or a mixture, and of why there is no prediction.
_FRAGMENT, _PROBLEM = "predicted as", "problem"


def predicted_rows(
    model: PropertyModel, table: Table, *, column: str | None, certainty: bool, trust: bool, level: float
) -> PredictedRows:
    """The rows of a table, each followed by its predictions, or by why it has none.

    Parameters
    ----------
    model : PropertyModel
        A trained model.
    table : Table
        The rows.
    column : str, optional
        The column of SMILES; by default it is found by its name.
    certainty : bool
        Also write how sure each prediction is: the interval of the measured value, or the calibrated probability, and
        the nearest training molecule.
    trust : bool
        Also write the values of each molecule's witness, its deviation and its bound.
    level : float
        The confidence of intervals and bounds.
    """
    texts = table.column(smiles_column(table.header, column, table.source))
    with rdBase.BlockLogs():  # what is wrong with a row is written into the table
        molecules = [canonical(text) for text in texts]
    valid = list(dict.fromkeys(smiles for smiles, reason in molecules if not reason))
    values = dict(zip(valid, model.predict(valid), strict=True)) if valid else {}
    explanations, sure = {}, {}
    if certainty and valid:
        sure = dict(zip(valid, model.certainty(valid, level=level), strict=True))
    if trust and valid:
        explanations = {e.smiles: e for e in model.explain_many(valid, level=level, progress=False)}
    invalid = [row for row, (_, reason) in zip(table.numbers, molecules, strict=True) if reason]
    numbered = zip(table.numbers, texts, molecules, strict=True)
    fragments = [row for row, text, (_, reason) in numbered if "." in text and not reason]
    facts: dict[str, Any] = {
        "rows": len(molecules),
        "invalid": invalid[:1],
        "invalid_count": len(invalid),
        "fragments": fragments[:1],
        "fragments_count": len(fragments),
    }
    names = [f"predicted: {name}" for name in model.targets_]
    if certainty:
        names += _certainty_names(model, level)
        facts |= _certainty_facts(model, [sure[smiles] for smiles, reason in molecules if not reason])
    if trust:
        noun = model.witness_noun
        kinds = (noun, "deviation", f"{noun}-network bound {percent(level)}")
        names += [*(f"{kind}: {name}" for kind in kinds for name in model.targets_), "members", "note"]
        facts |= _trust_facts([explanations[smiles] for smiles, reason in molecules if not reason])
    rows = []
    for row, text, (smiles, reason) in zip(table.rows, texts, molecules, strict=True):
        cells: list[Any] = [""] * len(names)
        if not reason:
            cells = [
                *_short(values[smiles]),
                *(_certainty_cells(sure[smiles], model) if certainty else []),
                *(_trust_cells(explanations[smiles]) if trust else []),
            ]
        rows.append([*row, *cells, smiles if "." in text and not reason else "", reason])
    unused = [name for name, used in ((_FRAGMENT, fragments), (_PROBLEM, invalid)) if not used]
    return PredictedRows(header=[*table.header, *names, _FRAGMENT, _PROBLEM], rows=rows, unused=unused, facts=facts)


def prediction_notes(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences on rows without a prediction, a witness or a bound, from the facts of `predicted_rows`."""

    def total(key: str) -> int:
        return sum(each.get(key, 0) for each in facts)

    def first(key: str) -> Any:
        return next((each[key][0] for each in facts if each.get(key)), None)

    rows, notes = total("rows"), []
    if total("invalid_count"):
        notes.append(
            f'{total("invalid_count")} of {rows} rows have no prediction, see the column "{_PROBLEM}"; the first is '
            f"row {first('invalid')}."
        )
    if total("fragments_count"):
        notes.append(
            f"{total('fragments_count')} of {rows} rows, the first of them row {first('fragments')}, hold several "
            f'fragments, and the largest organic one is predicted; see the column "{_FRAGMENT}".'
        )
    if first("uncalibrated"):
        notes.append(
            f"There are no {first('uncalibrated')}: the model was not calibrated on held-out molecules with measured "
            "values."
        )
    if total("unsure_count"):
        kind, level = first("unsure")
        notes.append(
            f"There are no {kind} in {total('unsure_count')} rows: too few molecules that are about as similar to the "
            f"training molecules were held out for {percent(level)} confidence."
        )
    if total("unwitnessed_count"):
        count = f"{total('unwitnessed_count')} of {total('explained_count')} molecules"
        notes.append(f'{count} have too few similar ones for a {first("noun")}; see the column "note".')
    if total("unbounded_count"):
        none = total("boundless_count") == total("explained_count") - total("unwitnessed_count")
        count = "no bounds" if none else f"bounds missing in {total('unbounded_count')} rows"
        notes.append(f"There are {count}: {first('unbounded')}.")
    return notes


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


def _certainty_facts(model: PropertyModel, known: Sequence[Certainty]) -> dict[str, Any]:
    """In how many rows it is not known how sure a prediction is, and why."""
    kind = "prediction intervals" if model.task == "regression" else "calibrated probabilities"
    if model.intervals_ is None and model.probabilities_ is None:
        return {"uncalibrated": [kind]}
    missing = [c for c in known if c.interval is not None and np.isnan(c.interval).any()]
    return {"unsure": [(kind, missing[0].level)] if missing else [], "unsure_count": len(missing)}


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


def _trust_facts(explanations: Sequence[MoleculeExplanation]) -> dict[str, Any]:
    """How many molecules are without a witness, or without a bound, and why."""
    witnessed = [explanation for explanation in explanations if not _note(explanation)]
    unbounded = [e for e in witnessed if e.bound is None or (e.bound != e.bound).any()]
    return {
        "noun": [explanation.noun for explanation in explanations[:1]],
        "explained_count": len(explanations),
        "unwitnessed_count": len(explanations) - len(witnessed),
        "boundless_count": sum(explanation.bound is None for explanation in witnessed),
        "unbounded_count": len(unbounded),
        "unbounded": [no_bound_reason(e.level, e.calibrated) for e in unbounded[:1]],
    }


def _short(values: Any) -> list[Any]:
    """Numbers with six digits; empty where a value is NaN."""
    return ["" if value != value else significant(value) for value in values]
