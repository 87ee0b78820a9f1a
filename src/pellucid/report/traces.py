"""Charts of series as SVG: a forecast with its witness, and the coefficients of the laws that it follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pellucid.report.frame import RIGHT, Frame
from pellucid.report.numbers import MINUS, number

if TYPE_CHECKING:
    from markupsafe import Markup

# Shades of the heat map on either side of zero.
SHADES = 6
_ROW = 17.0


class Trace(NamedTuple):
    """One line."""

    look: str
    """Its class, and its entry in the legend."""
    first: int
    """The step of the first value."""
    values: Sequence[float]


def lines(traces: Sequence[Trace], spread: tuple[Sequence[float], Sequence[float]] | None, label: str) -> Markup:
    """Lines over steps; where the forecast begins there is a mark.

    Parameters
    ----------
    traces : sequence of Trace
        From the lowest to the topmost.
    spread : (sequence of float, sequence of float), optional
        Lower and upper values of a band from step 1 on.
    label : str
        Description of the picture, for screen readers.
    """
    from markupsafe import Markup

    numbers = np.concatenate([np.asarray(trace.values, dtype=float) for trace in traces])
    low, high = float(numbers.min()), float(numbers.max())
    if spread is not None:
        low, high = min(low, float(np.min(spread[0]))), max(high, float(np.max(spread[1])))
    pad = 0.05 * (high - low)
    first = min(trace.first for trace in traces)
    last = max(trace.first + len(trace.values) - 1 for trace in traces)
    frame = Frame(x=(first, last), y=(low - pad, high + pad))
    parts = [frame.axes("step", "", integers=(True, False))]
    if spread is not None:
        steps = range(1, 1 + len(spread[0]))
        forth = [f"{frame.across(h)},{frame.down(v)}" for h, v in zip(steps, spread[1], strict=True)]
        back = [f"{frame.across(h)},{frame.down(v)}" for h, v in zip(steps, spread[0], strict=True)]
        parts.append(Markup('<polygon class="sd" points="{}"/>').format(" ".join(forth + back[::-1])))
    if first < 1 <= last:
        parts.append(Markup('<path class="now" d="M{} {}V{}"/>').format(frame.across(0.5), frame.top, frame.bottom))
    for look, start, values in traces:
        points = " ".join(f"{frame.across(start + i)},{frame.down(v)}" for i, v in enumerate(values))
        parts.append(Markup('<polyline class="line {}" points="{}"/>').format(look, points))
        if look == "witness":
            dots = "".join(f"M{frame.across(start + i)} {frame.down(v)}h0" for i, v in enumerate(values))
            parts.append(Markup('<path class="line dots" d="{}"/>').format(dots))
    return frame.svg(Markup("").join(parts), label, "lines")


def heat_map(values: np.ndarray, names: Sequence[str], limit: float, label: str) -> Markup:
    """Coefficients as colored cells: a row for each name, a column for each step.

    Cells of one shade are one path, so that a map of 200 takes 3 kB; shades are s-6 to s6 of the page.

    Parameters
    ----------
    values : ndarray
        (rows, steps).
    names : sequence of str
        Names of the rows.
    limit : float
        The absolute value of the strongest shade.
    label : str
        Description of the picture, for screen readers.
    """
    from markupsafe import Markup

    rows, steps = values.shape
    left = 20 + 6.4 * min(22, max(len(name) for name in names))
    frame_width = 480.0
    cell = (frame_width - left - RIGHT) / steps
    shades = np.clip(np.round(values / (limit or 1.0) * SHADES), -SHADES, SHADES).astype(int)
    parts = []
    for i, name in enumerate(names):
        text = name if len(name) <= 22 else f"{name[:21]}…"
        row = Markup('<text class="end" x="{:.0f}" y="{:.1f}">{}<title>{}</title></text>')
        parts.append(row.format(left - 7, (i + 0.5) * _ROW + 4, text, name))
    cells = []
    for shade in range(-SHADES, SHADES + 1):
        path = "".join(f"M{h} {i}h{n}v1h-{n}z" for i, h, n in _runs(shades == shade))
        if shade and path:
            cells.append(Markup('<path class="s{}" d="{}"/>').format(shade, path))
    scale = Markup('<g transform="translate({:.1f} 0) scale({:.3f} {:g})">{}</g>')
    parts.append(scale.format(left, cell, _ROW, Markup("").join(cells)))
    bottom = rows * _ROW
    box = Markup('<rect class="frame" x="{:.1f}" y="0" width="{:.1f}" height="{:g}"/>')
    parts.append(box.format(left, steps * cell, bottom))
    column = Markup('<rect class="column" x="{:.1f}" y="0" width="{:.2f}" height="{:g}" data-left="{:.1f}" hidden=""/>')
    parts.append(column.format(left, cell, bottom, left))
    every = max(1, round(steps / 5))
    for h in range(0, steps, every):
        tick = Markup('<text class="mid" x="{:.1f}" y="{:.0f}">{}</text>')
        parts.append(tick.format(left + (h + 0.5) * cell, bottom + 15, h + 1))
    parts.append(
        Markup('<text class="mid name" x="{:.1f}" y="{:.0f}">step</text>').format(left + steps * cell / 2, bottom + 31)
    )
    return Markup('<svg class="pl-chart heat" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>').format(
        frame_width, bottom + 38, label, Markup("").join(parts)
    )


def _runs(marked: np.ndarray) -> list[tuple[int, int, int]]:
    """Of the marked cells in a table: row, first column and number of those side by side."""
    padded = np.pad(marked.astype(int), ((0, 0), (1, 1)))
    steps = np.diff(padded, axis=1)
    begins, ends = np.argwhere(steps == 1).tolist(), np.argwhere(steps == -1).tolist()
    return [(row, begin, end - begin) for (row, begin), (_, end) in zip(begins, ends, strict=True)]


def scale_of(limit: float) -> Markup:
    """The shades of a heat map and what they stand for."""
    from markupsafe import Markup

    cells = "".join(f'<path class="s{s}" d="M{i} 0h1v1h-1z"/>' for i, s in enumerate(range(-SHADES, SHADES + 1)) if s)
    count = 2 * SHADES + 1
    bar = Markup(
        '<svg class="pl-chart shades" viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    )
    text = number(limit, 2)
    return Markup('<span class="scale">{}{} {} {}</span>').format(MINUS, text, bar.format(count, Markup(cells)), text)  # noqa: S704
