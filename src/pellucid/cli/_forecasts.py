"""Explanations of recordings: after which row, along what, and of every file of a folder."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli._reading import Reading
from pellucid.cli.output import aligned
from pellucid.errors import InputError

if TYPE_CHECKING:
    from pellucid.series import Forecaster, ForecastExplanation, Recordings


def read_what_can_be(
    reading: Reading, path: Path, channels: Sequence[str]
) -> tuple[list[Recordings], dict[str, InputError]]:
    """The recordings of a file or a folder, and why some files of the folder cannot be read, by their names."""
    try:
        return [reading.read(path, channels)], {}
    except InputError as error:
        files = sorted(file for file in path.glob(reading.pattern) if file.is_file() and file.name[0] != ".")
        if not path.is_dir() or len(files) < 2:
            raise
        sources, skipped = [], {}
        for file in files:
            try:
                sources.append(reading.read(file, channels))
            except InputError as reason:
                skipped[file.name] = reason
        if not sources:
            raise error from None
        return sources, skipped


def explain_recordings(
    model: Forecaster, source: Recordings, *, at: int | None, forced: bool, level: float
) -> tuple[dict[str, ForecastExplanation], dict[str, InputError]]:
    """An explanation of each recording by its place, after row `at` or after the last one; and why some have none.

    Where what came is in the recording, it is shown; if `forced`, each step is predicted from it. Beside the local
    laws stands that of the recording as a whole.
    """
    result, skipped = {}, {}
    for last in source.ends():
        try:
            here, explanation = _explained(model, source, last, at=at, forced=forced, level=level)
            result[here] = explanation
        except InputError as reason:
            skipped[source.origins[last].label] = reason
    return result, skipped


def _explained(
    model: Forecaster, source: Recordings, last: int, *, at: int | None, forced: bool, level: float
) -> tuple[str, ForecastExplanation]:
    """The place and the explanation of the recording whose last piece this is."""
    origin = source.origins[last]
    pieces = [i for i, other in enumerate(source.origins) if other.label == origin.label]
    if at is None:
        i, row = last, len(source.values[last]) - (model.horizon if forced else 0)
    else:
        i, row = _place(source, pieces, at)
    begin, values = source.origins[i].row, source.values[i]
    here = f"{origin.label}, after row {begin + row}"
    if row < model.context:
        raise InputError(
            f"A forecast needs the {model.context} rows before it",
            got=f"{max(0, row)} in {source.sources[i]} up to row {begin + max(0, row)}",
            cure="choose a later row with --at, or a longer recording",
        )
    came = values[row : row + model.horizon]
    known = len(came) == model.horizon
    if forced and not known:
        raise InputError(
            f"--forced needs the {model.horizon} rows that came after",
            got=f"{len(came)} in {source.sources[i]} after row {begin + row}",
            cure="choose an earlier row with --at",
        )
    found = model.explain(values[:row], came if known else None, forced=forced, level=level)
    if max(len(source.values[k]) for k in pieces) >= model.context + model.horizon:
        found = replace(found, overall=model.law_of(source.pick(pieces)))
    return here, found


def _place(source: Recordings, pieces: list[int], at: int) -> tuple[int, int]:
    """The piece that a row lies in, and how many of its rows come before the forecast."""
    for i in pieces:
        begin = source.origins[i].row
        if begin < at <= begin + len(source.values[i]):
            return i, at - begin
    spans = [f"{source.origins[i].row + 1} to {source.origins[i].row + len(source.values[i])}" for i in pieces]
    raise InputError(
        "--at must be a row of the recording",
        got=f"{at} for {source.origins[pieces[0]].label}, which has the rows {', '.join(spans)}",
        cure="choose one of them",
    )


def overview(found: Mapping[str, ForecastExplanation], target: str | None) -> str:
    """A line for each forecast: how closely it follows its laws, and how much the law of the whole explains."""
    import numpy as np

    rows, enough = [], []
    for place, explanation in found.items():
        chosen = [explanation.channel(target)] if target else list(range(len(explanation.channels)))
        gaps = np.square(explanation.mean - explanation.witnessed)[:, chosen].mean(0)
        moves = explanation.mean[:, chosen].var(axis=0)
        relative = float(np.sqrt((gaps / np.where(moves > 0, moves, np.nan)).mean()))
        whole, local = (None, None) if explanation.overall is None else explanation.overall.shares()
        enough += [place] if explanation.overall is not None and explanation.overall.enough() else []
        shares = ["-" if share is None else f"{share:.0%}" for share in (local, whole)]
        rows.append([place, f"{relative:.3g}", f"{explanation.variation.mean():.4g}", *shares])
    head = ["forecast", "relative deviation", "variation", "held-out variance explained: local", "whole"]
    lines = [aligned(head, rows), "held-out variance explained is over one-step predictions of the whole recording"]
    if enough:
        lines.append(
            f"in {len(enough)} of {len(rows)} one law for the whole recording is enough: so few steps do not determine "
            "local coefficients"
        )
    return "\n".join(lines)


def write_table(found: Mapping[str, ForecastExplanation], path: Path) -> None:
    """All explanations as one CSV file, with the recording in the first column."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for k, (place, explanation) in enumerate(found.items()):
            head, *rows = explanation.rows()
            writer.writerows([["recording", *head]] if k == 0 else [])
            writer.writerows([place, *row] for row in rows)
