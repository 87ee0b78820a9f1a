"""`pellucid score`: a machine over time beside what was healthy. Does a fault show, in which channel, since when?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.options import AnyDomain, command_of, declared_by_domains, require_options, settings_from
from pellucid.cli.output import Quiet, Which, has_viewer, say, warn
from pellucid.domains import Monitor
from pellucid.errors import InputError, PellucidError
from pellucid.options import NoOptions

FORMATS = (".html", ".json", ".csv", ".svg", ".png")


def score_command() -> Callable[..., None]:
    """The command, with the options of all domains that follow something over time."""
    return command_of(score, declared_by_domains(_settings))


def _settings(domain: AnyDomain) -> Sequence[type[NoOptions]]:
    return (domain.Reading, domain.Assessing) if isinstance(domain, Monitor) else ()


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
        typer.Option("--out", "-o", help="Also a report (.html), a chart (.svg, .png), or every number (.csv, .json); "
                                         "may be repeated."),
    ] = None,
    which: Which = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Follow a machine over time: does a fault show, in which channel, since when?"""
    wrong = [path for path in out or [] if path.suffix.lower() not in FORMATS]
    if wrong:
        raise typer.BadParameter(f"must end in one of {', '.join(FORMATS)}, not {wrong[0].name!r}.", param_hint="--out")
    from pellucid import registry, runs

    domain, place = registry.find_model(run, which)
    if not isinstance(domain, Monitor):
        able = [name for name, other in registry.domains().items() if isinstance(other, Monitor)]
        raise InputError(
            f"RUN must be a model of {' or '.join(able)}",
            got=f"{run}, a model of the domain {domain.name}",
            cure=f"train one with pellucid train {able[0]}",
        )
    require_options(domain, values, _settings)
    settings = settings_from(domain.Assessing, values)
    condition = domain.assess(
        domain.load(place), folder, runs.reading_of(domain, run, values), settings, learned=_learned(run),
        progress=has_viewer(quiet), warn=warn,
    )  # fmt: skip
    for path in out or []:  # first: whoever reads the output may have seen enough before its end
        kind = path.suffix.lower()
        if kind in (".svg", ".png"):
            condition.plot().savefig(path, dpi=150)
        elif kind == ".html":
            condition.to_html(path, title=folder.name)
        elif kind == ".json":
            condition.to_json(path)
        else:
            condition.to_csv(path)
    say(str(condition))
    if out:
        say("\n" + "\n".join(f"written: {path}" for path in out))


def _learned(run: Path) -> str | None:
    """The name of what a run learned from; None for a model without a run."""
    from pellucid import summaries

    try:
        return summaries.read(run).data.source
    except PellucidError:
        return None
