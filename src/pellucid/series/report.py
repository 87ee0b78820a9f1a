"""Explained forecasts on a page: what came, what was forecast, and the law that the network followed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pellucid.report.page import embed, write_page
from pellucid.report.sections import common, of_explanations, ranked, require_outputs, share
from pellucid.series.explanation import ForecastExplanation
from pellucid.series.explanation_page import CHANNELS, channels_of, law_texts, view
from pellucid.series.explanation_text import deviations
from pellucid.summaries import Example, RunSummary

# Pictures of channels that a page has room for: with more channels it shows fewer forecasts.
_PANELS = 60


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
    groups: dict[str, list[Example]] = {"least": [], "most": [], "others": []}
    for example in ranked(summary):
        groups[example.rank].append(example)
    examples = groups["least"][::-1] + groups["most"] + groups["others"][::-1]
    chosen = examples[: max(2, _PANELS // max(1, min(CHANNELS, len(summary.outputs))))]
    explanations = [ForecastExplanation.from_dict(example.explanation) for example in chosen]
    for example, explanation in zip(chosen, explanations, strict=True):
        require_outputs(summary, example, explanation.channels)
    items = [
        {"rank": example.rank, "place": example.place or f"forecast {i + 1}", "view": view(explanation)}
        for i, (example, explanation) in enumerate(zip(chosen, explanations, strict=True))
    ]
    laws = [[law_texts(e, k) for k in channels_of(e)] for e in explanations]
    channels = list(summary.outputs or (explanations[0].channels if explanations else ()))
    return write_page(
        path,
        "series.html",
        **common(summary, calibrated_on="sequence"),
        channels=channels[:CHANNELS],
        items=items,
        share=share(summary, "forecast"),
        left=len(examples) - len(items),
        laws=embed(laws),
    )


def write_many(explanations: Mapping[str, ForecastExplanation], path: str | Path, *, title: str) -> int:
    """Write several explanations as one HTML file, those that are least close to their laws first.

    Parameters
    ----------
    explanations : mapping of str to ForecastExplanation
        Explanations by the name of the recording, and the row.
    path : str or Path
        The file to write.
    title : str
        Title of the page.

    Returns
    -------
    int
        The number of explanations that there was no room for.
    """
    distances = {label: _distance(e) for label, e in explanations.items()}
    channels = list(next(iter(explanations.values())).channels)
    room = max(2, _PANELS // min(CHANNELS, len(channels)))
    farthest = sorted(explanations, key=lambda label: distances[label])[-room:]
    shown = {label: explanations[label] for label in farthest}
    write(of_explanations(shown, kind="series", title=title, outputs=channels), path)
    return len(explanations) - len(farthest)


def _distance(explanation: ForecastExplanation) -> float:
    """How far the laws are from the forecast, relative to how much it moves: held out, or where fitted if need be."""
    unseen, fitted = deviations(explanation)
    gaps = unseen if np.isfinite(unseen).all() else fitted
    return float(np.square(gaps / (explanation.mean.std(0) + 1e-12)).mean())
