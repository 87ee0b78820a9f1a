"""A row explained in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.numbers import counted, decimals, fixed, percent
from pellucid.text_tables import aligned

if TYPE_CHECKING:
    from pellucid.tabular.explanation import RowExplanation

# The most columns, and the most nearest rows, that the text lists.
_TERMS, _NEIGHBORS = 8, 5


def digits_of(explanation: RowExplanation) -> int:
    """The number of decimals that tells the numbers of an explanation apart."""
    near = [row.prediction for row in explanation.neighbors]
    return decimals([explanation.prediction, explanation.base, explanation.law, *near])


def signed(value: float, digits: int) -> str:
    """A number with its sign."""
    text = fixed(value, digits)
    return text if text.startswith("-") else f"+{text}"


def text(explanation: RowExplanation) -> str:
    """The explanation as lines of text."""
    lines = [head(explanation), "", *_law(explanation), "", *_trust(explanation), *_neighbors(explanation)]
    return "\n".join([*lines, *_counterfactuals(explanation)])


def head(explanation: RowExplanation) -> str:
    """The prediction, and how sure it is, in one line."""
    digits, e = digits_of(explanation), explanation
    if e.probability is not None:
        return (
            f"{e.answer}, says the network with probability {percent(e.probability, 1)}, calibrated "
            f"{percent(e.calibrated, 0)}; {e.output}: {fixed(e.prediction, digits)}"
        )
    line = f"{e.output} = {fixed(e.prediction, digits)}"
    if e.interval is None:
        return f"{line}; how sure that is was not calibrated"
    low, high = (fixed(value, digits) for value in e.interval)
    return f"{line}; with {percent(e.level)} confidence measured between {low} and {high}"


def law_line(explanation: RowExplanation) -> str:
    """What the contributions add up to."""
    digits, e = digits_of(explanation), explanation
    return (
        f"the law says {fixed(e.law, digits)} here: {fixed(e.base, digits)} on average over the nearest rows, and "
        f"{signed(e.law - e.base, digits)} from"
    )


def _law(explanation: RowExplanation) -> list[str]:
    digits, e = digits_of(explanation), explanation
    shown, rest = e.terms[:_TERMS], e.terms[_TERMS:]
    rows = [[f"  {signed(t.contribution, digits)}", t.column, t.value, t.usual, t.effect] for t in shown]
    table = aligned(["  here", "column", "value", "nearest rows", "effect"], rows, left=(1, 4))
    more = [f"  {signed(sum(t.contribution for t in rest), digits)}  {counted(len(rest), 'weaker column')}"]
    return [law_line(e), *(line.rstrip() for line in table.splitlines()), *(more if rest else []), "", e.equation]


def trust_lines(explanation: RowExplanation) -> list[str]:
    """How far the law can be trusted, and how stable it is, a sentence each."""
    digits, e = digits_of(explanation) + 1, explanation
    share = "the network does not vary here"
    if e.held_out_explained is not None:
        share = (
            f"held out, the law explains {percent(e.held_out_explained, 0)} of what the network does around this row, "
            f"and is off by {fixed(e.held_out_deviation, digits)} on average"
        )
    bound = e.why_not
    if e.bound is not None:
        bound = (
            f"with {percent(e.level)} confidence the law is within {fixed(e.bound, digits)} of the network at a "
            "further row nearby"
        )
    stability = []
    if e.stability is not None:
        stability = [f"stability {e.stability:.2f}, {e.stability_word}: so much of the law do those of the nearest "
                     "rows repeat"]  # fmt: skip
    return [share, *([bound] if bound else []), *stability]


def _trust(explanation: RowExplanation) -> list[str]:
    return [f"  {line}" for line in trust_lines(explanation)]


def _neighbors(explanation: RowExplanation) -> list[str]:
    shown = explanation.neighbors[:_NEIGHBORS]
    if not shown:
        return []
    digits, names = digits_of(explanation), list(shown[0].cells)
    rows = [
        [
            f"  row {row.row}",
            fixed(row.distance, 2),
            row.measured if isinstance(row.measured, str) else fixed(row.measured, digits),
            fixed(row.prediction, digits),
            *(row.cells[name] for name in names),
        ]
        for row in shown
    ]
    table = aligned(["  nearest", "distance", "measured", "network", *names], rows)
    return ["", *(line.rstrip() for line in table.splitlines())]


def change_lines(explanation: RowExplanation) -> list[str]:
    """The counterfactuals, a line each."""
    digits = digits_of(explanation)
    return [
        "; ".join(f"{change.column}: {change.before} -> {change.after}" for change in one.changes)
        + f" (network: {fixed(one.prediction, digits)}; {one.size:.2f} standard deviations)"
        for one in explanation.counterfactuals
    ]


def _counterfactuals(explanation: RowExplanation) -> list[str]:
    if explanation.wanted is None:
        return []
    lines = change_lines(explanation)
    if not lines:
        return ["", f"no change that is allowed makes it {explanation.wanted}"]
    return ["", f"what would make it {explanation.wanted}:", *(f"  {line}" for line in lines)]
