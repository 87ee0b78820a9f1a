"""Explained forecasts of recordings: after which row, from what, and of every file of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, final

from pellucid.errors import InputError, Parameter
from pellucid.numbers import percent
from pellucid.options import Options, option
from pellucid.text_tables import aligned

if TYPE_CHECKING:
    from pellucid.series.data import Recordings
    from pellucid.series.explanation import ForecastExplanation
    from pellucid.series.forecaster import Forecaster
    from pellucid.series.overall import RecordingLaw


@final
@dataclass(frozen=True, kw_only=True)
class SeriesExplaining(Options):
    """Which forecast of a recording is explained."""

    at: int | None = option(
        None,
        "The row after which the forecast starts, counted from 1.",
        metavar="ROW",
        default_text="the last",
        minimum=1,
    )
    forced: bool = option(False, "Predict each step from the real values before it.")


class ForecastStart(NamedTuple):
    """Where a forecast begins."""

    piece: int
    """The position of the piece among the recordings."""
    row: int
    """The number of its rows before the forecast."""


def explain_recordings(
    model: Forecaster, source: Recordings, settings: SeriesExplaining, *, level: float
) -> tuple[dict[str, ForecastExplanation], dict[str, InputError]]:
    """An explanation of each recording, after the row of the settings or after the last one.

    What really came is part of an explanation where the recording holds it, and so is the law of the whole recording.

    Parameters
    ----------
    model : Forecaster
        The trained model.
    source : Recordings
        The recordings.
    settings : SeriesExplaining
        Which forecast is explained.
    level : float
        The confidence of the bounds.

    Returns
    -------
    (dict of str to ForecastExplanation, dict of str to InputError)
        Explanations by recording and row, and why some recordings have none.
    """
    explanations: dict[str, ForecastExplanation] = {}
    errors: dict[str, InputError] = {}
    for last in source.last_pieces():
        label = source.origins[last].label
        try:
            start = _start(model, source, last, settings)
            row = source.origins[start.piece].row + start.row
            explanations[f"{label}, after row {row}"] = _explanation(model, source, start, settings, level)
        except InputError as error:
            errors[label] = error
    return explanations, errors


def _start(model: Forecaster, source: Recordings, last: int, settings: SeriesExplaining) -> ForecastStart:
    """Where the forecast of the recording begins whose last piece this is."""
    if settings.at is None:
        return ForecastStart(last, len(source.values[last]) - (model.horizon if settings.forced else 0))
    pieces = _pieces(source, last)
    for i in pieces:
        begin = source.origins[i].row
        if begin < settings.at <= begin + len(source.values[i]):
            return ForecastStart(i, settings.at - begin)
    spans = [f"{source.origins[i].row + 1} to {source.origins[i].row + len(source.values[i])}" for i in pieces]
    raise InputError(
        f"{Parameter('at')} must be a row of the recording",
        got=f"{settings.at} for {source.origins[last].label}, which has the rows {', '.join(spans)}",
        cure="choose one of them",
        parameter="at",
    )


def _pieces(source: Recordings, piece: int) -> list[int]:
    """The positions of all pieces of the same recording."""
    label = source.origins[piece].label
    return [i for i, origin in enumerate(source.origins) if origin.label == label]


def _explanation(
    model: Forecaster, source: Recordings, start: ForecastStart, settings: SeriesExplaining, level: float
) -> ForecastExplanation:
    """The forecast from this start, with the law of the whole recording."""
    values, row = source.values[start.piece], start.row
    begin, name = source.origins[start.piece].row, source.sources[start.piece]
    if row < model.context:
        raise InputError(
            f"A forecast needs the {model.context} rows before it",
            got=f"{max(0, row)} in {name} up to row {begin + max(0, row)}",
            cure=f"choose a later row with {Parameter('at')}, or a longer recording",
            parameter="at",
        )
    future = values[row : row + model.horizon]
    complete = len(future) == model.horizon
    if settings.forced and not complete:
        raise InputError(
            f"{Parameter('forced')} needs the {model.horizon} rows that came after",
            got=f"{len(future)} in {name} after row {begin + row}",
            cure=f"choose an earlier row with {Parameter('at')}",
            parameter="at",
        )
    explanation = model.explain(values[:row], future if complete else None, forced=settings.forced, level=level)
    pieces = _pieces(source, start.piece)
    if max(len(source.values[i]) for i in pieces) < model.context + model.horizon:
        return explanation
    return replace(explanation, overall=model.law_of(source.pick(pieces)))


def overview(explanations: Mapping[str, ForecastExplanation], target: str | int | None = None) -> str:
    """A line for each forecast: how closely it follows its laws, and how much the law of the whole recording explains.

    Parameters
    ----------
    explanations : mapping of str to ForecastExplanation
        Explanations by recording and row.
    target : str or int, optional
        The channel to speak of; by default all of them.
    """
    rows, enough = [], 0
    for label, explanation in explanations.items():
        law = explanation.overall
        overall, local = (None, None) if law is None else law.shares()
        enough += law is not None and law.verdict() is not None
        shares = [percent(share, 0) for share in (local, overall)]
        unseen, fitted = relative_deviations(explanation, target)
        gaps = ["-" if gap != gap else f"{gap:.3g}" for gap in (unseen, fitted)]
        rows.append([label, *shares, *gaps, _steadiness(law)])
    head = ["forecast", "held-out variance explained: local", "whole", "relative deviation: held out", "where fitted"]
    lines = [
        aligned([*head, "change of the law"], rows),
        "held-out variance explained and the change of the law are over one-step predictions of the whole recording",
    ]
    if enough:
        lines.append(
            f"in {enough} of {len(rows)} one law for the whole recording is enough: a forecast has too few steps to "
            "determine local coefficients"
        )
    return "\n".join(lines)


def _steadiness(law: RecordingLaw | None) -> str:
    """The change of local laws along a recording, and its word."""
    known = None if law is None else law.steadiness
    return "-" if known is None or known.change is None else f"{known.change:.2g} ({known.word})"


def relative_deviations(explanation: ForecastExplanation, target: str | int | None = None) -> tuple[float, float]:
    """Root mean squared error between laws and forecast, each channel relative to how much its forecast moves: held
    out, NaN if that is not known, and where fitted.

    Parameters
    ----------
    explanation : ForecastExplanation
        The explanation.
    target : str or int, optional
        The channel; by default the mean square over all of them.
    """
    import numpy as np

    from pellucid.series.explanation_text import deviations

    columns = list(range(len(explanation.channels))) if target is None else [explanation.channel(target)]
    moves = explanation.mean[:, columns].var(axis=0)
    unit = np.where(moves > 0, moves, np.nan)
    unseen, fitted = (float(np.sqrt((gap[columns] ** 2 / unit).mean())) for gap in deviations(explanation))
    return unseen, fitted
