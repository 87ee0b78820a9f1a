"""`pellucid demo`: from data that need no download to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pellucid.cli.output import Quiet, has_viewer, say, summary_text
from pellucid.domains import SupportsDemo
from pellucid.errors import InputError
from pellucid.registry import domains

_MARKER = ".demo"


def demo(
    name: Annotated[str, typer.Argument(metavar="[DOMAIN]", help="What to learn from.")] = "molecules",
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the run.")] = Path("out/demo"),
    size: Annotated[
        Literal["cpu", "smoke"], typer.Option(help="cpu: two minutes or so for each model; smoke: seconds.")
    ] = "cpu",
    quiet: Quiet = False,
) -> None:
    """Train on data that come with Pellucid, with and without the game, explain a prediction, and write the report."""
    import shutil

    capable = {key: domain for key, domain in domains().items() if isinstance(domain, SupportsDemo)}
    if name not in capable:
        raise InputError(
            f"DOMAIN must be {' or '.join(capable)}",
            got=f"{name!r}, which has no demo",
            cure=f"try pellucid demo {next(iter(capable))}",
        )
    import torch

    from pellucid import runs

    torch.set_num_threads(1)  # so that the numbers are the same everywhere
    domain = capable[name]
    demo = domain.demo(smoke=size == "smoke")
    for sentence in demo.notes:
        say(sentence)
    if (out / _MARKER).exists():  # left by an earlier demo: not a run of the user's
        for folder in ("checkpoints", "deep", "game"):
            shutil.rmtree(out / folder, ignore_errors=True)
        (out / "summary.json").unlink(missing_ok=True)
    runs.check_folder(out, resume=False)
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARKER).touch()
    summary = runs.train(domain, demo.source, demo.settings, out, title=demo.title, progress=has_viewer(quiet), say=say)
    say(f"\n{summary_text(summary, domain)}\n")
    say(f"{demo.about}, as GAME sees it:\n")
    explained = domain.explain(
        domain.load(out / "game"), demo.choose(summary), domain.Reading(), domain.Explaining(), level=0.9,
        progress=False, warn=say,
    )  # fmt: skip
    (explanation,) = explained.explanations.values()
    say(str(explanation))
    explanation.plot().savefig(out / demo.picture, bbox_inches="tight")
    say(f"\npicture:  {out / demo.picture}\nreport:   {out / 'report.html'}  (open it in a browser)")
