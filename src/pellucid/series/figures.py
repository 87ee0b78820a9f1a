"""Pictures of forecasts and their witnesses. Every function returns a Figure and shows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import InputError
from pellucid.numbers import percent
from pellucid.series.explanation_text import deviations
from pellucid.trust import median_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pellucid.series.explanation import ForecastExplanation

_COLORS = ("#2a7f3f", "#c1121f", "#1d4e89", "#b07c0c")
# Values of the context that are drawn before a forecast.
_BEFORE = 20


def plot_explanations(
    explanations: Mapping[str, ForecastExplanation], channel: str | int | None = None, *, standardized: bool = True
) -> Figure:
    """Forecasts of one channel at the left, and for each a heat map of its witness's parameters at the right.

    Parameters
    ----------
    explanations : mapping of str to ForecastExplanation
        Explanations of one context, by name: DEEP beside GAME, say.
    channel : str or int, optional
        The channel, by name or position; by default the first.
    standardized : bool
        Draw the parameters in units of each channel's standard deviation, so that channels of different units can be
        compared; False draws them in the units of the data, as the paper does.
    """
    from matplotlib.figure import Figure

    if not explanations:
        raise InputError("There must be at least one explanation to draw", got="none", cure="pass {name: explanation}")
    first = next(iter(explanations.values()))
    k = first.channel(channel)
    height = 1.3 + max(2.8, 0.26 * len(first.names))
    figure = Figure(figsize=(4.2 + 3.6 * len(explanations), height), layout="constrained")
    axes = figure.subplots(1, 1 + len(explanations), width_ratios=[1.15] + [1] * len(explanations))
    _draw_forecasts(axes[0], explanations, k)
    thetas = [(e.standardized if standardized else e.parameters)[:, :, k].T for e in explanations.values()]
    limit = max(float(np.abs(theta).max()) for theta in thetas) or 1.0
    for axis, theta, (name, explanation) in zip(axes[1:], thetas, explanations.items(), strict=True):
        image = axis.imshow(theta, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest",
                            extent=(0.5, theta.shape[1] + 0.5, len(theta) - 0.5, -0.5))  # fmt: skip
        unseen, fitted = (float(part[k]) for part in deviations(explanation))
        known = np.isfinite(unseen)
        title = f"{_plain(name)}: " + (f"held-out deviation {unseen:.3g}" if known else f"deviation {fitted:.3g}")
        bound = np.nan if explanation.bound is None else median_bounds(explanation.bound)[k]
        if np.isfinite(bound):
            title += f", nearby within {bound:.3g} ({percent(explanation.level)} confidence)"
        axis.set_title(title, loc="left", fontsize=10 if explanation.bound is None else 8)
        names = [_plain(label) for label in explanation.names] if axis is axes[1] else []
        axis.set_yticks(range(len(theta)) if names else [], names, fontsize=8)
    for axis in axes:
        axis.set_xlabel("step", fontsize=9)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.tick_params(labelsize=8)
    bar = figure.colorbar(image, ax=axes[-1], shrink=0.9)
    bar.ax.tick_params(labelsize=8)
    bar.set_label(
        "coefficient, standardized" if standardized and first.scale is not None else "coefficient", fontsize=8
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=len(labels), frameon=False, fontsize=8)
    return figure


def _draw_forecasts(axis: Axes, explanations: Mapping[str, ForecastExplanation], k: int) -> None:
    first = next(iter(explanations.values()))
    steps = np.arange(1, len(first) + 1)
    before = first.context[-_BEFORE:, k]
    axis.plot(np.arange(1 - len(before), 1), before, color="0.55", lw=1.2, label="context")
    if first.actual is not None:
        axis.plot(steps, first.actual[:, k], color="black", lw=1.2, label="what came")
    alone = len(explanations) == 1
    for i, (name, explanation) in enumerate(explanations.items()):
        color = _COLORS[i % len(_COLORS)]
        mean = explanation.mean[:, k]
        axis.plot(steps, mean, color=color, lw=1.6, label="forecast" if alone else _plain(name))
        if alone and explanation.forced:  # along a forecast errors add up, and this is of one step
            sd = np.sqrt(explanation.covariance[:, k, k])
            axis.fill_between(steps, mean - sd, mean + sd, color=color, alpha=0.15, lw=0, label="± one-step sd")
        label = "witness" if alone else f"{_plain(name)}: witness"
        axis.plot(steps, explanation.witnessed[:, k], color=color, lw=1, ls=":", marker=".", ms=4, label=label)
    axis.axvline(0.5, color="0.8", lw=0.8)
    axis.set_title(_plain(first.channels[k]), loc="left", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def _plain(name: str) -> str:
    """A user's name as it is: a dollar sign begins no mathematics, a leading underscore hides nothing."""
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name
