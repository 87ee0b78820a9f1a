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

# Members in other leaves that the text lists.
_CHANGES = 5
_MARK = "   <-- this molecule"


def text(explanation: MoleculeExplanation, target: str | int | None = None) -> str:
    """The explanation as lines of text.

    Parameters
    ----------
    explanation : MoleculeExplanation
        What is to be told.
    target : str or int, optional
        The target to speak of; by default those that differ most between the leaves.
    """
    which = explanation.target(target)
    lines = _head(explanation, which, every=target is not None)
    if len(explanation.members) < FEWEST:
        return "\n".join([*lines, f"  {trust(explanation, which)}"])
    tree = tree_text(
        explanation.witness.root,
        split=lambda node: presence(_name(explanation, node.feature)),
        leaf=lambda node: values_text(explanation, node.value, which),
        notes={explanation.path[-1]: _MARK},
    )
    lines += [*_match(explanation, which), "", tree]
    if changes := explanation.changes():
        lines += ["", "what would change it (the nearest members in other leaves):"]
        lines += [_change(explanation, change, which) for change in changes[:_CHANGES]]
    lines += [
        f"bit {structure.bit} also stands for {', '.join(structure.others)} in this neighborhood"
        for structure in explanation.substructures.values()
        if structure.others
    ]
    return "\n".join(lines)


def _head(explanation: MoleculeExplanation, which: Sequence[int], *, every: bool) -> list[str]:
    """The molecule, its prediction, and what was measured."""
    lines = [explanation.smiles, f"  predicted: {values_text(explanation, explanation.prediction, which)}"]
    if not every and len(which) < len(explanation.targets):
        lines[0] += f"   ({len(which)} of {len(explanation.targets)} targets, which differ most between the leaves)"
    if measured := _measured(explanation, explanation.members[0], which):
        lines.append(f"  measured:  {measured}   (it is among the molecules that were given)")
    return lines


def _match(explanation: MoleculeExplanation, which: Sequence[int]) -> list[str]:
    """How well the tree matches the network."""
    origins = [member.origin for member in explanation.members]
    counts = ", ".join(f"{origins.count(o)} {o}" for o in ("given", "pool", "analog") if o in origins)
    lines = [f"  its tree:  {values_text(explanation, explanation.witnessed, which)}"]
    if not {"given", "pool"} & set(origins):
        lines.append(
            "  No molecule that the model was trained on is near: the tree tells what the network does here, not what "
            "is known."
        )
    ordered = ", ".join(
        f"{explanation.targets[k]} {explanation.local_auc[k]:.0%}"
        for k in which
        if np.isfinite(explanation.local_auc[k])
    )
    lines += [
        f"  {len(origins)} members in its neighborhood ({counts or 'no others'})",
        f"  the tree is off by {values_text(explanation, explanation.deviation, which)} on average"
        + (f"; orders pairs alike: {ordered}" if ordered else ""),
        f"  {trust(explanation, which)}",
    ]
    if explanation.divergence is not None:
        lines.append(f"  KL(tree || network) = {explanation.divergence:.3g} nats on average, over all outputs")
    return lines


def trust(explanation: MoleculeExplanation, which: Sequence[int] | None = None) -> str:
    """In one sentence how far the tree can be trusted near the molecule, for the targets at these positions."""
    if len(explanation.members) < FEWEST:
        return (
            f"there are too few similar molecules ({len(explanation.members) - 1}) for a tree: train with analogs, "
            "with a pool, or with a lower threshold of similarity"
        )
    which = range(len(explanation.targets)) if which is None else which
    bounded = [] if explanation.bound is None else [k for k in which if np.isfinite(explanation.bound[k])]
    if explanation.bound is None or not bounded:
        return no_bound_reason(explanation.level, explanation.calibrated)
    others = [explanation.targets[k] for k in which if k not in bounded]
    return (
        f"with {percent(explanation.level)} confidence the tree is within "
        f"{values_text(explanation, explanation.bound, bounded)} of the network at a further molecule of this "
        f"neighborhood (calibrated on {explanation.calibrated} held-out neighborhoods)"
        + (f"; not known for {', '.join(others)}" if others else "")
    )


def title(explanation: MoleculeExplanation, which: Sequence[int]) -> str:
    """Prediction, tree, and how far to trust it, in one line."""
    prediction = values_text(explanation, explanation.prediction, which)
    if len(which) != 1 or len(explanation.members) < FEWEST:
        return prediction
    (k,) = which
    places = explanation.decimals[k]
    line = f"{prediction}, its tree {fixed(explanation.witnessed[k], places)}"
    if explanation.bound is None or not np.isfinite(explanation.bound[k]):
        return line
    bound = fixed(explanation.bound[k], places)
    return f"{line}; nearby within {bound} of each other ({percent(explanation.level)} confidence)"


def values_text(explanation: MoleculeExplanation, values: Sequence[float] | np.ndarray, which: Sequence[int]) -> str:
    """Values of the targets at these positions, with their names."""
    places = explanation.decimals
    return ", ".join(f"{explanation.targets[k]} = {fixed(values[k], places[k])}" for k in which)


def _measured(explanation: MoleculeExplanation, member: Member, which: Sequence[int]) -> str:
    """What was measured of a member; empty if nothing was."""
    if member.measured is None:
        return ""
    return values_text(explanation, member.measured, [k for k in which if np.isfinite(member.measured[k])])


def _change(explanation: MoleculeExplanation, change: Change, which: Sequence[int]) -> str:
    member, name = change.member, _name(explanation, change.split)
    measured = _measured(explanation, member, which)
    return (
        f"  {values_text(explanation, member.prediction, which)}  {'with' if change.gains else 'without'} {name}\n"
        f"      {member.smiles}  ({member.origin}, similarity {member.similarity:.2f}"
        f"{f', measured: {measured}' if measured else ''})"
    )


def _name(explanation: MoleculeExplanation, bit: int) -> str:
    structure = explanation.substructures[bit]
    return structure.smiles + (f" (or others: bit {bit})" if structure.others else "")
