"""Explanations of rows on a page: the map of laws, and every row's law with its bars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from pellucid.numbers import decimals
from pellucid.report.numbers import counted, fixed, number, percent, typeset
from pellucid.report.page import write_page
from pellucid.report.sections import common, of_explanations, ranked, share
from pellucid.summaries import Example, RunSummary
from pellucid.tabular.drawing import cut
from pellucid.tabular.explanation import RowExplanation
from pellucid.tabular.explanation_page import LETTERS, NAME, WIDTH, view
from pellucid.tabular.explanation_text import digits_of, signed
from pellucid.tabular.law_map import LawMap, Swarm

if TYPE_CHECKING:
    from markupsafe import Markup

# Height of a strip of the beeswarm, and radius of its dots, in units of the picture.
_ROW, _DOT = 46.0, 3.2


def write(summary: RunSummary, path: str | Path) -> Path:
    """Write the report of a run as one HTML file.

    Parameters
    ----------
    summary : RunSummary
        The summary of the run.
    path : str or Path
        The HTML file.
    """
    # Summaries begin with the most trustworthy, pages with the least.
    examples = ranked(summary)[::-1]
    explanations = [RowExplanation.from_dict(example.explanation) for example in examples]
    # As many decimals for all, so that they can be compared: those that suit most of the rows.
    digits = median_low(map(digits_of, explanations)) if explanations else 0
    items = [_item(*pair, i, digits) for i, pair in enumerate(zip(examples, explanations, strict=True))]
    landscape = None if summary.landscape is None else _map(LawMap.from_dict(summary.landscape))
    return write_page(
        path,
        "table.html",
        **common(summary),
        items=items,
        share=share(summary, "explained row"),
        # Rows that a user asks for stay in the order of the table.
        ordered=bool(summary.deviations) and len(items) > 1,
        map=landscape,
        classes=len(summary.outputs),
    )


def write_explanations(explanations: Mapping[str, RowExplanation], path: str | Path, *, title: str) -> Path:
    """Write several explanations as one HTML file: the rows alone.

    Parameters
    ----------
    explanations : mapping of str to RowExplanation
        Explanations of one model, by the labels of the rows.
    path : str or Path
        The HTML file.
    title : str
        Title of the page.
    """
    # Summaries are shown from their end.
    backwards = dict(list(explanations.items())[::-1])
    return write(of_explanations(backwards, kind="table", title=title), path)


def _item(example: Example, explanation: RowExplanation, index: int, digits: int) -> dict[str, Any]:
    note = f"{explanation.output} {fixed(explanation.prediction, digits)}"
    if explanation.probability is not None:
        note = f"{explanation.answer}, with probability {percent(explanation.probability, 1)}"
    if example.measured and example.measured[0] is not None:
        note += f", measured {fixed(example.measured[0], digits)}"
    if example.rank != "others":
        note += f" \u00b7 among the {example.rank} trustworthy"
    return {"place": example.place or f"row {index + 1}", "note": note, "view": view(explanation)}


def _map(law_map: LawMap) -> dict[str, Any]:
    digits = decimals([region.prediction for region in law_map.regions])
    several = len(law_map.regions) > 1
    shown = counted(len(law_map.labels), "test row")
    return {
        "output": law_map.output,
        "shown": shown if len(law_map.labels) == law_map.rows else f"{shown}, a random sample",
        "chart": swarm_chart(law_map),
        "title": f"{counted(len(law_map.regions), 'region')} of rows that share a law, which account for "
        f"{percent(law_map.shared, 0)} of the differences between laws"
        if several
        else "One law for all rows",
        "regions": [
            {"rule": region.rule, "count": counted(region.count, "row"),
             "law": typeset(region.law), "prediction": fixed(region.prediction, digits),
             "explained": None if region.explained is None else percent(region.explained, 0)}
            for region in law_map.regions
        ],
    }  # fmt: skip


def swarm_chart(law_map: LawMap) -> Markup:
    """The beeswarm: for each column a strip of dots, one for each row, at its contribution."""
    from markupsafe import Markup

    amounts = [amount for swarm in law_map.swarms for amount in swarm.contributions]
    reach = max((abs(amount) for amount in amounts), default=0.0) or 1.0
    middle = NAME + (WIDTH + 100 - NAME) / 2
    unit = (WIDTH + 100 - NAME) / 2 / (1.05 * reach)
    digits = decimals([-reach, reach])
    parts = [_strip(swarm, law_map, middle, unit, i * _ROW, digits) for i, swarm in enumerate(law_map.swarms)]
    height = len(law_map.swarms) * _ROW
    axis = Markup('<path class="axis" d="M{} 0V{}"/>').format(middle, height)
    ends = Markup("").join(
        Markup('<text class="mid" x="{:.1f}" y="{}">{}</text>').format(
            middle + share * reach * unit, height + 16, typeset(signed(share * reach, digits)) if share else "0"
        )
        for share in (-1.0, -0.5, 0.0, 0.5, 1.0)
    )
    label = f"Contributions of {len(law_map.swarms)} columns to {law_map.output}"
    return Markup(
        '<svg class="pl-chart swarms" viewBox="0 0 {:g} {:g}" role="group" aria-label="{}">{}{}{}</svg>'
    ).format(WIDTH + 100, height + 24, label, axis, Markup("").join(parts), ends)


def _strip(swarm: Swarm, law_map: LawMap, middle: float, unit: float, top: float, digits: int) -> Markup:
    from markupsafe import Markup

    taken: dict[int, int] = {}
    dots = []
    for label, amount, position, value in zip(
        law_map.labels, swarm.contributions, swarm.positions, swarm.values, strict=True
    ):
        x = middle + amount * unit
        place = round(x / (2 * _DOT))
        count = taken[place] = taken.get(place, -1) + 1
        # Dots at the same place pile up, alternately above and below the middle of the strip, and not beyond it.
        offset = (count + 1) // 2 * (1 if count % 2 else -1) * _DOT * 1.3
        offset = max(-_ROW / 2 + 5, min(_ROW / 2 - 5, offset))
        tone = "low" if position < 0.34 else "high" if position > 0.66 else "mid"
        text = f"{label}: {swarm.column} = {value}, {typeset(signed(amount, digits))}"
        dots.append(
            Markup(
                '<circle class="dot-{}" cx="{:.1f}" cy="{:.1f}" r="{}" data-text="{}"><title>{}</title></circle>'
            ).format(tone, x, top + _ROW / 2 + offset, _DOT, text, text)
        )
    mean = sum(map(abs, swarm.contributions)) / max(len(swarm.contributions), 1)
    label = f"{swarm.column}: {number(mean, 3)} on average, up or down"
    return Markup(
        '<g class="swarm" tabindex="0" role="group" aria-label="{}"><rect class="strip" x="0" y="{}" width="{}" '
        'height="{}"/><text class="end" x="{}" y="{}">{}</text>{}</g>'
    ).format(
        label, top + 1, WIDTH + 100, _ROW - 2, NAME - 10, top + _ROW / 2 + 4, cut(swarm.column, LETTERS),
        Markup("").join(dots),
    )  # fmt: skip
