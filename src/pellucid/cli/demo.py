"""`pellucid demo`: from data that need no download to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pellucid.cli.options import argument, with_options
from pellucid.cli.output import Quiet, has_viewer, say, summary_text
from pellucid.domains import SupportsDemo
from pellucid.errors import InputError
from pellucid.registry import domains

_MARKER = ".demo"


def demo_command() -> Callable[..., None]:
    """The command, with the domains that have a demo."""
    names = list(_capable())
    text = f"What to learn from: {', '.join(names)}."
    return with_options(demo, [argument("domain", str, text, default=names[0])])


def _capable() -> dict[str, Any]:
    return {name: domain for name, domain in domains().items() if isinstance(domain, SupportsDemo)}


def demo(
    values: Any,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder of the run.")] = Path(
        "out/demo"
    ),
    size: Annotated[
        Literal["cpu", "smoke"],
        typer.Option(metavar="cpu|smoke", help="cpu: two minutes or so for each model; smoke: seconds."),
    ] = "cpu",
    quiet: Quiet = False,
) -> None:
    """Train on data that come with Pellucid, with and without the game, explain a prediction, and write the report."""
    import shutil

    name, capable = values["domain"], _capable()
    if name not in capable:
        raise InputError(
            f"DOMAIN must be {' or '.join(capable)}",
            got=f"{name!r}, which has no demo",
            cure=f"try pellucid demo {next(iter(capable))}",
        )
    import torch

    from pellucid import runs, summaries

    torch.set_num_threads(1)  # so that the numbers are the same everywhere
    domain = capable[name]
    demo = domain.demo(smoke=size == "smoke")
    for sentence in demo.notes:
        say(sentence)
    if (out / _MARKER).exists():  # left by an earlier demo: not a run of the user's
        for folder in (runs.CHECKPOINTS, *summaries.MODEL_FOLDERS.values()):
            shutil.rmtree(out / folder, ignore_errors=True)
        (out / summaries.FILE).unlink(missing_ok=True)
    runs.check_folder(out, resume=False)
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARKER).touch()
    summary = runs.train(domain, demo.source, demo.settings, out, title=demo.title, progress=has_viewer(quiet), say=say)
    say(f"\n{summary_text(summary, domain)}\n")
    say(f"{demo.about}, as GAME sees it:\n")
    model = domain.load(out / summaries.MODEL_FOLDERS["GAME"])
    explained = domain.explain(
        model, demo.choose(summary), domain.Reading(), domain.Explaining(), level=0.9, progress=False, warn=say
    )
    (explanation,) = explained.explanations.values()
    say(str(explanation))
    explanation.plot().savefig(out / demo.picture, bbox_inches="tight")
    say(f"\npicture:  {out / demo.picture}\nreport:   {out / runs.REPORT}  (open it in a browser)")
