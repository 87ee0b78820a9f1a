"""`pellucid score`: a machine over time beside what was healthy. Does a fault show, in which channel, since when?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.capabilities import SupportsMonitoring
from pellucid.cli.options import check_options, shared_options, with_options
from pellucid.cli.output import Quiet, Which, has_viewer, say, warn
from pellucid.cli.outputs import Force, check_outputs, output, save_figure
from pellucid.errors import InputError, PellucidError
from pellucid.options import Options, updated
from pellucid.registry import AnyDomain

FORMATS = (".html", ".json", ".csv", ".svg", ".png")


def score_command() -> Callable[..., None]:
    """The command, with the options of all domains that support monitoring."""
    return with_options(score, shared_options(_settings))


def _settings(domain: AnyDomain) -> Sequence[type[Options]]:
    return (domain.Reading, domain.Assessing) if isinstance(domain, SupportsMonitoring) else ()


def score(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model, of a healthy machine.")
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Recordings in the order of time, one per file; or one file.")
    ],
    values: Any,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="FILE",
            help="Also a report (.html), a chart (.svg, .png), or every number (.csv, .json); may be repeated.",
        ),
    ] = None,
    which: Which = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Follow a machine over time: does a fault show, in which channel, since when?"""
    wrong = [path for path in out or [] if path.suffix.lower() not in FORMATS]
    if wrong:
        raise typer.BadParameter(f"must end in one of {', '.join(FORMATS)}, not {wrong[0].name!r}.", param_hint="--out")
    check_outputs(out or [], inputs=[folder], force=force)
    from pellucid import registry, runs
    from pellucid.paths import readable_again

    domain, saved_model = registry.find_model(run, which)
    if not isinstance(domain, SupportsMonitoring):
        capable = [name for name, other in registry.domains().items() if isinstance(other, SupportsMonitoring)]
        raise InputError(
            f"RUN must be a {' or '.join(capable)} model",
            got=f"{run}, {domain.model_noun}",
            cure=f"train one with pellucid train {capable[0]}",
        )
    check_options(domain, values, _settings)
    settings = updated(domain.Assessing(), values)
    reading = runs.load_reading(domain, run, values)
    with readable_again(folder) as source:
        condition = domain.assess(
            domain.load(saved_model), source, reading, settings, trained_on=_training_data(run),
            progress=has_viewer(quiet), warn=warn,
        )  # fmt: skip
    for path in out or []:  # before printing, which stops when the reader of a pipe does
        with output(path) as draft:
            kind = path.suffix.lower()
            if kind in (".svg", ".png"):
                save_figure(condition.plot(), draft, dpi=150)
            elif kind == ".html":
                condition.to_html(draft, title=folder.name)
            elif kind == ".json":
                condition.to_json(draft)
            else:
                condition.to_csv(draft)
    say(str(condition))
    if out:
        say("\n" + "\n".join(f"written: {path}" for path in out))


def _training_data(run: Path) -> str | None:
    """Name of the data that a run was trained on; None for a model without a run."""
    from pellucid import summaries

    try:
        return summaries.read(run).data.source
    except PellucidError:
        return None
