"""`pellucid demo`: from molecules that come with RDKit to a report, with no download."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.output import say, table_of, watched

_MARK = ".demo"
# A tree on fewer members has little to say.
_MEMBERS = 15


class Size(StrEnum):
    """How long it may take."""

    CPU = "cpu"
    SMOKE = "smoke"


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the run.")] = Path("out/demo"),
    size: Annotated[Size, typer.Option(help="cpu: two minutes or so for each model; smoke: seconds.")] = Size.CPU,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Train on 1,017 sodium-channel blockers, with and without the game, explain one, and write the report."""
    import shutil

    import torch

    from pellucid.molecules import PropertyModel, nav17, runs

    torch.set_num_threads(1)  # so that the numbers are the same everywhere
    table = nav17()
    say(f"{table.summary()}; activity is a negative decimal logarithm")
    settings: dict[str, Any] = runs.settings_for(table.smiles, "symmetric", analogs=False)
    if size is Size.SMOKE:
        settings |= {"width": 16, "depth": 2, "epochs": 2}
    if (out / _MARK).exists():  # of a demo before, and of nobody's own run
        for name in ("checkpoints", "deep", "game"):
            shutil.rmtree(out / name, ignore_errors=True)
        (out / "summary.json").unlink(missing_ok=True)

    def begun(text: str) -> None:  # the folder is there, and was nobody else's
        (out / _MARK).touch()
        say(text)

    summary = runs.train(
        table,
        PropertyModel(task="regression", **settings),
        out,
        title="Sodium-channel blockers (Nav1.7)",
        progress=watched(quiet),
        say=begun,
    )
    say(f"\n{table_of(summary)}\n")
    explanation = PropertyModel.load(out / "game").explain(_interesting(summary))
    say(f"The most active molecule of the report with {_MEMBERS} members or more around it, as GAME sees it:\n")
    say(str(explanation))
    explanation.plot().savefig(out / "tree.svg", bbox_inches="tight")
    say(f"\nits tree: {out / 'tree.svg'}\nreport:   {out / 'report.html'}  (open it in a browser)")


def _interesting(summary: dict[str, Any]) -> str:
    """The most active molecule whose neighborhood is large enough."""
    shown = summary["explanations"]
    large = [item for item in shown if len(item["explanation"]["members"]) >= _MEMBERS] or shown
    return str(max(large, key=lambda item: item["measured"][0])["explanation"]["smiles"])
