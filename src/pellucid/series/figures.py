"""Pictures of forecasts and their witnesses. Every function returns a Figure and shows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import InputError
from pellucid.series.explanation import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#2a7f3f", "#c1121f", "#1d4e89", "#b07c0c")
# Values of the context that are drawn before a forecast.
_BEFORE = 20


def plot_explanations(explanations: Mapping[str, Explanation], channel: str | int | None = None) -> Figure:
    """Forecasts of one channel at the left, and for each a heat map of its witness's parameters at the right.

    Parameters
    ----------
    explanations : of one context, by name: DEEP beside GAME, say.
    channel : which one; by default the first.
    """
    from matplotlib.figure import Figure

    if not explanations:
        raise InputError("There must be at least one explanation to draw. Got none; pass {name: explanation}.")
    first = next(iter(explanations.values()))
    k = first.channel(channel)
    columns = 1 + len(explanations)
    figure = Figure(
        figsize=(4.2 + 3.6 * len(explanations), 0.9 + max(2.8, 0.26 * len(first.names))), layout="constrained"
    )
    axes = figure.subplots(1, columns, width_ratios=[1.15] + [1] * len(explanations))
    _draw_forecasts(axes[0], explanations, k)
    limit = max(float(np.abs(e.parameters[:, :, k]).max()) for e in explanations.values()) or 1.0
    for axis, (name, explanation) in zip(axes[1:], explanations.items(), strict=True):
        theta = explanation.parameters[:, :, k].T
        image = axis.imshow(theta, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest",
                            extent=(0.5, theta.shape[1] + 0.5, len(theta) - 0.5, -0.5))  # fmt: skip
        rms = float(np.sqrt(np.square(explanation.mean[:, k] - explanation.witnessed[:, k]).mean()))
        axis.set_title(f"{name}: deviation {rms:.3g}", loc="left", fontsize=10)
        axis.set_xlabel("step", fontsize=9)
        shown = axis is axes[1]
        axis.set_yticks(range(len(theta)), [_plain(n) for n in explanation.names] if shown else [], fontsize=8)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.tick_params(labelsize=8)
    figure.colorbar(image, ax=axes[-1], shrink=0.9).ax.tick_params(labelsize=8)
    return figure


def _draw_forecasts(axis: Axes, explanations: Mapping[str, Explanation], k: int) -> None:
    first = next(iter(explanations.values()))
    steps = np.arange(1, len(first) + 1)
    before = first.context[-_BEFORE:, k]
    axis.plot(np.arange(1 - len(before), 1), before, color="0.55", lw=1.2, label="context")
    if first.actual is not None:
        axis.plot(steps, first.actual[:, k], color="black", lw=1.2, label="what came")
    for color, (name, explanation) in zip(_COLORS * len(explanations), explanations.items(), strict=False):
        label = "forecast" if len(explanations) == 1 else name
        axis.plot(steps, explanation.mean[:, k], color=color, lw=1.6, label=label)
        if len(explanations) == 1:
            sd = np.sqrt(explanation.covariance[:, k, k])
            band = (explanation.mean[:, k] - sd, explanation.mean[:, k] + sd)
            axis.fill_between(steps, *band, color=color, alpha=0.15, lw=0, label="one standard deviation")
        axis.plot(steps, explanation.witnessed[:, k], color=color, lw=1, ls=":", marker=".", ms=4,
                  label="its witness" if len(explanations) == 1 else f"{name}: witness")  # fmt: skip
    axis.axvline(0.5, color="0.8", lw=0.8)
    axis.set_title(_plain(first.channels[k]), loc="left", fontsize=10)
    axis.set_xlabel("step", fontsize=9)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=7, loc="best")


def _plain(name: str) -> str:
    """A user's name, in which a dollar sign is no mathematics."""
    return name.replace("$", r"\$")
