"""Contributions and exchanges on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.molecules._pictures import Pictures
from pellucid.molecules._scale import STEPS, extent, ground_steps, step_class, steps
from pellucid.molecules.contribution_text import signed, up_and_down
from pellucid.numbers import listed
from pellucid.report.numbers import fixed, trimmed, typeset

if TYPE_CHECKING:
    from pellucid.molecules.contribution_explanation import ContributionExplanation, Term
    from pellucid.molecules.exchanges import Exchange
    from pellucid.molecules.explanation import MoleculeExplanation

# The most terms with and without the substructure, and the most exchanges up and down, that a page shows.
_PRESENT, _ABSENT, _EXCHANGES = 8, 4, 5
# The most substructures that are named where a bit stands for several, or a term for several bits.
_OTHERS = 3


def law_view(explanation: ContributionExplanation, pictures: Pictures, targets: Sequence[int]) -> dict[str, Any]:
    """The law: for each target the molecule with colored atoms and its scale, and the strongest terms."""
    return {
        "scale": [step_class(step) for step in range(-STEPS, STEPS + 1)],
        "each": [_target_view(explanation, pictures, k) for k in targets],
    }


def _target_view(explanation: ContributionExplanation, pictures: Pictures, k: int) -> dict[str, Any]:
    name, digits, values = explanation.targets[k], explanation.decimals[k], explanation.atoms[:, k]
    present, absent = (explanation.strongest(k, present=on) for on in (True, False))
    rest = [*present[_PRESENT:], *absent[_ABSENT:]]
    label = f"{explanation.smiles}, its atoms colored by their contributions to {name}"
    return {
        "name": name,
        "picture": pictures.colored(explanation.smiles, steps(values), label=label),
        "ends": [_signed(end * extent(values), digits + 1) for end in (-1, 1)],
        "base": fixed(float(explanation.base[k]), digits),
        "value": fixed(float(explanation.witnessed[k]), digits),
        "change": _signed(explanation.witnessed[k] - explanation.base[k], digits),
        "absent_sum": _signed(sum(t.contribution[k] for t in absent), digits),
        "present": [_term(explanation, term, k, pictures) for term in present[:_PRESENT]],
        "absent": [_term(explanation, term, k, pictures) for term in absent[:_ABSENT]],
        "rest": _signed(sum(t.contribution[k] for t in rest), digits),
        "weaker": len(rest),
    }


def _term(explanation: ContributionExplanation, term: Term, k: int, pictures: Pictures) -> dict[str, Any]:
    digits = explanation.decimals[k]
    grounds = ground_steps(float(term.contribution[k]))
    first, others = term.substructures[:1], term.substructures[1:]
    also = [s.smiles for s in others] + [f"{text} (same bit)" for s in first for text in s.others]
    return {
        "picture": pictures.substructure(first[0], grounds) if first else term.name,
        "also": listed(also, _OTHERS),
        "contribution": _signed(term.contribution[k], digits),
        "value": _signed(term.value[k], digits),
        "error": fixed(float(term.error[k]), digits),
        "count": term.count,
    }


def exchanges_view(explanation: MoleculeExplanation, targets: Sequence[int]) -> dict[str, Any] | None:
    """The exchanges that raise and lower the main target most; None if there are none."""
    k = max(targets, key=lambda target: explanation.spread[target])
    digits = explanation.decimals[k]

    def row(e: Exchange) -> dict[str, str]:
        measured = e.member.measured
        return {
            "out": e.out,
            "into": e.into,
            "predicted": _signed(e.predicted_change[k], digits),
            "witness": _signed(e.witness_change[k], digits),
            "similarity": fixed(e.member.similarity, 2),
            "measured": "" if measured is None or np.isnan(measured[k]) else trimmed(fixed(float(measured[k]), digits)),
        }

    up, down = up_and_down(explanation.exchanges(k), k, _EXCHANGES)
    if not up and not down:
        return None
    return {"name": explanation.targets[k], "rows": [row(e) for e in (*up, *down)]}


def _signed(value: float, digits: int) -> str:
    return typeset(signed(value, digits))
