"""The scale of signed contributions: blue below zero, orange above it, which color-blind people tell apart, too."""

from __future__ import annotations

import numpy as np

STEPS = 6
"""Steps of the scale on either side of zero."""
# Steps of the ground of a substructure and of its central atom: only their sign says something.
_GROUND, _CENTER = 2, 5
# Light enough for black letters on them, at either end.
_UP, _DOWN = (242, 142, 43), (92, 160, 214)


def extent(values: np.ndarray) -> float:
    """The end of a scale, symmetric around zero, on which these values lie; 1 where all of them are zero."""
    return float(np.abs(values).max(initial=0.0)) or 1.0


def steps(values: np.ndarray) -> list[int]:
    """Values as steps of their scale, from -STEPS to STEPS; 0 has no color."""
    return [int(step) for step in np.rint(np.asarray(values) / extent(values) * STEPS)]


def ground_steps(contribution: float) -> tuple[int, int]:
    """The steps on which a substructure and its central atom are drawn, by the sign of what it contributes.

    They say whether it raises or lowers the prediction, not by how much: that is written below.
    """
    sign = int(np.sign(contribution))
    return sign * _GROUND, sign * _CENTER


def step_class(step: int) -> str:
    """The name of a step in the styles of pages: p1 to p6 above zero, m1 to m6 below, zero between."""
    if not step:
        return "zero"
    return f"{'p' if step > 0 else 'm'}{abs(step)}"


def step_color(step: int) -> str | None:
    """The color of a step on white paper; None at zero."""
    if not step:
        return None
    share = abs(step) / STEPS
    mixed = [round(255 + (end - 255) * share) for end in (_UP if step > 0 else _DOWN)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)
