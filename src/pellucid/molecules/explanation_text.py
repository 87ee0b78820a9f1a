"""What explanations of molecules have in common, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.numbers import fixed, percent
from pellucid.trust import FEWEST, no_bound_reason

if TYPE_CHECKING:
    from pellucid.molecules.explanation import Member, MoleculeExplanation


def head(explanation: MoleculeExplanation, targets: Sequence[int], *, is_chosen: bool, differ: str) -> list[str]:
    """The molecule, its prediction, and what was measured.

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
    return lines


def match(explanation: MoleculeExplanation, targets: Sequence[int], held_out: Sequence[str] = ()) -> list[str]:
    """How well the witness matches the network; lines on members that it was not fitted to come first."""
    noun = explanation.noun
    origins = [member.origin for member in explanation.members]
    counts = ", ".join(f"{origins.count(o)} {o}" for o in ("given", "pool", "analog") if o in origins)
    lines = [f"  {f'its {noun}:':<10} {values_text(explanation, explanation.witnessed, targets)}"]
    if not {"given", "pool"} & set(origins):
        lines.append(
            f"  No molecule that the model was trained on is near: the {noun} describes what the network does here, "
            "not what was measured."
        )
    aucs = ", ".join(
        f"{explanation.targets[k]} {explanation.local_auc[k]:.0%}"
        for k in targets
        if np.isfinite(explanation.local_auc[k])
    )
    fitted = " where it was fitted" if held_out else ""
    return [
        *lines,
        f"  {len(origins)} members in its neighborhood ({counts or 'no others'})",
        *held_out,
        f"  the {noun} is off by {values_text(explanation, explanation.deviation, targets)} on average{fitted}"
        + (f"; orders pairs alike: {aucs}" if aucs else ""),
        f"  {trust(explanation, targets)}",
    ]


def trust(explanation: MoleculeExplanation, targets: Sequence[int] | None = None) -> str:
    """One sentence on how far the witness can be trusted near the molecule, for the targets at these indices."""
    if len(explanation.members) < FEWEST:
        return (
            f"there are too few similar molecules ({len(explanation.members) - 1}) for a {explanation.noun}: train "
            "with analogs, with a pool, or with a lower threshold of similarity"
        )
    targets = range(len(explanation.targets)) if targets is None else targets
    bounded = [] if explanation.bound is None else [k for k in targets if np.isfinite(explanation.bound[k])]
    if explanation.bound is None or not bounded:
        return no_bound_reason(explanation.level, explanation.calibrated)
    unbounded = [explanation.targets[k] for k in targets if k not in bounded]
    return (
        f"with {percent(explanation.level)} confidence the {explanation.noun} is within "
        f"{values_text(explanation, explanation.bound, bounded)} of the network at a further molecule of this "
        f"neighborhood (calibrated on {explanation.calibrated} held-out neighborhoods)"
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
    return values_text(explanation, member.measured, [k for k in targets if np.isfinite(member.measured[k])])
