"""`pellucid train`: from data of any domain to models, numbers and a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.options import Command, argument, domain_options, with_options
from pellucid.cli.output import Quiet, has_viewer, say, summary_text, warn
from pellucid.cli.outputs import quoted
from pellucid.errors import InputError, Parameter
from pellucid.options import updated
from pellucid.registry import AnyDomain, domains
from pellucid.summaries import MODEL_FOLDERS, RunSummary
from pellucid.tables import number_of

Weight = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="How much the witnesses count. auto tries several and keeps the most transparent model whose validation "
        "loss is within the tolerance of that without a game.",
        show_default="what suits the data",
    ),
]


def train_app() -> typer.Typer:
    """A command for each domain."""
    app = typer.Typer(help="Train a network with and without a game, and write a report.", no_args_is_help=True)
    for name, domain in domains().items():
        options = [argument("data", Path, domain.source), *domain_options([domain.Reading, domain.Settings])]
        short = domain.about.partition(",")[0].removesuffix(".")
        command = with_options(train, options, domain=domain)
        app.command(name, cls=Command, help=domain.about, short_help=f"{short}.")(command)
    return app


def train(
    domain: AnyDomain,
    values: Any,
    weight: Weight = None,
    tolerance: Annotated[
        float, typer.Option(metavar="NUMBER", help="What --weight auto may cost: a share of DEEP's validation loss.")
    ] = 0.02,
    level: Annotated[
        float, typer.Option(metavar="NUMBER", help="The confidence of the bounds that explanations carry.")
    ] = 0.9,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="The folder of the run: models, summary.json, report.html."),
    ] = Path("pellucid-run"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted run; the result is the same.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run in the folder.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train DEEP and GAME on data of a domain, measure both, and write a report."""
    # Mistakes in the options are reported before any data are read, which may take long.
    reading, settings = updated(domain.Reading(), values), updated(domain.Settings(), values)
    number = _parse_weight(weight, domain.strength_parameter(settings))
    from pellucid import _checks, runs
    from pellucid._compiling import announce
    from pellucid.domains import Source
    from pellucid.paths import readable_again
    from pellucid.trust import check_level
    from pellucid.weights import check_tolerance

    announce(warn)
    check_tolerance(tolerance)
    check_level(level)
    if number is not None:
        _checks.at_least(number, 0, "weight", "the game")
    domain.check(settings)
    runs.check_machines(settings, force=force)
    data, first = values["data"], runs.is_first_machine(settings)
    if first:
        runs.check_folder(out, resume=resume, force=force, data=data)
    with readable_again(data) as file:
        source = Source(domain.read(file, reading), data, reading)
    for sentence in domain.describe(source):
        say(sentence)
    progress = has_viewer(quiet)
    if not first:
        runs.assist(
            domain, source, settings, out, weight=number, tune_weight=weight == "auto", tolerance=tolerance,
            progress=progress, say=say,
        )  # fmt: skip
        say("This machine has done its part; the first one measures and writes the report.")
        return
    with _stoppable(out):
        summary = runs.train(
            domain, source, settings, out, title=data.name, weight=number, tune_weight=weight == "auto",
            tolerance=tolerance, level=level, resume=resume, force=force, progress=progress, say=say,
        )  # fmt: skip
    say(f"\n{summary_text(summary, domain)}")
    say(_next_steps(summary, out, domain.example))


def _parse_weight(typed: str | None, strength: str | None) -> float | None:
    """The weight as a number; None for auto, and if none was typed."""
    if typed is not None and strength != "weight":
        cure = "leave it out" if strength is None else f"set {Parameter(strength)} instead"
        game = "no game" if strength is None else f"a game whose strength is {Parameter(strength)}"
        raise InputError(
            f"{Parameter('weight')} is for games that have a weight", got=game, cure=cure, parameter="weight"
        )
    if typed is None or typed == "auto":
        return None
    number = number_of(typed)
    if number is None:
        raise typer.BadParameter(f"must be a number or auto, not {typed!r}.", param_hint="--weight")
    return number


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    """After Ctrl-C tell how to resume, or to start again."""
    from pellucid import runs

    try:
        yield
    except KeyboardInterrupt:
        words = [word for word in sys.argv[1:] if word not in ("--resume", "--force")]
        if runs.is_learned(out):
            raise KeyboardInterrupt(
                f"Stopped; what was learned so far is kept. Resume with: {shlex.join(['pellucid', *words, '--resume'])}"
            ) from None
        raise KeyboardInterrupt(
            f"Stopped before anything was learned; start again with: {shlex.join(['pellucid', *words])}"
        ) from None


def _next_steps(summary: RunSummary, out: Path, example: str) -> str:
    """Where the report and the models are, and what to do next."""
    from pellucid.runs import REPORT

    models = [str(out / MODEL_FOLDERS[name]) for name in reversed(list(summary.models))]
    label = "models:" if len(models) > 1 else "model: "
    return (
        f"\nreport:  {out / REPORT}\n{label}  {' and '.join(models)}\nnext:    pellucid explain {quoted(out)} {example}"
    )
