"""`pellucid demo`: from data that need no download to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pellucid.cli.output import Quiet, has_viewer, say, summary_text
from pellucid.domains import Demonstrable
from pellucid.errors import InputError
from pellucid.options import NoOptions
from pellucid.registry import domains

_MARK = ".demo"


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

    able = {key: domain for key, domain in domains().items() if isinstance(domain, Demonstrable)}
    if name not in able:
        raise InputError(f"A demo is of {' or '.join(able)}", got=name, cure="choose one of them")
    import torch

    from pellucid import runs

    torch.set_num_threads(1)  # so that the numbers are the same everywhere
    domain = able[name]
    example = domain.demonstration(smoke=size == "smoke")
    for sentence in example.notes:
        say(sentence)
    if (out / _MARK).exists():  # a demo was here before, and nobody's own run
        for folder in ("checkpoints", "deep", "game"):
            shutil.rmtree(out / folder, ignore_errors=True)
        (out / "summary.json").unlink(missing_ok=True)
    runs.require_place(out, resume=False)
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARK).touch()
    summary = runs.train(
        domain, example.source, example.settings, out, title=example.title, progress=has_viewer(quiet), say=say
    )
    say(f"\n{summary_text(summary, domain)}\n")
    say(f"{example.about}, as GAME sees it:\n")
    explained = domain.explain(
        domain.load(out / "game"), example.choose(summary), domain.Reading(), NoOptions(), level=0.9, progress=False,
        warn=say,
    )  # fmt: skip
    (explanation,) = explained.explanations.values()
    say(str(explanation))
    explanation.plot().savefig(out / example.picture, bbox_inches="tight")
    say(f"\npicture:  {out / example.picture}\nreport:   {out / 'report.html'}  (open it in a browser)")
