"""How the values of a time rise: evenly, evenly but for gaps, or from where they start anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Where counters begin anew.
_MODULI = (1e3, 1e6, 1e9, 2.0**8, 2.0**16, 2.0**24, 2.0**32)
# The largest share of rows where time starts anew; with more, a clock was misread.
_RESTARTS = 0.1
# Rows that even times with gaps must have.
_FEWEST = 10


def all_runs(values: list[np.ndarray], rises: Callable[[np.ndarray], bool]) -> bool:
    """Whether every recording rises from its beginning, or from wherever it starts anew, in this way.

    Runs must be long, as half the steps of noise fall; of two rows nothing can be said.
    """
    judged = 0
    for part in values:
        falls = np.flatnonzero(np.diff(part) < 0) + 1
        if len(falls) and len(part) < 4 * (len(falls) + 1):
            return False
        runs = [run for run in np.split(part, falls) if len(run) > 2]
        if not all(rises(run) for run in runs):
            return False
        judged += len(runs)
    return judged > 0


def _seldom_restarts(values: list[np.ndarray]) -> bool:
    """Whether time starts anew in few places only."""
    return sum(int((np.diff(part) < 0).sum()) for part in values) <= max(1, _RESTARTS * sum(map(len, values)))


def never_falls(values: list[np.ndarray]) -> bool:
    """Whether every recording rises, but for the few places where it starts anew."""
    return _seldom_restarts(values) and all_runs(values, lambda run: True)


def rises_evenly(values: list[np.ndarray]) -> bool:
    """Whether every recording rises evenly; short runs look even whatever they are, so that their steps must be one."""
    seldom = _seldom_restarts(values)
    return all_runs(values, lambda run: even(run) and (seldom or steady(run)))


def even(column: np.ndarray) -> bool:
    """Whether values rise in even steps, up to rounding: no further from a straight line than a step."""
    if len(column) < 3 or (np.diff(column) <= 0).any():
        return False
    line = np.linspace(column[0], column[-1], len(column))
    return bool(np.abs(column - line).max() <= (column[-1] - column[0]) / (len(column) - 1))


def steady(column: np.ndarray) -> bool:
    """Whether the steps are the same up to the last digit that is written."""
    steps = np.diff(column)
    for digits in range(10):
        unit = 10.0**-digits
        if np.abs(column / unit - np.round(column / unit)).max() < 1e-3:
            return bool(np.abs(steps - steps.mean()).max() <= 1.001 * unit or np.ptp(steps) <= 1e-6 * steps.mean())
    return bool(np.ptp(steps) <= 1e-6 * steps.mean())


def steady_but_gaps(column: np.ndarray) -> bool:
    """Whether 19 steps in 20 are the same, and the others longer, as where rows are missing."""
    steps = np.diff(column)
    if len(column) < _FEWEST or (steps <= 0).any():
        return False
    usual = steps[steps <= 1.5 * np.median(steps)]
    joined = np.cumsum(usual)
    return len(usual) >= 0.95 * len(steps) and even(joined) and steady(joined)


def mostly_even(column: np.ndarray) -> bool:
    """Whether values never fall, and four steps in five are alike; or whether many rows share each tick."""
    steps = np.diff(column)
    if not len(steps) or (steps < 0).any():
        return False
    if np.median(steps) > 0:
        return share_alike(column) >= 0.8
    ticks, counts = np.unique(column, return_counts=True)
    return even(ticks) and bool(np.ptp(counts[1:-1]) <= max(1, 0.1 * np.median(counts)))


def mostly_alike(column: np.ndarray) -> bool:
    """Like `mostly_even`, of values that rise with every row: a staircase may be a signal."""
    return bool((np.diff(column) > 0).all()) and mostly_even(column)


def share_alike(column: np.ndarray) -> float:
    """The share of steps that are like the median one."""
    steps = np.diff(column)
    typical = np.median(steps)
    return float((np.abs(steps - typical) <= 0.1 * typical).mean())


def variation(column: np.ndarray) -> float:
    """The standard deviation of the steps, relative to their mean."""
    steps = np.diff(column)
    return float(steps.std() / steps.mean())


def jittered(column: np.ndarray) -> bool:
    """Whether values rise with every row, in steps that vary little but for gaps."""
    steps = np.diff(column)
    usual = steps[steps <= 5 * np.median(steps)]
    return bool((steps > 0).all() and usual.std() <= 0.5 * usual.mean())


def modulus_of(column: np.ndarray) -> float | None:
    """The round number at which a counter that rises in even steps begins anew; None if there is none."""
    steps = np.diff(column)
    typical = np.median(steps) if len(steps) else 0.0
    if typical <= 0 or column.min() < 0:
        return None
    for modulus in (m for m in _MODULI if column.max() < m):
        rises = steps % modulus
        if (np.abs(rises - typical) <= 0.1 * typical).mean() >= 0.9 and rises.max() < modulus / 2:
            return modulus
    return None


def unwrapped(column: np.ndarray) -> np.ndarray:
    """A counter that goes on where it begins anew."""
    period = modulus_of(column) or 0.0
    return np.asarray(column + period * np.cumsum(np.diff(column, prepend=column[0]) < 0))
