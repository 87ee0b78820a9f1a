"""The condition of a machine in words, as a terminal and the head of a report show it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import Parameter
from pellucid.numbers import percent
from pellucid.series.alarms import highest_level
from pellucid.series.indicators import ALL, INDICATORS
from pellucid.text_tables import aligned

# False alarms, in units of what is promised, from which on they are no chance.
_DRIFT = 3.0
# Healthy recordings below which their standard deviation says little: that of 10 is uncertain by a quarter.
_FEW = 10

if TYPE_CHECKING:
    from pellucid.series.condition import Alarm, Condition


def text(condition: Condition) -> str:
    """The condition as lines of text."""
    head = "\n".join([basis(condition), *(f"note: {sentence}" for sentence in notes(condition))])
    parts = [head, table(condition), "\n".join(verdicts(condition)), false_alarms(condition)]
    return "\n\n".join(part for part in parts if part)


def basis(condition: Condition) -> str:
    """What was compared with what."""
    needed, window = condition.persistence
    limits = condition.limits
    healthy = np.flatnonzero(condition.healthy)
    which = "1 other" if limits.count == 1 else f"{limits.count} others"
    if len(healthy):
        span = f"number {healthy[0] + 1} to {healthy[-1] + 1}" if len(healthy) > 1 else f"number {healthy[0] + 1}"
        which = f"{limits.count} of them, {span}"
    lines = [
        f"{len(condition)} recordings, {condition.sequences} sequences of each through the network; healthy: {which}"
    ]
    if is_calibrated(condition):
        lines.append(
            f"alarm: {needed} of the last {window} recordings beyond a limit, which {percent(condition.level)} of "
            f"healthy recordings stay within (calibrated on {limits.count})"
        )
    else:
        lines.append(too_few_healthy(condition))
    return "\n".join(lines)


def notes(condition: Condition) -> list[str]:
    """What to know before reading on: whether there are enough healthy recordings, and how all were read."""
    count = condition.limits.count
    warnings = []
    if count < _FEW:
        warnings.append(
            f"{_counted_healthy(count)} hardly enough to tell their standard deviation, so that distances in healthy "
            f"sd mean little; name {_FEW} or more with {Parameter('healthy'):=}"
        )
    return [*warnings, *condition.notes]


def _counted_healthy(count: int) -> str:
    """The number of healthy recordings, and the verb."""
    return f"{count} healthy recording{' is' if count == 1 else 's are'}"


def is_calibrated(condition: Condition) -> bool:
    """Whether there are enough healthy recordings for limits."""
    return bool(np.isfinite(condition.limits.limit).any())


def too_few_healthy(condition: Condition) -> str:
    """Why there are no limits, and what to do."""
    count = condition.limits.count
    enough = math.floor(1000 * highest_level(count)) / 1000
    return (
        f"Alarm levels of {percent(condition.level)} are not known: {_counted_healthy(count)} enough for "
        f"{percent(enough)}; name more of them with {Parameter('healthy'):=}, or lower {Parameter('level')}."
    )


def table(condition: Condition) -> str:
    """The number of the recording at which each indicator of each channel raised its first alarm."""
    if not is_calibrated(condition):
        return ""
    rows = []
    for c, channel in enumerate(condition.channels):
        alarms = {alarm.indicator: alarm for alarm in condition.alarms if alarm.channel == channel}
        exists = np.isfinite(condition.limits.center[:, c])
        rows.append([channel, *(cell(alarms.get(name)) if exists[m] else "" for m, name in enumerate(INDICATORS))])
    lines = aligned(["first alarm", *INDICATORS], rows).splitlines()
    if any(alarm.lasts is None or alarm.lasts > alarm.first for alarm in condition.alarms):
        lines.append("A~B comes and goes from A on and lasts from B on; A~ does not last")
    return "\n".join(line.rstrip() for line in lines)


def cell(alarm: Alarm | None) -> str:
    """The first recording in alarm, counted from 1; where it comes and goes at first, also where it begins to last."""
    if alarm is None:
        return "-"
    if alarm.lasts == alarm.first:
        return str(alarm.first + 1)
    return f"{alarm.first + 1}~{'' if alarm.lasts is None else alarm.lasts + 1}"


def verdicts(condition: Condition) -> list[str]:
    """A sentence per channel that shows a change, the earliest first, and one for all others."""
    if not is_calibrated(condition):
        return []
    lines, rest = [], single(condition)
    for channel in ranked(condition):
        lines.append(f"{channel}: {sentence(condition, channel)}")
        rest.remove(channel)
    if rest:
        lines.append(f"no alarm: {', '.join(rest)}" if lines else "No channel shows an alarm.")
    return lines


def ranked(condition: Condition) -> list[str]:
    """Channels that raise an alarm: first those with one that lasts, by when it begins."""
    first = {}
    for channel in single(condition):
        alarms = [alarm for alarm in condition.alarms if alarm.channel == channel]
        if alarms:
            first[channel] = earliest(alarms)
    # The law of a channel reads its neighbors, too: where several begin together, the farthest one is named first.
    return sorted(first, key=lambda name: _urgency(first[name]))


def earliest(alarms: list[Alarm]) -> Alarm:
    """The one that lasts longest; of passing ones the first."""
    return min(alarms, key=_urgency)


def begin(alarm: Alarm) -> int:
    """The recording from which on an alarm lasts; of a passing one the first."""
    return alarm.first if alarm.lasts is None else alarm.lasts


def _urgency(alarm: Alarm) -> tuple[bool, int, float]:
    return alarm.lasts is None, begin(alarm), -alarm.peak


def sentence(condition: Condition, channel: str) -> str:
    """Since when a channel is in alarm, by which indicator, and how far it went."""
    alarms = [alarm for alarm in condition.alarms if alarm.channel == channel]
    if not alarms:
        return "no alarm"
    first = earliest(alarms)
    worst = max(alarms, key=lambda alarm: alarm.peak)
    recording = begin(first)
    kind = "alarms that come and go, the first at" if first.lasts is None else "alarm since"
    same = [a.indicator for a in alarms if (a.first if first.lasts is None else a.lasts) == recording]
    by = ", ".join(sorted(same, key=INDICATORS.index))
    return (
        f"{kind} {recording_text(condition, recording)}, {first.side} healthy by {by}; largest: {worst.indicator}, "
        f"{worst.peak:.3g} healthy sd in recording {worst.peak_at + 1}"
    )


def recording_text(condition: Condition, recording: int) -> str:
    """A recording by number and name, and how long before the last one."""
    text = f"recording {recording + 1} of {len(condition)} ({condition.recordings[recording]})"
    if condition.hours is not None:
        text += f", {condition.hours[-1] - condition.hours[recording]:.1f} h before the last"
    return text


def false_alarms(condition: Condition) -> str:
    """How healthy recordings fare with limits from others, and what limits do not promise."""
    if not is_calibrated(condition):
        return ""
    lines = []
    check = condition.false_alarms
    if check is not None:
        half = len(condition.reference) // 2
        why = f" (the highest level that {half} recordings are enough for)" if check.level < condition.level else ""
        lines.append(
            f"false alarms: by {percent(round(check.level, 3))} limits{why} from the first half of the healthy "
            f"recordings, {percent(round(check.beyond, 3))} of values in the second half are beyond; {check.raised} of "
            f"{check.of} indicators of channels raise an alarm there"
        )
        if check.beyond > _DRIFT * (1 - check.level):
            lines.append("note: the healthy recordings drift, or are not all healthy: expect false alarms")
    pairs = int(np.isfinite(condition.limits.center).sum())
    lines.append(f"each limit is for one indicator of one channel: of {pairs} some are crossed by chance")
    return "\n".join(lines)


def single(condition: Condition) -> list[str]:
    """The channels, without all of them together."""
    return [name for name in condition.channels if name != ALL or len(condition.channels) == 1]
