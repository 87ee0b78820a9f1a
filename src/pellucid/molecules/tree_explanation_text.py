"""A molecule explained by a tree in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.molecules.explanation_text import head, match, measured_text, trust, values_text
from pellucid.numbers import fixed, listed, percent
from pellucid.trust import FEWEST
from pellucid.witnesses.text import presence, tree_text

if TYPE_CHECKING:
    from pellucid.molecules.tree_explanation import Change, Reason, TreeExplanation

# The most members in other leaves that the text lists.
_CHANGES = 5
# The most splits that raise or lower a value.
_REASONS = 4
_MARK = "   <-- this molecule"


def text(explanation: TreeExplanation, target: str | int | None = None) -> str:
    """The explanation as lines of text.

    Parameters
    ----------
    explanation : TreeExplanation
        The explanation.
    target : str or int, optional
        The target to write about; by default those that differ most between the leaves.
    """
    targets = explanation.target(target)
    lines = head(explanation, targets, is_chosen=target is not None, differ="between the leaves")
    if len(explanation.members) < FEWEST:
        return "\n".join([*lines, f"  {trust(explanation, targets)}"])
    tree = tree_text(
        explanation.witness.root,
        split=lambda node: presence(_name(explanation, node.feature)),
        leaf=lambda node: values_text(explanation, node.value, targets),
        notes={explanation.path[-1]: _MARK},
    )
    lines += match(explanation, targets)
    if explanation.divergence is not None:
        lines.append(f"  KL(tree || network) = {explanation.divergence:.3g} nats on average, over all outputs")
    lines += ["", tree]
    if changes := explanation.changes():
        lines += ["", "what would change it (the nearest members in other leaves):"]
        lines += [_change(explanation, change, targets) for change in changes[:_CHANGES]]
    lines += [
        f"bit {structure.bit} also stands for {', '.join(structure.others)} in this neighborhood"
        for structure in explanation.substructures.values()
        if structure.others
    ]
    return "\n".join(lines)


def reasons_text(explanation: TreeExplanation, target: str | int | None = None) -> list[str]:
    """The tree's value of the molecule beside that of its whole neighborhood, what raises it and what lowers it, in a
    line each.

    Parameters
    ----------
    explanation : TreeExplanation
        The explanation.
    target : str or int, optional
        The target to write about; by default the one that differs most between the leaves.
    """
    k = int(np.argmax(explanation.spread)) if target is None else explanation.target(target)[0]
    if len(explanation.members) < FEWEST:
        return [trust(explanation, [k])]
    digits = explanation.decimals[k]
    root, value = explanation.witness.root.value[k], float(explanation.witnessed[k])
    lines = [f"tree: {fixed(value, digits)}, and {fixed(root, digits)} over all {len(explanation.members)} members"]
    if explanation.held_out_explained is not None and np.isfinite(explanation.held_out_explained[k]):
        lines[0] += f"; held out, trees explain {percent(float(explanation.held_out_explained[k]), 0)} around it"
    reasons = sorted(explanation.reasons(), key=lambda reason: float(-reason.change[k]))
    for word, sign, some in (("raised", 1, reasons), ("lowered", -1, reasons[::-1])):
        told = [_reason(explanation, each, k) for each in some if round(sign * float(each.change[k]), digits) > 0]
        lines += [f"{word} by: {listed(told, _REASONS)}"] if told else []
    return lines


def _reason(explanation: TreeExplanation, reason: Reason, k: int) -> str:
    word = "with" if reason.present else "without"
    return f"{word} {_name(explanation, reason.split)} ({reason.change[k]:+.{explanation.decimals[k]}f})"


def _change(explanation: TreeExplanation, change: Change, targets: Sequence[int]) -> str:
    member, name = change.member, _name(explanation, change.split)
    measured = measured_text(explanation, member, targets)
    return (
        f"  {values_text(explanation, member.prediction, targets)}  {'with' if change.gains else 'without'} {name}\n"
        f"      {member.smiles}  ({member.origin}, similarity {member.similarity:.2f}"
        f"{f', measured: {measured}' if measured else ''})"
    )


def _name(explanation: TreeExplanation, bit: int) -> str:
    structure = explanation.substructures[bit]
    return structure.smiles + (f" (or others: bit {bit})" if structure.others else "")
