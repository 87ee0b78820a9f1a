"""Explanations of molecules on a page: a gallery to search and sort, and every molecule's witness with its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.molecules._pictures import Pictures
from pellucid.molecules.explaining import MoleculeExplanation
from pellucid.molecules.explanation_page import bound_text, view
from pellucid.numbers import decimals
from pellucid.report.numbers import fixed, number, trimmed
from pellucid.report.page import write_page
from pellucid.report.sections import common, of_explanations, ranked, require_outputs, share
from pellucid.summaries import Example, RunSummary


def write(summary: RunSummary, path: str | Path) -> Path:
    """Write the report of a run as one HTML file.

    Parameters
    ----------
    summary : RunSummary
        The summary of the run.
    path : str or Path
        The HTML file.
    """
    pictures = Pictures()
    examples = ranked(summary)
    explanations = [MoleculeExplanation.from_dict(example.explanation) for example in examples]
    for example, explanation in zip(examples, explanations, strict=True):
        require_outputs(summary, example, explanation.targets)
    digits = [decimals(e.prediction[k] for e in explanations) for k in range(len(summary.outputs))]
    items = [
        _item(example, explanation, i, digits, pictures)
        for i, (example, explanation) in enumerate(zip(examples, explanations, strict=True))
    ]
    return write_page(
        path,
        "molecules.html",
        **common(summary),
        targets=summary.outputs,
        items=items,
        noun=explanations[0].noun if explanations else "tree",
        share=share(summary, "test molecule" if summary.deviations else "explained molecule"),
        # Molecules that a user asks for stay in the order of the table.
        ordered=bool(summary.deviations),
        # Summaries begin with the most trustworthy.
        least=[item for item in items[::-1] if item["rank"] == "least"],
        most=[item for item in items if item["rank"] == "most"],
        sheet=pictures.sheet(),
    )


def write_explanations(
    explanations: Mapping[str, MoleculeExplanation], path: str | Path, *, title: str, verdict: Sequence[str] = ()
) -> Path:
    """Write several explanations as one HTML file: the gallery alone.

    Parameters
    ----------
    explanations : mapping of str to MoleculeExplanation
        Explanations of one model, by the labels of the molecules.
    path : str or Path
        The HTML file.
    title : str
        Title of the page.
    verdict : sequence of str
        Sentences that stand below it.
    """
    outputs = next(iter(explanations.values())).targets if explanations else ()
    summary = of_explanations(explanations, kind="molecules", title=title, outputs=outputs)
    return write(replace(summary, verdict=tuple(verdict)), path)


def _item(
    example: Example, explanation: MoleculeExplanation, index: int, digits: Sequence[int], pictures: Pictures
) -> dict[str, Any]:
    """A card of the gallery and what it opens."""
    unlabeled = not example.measured
    measured = example.measured or [None] * len(explanation.targets)
    similarities = [m.similarity for m in explanation.members[1:] if m.origin in ("given", "pool")]
    bounds = explanation.bound
    return {
        "rank": example.rank,
        "place": example.place or f"molecule {index + 1}",
        "key": f"x{index}",
        "view": view(explanation, pictures, measured),
        # For every target the number to sort by and the text to show.
        "sort": {
            "prediction": [(v, fixed(v, p)) for v, p in zip(explanation.prediction.tolist(), digits, strict=True)],
            "measured": [] if unlabeled else [(v, trimmed(fixed(v, p))) for v, p in zip(measured, digits, strict=True)],
            "deviation": [(v, number(v, 2)) for v in explanation.deviation.tolist()],
            "bound": [] if bounds is None else [(v if v == v else None, bound_text(v)) for v in bounds.tolist()],
            "similarity": [(max(similarities, default=None), "")] * len(measured),
        },
    }
