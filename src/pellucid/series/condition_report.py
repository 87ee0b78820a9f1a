"""The condition of a machine as a page: verdicts, first alarms, and every indicator of every channel over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.numbers import counted, significant
from pellucid.report.numbers import number, percent
from pellucid.report.page import embed, write_page
from pellucid.report.timelines import EVEN, timeline
from pellucid.series import condition_text as words
from pellucid.series.indicators import INDICATORS

if TYPE_CHECKING:
    from pellucid.series.condition import Condition

# Channels that a page shows.
_CHANNELS = 12
MEANINGS = {
    "rms": "root mean square of the values, in their units",
    "sd": "standard deviation of the values, in their units",
    "kurtosis": "3 for noise, more where there are knocks",
    "likelihood": "negative log-likelihood of the next value, in nats: how much the recording surprises the network",
    "deviation": "distance of network and law at steps that the law was not fitted to, in standard deviations of the "
    "training data",
    "explained": "held-out variance explained: the share of the network's variance that laws account for at steps that "
    "they were not fitted to",
    "law": "how much worse the healthy law predicts this recording than its own law does, in nats; loudness does not "
    "count",
}


def write(condition: Condition, path: str | Path, *, title: str) -> Path:
    """Write a condition as one HTML file."""
    names = _channels(condition)
    panels = [
        (m, condition.channels.index(channel))
        for channel in names
        for m in range(len(INDICATORS))
        if np.isfinite(condition.limits.center[m, condition.channels.index(channel)])
    ]
    earliest = words.earliest(condition.alarms) if condition.alarms else None
    return write_page(
        path,
        "condition.html",
        kind="condition",
        title=title,
        basis=_basis(condition),
        verdicts=words.verdicts(condition) or [words.too_few_healthy(condition).replace("`", "")],
        notes=[sentence.replace("`", "") for sentence in words.notes(condition)],
        tiles=_tiles(condition),
        indicators=INDICATORS,
        rows=[_row(condition, channel) for channel in condition.channels],
        rule=_rule(condition),
        healthy=[line[:1].upper() + line[1:] for line in words.false_alarms(condition).splitlines()],
        even=f"{EVEN:g}",
        level=percent(condition.level),
        inside=bool(condition.healthy.any()),
        more=len(condition.channels) - len(names),
        count=len(condition),
        at=len(condition) if earliest is None else 1 + words.begin(earliest),
        channels=[_channel(condition, name, panels) for name in names],
        meanings=MEANINGS.items(),
        numbers=embed(
            {
                "names": list(condition.recordings),
                "values": [_short(condition.values[:, m, c], 4) for m, c in panels],
                "distances": [_short(condition.distances[:, m, c], 3) for m, c in panels],
            }
        ),
    )


def _channels(condition: Condition) -> list[str]:
    """The channels that the page shows, in their order; of many those that raise an alarm first."""
    if len(condition.channels) <= _CHANNELS:
        return list(condition.channels)
    first = words.ranked(condition)
    chosen = [*first, *(name for name in condition.channels if name not in first)][:_CHANNELS]
    return [name for name in condition.channels if name in chosen]


def _basis(condition: Condition) -> str:
    first, _, rest = words.basis(condition).partition("\n")
    return f"{first}." if not words.is_calibrated(condition) else f"{first}. {rest[:1].upper()}{rest[1:]}."


def _rule(condition: Condition) -> str:
    needed, window = condition.persistence
    return (
        f"An alarm is raised when {needed} of the last {window} recordings are beyond a limit on the same side; a "
        "second number is the recording from which on it lasts, in nine tenths of all that follow."
    )


def _tiles(condition: Condition) -> list[dict[str, str]]:
    channels, first = words.single(condition), words.ranked(condition)
    lasting = [alarm for alarm in condition.alarms if alarm.lasts is not None and alarm.channel in channels]
    earliest = min(lasting, key=lambda alarm: alarm.lasts or 0, default=None)
    tiles = [
        {
            "name": "Channels in alarm",
            "value": f"{len(first)} of {len(channels)}" if words.is_calibrated(condition) else "not known",
            "note": ", ".join(first[:4]) or "none",
        }
    ]
    if earliest is not None:
        tiles.append(
            {
                "name": "Earliest that lasts",
                "value": str((earliest.lasts or 0) + 1),
                "note": f"{earliest.channel}, by {earliest.indicator}",
            }
        )
    span = _span(condition)
    numbers = "others than these" if span is None else f"number {span[0] + 1} to {span[1] + 1}"
    tiles.append(
        {"name": "Healthy recordings", "value": str(condition.limits.count), "note": f"{numbers}; calibrate the limits"}
    )
    return tiles


def _row(condition: Condition, channel: str) -> dict[str, Any]:
    """A row of the table of first alarms."""
    c = condition.channels.index(channel)
    alarms = {alarm.indicator: alarm for alarm in condition.alarms if alarm.channel == channel}
    cells = []
    for m, name in enumerate(INDICATORS):
        alarm = alarms.get(name)
        exists = np.isfinite(condition.limits.center[m, c])
        title = None
        if alarm is not None:
            title = f"{words.recording_text(condition, alarm.first)}, {alarm.side}; largest {number(alarm.peak)} sd"
        cells.append({"text": words.cell(alarm) if exists else "", "title": title, "hit": alarm is not None})
    return {"channel": channel, "cells": cells}


def _channel(condition: Condition, channel: str, panels: list[tuple[int, int]]) -> dict[str, Any]:
    firsts = {alarm.indicator: alarm.first for alarm in condition.alarms if alarm.channel == channel}
    c = condition.channels.index(channel)
    charts = [
        {
            "name": INDICATORS[m],
            "place": number_of_panel,
            "svg": timeline(
                condition.distances[:, m, c].tolist(),
                limit=float(condition.limits.limit[m, c]),
                rising=bool(condition.limits.rising[m]),
                healthy=_span(condition),
                alarm=firsts.get(INDICATORS[m]),
                label=_label(condition, channel, INDICATORS[m], firsts.get(INDICATORS[m])),
            ),
        }
        for number_of_panel, (m, k) in enumerate(panels)
        if k == c
    ]
    text = words.sentence(condition, channel)
    return {"name": channel, "sentence": f"{text[:1].upper()}{text[1:]}.", "charts": charts}


def _label(condition: Condition, channel: str, indicator: str, alarm: int | None) -> str:
    """A chart in words, for readers who do not see it."""
    subject = f"{indicator} of {channel} over {counted(len(condition), 'recording')}"
    return f"{subject}: no alarm" if alarm is None else f"{subject}: first alarm at recording {alarm + 1}"


def _span(condition: Condition) -> tuple[int, int] | None:
    """The first and the last healthy recording; None if these are other data."""
    healthy = np.flatnonzero(condition.healthy)
    return (int(healthy[0]), int(healthy[-1])) if len(healthy) else None


def _short(values: np.ndarray, digits: int) -> list[float | None]:
    return [significant(value, digits) if np.isfinite(value) else None for value in values.tolist()]
