"""`pellucid demo`: from data that need no download to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pellucid.authorship import is_picture
from pellucid.capabilities import SupportsDemo
from pellucid.cli.options import argument, with_options
from pellucid.cli.output import Quiet, has_viewer, say, summary_text, warn
from pellucid.cli.outputs import quoted, save_figure
from pellucid.errors import InputError, Parameter
from pellucid.registry import domains
from pellucid.writing import replacing


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
        typer.Option(
            metavar="cpu|smoke",
            help="cpu: at most two minutes per model; smoke: a quick check, about a minute the first time.",
        ),
    ] = "cpu",
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo or run in the folder.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train on data that come with Pellucid, with and without the game, explain a prediction, and write the report."""
    name, capable = values["domain"], _capable()
    if name not in capable:
        raise InputError(
            f"DOMAIN must be {' or '.join(capable)}",
            got=f"{name!r}, which has no demo",
            cure=f"try pellucid demo {next(iter(capable))}",
        )
    import torch

    from pellucid import runs, summaries
    from pellucid._compiling import announce

    announce(warn)
    torch.set_num_threads(1)  # so that the numbers are the same everywhere
    domain = capable[name]
    demo = domain.demo(smoke=size == "smoke")
    for sentence in demo.notes:
        say(sentence)
    runs.check_folder(out, resume=False, force=force)
    picture = out / demo.picture
    if picture.exists() and not (force and is_picture(picture)):
        raise InputError(
            "The demo replaces nothing that it did not write",
            got=f"{picture}",
            cure=f"delete it (rm {quoted(picture)}), or choose another folder with {Parameter('out')}",
            parameter="out",
        )
    try:
        summary = runs.train(
            domain, demo.source, demo.settings, out, title=demo.title, weight=demo.weight, force=force,
            progress=has_viewer(quiet), say=say,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. To start over, run the command again with --force.") from None
    say(f"\n{summary_text(summary, domain)}\n")
    say(f"{demo.about}, as GAME sees it:\n")
    model = domain.load(out / summaries.MODEL_FOLDERS["GAME"])
    explained = domain.explain(
        model, demo.choose(summary), domain.Reading(), domain.Explaining(), level=0.9, progress=False, warn=say
    )
    (explanation,) = explained.explanations.values()
    say(str(explanation))
    with replacing(picture) as draft:
        save_figure(explanation.plot(), draft, bbox_inches="tight")
    say(f"\npicture:  {picture}\nreport:   {out / runs.REPORT}  (open it in a browser)")
