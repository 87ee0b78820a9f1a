"""Charts of a run as SVG that takes its colors from the page: deviations, and what transparency costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.report.frame import Frame
from pellucid.report.numbers import number

if TYPE_CHECKING:
    from markupsafe import Markup

_BINS = 24


def histogram(groups: Mapping[str, Sequence[float]], name: str = "deviation", *, bins: int = _BINS) -> Markup:
    """Distributions over each other, with their medians.

    Parameters
    ----------
    groups : values by name: {"DEEP": [...], "GAME": [...]}.
    name : what the values are, in a word or two, written along the axis.
    bins : bars from zero (or the smallest value, if that is negative) to the largest.
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
    frame = Frame(x=(edges[0], edges[-1]), y=(0, 1.08 * max(c.max() for c in counts.values())), top=44)
    parts = [frame.axes(name, "neighborhoods", whole=(False, True))]
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
    smaller = min(medians.values()) if len(medians) > 1 else None
    parts += [
        _median(frame, tone(name, i), value, i, left=value == smaller)
        for i, (name, value) in enumerate(medians.items())
    ]
    told = ", ".join(f"{name}: median {number(value)}" for name, value in medians.items())
    return frame.svg(Markup("").join(parts), f"Distribution of deviations. {told}.", "histogram")


def _median(frame: Frame, look: str, value: float, place: int, *, left: bool) -> Markup:
    """A line and its label, at the left if there is room; each in a row of its own, for they must not touch."""
    from markupsafe import Markup

    x, y = frame.across(value), frame.top - 20 + 13 * (place % 2)
    left = x > 0.76 * frame.width or (left and x > 0.35 * frame.width)
    return Markup(
        '<path class="median {}" d="M{} {}V{}"/><text class="value {} {}" x="{}" y="{}">median {}</text>'
    ).format(
        look, x, y - 9, frame.bottom, look, "end" if left else "start", x + (-5 if left else 5), y, number(value)
    )  # fmt: skip


def trade_off(content: Mapping[str, Any]) -> Markup:
    """Loss against deviation with a point for each weight, the band of losses that were tolerated, and the choice.

    Parameters
    ----------
    content : "trials" with their "weight" (None is DEEP), "loss" and "deviation"; "tolerance"; the "chosen" weight.
    """
    from markupsafe import Markup

    trials = [t for t in content["trials"] if np.isfinite([t["loss"], t["deviation"]]).all()]
    if not trials:
        return Markup("")
    trials.sort(key=lambda t: -1.0 if t["weight"] is None else t["weight"])
    deep = next((t["loss"] for t in trials if t["weight"] is None), None)
    limit = None if deep is None else deep * (1 + content["tolerance"])
    losses = [t["loss"] for t in trials] + ([] if limit is None else [limit])
    frame = Frame(x=_around([t["deviation"] for t in trials], from_zero=True), y=_around(losses), height=270)
    parts = []
    if limit is not None:
        top, left, right = frame.down(limit), frame.across(frame.x[0]), frame.across(frame.x[1])
        band = Markup('<rect class="band" x="{}" y="{}" width="{:.1f}" height="{:.1f}"/>')
        parts.append(band.format(left, top, right - left, frame.bottom - top))
    parts.append(frame.axes("deviation", "loss"))
    places = [(frame.across(t["deviation"]), frame.down(t["loss"])) for t in trials]
    line = " ".join(f"{x},{y}" for x, y in places)
    parts.append(Markup('<polyline class="curve" points="{}"/>').format(line))
    names = ["DEEP" if t["weight"] is None else f"weight {t['weight']:g}" for t in trials]
    looks = ["deep" if t["weight"] is None else "game" for t in trials]
    chosen = [t["weight"] is not None and t["weight"] == content.get("chosen") for t in trials]
    for (x, y), trial, name, look, ring in zip(places, trials, names, looks, chosen, strict=True):
        about = f"{name}: loss {number(trial['loss'], 4)}, deviation {number(trial['deviation'])}"
        if ring:
            parts.append(Markup('<circle class="chosen {}" cx="{}" cy="{}" r="9"/>').format(look, x, y))
        point = Markup('<circle class="point {}" cx="{}" cy="{}" r="4.5"><title>{}</title></circle>')
        parts.append(point.format(look, x, y, about))
    texts = [f"{name}, chosen" if ring else name for name, ring in zip(names, chosen, strict=True)]
    first = sorted(range(len(trials)), key=lambda i: (not chosen[i], looks[i] != "deep", i))
    for i, x, y, side in place_labels(frame, texts, places, first):
        label = Markup('<text class="value {} {}" x="{:g}" y="{:g}">{}</text>')
        parts.append(label.format(looks[i], side, x, y, texts[i]))
    return frame.svg(Markup("").join(parts), "What transparency costs: loss against deviation, by weight.", "trade-off")


def place_labels(
    frame: Frame, texts: Sequence[str], places: Sequence[tuple[float, float]], order: Sequence[int]
) -> list[tuple[int, float, float, str]]:
    """Where the labels of points go, so that none lies on another: (label, x, y, anchor).

    Each takes the first free place around its point; one that finds none is left out, for points tell their own names.
    """
    taken: list[tuple[float, float, float, float]] = []
    result = []
    for i in order:
        (x, y), width = places[i], 7.4 * len(texts[i])
        spots = [(x + 11 * right, y + down, right) for down in (-7, 17, -22, 32) for right in (1, -1)]
        for left, base, right in spots:
            low = left if right > 0 else left - width
            box = (low, base - 11, low + width, base + 3)
            inside = low >= 0 and box[2] <= frame.width and box[1] >= 14 and box[3] <= frame.bottom
            if inside and all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in taken):
                taken.append(box)
                result.append((i, left, base, "start" if right > 0 else "end"))
                break
    return result


def tone(name: str, place: int) -> str:
    """The class of a model's color."""
    return {"DEEP": "deep", "GAME": "game"}.get(name, ("game", "deep", "third")[place % 3])


def _around(values: Sequence[float], *, from_zero: bool = False) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = 0.12 * (high - low or abs(high) or 1.0)
    return (max(0.0, low - pad) if from_zero and low >= 0 else low - pad), high + pad
