"""One explained row on a page, or in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.report.numbers import fixed, typeset
from pellucid.report.page import render, write_page
from pellucid.report.sections import common
from pellucid.summaries import RunSummary
from pellucid.tabular.drawing import bars
from pellucid.tabular.explanation_text import (
    change_lines,
    digits_of,
    head,
    law_line,
    near_answer,
    near_title,
    signed,
    trust_lines,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from pellucid.tabular.explanation import RowExplanation

NAME, WIDTH = 210.0, 640.0
"""Room for names at the left of a chart, and its width, in units of the picture."""
LETTERS = 30
"""Letters of a name for which there is room."""
_BAR = 22.0
_NEIGHBORS = 5


def write(explanation: RowExplanation, path: str | Path, *, title: str) -> Path:
    """Write one explanation as an HTML file.

    Parameters
    ----------
    explanation : RowExplanation
        The explanation.
    path : str or Path
        The HTML file.
    title : str
        Title of the page.
    """
    item = {"place": explanation.label, "note": "", "view": view(explanation)}
    summary = RunSummary(kind="table", title=title)
    return write_page(path, "table.html", **common(summary), items=[item], share="1 row", ordered=False, map=None)


def fragment(explanation: RowExplanation) -> Markup:
    """An explanation as a piece of HTML with its own styles and without scripts: for notebooks."""
    return render("row_fragment.html", e=view(explanation))


def view(e: RowExplanation) -> dict[str, Any]:
    """What the template shows of an explanation."""
    digits = digits_of(e)
    near = e.neighbors[:_NEIGHBORS]
    return {
        "head": typeset(head(e)),
        "chart": bar_chart(e),
        "law": typeset(law_line(e))[:1].upper() + typeset(law_line(e))[1:],
        "equation": e.equation,
        "trust": [typeset(line[:1].upper() + line[1:]) for line in trust_lines(e)],
        "cells": list(near[0].cells) if near else [],
        "neighbors": [
            [row.row, fixed(row.distance, 2),
             row.measured if isinstance(row.measured, str) else fixed(row.measured, digits),
             typeset(near_answer(row, digits)), *row.cells.values()]
            for row in near
        ],
        "network": near_title(e),
        "wanted": e.wanted,
        "changes": [typeset(line).replace(" -> ", " \u2192 ") for line in change_lines(e)],
    }  # fmt: skip


def bar_chart(explanation: RowExplanation) -> Markup:
    """The contributions as signed bars."""
    from markupsafe import Markup

    rows, digits = bars(explanation, letters=LETTERS), digits_of(explanation)
    reach = max((abs(amount) for _, amount, _ in rows), default=0.0) or 1.0
    middle = NAME + (WIDTH - NAME) / 2
    unit = (WIDTH - NAME) / 2 / (1.35 * reach)
    parts = []
    for i, (name, amount, alone) in enumerate(rows):
        y, length = 8 + i * _BAR, abs(amount) * unit
        kind = "rest" if not alone else "up" if amount >= 0 else "down"
        x = middle if amount >= 0 else middle - length
        parts.append(Markup('<text class="end" x="{}" y="{}">{}</text>').format(NAME - 10, y + 13, name))
        parts.append(
            Markup('<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>').format(
                kind, x, y + 2, max(length, 0.5), _BAR - 7
            )
        )
        end = middle + (length + 5 if amount >= 0 else -length - 5)
        anchor = "" if amount >= 0 else "end"
        parts.append(
            Markup('<text class="{}" x="{:.1f}" y="{}">{}</text>').format(
                anchor, end, y + 13, typeset(signed(amount, digits))
            )
        )
    height = 16 + len(rows) * _BAR
    parts.append(Markup('<path class="axis" d="M{} 4V{}"/>').format(middle, height - 4))
    label = "Contributions: " + ", ".join(f"{name} {signed(amount, digits)}" for name, amount, _ in rows)
    return Markup('<svg class="pl-chart pl-bars" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, label, Markup("").join(parts)
    )
