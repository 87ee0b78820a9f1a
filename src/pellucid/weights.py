"""The weight of a game: which of several to keep, and what transparency costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.errors import InputError, Parameter
from pellucid.summaries import TradeOff, Trial

TOLERANCE = 0.02
MULTIPLES = (0.3, 1.0, 3.0, 10.0)
"""The weights that are tried, as multiples of the one that suits the data."""


def choose(trials: Sequence[Trial], tolerance: float) -> Trial:
    """The most transparent model whose validation loss is at most (1 + tolerance) times DEEP's.

    DEEP itself is never chosen: where no game is good enough, it is the one with the smallest loss.

    Examples
    --------
    >>> trials = [Trial(None, 1.0, 0.5), Trial(0.1, 0.99, 0.4), Trial(1.0, 1.01, 0.2), Trial(10.0, 1.5, 0.1)]
    >>> choose(trials, 0.02).weight
    1.0
    """
    (deep,) = (trial for trial in trials if trial.weight is None)
    games = [trial for trial in trials if trial.weight is not None]
    good = [trial for trial in games if trial.loss <= deep.loss * (1 + tolerance)]
    if good:
        return min(good, key=lambda trial: (trial.deviation, trial.weight))
    return min(games, key=lambda trial: trial.loss)


def trade_off(trials: Sequence[Trial], tolerance: float, *, loss: str, deviation: str) -> TradeOff | None:
    """The weights that were tried, if there were several, and the one to keep.

    Parameters
    ----------
    trials : sequence of Trial
        DEEP and the games; nothing where the weight was set.
    tolerance : float
        The share of DEEP's loss that the game may cost.
    loss, deviation : str
        What these are, in words.
    """
    if not trials:
        return None
    chosen = choose(trials, tolerance).weight
    return TradeOff(trials=tuple(trials), tolerance=tolerance, chosen=chosen, loss=loss, deviation=deviation)


def check_tolerance(tolerance: Any) -> float:
    """The tolerance as a float; an error unless it is a share."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 10:
        raise InputError(
            f"{Parameter('tolerance')} must be a share of DEEP's validation loss, 0 or more",
            got=f"{tolerance!r}",
            cure=f"try {TOLERANCE}",
            parameter="tolerance",
        )
    return float(tolerance)
