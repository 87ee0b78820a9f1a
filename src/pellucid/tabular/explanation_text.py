"""A row explained in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.numbers import counted, decimals, fixed, percent
from pellucid.text_tables import aligned

if TYPE_CHECKING:
    from pellucid.tabular.explanation import NearRow, RowExplanation

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
            f"{percent(e.calibrated, 0)}; {e.output}: {fixed(e.prediction, digits)}, in which contributions add up"
        )
    line = f"{e.output} = {fixed(e.prediction, digits)}"
    if e.interval is None:
        return f"{line}; how sure that is was not calibrated"
    low, high = (fixed(value, digits) for value in e.interval)
    return f"{line}; with {percent(e.level)} confidence measured between {low} and {high}"


def law_line(explanation: RowExplanation) -> str:
    """What the contributions add up to."""
    digits, e = digits_of(explanation), explanation
    unit = "" if e.probability is None else " log-odds"
    return (
        f"the law says {fixed(e.law, digits)}{unit} here: {fixed(e.base, digits)} on average over the nearest rows, "
        f"and {signed(e.law - e.base, digits)} from"
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
    unit = "" if e.probability is None else " log-odds"
    share = "the network does not vary here"
    if e.held_out_explained is not None:
        share = (
            f"held out, the law explains {percent(e.held_out_explained, 0)} of what the network does around this row, "
            f"and is off by {fixed(e.held_out_deviation, digits)}{unit} on average"
        )
    bound = e.why_not
    if e.bound is not None:
        bound = (
            f"with {percent(e.level)} confidence the law is within {fixed(e.bound, digits)}{unit} of the network at a "
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
    names, digits = list(shown[0].cells), digits_of(explanation)
    rows = [
        [
            f"  row {row.row}",
            fixed(row.distance, 2),
            row.measured if isinstance(row.measured, str) else fixed(row.measured, digits),
            near_answer(row, digits),
            *(row.cells[name] for name in names),
        ]
        for row in shown
    ]
    table = aligned(["  nearest", "distance", "measured", near_title(explanation), *names], rows)
    return ["", *(line.rstrip() for line in table.splitlines())]


def near_title(explanation: RowExplanation) -> str:
    """What the network's column of the table of nearest rows is called."""
    return "network" if explanation.probability is None else f"probability of {explanation.answer}"


def near_answer(row: NearRow, digits: int) -> str:
    """What the network says of a nearest row, on the scale that people read."""
    return fixed(row.prediction, digits) if row.probability is None else percent(row.probability, 1)


def change_lines(explanation: RowExplanation) -> list[str]:
    """The counterfactuals, a line each."""
    digits, classes = digits_of(explanation), explanation.probability is not None
    return [
        "; ".join(f"{change.column}: {change.before} -> {change.after}" for change in one.changes)
        + f" (network: {percent(one.prediction, 1) if classes else fixed(one.prediction, digits)}; "
        f"{one.size:.2f} standard deviations)"
        for one in explanation.counterfactuals
    ]


def _counterfactuals(explanation: RowExplanation) -> list[str]:
    if explanation.wanted is None:
        return []
    lines = change_lines(explanation)
    if not lines:
        return ["", f"no change that is allowed was found to make it {explanation.wanted}"]
    return ["", f"what would make it {explanation.wanted}:", *(f"  {line}" for line in lines)]
