"""Charts of indicators over time as SVG: how far from healthy, the alarm level, and where it was first passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.report.frame import LEFT, RIGHT, Frame
from pellucid.report.numbers import MINUS

if TYPE_CHECKING:
    from markupsafe import Markup

# Standard deviations up to which the axis is nearly linear; it is logarithmic beyond.
EVEN = 3.0
# Points of a line: of more values the smallest and the largest of each piece are drawn.
_POINTS = 600
_MARKS = (3.0, 10.0, 30.0, *(10.0**power for power in range(2, 8)))


def timeline(
    distances: Sequence[float],
    *,
    limit: float,
    rising: bool,
    healthy: tuple[int, int] | None,
    alarm: int | None,
    label: str,
) -> Markup:
    """Distances from healthy over recordings, which are counted from 0 and named from 1.

    Parameters
    ----------
    distances : sequence of float
        In healthy standard deviations; NaN leaves a gap.
    limit : float
        The alarm level above, and below unless `rising`; infinity if there is none.
    rising : bool
        Whether only large distances are alarming.
    healthy : (int, int), optional
        The first and the last healthy recording, if they are among these.
    alarm : int, optional
        The recording of the first alarm.
    label : str
        Description of the picture, for screen readers.
    """
    from markupsafe import Markup

    heights = np.array([squeezed(distance) for distance in distances])
    finite = heights[np.isfinite(heights)]
    # At least as far as the first mark beside 0.
    reach = squeezed(max(EVEN, 1.15 * limit) if math.isfinite(limit) else EVEN)
    low, high = min([-reach, *finite.tolist()]), max([reach, *finite.tolist()])
    pad = 0.04 * (high - low)
    frame = Frame(x=(1, max(2, len(heights))), y=(low - pad, high + pad), height=190, top=22)
    left, right = LEFT, frame.width - RIGHT
    parts = []
    if math.isfinite(limit):
        top = frame.down(squeezed(limit))
        bottom = frame.bottom if rising else frame.down(squeezed(-limit))
        within = Markup('<rect class="within" x="{}" y="{}" width="{:.1f}" height="{:.1f}"/>')
        parts.append(within.format(left, top, right - left, bottom - top))
    if healthy is not None:
        begin, end = frame.across(healthy[0] + 1), frame.across(healthy[1] + 1)
        sound = Markup('<rect class="healthy" x="{}" y="{}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>')
        label_text = f"healthy: recordings {healthy[0] + 1} to {healthy[1] + 1}"
        parts.append(sound.format(begin, frame.top, max(2.0, end - begin), frame.bottom - frame.top, label_text))
    parts.append(frame.axes("recording", "", integers=(True, False), marks=_marks(low - pad, high + pad)))
    if math.isfinite(limit):
        for level in (limit,) if rising else (limit, -limit):
            path = Markup('<path class="level" d="M{} {}H{}"><title>alarm level {}</title></path>')
            parts.append(path.format(left, frame.down(squeezed(level)), right, f"{level:.3g}"))
    for piece in _pieces(heights):
        points = " ".join(f"{frame.across(i + 1)},{frame.down(heights[i])}" for i in piece)
        parts.append(Markup('<polyline class="track" points="{}"/>').format(points))
    # Below the mark of the first alarm, and wider: where both are at one recording, both are seen.
    cursor = Markup('<path class="cursor" d="M0 {}V{}" data-left="{}" data-right="{}" hidden=""/>')
    parts.append(cursor.format(frame.top, frame.bottom, left, right))
    if alarm is not None:
        x = frame.across(alarm + 1)
        late = x > 0.75 * frame.width
        mark = Markup('<path class="alarm" d="M{} {}V{}"/><text class="alarm {}" x="{}" y="{}">{}</text>')
        side, shift = ("end", -4) if late else ("start", 4)
        parts.append(mark.format(x, 12, frame.bottom, side, x + shift, 20, f"first alarm: {alarm + 1}"))
    return frame.svg(Markup("").join(parts), label, "timeline")


def squeezed(distance: float) -> float:
    """asinh(d / 3): linear near 0, logarithmic far away.

    Examples
    --------
    >>> squeezed(0.0), round(squeezed(3.0), 3)
    (0.0, 0.881)
    """
    return math.asinh(distance / EVEN)


def _marks(low: float, high: float) -> list[tuple[float, str]]:
    """Heights along the axis that fit, and their texts: at most seven."""
    sides = [value for value in _MARKS if squeezed(value) <= max(high, -low)]
    if len(sides) > 2:
        sides = [value for value in sides if value not in (3.0, 30.0)]
    if len(sides) > 3:
        sides = sides[1::2]
    values = [-value for value in sides[::-1]] + [0.0] + list(sides)
    texts = [(squeezed(value), f"{value:g}".replace("-", MINUS)) for value in values]
    return [(height, text) for height, text in texts if low <= height <= high]


def _pieces(heights: np.ndarray) -> list[list[int]]:
    """Indices of the values of each unbroken line: without those that are not known, and not too many."""
    step = max(1, math.ceil(len(heights) / (_POINTS / 2)))
    pieces: list[list[int]] = [[]]
    for begin in range(0, len(heights), step):
        part = heights[begin : begin + step]
        if not np.isfinite(part).any():
            pieces.append([])
            continue
        ends = range(begin, begin + len(part)) if step == 1 else {begin + int(np.nanargmin(part)),
                                                                 begin + int(np.nanargmax(part))}  # fmt: skip
        pieces[-1] += sorted(ends)
    return [piece for piece in pieces if piece]
