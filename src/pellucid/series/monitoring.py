"""A machine followed over time from its files: options of one word each, and `assess` with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from pellucid.errors import InputError, Parameter
from pellucid.options import Options, option
from pellucid.paths import kind_of

if TYPE_CHECKING:
    from pellucid.series.condition import Condition
    from pellucid.series.forecaster import Forecaster
    from pellucid.series.reading import SeriesReading


@final
@dataclass(frozen=True, kw_only=True)
class SeriesAssessing(Options):
    """What is healthy, and what an alarm is."""

    healthy: str = option(
        "0.2",
        "Healthy recordings that RUN did not learn from: the first N, a share, a slice as in Python, or other data.",
        metavar="N|SHARE|FROM:TO|FOLDER",
    )
    level: float = option(0.99, "Share of healthy recordings that stay within a limit.")
    persistence: str = option("4/5", "An alarm is K of the last N recordings beyond a limit.", metavar="K/N")
    sequences: int = option(50, "Number of sequences of each recording for the network, evenly spaced.", minimum=1)
    every: int | None = option(None, "Cut recordings into pieces of this many rows.", metavar="ROWS", minimum=1)
    order: int | None = option(
        None, "Number of past values that the law of a recording reads.", default_text="as the model's", minimum=1
    )


def assess_files(
    model: Forecaster,
    path: Path,
    reading: SeriesReading,
    settings: SeriesAssessing,
    *,
    trained_on: str | None = None,
    progress: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> Condition:
    """The condition of a machine over time, from its files.

    Parameters
    ----------
    model : Forecaster
        Trained on the healthy machine.
    path : Path
        A folder with one recording per file in the order of time, or one file.
    reading : SeriesReading
        How files are read.
    settings : SeriesAssessing
        What is healthy, and what an alarm is.
    trained_on : str, optional
        The name of the file or folder that the model was trained on, where it is known.
    progress : bool
        Show a progress bar.
    warn : callable
        Takes a sentence where the healthy recordings may be those that the model learned from.
    """
    from pellucid.series.assessment import assess

    persistence, healthy = persistence_of(settings.persistence), healthy_of(settings.healthy)
    if not 0 < settings.level < 1:
        raise InputError(f"{Parameter('level')} must be between 0 and 1", got=f"{settings.level:g}", parameter="level")
    source = healthy if isinstance(healthy, Path) else path
    if trained_on is not None and trained_on == source.resolve().name:
        warn(
            f"the run was trained on a {'file' if source.is_file() else 'folder'} of the same name, {trained_on}: if "
            "the healthy recordings are those that it learned from, alarm levels are too low; name others with "
            f"{Parameter('healthy')}."
        )
    return assess(
        model,
        path,
        healthy=healthy,
        level=settings.level,
        persistence=persistence,
        sequences=settings.sequences,
        every=settings.every,
        order=settings.order,
        pattern=reading.pattern,
        read=lambda file: reading.read(file, model.channels_),
        progress=progress,
    )


def persistence_of(text: str) -> tuple[int, int]:
    """How many of the last recordings make an alarm.

    Examples
    --------
    >>> persistence_of("4/5")
    (4, 5)
    """
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise InputError(
            f"{Parameter('persistence')} must be K/N with K from 1 to N, as in 4/5",
            got=repr(text),
            parameter="persistence",
        )
    return int(numbers[1]), int(numbers[2])


def healthy_of(text: str) -> Any:
    """A number, a share, a slice, or a path.

    Examples
    --------
    >>> healthy_of("100"), healthy_of("0.1"), healthy_of("20:160"), healthy_of(":50")
    (100, 0.1, slice(20, 160, None), slice(None, 50, None))
    """
    must = (
        f"{Parameter('healthy')} must be a number of recordings, a share such as 0.2, places such as 20:160, or a "
        "folder"
    )
    if not text.strip():  # which would be the path of the current folder
        raise InputError(must, got=repr(text), parameter="healthy")
    if re.fullmatch(r"\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"\d*\.\d+", text):
        if not 0 < float(text) <= 1:
            raise InputError(
                must,
                got=f"{text}, which is no share",
                cure="a share is more than 0 and at most 1",
                parameter="healthy",
            )
        return float(text)
    span = re.fullmatch(r"(\d*):(\d*)", text)
    if span:
        return slice(*(int(end) if end else None for end in span.groups()))
    path = Path(text)
    if kind_of(path) is None:
        raise InputError(must, got=f"{text}, which does not exist", cure="correct it", parameter="healthy")
    return path
