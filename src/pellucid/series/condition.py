"""The condition of a machine over time: indicators of its recordings, and the alarms that they raise."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from pellucid.numbers import significant
from pellucid.series import alarms as _alarms
from pellucid.series.alarms import Limits
from pellucid.series.indicators import ALL, INDICATORS
from pellucid.series.stream import hours_of
from pellucid.writing import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Healthy recordings from which on limits of one half can be checked on the other.
_FEWEST = 9


class Alarm(NamedTuple):
    """An indicator of a channel that went beyond its limit; recordings are counted from 0."""

    channel: str
    indicator: str
    first: int
    """The recording at which it was raised, which depends on none after it."""
    lasts: int | None
    """The recording from which on there was an alarm in nine tenths of all; None if it comes and goes."""
    side: str
    """The side of the limit, "above" or "below", when it was raised."""
    peak: float
    """The largest distance from then on, in healthy standard deviations."""
    peak_at: int
    """The recording of the peak."""


class FalseAlarms(NamedTuple):
    """Healthy recordings judged by other healthy ones."""

    level: float
    """Level of the limits: that of the condition, or the highest that half of the healthy recordings are enough for."""
    beyond: float
    """The share of values beyond their limits, over all indicators and channels; 1 - level is what is promised."""
    raised: int
    """Number of indicators of channels that raise an alarm."""
    of: int
    """Number of indicators of channels."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Condition:
    """Indicators of R recordings over time, and the alarms that follow from n healthy ones; see `assess`."""

    channels: tuple[str, ...]
    """C names; where there are several channels, the last is "all channels", which has a likelihood only."""
    recordings: tuple[str, ...]
    """Their names, in the order of time."""
    values: np.ndarray = field(repr=False)
    """(R, M, C) the M `INDICATORS`; NaN where there is none."""
    reference: np.ndarray = field(repr=False)
    """(n, M, C) indicators of the healthy recordings, the law of each compared with that of the others."""
    healthy: np.ndarray = field(repr=False)
    """(R,) which of the recordings are the healthy ones; none if these are other data."""
    level: float
    persistence: tuple[int, int]
    sequences: int
    order: int
    """Order of the laws that recordings are compared by."""
    notes: tuple[str, ...] = ()
    """What was decided when the recordings were read, and which rows are not used."""

    def __len__(self) -> int:
        return len(self.recordings)

    def __repr__(self) -> str:
        names = ", ".join(name for name in self.channels if name != ALL)
        return f"Condition({len(self)} recordings of {names}; {len(self.alarms)} alarms)"

    def __str__(self) -> str:
        from pellucid.series.condition_text import text

        return text(self)

    @cached_property
    def limits(self) -> Limits:
        """Limits from the healthy recordings, at the level."""
        # A recording is never predicted better by the healthy law than by its own.
        return Limits.of(self.reference, self.level, [name == "law" for name in INDICATORS])

    @cached_property
    def distances(self) -> np.ndarray:
        """(R, M, C) from the healthy median, in healthy standard deviations."""
        return self.limits.distances(self.values)

    @cached_property
    def beyond(self) -> np.ndarray:
        """(R, M, C) 1 above the limit, -1 below, 0 within."""
        return self.limits.beyond(self.values)

    @cached_property
    def in_alarm(self) -> np.ndarray:
        """(R, M, C) where there is an alarm; see `alarms.in_alarm`."""
        return _alarms.in_alarm(self.beyond, self.persistence)

    @cached_property
    def alarms(self) -> list[Alarm]:
        """Alarms of all channels and indicators after the last healthy recording, the earliest first."""
        result = []
        raised = self.in_alarm.copy()
        raised[: self.first_judged] = False
        for m, c in np.argwhere(raised.any(0)).tolist():
            first = int(np.flatnonzero(raised[:, m, c])[0])
            distances = np.nan_to_num(np.abs(self.distances[first:, m, c]))
            window = self.beyond[max(0, first + 1 - self.persistence[1]) : first + 1, m, c]
            result.append(
                Alarm(
                    channel=self.channels[c],
                    indicator=INDICATORS[m],
                    first=first,
                    lasts=_alarms.first_lasting(raised[:, m, c]),
                    side="above" if window.sum() > 0 else "below",
                    peak=float(distances.max()),
                    peak_at=first + int(distances.argmax()),
                )
            )
        return sorted(result, key=lambda alarm: alarm.first)

    @property
    def first_judged(self) -> int:
        """The first recording that is judged: a machine that was healthy later had no fault before."""
        healthy = np.flatnonzero(self.healthy)
        return int(healthy[-1]) + 1 if len(healthy) else 0

    @cached_property
    def false_alarms(self) -> FalseAlarms | None:
        """Limits from the first half of the healthy recordings, checked on the second; None if there are too few."""
        half = len(self.reference) // 2
        if half < _FEWEST:
            return None
        level = min(self.level, _alarms.highest_level(half))
        limits = Limits.of(self.reference[:half], level, self.limits.rising)
        beyond = limits.beyond(self.reference[half:])
        counted = np.isfinite(limits.center)
        raised = _alarms.in_alarm(beyond, self.persistence).any(0) & counted
        return FalseAlarms(level, float((beyond != 0).mean(0)[counted].mean()), int(raised.sum()), int(counted.sum()))

    @cached_property
    def hours(self) -> list[float] | None:
        """Hours since the first recording, if the names hold times."""
        return hours_of(self.recordings)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON; None stands for unknown values."""
        return {
            "channels": list(self.channels),
            "indicators": list(INDICATORS),
            "recordings": list(self.recordings),
            "hours": self.hours,
            "healthy": np.flatnonzero(self.healthy).tolist(),
            "calibrated": self.limits.count,
            "level": self.level,
            "persistence": list(self.persistence),
            "sequences": self.sequences,
            "order": self.order,
            "notes": list(self.notes),
            "center": plain(self.limits.center),
            "scale": plain(self.limits.scale),
            "limit": plain(self.limits.limit),
            "false_alarms": None if self.false_alarms is None else self.false_alarms._asdict(),
            "alarms": [alarm._asdict() for alarm in self.alarms],
            "values": plain(self.values),
            "distances": plain(self.distances),
        }

    def to_json(self, path: str | Path) -> None:
        """Write everything as JSON."""
        write_text(path, json.dumps(self.to_dict(), allow_nan=False) + "\n")

    def to_csv(self, path: str | Path) -> None:
        """Write a row per recording and channel: every indicator, its distance from healthy, and alarms."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        hours = self.hours
        writer.writerow(["number", "recording", *(["hours"] if hours else []), "healthy", "channel", *INDICATORS,
                         *(f"{name}: distance" for name in INDICATORS), "beyond", "alarm"])  # fmt: skip
        for r, name in enumerate(self.recordings):
            for c, channel in enumerate(self.channels):
                numbers = [*self.values[r, :, c], *self.distances[r, :, c]]
                cells = [f"{v:.6g}" if np.isfinite(v) else "" for v in numbers]
                marks = [" ".join(np.array(INDICATORS)[marked].tolist())
                         for marked in (self.beyond[r, :, c] != 0, self.in_alarm[r, :, c])]  # fmt: skip
                time = [f"{hours[r]:.6g}"] if hours else []
                writer.writerow([r + 1, name, *time, int(self.healthy[r]), channel, *cells, *marks])
        write_text(path, stream.getvalue())

    def to_html(self, path: str | Path, *, title: str = "Condition") -> None:
        """Write it as one HTML file that needs nothing else: every indicator of every channel over time."""
        from pellucid.series.condition_report import write

        write(self, path, title=title)

    def plot(self, channels: Sequence[str] | None = None, indicators: Sequence[str] | None = None) -> Figure:
        """Every indicator over time, channel by channel, with alarm levels and first alarms; see `plot_condition`."""
        from pellucid.series.condition_figure import plot_condition

        return plot_condition(self, channels, indicators)


def plain(values: np.ndarray) -> Any:
    """Nested lists of numbers with six digits; None stands for those that are not finite."""
    if values.ndim:
        return [plain(part) for part in values]
    return significant(float(values)) if np.isfinite(values) else None
