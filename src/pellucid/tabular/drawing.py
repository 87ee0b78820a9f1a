"""Contributions as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.numbers import counted
from pellucid.tabular.explanation_text import digits_of, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.tabular.explanation import RowExplanation, Term

# The most bars; the weaker columns share the last one.
_BARS = 10
# Letters of a row's name in the title: a row that was typed is called by all of its values.
_LETTERS = 60
UP, DOWN, REST = "#0b7285", "#c2410c", "#8a94a0"


def bars(explanation: RowExplanation, *, letters: int | None = None) -> list[tuple[str, float, bool]]:
    """Names, of at most so many letters, amounts, and whether it is one column: the strongest ones, and the rest
    together.
    """
    shown, rest = explanation.terms[:_BARS], explanation.terms[_BARS:]
    result = [(_name(term, letters), term.contribution, True) for term in shown]
    if rest:
        result.append((counted(len(rest), "weaker column"), sum(term.contribution for term in rest), False))
    return result


def _name(term: Term, letters: int | None) -> str:
    """A column with its value, which is kept where there is no room for both."""
    if letters is None or len(term.column) + 3 + len(term.value) <= letters:
        return f"{term.column} = {term.value}"
    value = cut(term.value, max(letters // 2, letters - 3 - len(term.column)))
    return f"{cut(term.column, letters - 3 - len(value))} = {value}"


def cut(name: str, most: int) -> str:
    """A name of at most so many letters.

    Examples
    --------
    >>> print(cut("acceleration", 12), cut("acceleration", 6))
    acceleration accel…
    """
    return name if len(name) <= most else f"{name[: most - 1]}\u2026"


def plot_contributions(explanation: RowExplanation) -> Figure:
    """The contributions of the columns as signed bars, from the mean over the nearest rows to the law's value."""
    from matplotlib.figure import Figure

    rows, digits = bars(explanation), digits_of(explanation)
    figure = Figure(figsize=(7.0, 1.1 + 0.34 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(rows), 0, -1)
    amounts = [amount for _, amount, _ in rows]
    colors = [REST if not alone else UP if amount >= 0 else DOWN for _, amount, alone in rows]
    axes.barh(list(places), amounts, color=colors, height=0.66)
    reach = max(map(abs, amounts), default=0.0) or 1.0
    for place, amount in zip(places, amounts, strict=True):
        axes.annotate(
            signed(amount, digits), (amount, place), (4 if amount >= 0 else -4, 0), textcoords="offset points",
            va="center", ha="left" if amount >= 0 else "right", fontsize=8,
        )  # fmt: skip
    axes.axvline(0, color="#444", linewidth=0.8)
    axes.set_xlim(-1.3 * reach, 1.3 * reach)
    # Signs of users are no mathematics.
    axes.set_yticks(list(places), [name.replace("$", r"\$") for name, _, _ in rows], fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    e = explanation
    axes.set_xlabel(
        f"from {e.base:.{digits}f} on average over the nearest rows to {e.law:.{digits}f} here".replace("$", r"\$"),
        fontsize=9,
    )
    label = e.label if len(e.label) <= _LETTERS else f"{e.label[: _LETTERS - 3]}..."
    axes.set_title(f"{label}: {e.output} = {e.prediction:.{digits}f}".replace("$", r"\$"), fontsize=10, loc="left")
    return figure
