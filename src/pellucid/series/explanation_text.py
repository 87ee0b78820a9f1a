"""An explained forecast in words: tables of its laws, and sentences on how far they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import Parameter
from pellucid.numbers import percent
from pellucid.series.measures import UNEXPLAINED
from pellucid.trust import median_bounds, no_bound_reason
from pellucid.verdicts import NEAR_ZERO

if TYPE_CHECKING:
    from pellucid.series.explanation import ForecastExplanation

COLUMNS = 12
"""Parameters that a table shows."""
# Channels and steps that a summary names.
_CHANNELS, _STEPS = 6, 10


def text(explanation: ForecastExplanation, target: str | int | None = None) -> str:
    """What the steps are predicted from, and how one channel follows its laws; see `ForecastExplanation.text`."""
    channel = explanation.channel(target)
    others = target is None and len(explanation.channels) > 1
    hint = f"; {Parameter('target')} shows the other channels" if others else ""
    head = f"Channel {explanation.channels[channel]!r} and the law that it follows{hint}:"
    lines = [basis(explanation), head, table(explanation, channel), summary(explanation)]
    return "\n".join(line for line in lines if line)


def basis(explanation: ForecastExplanation) -> str:
    """What the steps are predicted from; empty if not known."""
    if explanation.forced is None:
        return ""
    return "each step from the real values before it" if explanation.forced else "each step from the forecast so far"


def table(explanation: ForecastExplanation, channel: int, *, columns: int | None = COLUMNS) -> str:
    """A row per step; see `ForecastExplanation.table`."""
    strength = np.abs(explanation.standardized[:, :, channel]).mean(0)
    count = len(strength) if columns is None else min(columns, len(strength))
    strongest = np.sort(np.argsort(-strength, kind="stable")[:count])
    sd = np.sqrt(explanation.covariance[:, channel, channel])
    real = {} if explanation.actual is None else {"real": explanation.actual[:, channel]}
    values = {
        "forecast": explanation.mean[:, channel],
        **real,
        "one-step sd": sd,
        "witness": explanation.witnessed[:, channel],
    }
    rows = [["step", *values, *(explanation.names[i] for i in strongest)]]
    for h in range(len(explanation)):
        parameters = [f"{v:.3g}" for v in explanation.parameters[h, strongest, channel]]
        rows.append([str(h + 1), *(f"{column[h]:.4g}" for column in values.values()), *parameters])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    if explanation.overall is not None:
        parameters = [f"{v:.3g}" for v in explanation.overall.parameters[strongest, channel]]
        rows.append(["all", *[""] * len(values), *parameters])
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    if explanation.overall is not None:
        lines.append(f"all: {explanation.overall.sentence()}")
    if count < len(strength):
        every = Parameter("columns", None)
        hint = f"; {every} shows all" if every.settable else ""
        lines.append(f"... and {len(strength) - count} weaker parameters{hint}")
    return "\n".join(lines)


def summary(explanation: ForecastExplanation) -> str:
    """How closely the forecast follows its laws, channel by channel, and how much these change."""
    lines = [
        held_out(explanation),
        *_deviation_lines(explanation),
        steadiness(explanation),
        f"variation {explanation.variation.mean():.4g}: mean change of all parameters from step to step",
        stability(explanation),
        trust(explanation),
    ]
    return "\n".join(line for line in lines if line)


def _deviation_lines(explanation: ForecastExplanation) -> list[str]:
    """How far laws and forecast are apart, channel by channel: held out, if that is known, and where fitted."""
    about = "rms over the steps (and relative to how much the forecast moves):"
    lines = []
    unseen, fitted = deviations(explanation)
    if np.isfinite(unseen).any():
        lines += [f"held-out deviation from the law, {about}", f"  {_by_channel(explanation, unseen)}"]
    return [*lines, f"deviation from the law where fitted, {about}", f"  {_by_channel(explanation, fitted)}"]


def deviations(explanation: ForecastExplanation) -> tuple[np.ndarray, np.ndarray]:
    """(c,) root mean squared deviations over the steps: held out, NaN if not known, and where fitted."""
    fitted = np.sqrt(np.square(explanation.mean - explanation.witnessed).mean(0))
    if explanation.held_out is None:
        return np.full_like(fitted, np.nan), fitted
    squares = np.square(explanation.mean - explanation.held_out)
    known = np.isfinite(squares).all(1)
    return np.sqrt(squares[known].mean(0)) if known.any() else np.full_like(fitted, np.nan), fitted


def _by_channel(explanation: ForecastExplanation, gaps: np.ndarray) -> str:
    parts = [
        f"{name} {gap:.3g}" + (f" ({percent(gap / move, 0)})" if move > 0 else "")
        for name, gap, move in zip(explanation.channels, gaps, explanation.mean.std(axis=0), strict=True)
    ]
    more = f", ... and {len(parts) - _CHANNELS} more" if len(parts) > _CHANNELS else ""
    return f"{', '.join(parts[:_CHANNELS])}{more}"


def steadiness(explanation: ForecastExplanation) -> str:
    """How much the law changes along the forecast, in one line; empty if not known."""
    return "" if explanation.steadiness is None else explanation.steadiness.text("the forecast")


def held_out(explanation: ForecastExplanation) -> str:
    """The held-out variance explained along the forecast, in one line; empty if not known."""
    if explanation.explained is None or not np.isfinite(explanation.explained).any():
        return ""
    share = float(np.nanmean(explanation.explained))
    sentence = f"held-out variance explained {percent(share, 0)} along this forecast"
    return f"{sentence}: {UNEXPLAINED}" if share < NEAR_ZERO else sentence


def stability(explanation: ForecastExplanation) -> str:
    """Whether the laws are stable, in one line."""
    radii = explanation.spectral_radius
    sentence = f"spectral radius of the laws {np.median(radii):.3g} (median over the steps)"
    unstable = [str(step + 1) for step in np.flatnonzero(radii > 1)]
    if not unstable:
        return sentence
    steps = ", ".join(unstable[:_STEPS]) + (", ..." if len(unstable) > _STEPS else "")
    return f"{sentence}; unstable (above 1) at {len(unstable)} of {len(radii)} steps: {steps}"


def trust(explanation: ForecastExplanation) -> str:
    """How far the laws can be trusted near the forecast, in one sentence."""
    if explanation.bound is None:
        return explanation.why_not or no_bound_reason(explanation.level, explanation.calibrated)
    bounds = list(zip(explanation.channels, median_bounds(explanation.bound), strict=True))
    values = ", ".join(f"{name} {value:.3g}" for name, value in bounds if np.isfinite(value))
    rest = ", ".join(name for name, value in bounds if not np.isfinite(value))
    return (
        f"with {percent(explanation.level)} confidence the law of a step is within {values} of the network at a "
        "further position within its radius (median over the steps; calibrated on "
        f"{explanation.calibrated} held-out sequences)"
    ) + (f"; not known for {rest}" if rest else "")
