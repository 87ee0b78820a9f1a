"""Bounds of a confidence: what a level needs, and what to say where there is no bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.held_out import FEWEST
from pellucid.numbers import percent

LEVEL = 0.9
# Less confidence than this is a slip of the pen.
_LEAST_LEVEL = 0.001


def rank(n: int, level: float) -> int:
    """The place of the score that bounds another one with this confidence, ceil((n + 1) level), whatever the
    floating-point numbers say; with fewer scores than that there is no bound.
    """
    return math.ceil((n + 1) * check_level(level) - 1e-9)


def no_bound_reason(level: float, calibrated: int, *, enough: bool = True, saturated: bool = False) -> str:
    """Why there is no bound, in one sentence.

    Parameters
    ----------
    level : float
        The confidence of the bound.
    calibrated : int
        The number of held-out neighborhoods that bounds are learned from.
    enough : bool
        Whether the neighborhood has enough members.
    saturated : bool
        Whether the witness would go through any values; see `Witnesses.saturated`.
    """
    if not enough:
        return f"how far it can be trusted is not known: fewer than {FEWEST} members say nothing"
    if saturated:
        return (
            "how far it can be trusted is not known: the members are too few for its coefficients, so that it follows "
            "them whatever they are; use a ridge, fewer features or more members"
        )
    if not calibrated:
        return (
            "how far it can be trusted is not known: the model was not calibrated on held-out neighborhoods of "
            f"{FEWEST} members or more; add validation data with some"
        )
    if rank(calibrated, level) > calibrated:
        return (
            f"how far it can be trusted with {percent(level)} confidence is not known: {calibrated} held-out "
            f"neighborhoods are too few; hold out more, or ask for less confidence"
        )
    return (
        f"how far it can be trusted with {percent(level)} confidence is not known: a bound would be as wide as the "
        f"predictions range; use a simpler witness or larger neighborhoods, or ask for less confidence"
    )


def known_bounds(bounds: np.ndarray) -> np.ndarray | None:
    """Bounds with NaN where one is not known; None if none is."""
    finite = np.isfinite(bounds)
    return np.where(finite, bounds, np.nan) if finite.any() else None


def median_bounds(bounds: np.ndarray) -> np.ndarray:
    """(K,) medians of the bounds (..., K) that are known; NaN for outputs without any."""
    columns = bounds.reshape(-1, bounds.shape[-1]).T
    finite = [column[np.isfinite(column)] for column in columns]
    return np.array([np.median(known) if len(known) else np.nan for known in finite])


def check_level(level: Any) -> float:
    """The confidence as a float; an error unless it is strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InputError(
            f"{Parameter('level')} must be a confidence between 0 and 1",
            got=f"{level!r}",
            cure="0.9 is usual",
            parameter="level",
        )
    if level < _LEAST_LEVEL:
        raise InputError(
            f"{Parameter('level')} must be a confidence of at least {_LEAST_LEVEL:g}",
            got=f"{level!r}",
            cure="0.9 is usual",
            parameter="level",
        )
    return float(level)
