"""`pellucid score`: recordings over time beside healthy ones. Does a fault show, in which channel, since when?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli._reading import Decimal, Fill, Gap, Header, Pattern, Reading
from pellucid.cli.output import as_typed, say, warn, watched
from pellucid.cli.predict import Which
from pellucid.errors import InputError

_HEALTHY = "--healthy must be a number of recordings, a share such as 0.2, places such as 20:160, or a folder."
FORMATS = (".html", ".json", ".csv", ".svg", ".png")


def score(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model, of a healthy machine.")
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Recordings in the order of time, one per file; or one file.")
    ],
    healthy: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE|FROM:TO|FOLDER",
            help="Healthy recordings that RUN did not learn from: the first N or a share of them, places from 0 as in "
            "Python, or others.",
        ),
    ] = "0.2",
    level: Annotated[float, typer.Option(help="So many of healthy recordings stay within an alarm level.")] = 0.99,
    persistence: Annotated[
        str, typer.Option(metavar="K/N", help="An alarm is K of the last N recordings beyond their level.")
    ] = "4/5",
    sequences: Annotated[
        int, typer.Option(min=1, help="Of each recording that pass through the network, evenly spaced.")
    ] = 50,
    every: Annotated[
        int | None, typer.Option(min=1, metavar="ROWS", help="Cut recordings into pieces of so many rows.")
    ] = None,
    order: Annotated[
        int | None, typer.Option(min=1, help="Past values of the law of a recording.", show_default="as the model's")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Also a report (.html), a chart (.svg, .png), or every number (.csv, .json); "
                                         "may be repeated."),
    ] = None,
    decimal: Decimal = None,
    header: Header = None,
    pattern: Pattern = None,
    fill: Fill = None,
    gaps: Gap = None,
    which: Which = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:  # fmt: skip
    """Follow a machine over time: does a fault show, in which channel, since when?"""
    wrong = [path for path in out or [] if path.suffix.lower() not in FORMATS]
    if wrong:
        raise typer.BadParameter(f"must end in one of {', '.join(FORMATS)}, not {wrong[0].name!r}.", param_hint="--out")
    rule = re.fullmatch(r"(\d+)/(\d+)", persistence)
    if rule is None or not 1 <= int(rule[1]) <= int(rule[2]):
        raise typer.BadParameter(
            f"must be K/N with K from 1 to N, as in 4/5. Got {persistence!r}.", param_hint="--persistence"
        )
    if not 0 < level < 1:
        raise typer.BadParameter(f"must be between 0 and 1. Got {level:g}.", param_hint="--level")
    sound = _healthy(healthy)
    from pellucid import runs

    model = runs.load(run, which)
    if not hasattr(model, "forecast"):
        raise InputError(
            "RUN must be a model of recordings",
            got=f"{run}, a model of molecules",
            cure="train one with `pellucid train series`",
        )
    from pellucid.series import assess

    reading = Reading.of(run, decimal, header, pattern, fill, gaps)
    _warn_of_training(run, folder, sound)
    found = assess(
        model,
        folder,
        healthy=sound,
        level=level,
        persistence=(int(rule[1]), int(rule[2])),
        sequences=sequences,
        every=every,
        order=order,
        pattern=reading.pattern,
        read=lambda file: reading.read(file, model.channels_),
        progress=watched(quiet),
    )
    for path in out or []:  # first: whoever reads the output may have seen enough before its end
        kind = path.suffix.lower()
        if kind in (".svg", ".png"):
            found.plot().savefig(path, dpi=150)
        elif kind == ".html":
            found.to_html(path, title=folder.name)
        else:
            getattr(found, f"to_{kind[1:]}")(path)
    say(as_typed(str(found)))
    if out:
        say("\n" + "\n".join(f"written: {path}" for path in out))


def _healthy(text: str) -> Any:
    """A number, a share, a slice, or a path.

    >>> _healthy("100"), _healthy("0.1"), _healthy("20:160"), _healthy(":50")
    (100, 0.1, slice(20, 160, None), slice(None, 50, None))
    """
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d*\.\d+", text):
        if not 0 < float(text) <= 1:
            raise InputError(f"{_HEALTHY} Got {text}, which is no share", cure="a share is more than 0 and at most 1")
        return float(text)
    span = re.fullmatch(r"(\d*):(\d*)", text)
    if span:
        return slice(*(int(end) if end else None for end in span.groups()))
    path = Path(text)
    if not path.exists():
        raise InputError(f"{_HEALTHY} Got {text}, which does not exist", cure="correct it")
    return path


def _warn_of_training(run: Path, folder: Path, healthy: Any) -> None:
    """Say so where the healthy recordings may be those that were learned from."""
    summary = run / "summary.json"
    place = healthy if isinstance(healthy, Path) else folder
    try:
        learned = json.loads(summary.read_text(encoding="utf-8"))["data"]["source"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if learned == place.resolve().name:
        warn(
            f"the run was trained on a {'file' if place.is_file() else 'folder'} of the same name, {learned}: if the "
            "healthy recordings are those that it learned from, alarm levels are too low; name others with --healthy."
        )
