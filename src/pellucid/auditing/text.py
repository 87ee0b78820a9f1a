"""The audit of a table in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pellucid.auditing.predictions import Predictions
from pellucid.choosing import Candidate, Choice
from pellucid.errors import Parameter
from pellucid.numbers import percent
from pellucid.trust import FEWEST
from pellucid.witnesses.tree_witness import TreeWitness
from pellucid.witnesses.witness import Witness

if TYPE_CHECKING:
    from pellucid.auditing.tables import TableAudit

# Neighborhoods that are listed as the least trustworthy.
_LISTED = 5
# The width of the names of rows in their table.
_LABEL = 20
# Bounds that are smaller than this share of the range of the predictions are rounding.
_ROUNDING = 1e-9


def describe(result: TableAudit) -> str:
    """The whole audit, as a terminal shows it."""
    predictions, hoods = result.predictions, result.audit.witnesses.hoods
    lines = [predictions.summary()]
    lines.append(f"{len(hoods)} neighborhoods: {result.neighborhoods}; {result.family} witnesses")
    if result.choice is not None:
        lines.append(describe_choice(result.choice))
    lines += [f"note: {note}" for note in [*questions(predictions), *_notes(result)]]
    lines += ["", result.audit.text(result.level), "", confidence(result)]
    lines += [
        f"error of {name} against {predictions.truth_name}: {error:.4g} (root mean squared)"
        for name, error in predictions.errors().items()
    ]
    return "\n".join([*lines, "", best_and_worst(result)])


# -- what was chosen, and what to do --------------------------------------------------------------------------------


def describe_choice(choice: Choice) -> str:
    """What leave-one-out chose, and how good it is beside what it might have been."""
    best = choice.best
    if math.isnan(best.explained):
        return f"chosen: {_settings(best)} (the predictions do not vary, so any setting would do)"
    among = "" if choice.compared is None else f" among the {choice.compared} nearest"
    sentence = f"chosen by leave-one-out: {_settings(best)} (held-out variance explained{among} {share(best.explained)}"
    unridged = choice.at(best.neighbors, 0.0)
    if best.ridge and unridged is not None and unridged.explained < best.explained - 0.01:
        sentence += f"; without a ridge {share(unridged.explained)}"
    reuse = "" if choice.others is not None else ", and judge: too few to set some aside"
    return f"{sentence}; {len(choice.used)} neighborhoods chose{reuse})"


def _settings(candidate: Candidate) -> str:
    parts = [] if candidate.neighbors is None else [f"{candidate.neighbors} neighbors"]
    if candidate.ridge is not None:
        parts.append(f"ridge {candidate.ridge:g}" if candidate.ridge else "no ridge")
    return ", ".join(parts)


def share(explained: float) -> str:
    """Variance explained, in per cent."""
    return "undefined" if math.isnan(explained) else percent(explained, 0)


def cure(predictions: Predictions) -> str:
    """What to do where nothing is explained although the best settings were looked for."""
    hint = "" if predictions.named else f"name with {Parameter('features')} what the model read, "
    return f"No other candidate does better: {hint}try another {Parameter('family')}, or add rows"


def questions(predictions: Predictions) -> list[str]:
    """Questions that only the user can answer."""
    return [
        f"{name} rises and falls with the predictions (rank correlation {value:.2f}): if it is what was measured, set "
        f"{Parameter('truth', name)}; if the model read it, name it among the {Parameter('features')}."
        for name, value in predictions.alike
    ]


def _notes(result: TableAudit) -> list[str]:
    """Why the numbers may mislead, one sentence each."""
    predictions, sizes = result.predictions, result.audit.witnesses.hoods.sizes
    size, smallest = int(sizes.median()), int(sizes.min())
    notes = []
    if predictions.truth is not None and len(predictions.outputs) > 1:
        notes.append(
            f"no error against {predictions.truth_name} is reported: {Parameter('truth')} needs one "
            f"{Parameter('prediction')}, and there are {len(predictions.outputs)}."
        )
    if smallest == len(predictions):
        notes.append(
            f"every neighborhood is the whole table of {len(predictions)} rows, so that all witnesses are one and the "
            f"same; take fewer {Parameter('neighbors')}, or more rows."
        )
    unridged = result.family == "linear" and not result.ridge and result.audit.comparison is None
    if unridged and size <= len(predictions.features) + 1:
        notes.append(
            f"{size} members determine a linear function of {len(predictions.features)} features: it follows any "
            f"predictor there, and the deviation says nothing. Take more {Parameter('neighbors')}, fewer "
            f"{Parameter('features')}, or a {Parameter('ridge')}."
        )
    if size <= 2:
        notes.append(
            f"most neighborhoods have at most 2 members, and any witness follows them; lower {Parameter('threshold')}, "
            "or make groups of more rows."
        )
    return notes


# -- how far witnesses can be trusted -------------------------------------------------------------------------------


def confidence(result: TableAudit) -> str:
    """The bound in one sentence for each output."""
    predictions, level = result.predictions, result.level
    bound = result.audit.bound(level)
    reason = result.audit.why_not(level).replace("how far it", "how far a witness", 1)
    if np.isnan(bound).all():
        return reason
    lines = []
    for k, name in enumerate(predictions.outputs):
        output = f" ({name})" if len(predictions.outputs) > 1 else ""
        bounds = bound[~np.isnan(bound[:, k]), k]
        if not len(bounds):
            lines.append(f"{reason}{output}")
            continue
        middle, low, high = (np.quantile(bounds, q) for q in (0.5, 0.05, 0.95))
        if high <= _ROUNDING * np.ptp(predictions.f[:, k]):
            lines.append(
                f"with {percent(level)} confidence a witness agrees with the predictor{output}, up to rounding, at a "
                "further point of its neighborhood; where it does not, nothing is said of how far it is off"
            )
            continue
        lines.append(
            f"with {percent(level)} confidence a witness is within {middle:.3g} of the predictor{output} at a further "
            f"point of its neighborhood (median; from {low:.3g} to {high:.3g} for nine in ten)"
        )
    return "\n".join(lines)


def best_and_worst(result: TableAudit) -> str:
    """The least trustworthy rows, and the witness of the worst and of the best one in words."""
    audit, f = result.audit, result.predictions.f
    sizes, distances = audit.witnesses.hoods.sizes.cpu().numpy(), audit.relative()
    # Any witness follows one or two members, so these neighborhoods do not count.
    order = [i for i in np.argsort(-distances, kind="stable").tolist() if sizes[i] >= FEWEST]
    if not order:
        return f"no neighborhood has {FEWEST} members or more, and any witness follows fewer: there is none to trust"
    if float(audit.deviations[order].max()) <= 1e-20 + 1e-12 * float(f.var(axis=0).sum()):
        exact = f"all {len(order)} witnesses are exact at their members, up to rounding"
        return f"{exact}:\n{_witness_and_trust(result, order[-1])}"
    if int(sizes.min()) == len(f):
        return f"the one witness of all rows:\n{_witness_and_trust(result, order[0])}"
    worst, best = (_witness_and_trust(result, i) for i in (order[0], order[-1]))
    return "\n".join(
        ["least trustworthy:", *_table(result, order[:_LISTED]), "", "the worst:", worst, "", "the best:", best]
    )


def _table(result: TableAudit, indices: Sequence[int]) -> list[str]:
    """A line for each output of these neighborhoods, after a head."""
    audit, predictions = result.audit, result.predictions
    bound, rmse, at_centers = audit.bound(result.level), audit.rmse_by_output, audit.at_centers
    lines = [f"{'place':<{_LABEL}}{'prediction':>14}{'its witness':>14}{'rmse':>11}{'bound':>11}"]
    for i in indices:
        center = int(audit.witnesses.hoods.centers[i])
        for k, name in enumerate(predictions.outputs):
            label = "" if k else place(predictions, center)
            limit = "not known" if np.isnan(bound[i, k]) else f"{bound[i, k]:.3g}"
            lines.append(
                f"{label[: _LABEL - 1]:<{_LABEL}}{predictions.f[center, k]:>14.5g}{float(at_centers[i, k]):>14.5g}"
                f"{rmse[i, k]:>11.3g}{limit:>11}" + (f"  {name}" if len(predictions.outputs) > 1 else "")
            )
    return lines


def _witness_and_trust(result: TableAudit, i: int) -> str:
    """A witness in words, with its place and its bound."""
    witness = result.audit.witness(i, result.level)
    return (
        f"{witness_text(result, i)}\n{replace(witness, place=full_place(result.predictions, witness.center)).trust()}"
    )


# -- names of rows, and witnesses -----------------------------------------------------------------------------------


def place(predictions: Predictions, center: int) -> str:
    """What a row is called."""
    if predictions.groups is not None:
        return f"group {predictions.groups[center]}"
    return f"row {predictions.rows[center]}"


def full_place(predictions: Predictions, center: int) -> str:
    """What a row is called, with the molecule, where there is one."""
    molecule = "" if predictions.smiles is None else f" ({predictions.smiles[center]})"
    return place(predictions, center) + molecule


def witness_text(result: TableAudit, i: int) -> str:
    """The witness of neighborhood i in words; of molecules with the substructures that its members show."""
    witness = result.audit.witnesses[i]
    if result.predictions.smiles is None:
        return as_text(witness, None)
    members = [witness.center, *result.audit.witnesses.hoods.members_of(i).tolist()]
    return as_text(witness, bit_names([witness], result.predictions, members))


def as_text(witness: Witness, names: Mapping[int, str] | None) -> str:
    """A witness in words; a tree over fingerprints with names of the bits."""
    if names is None or not isinstance(witness, TreeWitness):
        return witness.text()
    return witness.text(substructures=names)


def bit_names(
    witnesses: Sequence[Witness], predictions: Predictions, rows: Sequence[int] | None = None
) -> dict[int, str]:
    """The substructures behind the bits that trees split on, as the molecules of these rows show them, or of all."""
    trees = [witness for witness in witnesses if isinstance(witness, TreeWitness)]
    bits = {node.feature for tree in trees for node in tree.root.walk() if not node.is_leaf}
    return predictions.substructures(bits, rows)
