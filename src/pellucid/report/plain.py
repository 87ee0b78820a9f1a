"""Pages of any domain: the numbers and charts of a run, and explanations as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pellucid.report.page import write_page
from pellucid.report.sections import common, ranked, share
from pellucid.summaries import Example, RunSummary


def write_run(summary: RunSummary, path: Path, *, item: str) -> None:
    """Write the report of a run.

    Parameters
    ----------
    summary : RunSummary
        What the run measured; the "text" of its explanations is shown.
    path : Path
        The HTML file.
    item : str
        Noun for one thing that is explained.
    """
    # Summaries begin with the most trustworthy, pages with the least.
    items = [
        {"place": example.place, "rank": example.rank, "text": str(example.explanation.get("text", ""))}
        for example in ranked(summary)[::-1]
    ]
    write_page(
        path,
        "plain.html",
        **common(summary),
        items=items,
        share=share(summary, f"explained {item}"),
        ordered=bool(summary.deviations) and len(items) > 1,
    )


def write_texts(texts: Mapping[str, str], path: Path, *, title: str) -> None:
    """Write explanations alone.

    Parameters
    ----------
    texts : mapping of str to str
        The text of each explanation, by what was explained.
    path : Path
        The HTML file.
    title : str
        Title of the page.
    """
    examples = tuple(Example(explanation={"text": text}, place=label) for label, text in texts.items())
    write_run(RunSummary(kind="explanations", title=title, explanations=examples[::-1]), path, item="item")
