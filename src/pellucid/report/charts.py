"""Charts of a run as SVG that takes its colors from the page: deviations, and what transparency costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np

from pellucid.report.frame import Frame
from pellucid.report.numbers import number
from pellucid.summaries import TradeOff

if TYPE_CHECKING:
    from markupsafe import Markup

_BINS = 24
# The width of a letter, as on a telephone, where letters are largest; the first row of labels above a histogram, and
# the height of each.
_LETTER, _ROWS, _ROW = 7.8, 24, 14


def histogram(groups: Mapping[str, Sequence[float]], name: str = "deviation", *, bins: int = _BINS) -> Markup:
    """Distributions over each other, with their medians.

    Parameters
    ----------
    groups : mapping of str to sequence of float
        Values by name: {"DEEP": [...], "GAME": [...]}.
    name : str
        What the values are, in a word or two, written along the axis.
    bins : int
        Bars from zero (or the smallest value, if that is negative) to the largest.
    """
    from markupsafe import Markup

    values = {name: np.asarray(group, dtype=float) for name, group in groups.items()}
    values = {name: group[np.isfinite(group)] for name, group in values.items()}
    values = {name: group for name, group in values.items() if len(group)}
    if not values:
        return Markup("")
    everything = np.concatenate(list(values.values()))
    edges = np.histogram_bin_edges(everything, bins, range=(min(0.0, everything.min()), everything.max() or 1.0))
    counts = {name: np.histogram(group, edges)[0] for name, group in values.items()}
    labels = _ROWS + _ROW * (len(counts) - 1) + 7
    frame = Frame(x=(edges[0], edges[-1]), y=(0, 1.08 * max(c.max() for c in counts.values())), top=labels)
    parts = [frame.axes(name, "neighborhoods", integers=(False, True))]
    bar = Markup('<rect class="bar {}" x="{}" y="{}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>')
    for i, (model, group) in enumerate(counts.items()):
        for count, low, high in zip(group.tolist(), edges[:-1], edges[1:], strict=True):
            if count:
                left, top = frame.across(low), frame.down(count)
                about = f"{model}: {count} of {group.sum()} between {number(low)} and {number(high)}"
                parts.append(
                    bar.format(tone(model, i), left, top, frame.across(high) - left, frame.bottom - top, about)
                )
    medians = {name: float(np.median(group)) for name, group in values.items()}
    spots = place_medians(frame, list(medians.values()))
    parts += [
        _median(frame, tone(name, i), value, *spot)
        for i, ((name, value), spot) in enumerate(zip(medians.items(), spots, strict=True))
    ]
    legend = ", ".join(f"{name}: median {number(value)}" for name, value in medians.items())
    return frame.svg(Markup("").join(parts), f"Distribution of deviations. {legend}.", "histogram")


def place_medians(frame: Frame, medians: Sequence[float]) -> list[tuple[int, bool]]:
    """The positions of the labels of medians: the row of each, from the top, and whether it is left of its line.

    A line begins in the row of its label, so that it crosses the labels of the rows below alone.
    """
    lines = [frame.across(value) for value in medians]
    widths = [_LETTER * len(f"median {number(value)}") + 6 for value in medians]

    def faults(rows: Sequence[int], lefts: Sequence[bool]) -> int:
        spans = [(x - w, x) if left else (x, x + w) for x, w, left in zip(lines, widths, lefts, strict=True)]
        outside = sum(low < 0 or high > frame.width for low, high in spans)
        crossed = sum(
            rows[j] < rows[i] and low < lines[j] < high
            for i, (low, high) in enumerate(spans)
            for j in range(len(spans))
        )
        return outside + crossed

    choices = [
        list(zip(rows, lefts, strict=True))
        for rows in permutations(range(len(medians)))
        for lefts in product((False, True), repeat=len(medians))
    ]
    return min(choices, key=lambda choice: faults(*zip(*choice, strict=True)))


def _median(frame: Frame, look: str, value: float, row: int, left: bool) -> Markup:
    """A line and its label."""
    from markupsafe import Markup

    x, y = frame.across(value), _ROWS + _ROW * row
    return Markup(
        '<path class="median {}" d="M{} {}V{}"/><text class="value {} {}" x="{}" y="{}">median {}</text>'
    ).format(
        look, x, y - 9, frame.bottom, look, "end" if left else "start", x + (-5 if left else 5), y, number(value)
    )  # fmt: skip


def trade_off(costs: TradeOff) -> Markup:
    """Loss against deviation with a point for each weight, the band of losses that were tolerated, and the choice.

    Parameters
    ----------
    costs : TradeOff
        The weights that were tried.
    """
    from markupsafe import Markup

    trials = [trial for trial in costs.trials if np.isfinite([trial.loss, trial.deviation]).all()]
    if not trials:
        return Markup("")
    trials.sort(key=lambda trial: -1.0 if trial.weight is None else trial.weight)
    limit = costs.limit if np.isfinite(costs.limit) else None
    losses = [trial.loss for trial in trials] + ([] if limit is None else [limit])
    frame = Frame(x=_around([trial.deviation for trial in trials], from_zero=True), y=_around(losses), height=270)
    parts = []
    if limit is not None:
        top, left, right = frame.down(limit), frame.across(frame.x[0]), frame.across(frame.x[1])
        band = Markup('<rect class="band" x="{}" y="{}" width="{:.1f}" height="{:.1f}"/>')
        parts.append(band.format(left, top, right - left, frame.bottom - top))
    parts.append(frame.axes("deviation", "loss"))
    positions = [(frame.across(trial.deviation), frame.down(trial.loss)) for trial in trials]
    line = " ".join(f"{x},{y}" for x, y in positions)
    parts.append(Markup('<polyline class="curve" points="{}"/>').format(line))
    names = ["DEEP" if trial.weight is None else f"weight {trial.weight:g}" for trial in trials]
    looks = ["deep" if trial.weight is None else "game" for trial in trials]
    chosen = [trial.weight is not None and trial.weight == costs.chosen for trial in trials]
    for (x, y), trial, name, look, ring in zip(positions, trials, names, looks, chosen, strict=True):
        about = f"{name}: loss {number(trial.loss, 4)}, deviation {number(trial.deviation)}"
        if ring:
            parts.append(Markup('<circle class="chosen {}" cx="{}" cy="{}" r="9"/>').format(look, x, y))
        point = Markup('<circle class="point {}" cx="{}" cy="{}" r="4.5"><title>{}</title></circle>')
        parts.append(point.format(look, x, y, about))
    texts = [f"{name}, chosen" if ring else name for name, ring in zip(names, chosen, strict=True)]
    first = sorted(range(len(trials)), key=lambda i: (not chosen[i], looks[i] != "deep", i))
    points = [(x, y, 10.0 if ring else 5.0) for (x, y), ring in zip(positions, chosen, strict=True)]
    for i, x, y, side in place_labels(frame, texts, points, first):
        label = Markup('<text class="value {} {}" x="{:g}" y="{:g}">{}</text>')
        parts.append(label.format(looks[i], side, x, y, texts[i]))
    return frame.svg(Markup("").join(parts), "What transparency costs: loss against deviation, by weight.", "trade-off")


def place_labels(
    frame: Frame, texts: Sequence[str], points: Sequence[tuple[float, float, float]], order: Sequence[int]
) -> list[tuple[int, float, float, str]]:
    """The positions of the labels of points, such that none covers another or a point: (label, x, y, anchor).

    Each takes the first free position around its point; without one it is omitted, as points have tooltips.

    Parameters
    ----------
    frame : Frame
        The frame of the chart.
    texts : sequence of str
        The labels.
    points : sequence of (float, float, float)
        Positions and radii.
    order : sequence of int
        The labels in the order in which they choose.
    """
    taken = [(x - r, y - r, x + r, y + r) for x, y, r in points]
    result = []
    for i in order:
        (x, y, _), width = points[i], _LETTER * len(texts[i])
        sides = [("start", x + 11, 0.0), ("end", x - 11, -width), ("mid", x, -width / 2)]
        for down, (side, at, shift) in product((-8, 19, -24, 35), sides):
            box = (at + shift, y + down - 12, at + shift + width, y + down + 3)
            inside = box[0] >= 0 and box[2] <= frame.width and box[1] >= 14 and box[3] <= frame.bottom
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                result.append((i, at, y + down, side))
                break
    return result


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two boxes (left, top, right, bottom) overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def tone(name: str, index: int) -> str:
    """The class of a model's color."""
    return {"DEEP": "deep", "GAME": "game"}.get(name, ("game", "deep", "third")[index % 3])


def _around(values: Sequence[float], *, from_zero: bool = False) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = 0.12 * (high - low or abs(high) or 1.0)
    return (max(0.0, low - pad) if from_zero and low >= 0 else low - pad), high + pad
