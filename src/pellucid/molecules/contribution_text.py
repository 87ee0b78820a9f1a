"""A molecule explained by contributions in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.molecules.exchanges import Exchange
from pellucid.molecules.explanation_text import head, match, measured_text, trust
from pellucid.numbers import fixed
from pellucid.text_tables import aligned
from pellucid.trust import FEWEST

if TYPE_CHECKING:
    from pellucid.molecules.contribution_explanation import ContributionExplanation, Term
    from pellucid.molecules.explanation import MoleculeExplanation

# The most terms that the text lists with and without the substructure, and the most exchanges up and down.
_PRESENT, _ABSENT, _EXCHANGES = 8, 4, 3


def text(explanation: ContributionExplanation, target: str | int | None = None) -> str:
    """The explanation as lines of text.

    Parameters
    ----------
    explanation : ContributionExplanation
        The explanation.
    target : str or int, optional
        The target to write about; by default those that differ most in the neighborhood.
    """
    targets = explanation.target(target)
    lines = head(explanation, targets, is_chosen=target is not None, differ="in the neighborhood")
    if len(explanation.members) < FEWEST:
        return "\n".join([*lines, f"  {trust(explanation, targets)}"])
    lines += match(explanation, targets)
    for k in targets:
        lines += ["", *_law(explanation, k)]
    for k in targets[:1] if target is None and len(targets) > 1 else targets:
        lines += exchange_lines(explanation, k, targets)
    return "\n".join(lines)


def _law(explanation: ContributionExplanation, k: int) -> list[str]:
    """The law of one target as a table: what the molecule has, what it lacks, and the rest."""
    digits, name = explanation.decimals[k], explanation.targets[k]
    change = explanation.witnessed[k] - explanation.base[k]
    mean, value = fixed(explanation.base[k], digits), fixed(explanation.witnessed[k], digits)
    head_line = f"{name}: {mean} on average over the members, {signed(change, digits)} here, which makes {value}"
    rows: list[list[str]] = []
    rest = change
    for present, most in ((True, _PRESENT), (False, _ABSENT)):
        for term in explanation.strongest(k, present=present)[:most]:
            rest -= term.contribution[k]
            rows.append([f"  {signed(term.contribution[k], digits)}", *term_cells(explanation, term, k)])
    others = len(explanation.terms) - len(rows)
    table = aligned(["  here", "value", "members", "substructure"], rows, left=(3,))
    more = [f"  {signed(rest, digits)}  from {others} weaker terms"] if others else []
    return [head_line, *_lines(table), *more]


def term_cells(explanation: ContributionExplanation, term: Term, k: int) -> list[str]:
    """Value with its error, how often it occurs, and the substructure."""
    digits = explanation.decimals[k]
    value = f"{signed(term.value[k], digits)} ± {fixed(term.error[k], digits)}"
    return [value, f"{term.count} of {len(explanation.members)}", ("" if term.present else "without ") + term.name]


def exchange_lines(explanation: MoleculeExplanation, k: int, targets: Sequence[int]) -> list[str]:
    """The exchanges that raise and lower one target most."""
    digits, noun = explanation.decimals[k], explanation.noun

    def row(e: Exchange) -> list[str]:
        measured = measured_text(explanation, e.member, targets)
        return [
            f"  {signed(e.predicted_change[k], digits)}", signed(e.witness_change[k], digits), f"{e.out} -> {e.into}",
            f"{e.member.similarity:.2f}", f"{e.member.origin}{f', measured: {measured}' if measured else ''}",
        ]  # fmt: skip

    up, down = up_and_down(explanation.exchanges(k), k, _EXCHANGES)
    if not up and not down:
        return []
    table = aligned(
        ["  network", noun, "exchange", "similarity", "molecule"], [row(e) for e in (*up, *down)], left=(2, 4)
    )
    return ["", f"what would change it ({explanation.targets[k]}, one group exchanged):", *_lines(table)]


def up_and_down(exchanges: Sequence[Exchange], k: int, most: int) -> tuple[list[Exchange], list[Exchange]]:
    """Of exchanges in their order, those that raise target k most, and those that lower it most."""
    up = [e for e in exchanges if e.predicted_change[k] > 0]
    down = [e for e in exchanges if e.predicted_change[k] < 0]
    return up[:most], down[len(down) - min(most, len(down)) :]


def _lines(table: str) -> list[str]:
    return [line.rstrip() for line in table.splitlines()]


def signed(value: float, digits: int) -> str:
    """A number with its sign."""
    text = fixed(float(value), digits)
    return text if text.startswith("-") or not np.isfinite(value) else f"+{text}"
