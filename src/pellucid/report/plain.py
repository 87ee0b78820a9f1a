"""The report of a run of any domain: numbers and charts, and its explanations as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pellucid.report.page import write_page
from pellucid.report.sections import common, ranked, share
from pellucid.summaries import RunSummary


def write(summary: RunSummary, path: Path, *, item: str, texts: Mapping[int, str] | None = None) -> None:
    """Write a report.

    Parameters
    ----------
    summary : RunSummary
        What the run found.
    path : Path
        The HTML file.
    item : str
        What is explained, one of them.
    texts : mapping of int to str, optional
        The text of each explanation; by default its "text".
    """
    items = [
        {"place": shown.place, "rank": shown.rank, "text": str(shown.explanation.get("text", ""))}
        for shown in ranked(summary)[::-1]
    ]
    write_page(path, "plain.html", **common(summary), items=items, share=share(summary, f"explained {item}"))
