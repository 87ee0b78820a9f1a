"""Contributions as chemists read them: the molecule with colored atoms, and the strongest terms as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pellucid.molecules._canvas import SMALL, Canvas
from pellucid.molecules._layout import BOND, MARGIN, NOTE, PICTURE, TEXT, TITLE, VALUE, fit, wrap
from pellucid.molecules._scale import STEPS, extent, ground_steps, step_color, steps
from pellucid.molecules.contribution_text import signed
from pellucid.numbers import fixed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.molecules.contribution_explanation import ContributionExplanation, Term

# Everything is laid out in inches, y pointing down: for each target the molecule, and to its right the terms.
_MOLECULE = (3.6, 2.7)
_TERMS = (3, 2)  # columns and rows of terms
_TERM = (1.85, 1.62)
_CELL = (0.2, 0.14)  # a step of the scale
_NO_GROUND = "#ececec"  # of a term that contributes nothing


def plot_contributions(explanation: ContributionExplanation, targets: Sequence[int], *, title: str) -> Figure:
    """Draw the molecule with its atoms colored by what they contribute, and the strongest terms; a row for each target.

    Pictures are vectors, in SVG and PDF too. The scale is symmetric around zero, blue below and orange above it, in the
    units of the target. Terms stand on the color of their sign. What substructures contribute that the molecule has not
    is written below, and on no atom.

    Parameters
    ----------
    explanation : ContributionExplanation
        The explanation.
    targets : sequence of int
        The indices of the targets.
    title : str
        Text above the picture.
    """
    from matplotlib.figure import Figure

    width = _MOLECULE[0] + MARGIN + _TERMS[0] * _TERM[0]
    titles = wrap(title, width, TITLE, bold=True) if title else []
    top = MARGIN + 0.24 * len(titles) + (0.08 if titles else 0)
    row = max(_MOLECULE[1] + 0.75, _TERMS[1] * _TERM[1] + 0.3)
    size = width + 2 * MARGIN, top + row * len(targets) + MARGIN
    page = Canvas(Figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0)), size)
    for i, line in enumerate(titles):
        page.write(MARGIN, MARGIN + 0.24 * i + 0.1, line, TITLE, weight="bold", ha="left")
    for i, k in enumerate(targets):
        _draw_molecule(page, explanation, k, top + row * i)
        _draw_terms(page, explanation, k, 2 * MARGIN + _MOLECULE[0], top + row * i)
    return page.ax.figure.figure


def _draw_molecule(page: Canvas, explanation: ContributionExplanation, k: int, top: float) -> None:
    from pellucid.molecules._vector import draw_molecule

    values = explanation.atoms[:, k]
    colors = [step_color(step) for step in steps(values)]
    middle = MARGIN + _MOLECULE[0] / 2
    picture = draw_molecule(explanation.smiles, colors)
    page.picture(picture, middle, top + _MOLECULE[1] / 2, _MOLECULE, f"colored-molecule-{k}", bond=1.6 * BOND)
    y = top + _MOLECULE[1] + 0.12
    _draw_scale(page, middle, y, extent(values), explanation.targets[k], explanation.decimals[k] + 1)
    absent = sum(float(term.contribution[k]) for term in explanation.terms if not term.present)
    note = f"on no atom: {signed(absent, explanation.decimals[k])} from substructures that it lacks"
    page.write(middle, y + 0.5, note, NOTE, color=SMALL)


def _draw_scale(page: Canvas, x: float, y: float, end: float, name: str, digits: int) -> None:
    """The steps of the scale side by side, with the values of its ends."""
    from matplotlib.patches import Rectangle

    left = x - (2 * STEPS + 1) * _CELL[0] / 2
    for i, step in enumerate(range(-STEPS, STEPS + 1)):
        cell = Rectangle((left + i * _CELL[0], y), *_CELL, facecolor=step_color(step) or "white", edgecolor="#8a8a8a")
        cell.set(linewidth=0.4 * page.scale)
        cell.set_gid(f"scale-{name}-{step}")
        page.ax.add_patch(cell)
    right = left + (2 * STEPS + 1) * _CELL[0]
    page.write(left - 0.06, y + _CELL[1] / 2, signed(-end, digits), TEXT, ha="right")
    page.write(right + 0.06, y + _CELL[1] / 2, signed(end, digits), TEXT, ha="left")
    page.write(x, y + _CELL[1] + 0.12, fit(f"contribution of each atom to {name}", _MOLECULE[0], TEXT), TEXT)


def _draw_terms(page: Canvas, explanation: ContributionExplanation, k: int, left: float, top: float) -> None:
    named = [term for term in explanation.strongest(k) if term.substructures]
    columns, rows = _TERMS
    title = "strongest terms: what they contribute here (orange raises, blue lowers)"
    page.write(left, top + 0.06, title, TEXT, ha="left", color=SMALL)
    for i, term in enumerate(named[: columns * rows]):
        _draw_term(
            page, explanation, term, k, left + _TERM[0] * (i % columns + 0.5), top + 0.2 + _TERM[1] * (i // columns)
        )


def _draw_term(page: Canvas, explanation: ContributionExplanation, term: Term, k: int, x: float, y: float) -> None:
    digits = explanation.decimals[k]
    first = term.substructures[0]
    ground, center = (step_color(step) or _NO_GROUND for step in ground_steps(float(term.contribution[k])))
    room, label = (PICTURE[0] + 0.4, PICTURE[1] - 0.1), f"term-{k}-bit-{first.bit}"
    page.substructure(first, x, y + PICTURE[1] / 2, room, label, grounds=(ground, center))
    y += PICTURE[1]
    word = "" if term.present else "lacks it: "
    page.write(x, y + 0.08, f"{word}{signed(term.contribution[k], digits)}", VALUE, weight="bold")
    value = f"value {signed(term.value[k], digits)} ± {fixed(term.error[k], digits)}"
    page.write(x, y + 0.25, value, TEXT)
    page.write(x, y + 0.39, f"in {term.count} of {len(explanation.members)} members", NOTE, color=SMALL)
