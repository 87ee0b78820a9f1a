"""An explained molecule in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.numbers import fixed, percent
from pellucid.trust import FEWEST, no_bound_reason
from pellucid.witnesses.text import presence, tree_text

if TYPE_CHECKING:
    from pellucid.molecules.explanation import Change, Member, MoleculeExplanation

# The most members in other leaves that the text lists.
_CHANGES = 5
_MARK = "   <-- this molecule"


def text(explanation: MoleculeExplanation, target: str | int | None = None) -> str:
    """The explanation as lines of text.

    Parameters
    ----------
    explanation : MoleculeExplanation
        The explanation.
    target : str or int, optional
        The target to write about; by default those that differ most between the leaves.
    """
    targets = explanation.target(target)
    lines = _head(explanation, targets, is_chosen=target is not None)
    if len(explanation.members) < FEWEST:
        return "\n".join([*lines, f"  {trust(explanation, targets)}"])
    tree = tree_text(
        explanation.witness.root,
        split=lambda node: presence(_name(explanation, node.feature)),
        leaf=lambda node: values_text(explanation, node.value, targets),
        notes={explanation.path[-1]: _MARK},
    )
    lines += [*_match(explanation, targets), "", tree]
    if changes := explanation.changes():
        lines += ["", "what would change it (the nearest members in other leaves):"]
        lines += [_change(explanation, change, targets) for change in changes[:_CHANGES]]
    lines += [
        f"bit {structure.bit} also stands for {', '.join(structure.others)} in this neighborhood"
        for structure in explanation.substructures.values()
        if structure.others
    ]
    return "\n".join(lines)


def _head(explanation: MoleculeExplanation, targets: Sequence[int], *, is_chosen: bool) -> list[str]:
    """The molecule, its prediction, and what was measured."""
    lines = [explanation.smiles, f"  predicted: {values_text(explanation, explanation.prediction, targets)}"]
    if not is_chosen and len(targets) < len(explanation.targets):
        lines[0] += f"   ({len(targets)} of {len(explanation.targets)} targets, which differ most between the leaves)"
    if measured := _measured(explanation, explanation.members[0], targets):
        lines.append(f"  measured:  {measured}   (it is among the labeled molecules)")
    return lines


def _match(explanation: MoleculeExplanation, targets: Sequence[int]) -> list[str]:
    """How well the tree matches the network."""
    origins = [member.origin for member in explanation.members]
    counts = ", ".join(f"{origins.count(o)} {o}" for o in ("given", "pool", "analog") if o in origins)
    lines = [f"  its tree:  {values_text(explanation, explanation.witnessed, targets)}"]
    if not {"given", "pool"} & set(origins):
        lines.append(
            "  No molecule that the model was trained on is near: the tree describes what the network does here, not "
            "what was measured."
        )
    aucs = ", ".join(
        f"{explanation.targets[k]} {explanation.local_auc[k]:.0%}"
        for k in targets
        if np.isfinite(explanation.local_auc[k])
    )
    lines += [
        f"  {len(origins)} members in its neighborhood ({counts or 'no others'})",
        f"  the tree is off by {values_text(explanation, explanation.deviation, targets)} on average"
        + (f"; orders pairs alike: {aucs}" if aucs else ""),
        f"  {trust(explanation, targets)}",
    ]
    if explanation.divergence is not None:
        lines.append(f"  KL(tree || network) = {explanation.divergence:.3g} nats on average, over all outputs")
    return lines


def trust(explanation: MoleculeExplanation, targets: Sequence[int] | None = None) -> str:
    """One sentence on how far the tree can be trusted near the molecule, for the targets at these indices."""
    if len(explanation.members) < FEWEST:
        return (
            f"there are too few similar molecules ({len(explanation.members) - 1}) for a tree: train with analogs, "
            "with a pool, or with a lower threshold of similarity"
        )
    targets = range(len(explanation.targets)) if targets is None else targets
    bounded = [] if explanation.bound is None else [k for k in targets if np.isfinite(explanation.bound[k])]
    if explanation.bound is None or not bounded:
        return no_bound_reason(explanation.level, explanation.calibrated)
    unbounded = [explanation.targets[k] for k in targets if k not in bounded]
    return (
        f"with {percent(explanation.level)} confidence the tree is within "
        f"{values_text(explanation, explanation.bound, bounded)} of the network at a further molecule of this "
        f"neighborhood (calibrated on {explanation.calibrated} held-out neighborhoods)"
        + (f"; not known for {', '.join(unbounded)}" if unbounded else "")
    )


def title(explanation: MoleculeExplanation, targets: Sequence[int]) -> str:
    """One line with the prediction, the tree's value, and the bound."""
    prediction = values_text(explanation, explanation.prediction, targets)
    if len(targets) != 1 or len(explanation.members) < FEWEST:
        return prediction
    (k,) = targets
    digits = explanation.decimals[k]
    line = f"{prediction}, its tree {fixed(explanation.witnessed[k], digits)}"
    if explanation.bound is None or not np.isfinite(explanation.bound[k]):
        return line
    bound = fixed(explanation.bound[k], digits)
    return f"{line}; nearby within {bound} of each other ({percent(explanation.level)} confidence)"


def values_text(explanation: MoleculeExplanation, values: Sequence[float] | np.ndarray, targets: Sequence[int]) -> str:
    """Values of the targets at these indices, with their names."""
    digits = explanation.decimals
    return ", ".join(f"{explanation.targets[k]} = {fixed(values[k], digits[k])}" for k in targets)


def _measured(explanation: MoleculeExplanation, member: Member, targets: Sequence[int]) -> str:
    """The measured values of a member; empty if there are none."""
    if member.measured is None:
        return ""
    return values_text(explanation, member.measured, [k for k in targets if np.isfinite(member.measured[k])])


def _change(explanation: MoleculeExplanation, change: Change, targets: Sequence[int]) -> str:
    member, name = change.member, _name(explanation, change.split)
    measured = _measured(explanation, member, targets)
    return (
        f"  {values_text(explanation, member.prediction, targets)}  {'with' if change.gains else 'without'} {name}\n"
        f"      {member.smiles}  ({member.origin}, similarity {member.similarity:.2f}"
        f"{f', measured: {measured}' if measured else ''})"
    )


def _name(explanation: MoleculeExplanation, bit: int) -> str:
    structure = explanation.substructures[bit]
    return structure.smiles + (f" (or others: bit {bit})" if structure.others else "")
