"""A picture of a machine's condition over time. It returns a Figure and shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import InputError
from pellucid.numbers import percent
from pellucid.report.numbers import MINUS
from pellucid.series.figures import _plain
from pellucid.series.indicators import INDICATORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pellucid.series.condition import Condition

# Channels that a picture has room for.
_CHANNELS = 8
# Healthy standard deviations up to which an axis is linear; it is logarithmic beyond.
LINEAR = 3.0
_LINE, _ALARM, _HEALTHY = "#0b6a70", "#b5301c", "#0b6a70"


def plot_condition(
    condition: Condition, channels: Sequence[str] | None = None, indicators: Sequence[str] | None = None
) -> Figure:
    """Distances from healthy over time: a column per channel, a row per indicator.

    The band is what healthy recordings stay within, the vertical line the first alarm, the shaded recordings are the
    healthy ones. The axis is linear up to 3 healthy standard deviations and logarithmic beyond.

    Parameters
    ----------
    condition : Condition
        The condition to draw.
    channels : sequence of str, optional
        Names of the channels; by default all, or where there are many those that raise an alarm first.
    indicators : sequence of str, optional
        Names of the indicators; by default all.
    """
    from matplotlib.figure import Figure

    from pellucid.series.condition_text import ranked, single

    columns = list(channels) if channels is not None else single(condition)
    if channels is None and len(columns) > _CHANNELS:
        first = ranked(condition)
        columns = [*first, *(name for name in columns if name not in first)][:_CHANNELS]
    rows = list(INDICATORS if indicators is None else indicators)
    for kind, names, options in (("channel", columns, condition.channels), ("indicator", rows, INDICATORS)):
        wrong = [name for name in names if name not in options]
        if wrong or not names:
            raise InputError(
                f"Every {kind} must be one of {', '.join(options)}", got=f"{wrong[0] if wrong else 'none'}"
            )
    figure = Figure(figsize=(1.2 + 3.1 * len(columns), 0.9 + 1.35 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True)
    for i, indicator in enumerate(rows):
        for j, channel in enumerate(columns):
            _draw(axes[i, j], condition, INDICATORS.index(indicator), condition.channels.index(channel))
            if i == 0:
                axes[i, j].set_title(_plain(channel), loc="left", fontsize=10)
        axes[i, 0].set_ylabel(indicator, fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("recording", fontsize=9)
        axis.xaxis.get_major_locator().set_params(integer=True)
    calibrated = np.isfinite(condition.limits.limit).any()
    band = f"band: {percent(condition.level)} of healthy recordings" if calibrated else "no alarm level is known"
    figure.suptitle(f"distance from healthy, in healthy standard deviations; {band}", fontsize=9, x=0.01, ha="left")
    return figure


def _draw(axis: Axes, condition: Condition, m: int, c: int) -> None:
    distances = condition.distances[:, m, c]
    axis.spines[["top", "right"]].set_visible(False)
    if not np.isfinite(condition.limits.center[m, c]):  # all channels together have a likelihood only
        axis.set_axis_off()
        return
    axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.8)
    numbers = np.arange(1, len(condition) + 1)
    limit = condition.limits.limit[m, c]
    if np.isfinite(limit):
        low = -limit if not condition.limits.rising[m] else None
        axis.axhspan(-1e9 if low is None else low, limit, color="0.5", alpha=0.13, lw=0)
        for level in (limit, low):
            if level is not None:
                axis.axhline(level, color="0.45", lw=0.7, ls="--")
    healthy = np.flatnonzero(condition.healthy)
    if len(healthy):
        axis.axvspan(healthy[0] + 0.5, healthy[-1] + 1.5, color=_HEALTHY, alpha=0.1, lw=0)
    axis.plot(numbers, distances, color=_LINE, lw=0.8)
    alarm = next(
        (a for a in condition.alarms if a.channel == condition.channels[c] and a.indicator == INDICATORS[m]), None
    )
    if alarm is not None:
        axis.axvline(alarm.first + 1, color=_ALARM, lw=1.1)
        late = alarm.first > 0.75 * len(condition)
        axis.annotate(f" {alarm.first + 1} ", (alarm.first + 1, 1), xycoords=("data", "axes fraction"), fontsize=8,
                      color=_ALARM, va="top", ha="right" if late else "left")  # fmt: skip
    finite = distances[np.isfinite(distances)]
    reach = max(5.0, limit * 1.3 if np.isfinite(limit) else 0.0)
    low, high = min([-reach, *finite * 1.3]), max([reach, *finite * 1.3])
    axis.set_ylim(low, high)
    # At least one beside 0: the axis reaches farther than 3 on one side at least.
    sides = [v for v in (10.0, 100.0, 1000.0, 1e4, 1e5, 1e6) if v <= max(high, -low)] or [LINEAR]
    sides = sides if len(sides) < 4 else sides[1::2]
    axis.set_yticks([v for v in [*(-v for v in sides), 0.0, *sides] if low <= v <= high])
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", MINUS))
    axis.minorticks_off()
    axis.tick_params(labelsize=7.5)
