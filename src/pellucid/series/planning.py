"""A training on recordings: what it can be set to, how the data are divided, and the untrained model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

from pellucid.domains import Plan, Source, TrainingOptions
from pellucid.options import option
from pellucid.series.reading import SeriesReading, require_others

if TYPE_CHECKING:
    from pellucid.series.data import Recordings
    from pellucid.series.forecaster import Forecaster

_CHOSEN = "chosen by leave-one-out"


@final
@dataclass(frozen=True, kw_only=True)
class SeriesSettings(TrainingOptions):
    """What a training on recordings can be set to; see `pellucid.series.Forecaster`."""

    test: Path | None = option(None, "Other recordings to test on.", default_text="a tenth of DATA")
    split: Literal["random", "time"] = option(
        "random",
        "Test on pieces cut out at random, or on the end: of each recording, or the last of ten or more files.",
    )
    held_out: bool = option(False, "Play the game at steps that the law was not fitted to.", parameter="held_out_game")
    context: int = option(80, "Number of values that a forecast is made from.", minimum=1)
    horizon: int = option(20, "Number of values that are forecast.", minimum=2)
    order: int | None = option(None, "Number of past values that a law reads.", default_text=_CHOSEN, minimum=1)
    radius: int | None = option(
        None, "Steps to either side over which a law is fitted.", default_text=_CHOSEN, minimum=1
    )
    ridge: float | None = option(
        None, "Ridge of the laws' least squares, in units of each channel's variance.", default_text=_CHOSEN, minimum=0
    )
    linear: int | None = option(
        None,
        "Number of past values that the network's linear path reads; 0 is no such path.",
        default_text="chosen by cross-validation",
        minimum=0,
    )
    mixed: bool = option(False, "Train the network's LSTM in bfloat16, which some processors multiply faster.")
    patience: int = option(5, "Stop early after this many epochs without a better validation loss.", minimum=1)


def plan_training(
    source: Source[Recordings], settings: SeriesSettings, *, weight: float | None = None
) -> Plan[Recordings, Forecaster]:
    """Divide the recordings, and choose the laws that both models are witnessed by.

    Parameters
    ----------
    source : Source
        The recordings, and where they come from.
    settings : SeriesSettings
        Settings of the training.
    weight : float, optional
        Weight of the game; by default that of `Forecaster`.
    """
    from pellucid import runs
    from pellucid.series.forecaster import Forecaster
    from pellucid.series.splitting import recommendation, split, split_description

    recordings = source.data
    test = _test_recordings(source, settings)
    values = settings.chosen("context", "horizon", "order", "radius", "ridge", "linear", "mixed", "patience")
    if weight is not None:
        values["weight"] = weight
    game = None if settings.game == "none" else settings.game
    model = Forecaster(game=game, held_out_game=settings.held_out, **values)
    recordings.require_variation()
    length = model.context + model.horizon
    parts = split(recordings, length, model.seed, test, kind=settings.split)
    advice = recommendation(recordings, length) if settings.split == "random" and test is None else None
    unused = list(filter(None, [recordings.unused(length)]))
    model, choices = model.settled(parts.train)
    return Plan(
        model=model,
        parts=parts,
        sizes={name: sum(len(table) for table in part.values) for name, part in parts._asdict().items()},
        outputs=recordings.channels,
        description=f"{described(recordings)}; counts below are rows",
        digest=runs.digest(
            repr(table.shape).encode() + table.astype("float64").tobytes() for table in parts.test.values
        ),
        split=settings.split,
        split_about=split_description(recordings, settings.split, test is not None),
        loss="validation error: relative error of the forecasts",
        deviation="held-out deviation of the forecasts, relative to how much they move",
        notes=(*(f"test: {note}" for note in ([] if test is None else test.notes)), *unused),
        choices=tuple(choices),
        decisions=(*recordings.decisions(cures=False), *unused),
        remarks=() if advice is None else (advice,),
        stops_early=True,
    )


def described(recordings: Recordings) -> str:
    """The number of recordings, and their channels."""
    from pellucid.numbers import counted

    return f"{counted(len(recordings), 'recording')} of {', '.join(recordings.channels)}"


def _test_recordings(source: Source[Recordings], settings: SeriesSettings) -> Recordings | None:
    """Other recordings to test on, read as those to learn from."""
    if settings.test is None:
        return None
    reading = source.reading or SeriesReading()
    if source.path is not None:
        require_others(source.path, settings.test, reading.pattern)
    recordings: Recordings = reading.read(settings.test, source.data.channels)
    return recordings
