"""`pellucid report`: the report of a run once more, from its summary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.output import say
from pellucid.cli.outputs import Force, check_outputs, output


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page.", show_default="RUN/report.html")
    ] = None,
    force: Force = False,
) -> None:
    """Write the report of a finished run as one HTML file."""
    if out is not None and out.suffix.lower() != ".html":
        raise typer.BadParameter(f"must end in .html, not {out.name!r}.", param_hint="--out")
    from pellucid import runs, summaries
    from pellucid.registry import domain_named

    summary = summaries.read(run)
    path = out or run / runs.REPORT
    if path.resolve() != (run / runs.REPORT).resolve():
        check_outputs([path], inputs=[], force=force)
    with output(path) as draft:
        domain_named(summary.kind).write_report(summary, draft)
    say(f"written: {path}")
