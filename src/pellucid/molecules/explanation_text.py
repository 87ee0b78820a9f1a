"""What explanations of molecules have in common, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.bins import SizeBin
from pellucid.errors import Parameter
from pellucid.numbers import decimals, fixed, percent, trimmed
from pellucid.trust import FEWEST, no_bound_reason

if TYPE_CHECKING:
    from pellucid.molecules.explanation import Member, MoleculeExplanation


def head(explanation: MoleculeExplanation, targets: Sequence[int], *, is_chosen: bool, differ: str) -> list[str]:
    """The molecule, its prediction, how sure that is, and what was measured.

    Parameters
    ----------
    explanation : MoleculeExplanation
        The explanation.
    targets : sequence of int
        The indices of the targets to write about.
    is_chosen : bool
        Whether somebody asked for them; otherwise it is said that there are others.
    differ : str
        Where the values of the targets differ most: "between the leaves".
    """
    lines = [explanation.smiles, f"  predicted: {values_text(explanation, explanation.prediction, targets)}"]
    if not is_chosen and len(targets) < len(explanation.targets):
        lines[0] += f"   ({len(targets)} of {len(explanation.targets)} targets, which differ most {differ})"
    if measured := measured_text(explanation, explanation.members[0], targets):
        lines.append(f"  measured:  {measured}   (it is among the labeled molecules)")
    return [*lines, *certainty(explanation, targets)]


def certainty(explanation: MoleculeExplanation, targets: Sequence[int]) -> list[str]:
    """How sure the prediction itself is, and the nearest molecule that the model was trained on."""
    known = explanation.certainty
    if known is None:
        return []
    nearest = known.nearest
    if not nearest.smiles:
        return [
            f"  prediction and measurement: {prediction_sentence(explanation, targets)}",
            "  nearest training molecule: none is similar at all",
        ]
    values = [
        f"{explanation.targets[k]} = {nearest.measured[k]:g}" for k in targets if np.isfinite(nearest.measured[k])
    ]
    measured = f", measured: {', '.join(values)}" if values else ""
    return [
        f"  prediction and measurement: {prediction_sentence(explanation, targets)}",
        f"  nearest training molecule: {nearest.smiles}  (similarity {nearest.similarity:.2f}{measured})",
    ]


def prediction_sentence(explanation: MoleculeExplanation, targets: Sequence[int]) -> str:
    """One sentence on how far prediction and measurement may be apart: not on the witness, of which `trust` speaks."""
    known, names = explanation.certainty, explanation.targets
    if known is None or (known.interval is None and known.probability is None):
        return "how far they are apart is not known, as no held-out measured values were learned from"
    if known.probability is not None:
        values = ", ".join(f"{names[k]} = {known.probability[k]:.2f}" for k in targets)
        return f"the probability of a positive test, calibrated on held-out labels, is {values}"
    interval, counts = known.interval, known.counts
    if interval is None or counts is None:  # there are both, or neither
        return ""
    finite = [k for k in targets if np.isfinite(interval[k]).all()]
    unknown = [names[k] for k in targets if k not in finite]
    if not finite:
        few = min(int(counts[k]) for k in targets)
        return (
            f"how far they are apart with {percent(known.level)} confidence is not known, as {few} "
            "held-out measured values are too few"
        )
    ranges = ", ".join(f"{names[k]} between {' and '.join(interval_ends(interval[k]))}" for k in finite)
    learned = ", ".join(dict.fromkeys(str(int(counts[k])) for k in finite))
    return (
        f"with {percent(known.level)} confidence a measurement gives {ranges} (learned from "
        f"{learned} held-out molecules about as similar to the training molecules)"
        + (f"; not known for {', '.join(unknown)}" if unknown else "")
    )


def interval_ends(interval: np.ndarray) -> list[str]:
    """Both ends of an interval; decimals that tell members apart would say more of it than is known."""
    return [fixed(float(value), decimals(interval)) for value in interval]


def held_out(explanation: MoleculeExplanation, targets: Sequence[int]) -> list[str]:
    """How well the witness holds at members that it was not fitted to."""
    deviation, explained = explanation.held_out_deviation, explanation.held_out_explained
    if deviation is None or explained is None:
        return []
    # One target needs no name: the line above has it.
    named = len(targets) > 1
    shares = ", ".join(f"{percent(explained[k], 0)}{f' ({explanation.targets[k]})' * named}" for k in targets)
    return [
        f"  held out: at a member that it was not fitted to, the {explanation.noun} is off by "
        f"{values_text(explanation, deviation, targets)} on average",
        f"  and explains {shares} of what the network does in the neighborhood",
    ]


def match(explanation: MoleculeExplanation, targets: Sequence[int]) -> list[str]:
    """How well the witness matches the network; lines on members that it was not fitted to come first."""
    noun = explanation.noun
    origins = [member.origin for member in explanation.members]
    counts = ", ".join(f"{origins.count(o)} {o}" for o in ("given", "pool", "analog") if o in origins)
    lines = [f"  {f'its {noun}:':<10} {values_text(explanation, explanation.witnessed, targets)}"]
    if not {"given", "pool"} & set(origins):
        lines.append(
            f"  No other molecule that the model was trained on is near: the {noun} describes what the network does "
            "here, not what was measured."
        )
    left_out = held_out(explanation, targets)
    fitted = " where it was fitted" if left_out else ""
    return [
        *lines,
        f"  {len(origins)} members in its neighborhood ({counts or 'no others'})",
        *left_out,
        f"  the {noun} is off by {values_text(explanation, explanation.deviation, targets)} on average{fitted}"
        + _order(explanation, targets),
        f"  {noun} and network: {trust(explanation, targets)}",
    ]


def _order(explanation: MoleculeExplanation, targets: Sequence[int]) -> str:
    """How many pairs of members the witness orders as the network does; empty if not known."""
    shares = {k: percent(float(explanation.local_auc[k]), 0) for k in targets if np.isfinite(explanation.local_auc[k])}
    if not shares:
        return ""
    if len(explanation.targets) == 1:
        return f"; orders {shares[0]} of pairs as the network does"
    return (
        f"; orders pairs as the network does: {', '.join(f'{explanation.targets[k]} {s}' for k, s in shares.items())}"
    )


def trust(explanation: MoleculeExplanation, targets: Sequence[int] | None = None) -> str:
    """One sentence on how far the witness can be trusted near the molecule, for the targets at these indices."""
    if len(explanation.members) < FEWEST:
        count, cure = f"{len(explanation.members) - 1}", f"with analogs ({Parameter('analogs')}), or "
        if explanation.analogs:
            count, cure = f"{count}, with the analogs that can be made", ""
        return (
            f"there are too few similar molecules ({count}) for a {explanation.noun}: train {cure}with a pool of more "
            "molecules, which need no labels"
        )
    targets = range(len(explanation.targets)) if targets is None else targets
    bounded = [] if explanation.bound is None else [k for k in targets if np.isfinite(explanation.bound[k])]
    if explanation.bound is None or not bounded:
        return explanation.unbounded or no_bound_reason(explanation.level, explanation.calibrated)
    unbounded = [explanation.targets[k] for k in targets if k not in bounded]
    sizes = SizeBin(explanation.calibrated, *explanation.calibrated_sizes).text
    return (
        f"with {percent(explanation.level)} confidence the {explanation.noun} is within "
        f"{values_text(explanation, explanation.bound, bounded)} of the network at a similar molecule that it "
        f"was not fitted to (calibrated on {explanation.calibrated} held-out neighborhoods{sizes})"
        + (f"; not known for {', '.join(unbounded)}" if unbounded else "")
    )


def title(explanation: MoleculeExplanation, targets: Sequence[int]) -> str:
    """One line with the prediction, the witness's value, and the bound."""
    prediction = values_text(explanation, explanation.prediction, targets)
    if len(targets) != 1 or len(explanation.members) < FEWEST:
        return prediction
    (k,) = targets
    digits = explanation.decimals[k]
    line = f"{prediction}, its {explanation.noun} {fixed(explanation.witnessed[k], digits)}"
    if explanation.bound is None or not np.isfinite(explanation.bound[k]):
        return line
    bound = fixed(explanation.bound[k], digits)
    return f"{line}; nearby within {bound} of each other ({percent(explanation.level)} confidence)"


def values_text(explanation: MoleculeExplanation, values: Sequence[float] | np.ndarray, targets: Sequence[int]) -> str:
    """Values of the targets at these indices, with their names."""
    digits = explanation.decimals
    return ", ".join(f"{explanation.targets[k]} = {fixed(values[k], digits[k])}" for k in targets)


def measured_text(explanation: MoleculeExplanation, member: Member, targets: Sequence[int]) -> str:
    """The measured values of a member; empty if there are none."""
    if member.measured is None:
        return ""
    known = [(k, member.measured[k]) for k in targets if np.isfinite(member.measured[k])]
    return ", ".join(f"{explanation.targets[k]} = {trimmed(fixed(y, explanation.decimals[k]))}" for k, y in known)
