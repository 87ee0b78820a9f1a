"""Limits of indicators, calibrated on healthy recordings, and the alarms that are raised beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from pellucid import _checks
from pellucid.bounds import rank
from pellucid.errors import InputError, Parameter

LEVEL = 0.99
PERSISTENCE = (4, 5)
# An alarm lasts if it is raised in this share of all recordings from then on.
_LASTING = 0.9


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Limits:
    """Limits of M indicators of C channels, calibrated on n healthy recordings.

    A healthy recording's distance is measured from the median of the other healthy ones,

        s_i = |v_i - median of the others| / scale,

    (without the bars for indicators that can only rise), and the limit is the quantile of these at
    ceil((n + 1) level) / n: as far as recordings are exchangeable, a further healthy one stays within it with
    probability `level`, for each indicator and channel by itself.
    """

    center: np.ndarray
    """(M, C) median."""
    scale: np.ndarray
    """(M, C) standard deviation, estimated by the median absolute deviation."""
    limit: np.ndarray
    """(M, C) in units of the scale; infinity where there are too few healthy recordings."""
    count: int
    """The number of healthy recordings."""
    rising: np.ndarray
    """(M,) whether only a rise is a sign: the indicator cannot be below what is healthy."""

    @classmethod
    def of(cls, values: np.ndarray, level: float, rising: Any) -> Limits:
        """Calibrate limits.

        Parameters
        ----------
        values : ndarray
            (n, M, C) indicators of healthy recordings; NaN where there is none.
        level : float
            The probability that a further healthy recording stays within a limit.
        rising : array_like
            (M,) whether only a rise of the indicator is a sign.
        """
        count = len(values)
        rising = np.asarray(rising, dtype=bool)
        empty = ~np.isfinite(values).any(0)  # the likelihood of all channels together is the only one of them
        values = np.where(empty, 0.0, values)
        center = np.nanmedian(values, axis=0)
        scale = _spread(values, center)
        with np.errstate(invalid="ignore"):  # unknown values count as the farthest, below
            gaps = values - _median_of_others(np.where(np.isfinite(values), values, np.inf))
        distances = np.where(rising[:, None], gaps, np.abs(gaps)) / scale
        place = rank(count, level)
        limit = np.full(center.shape, np.inf)
        if place <= count:
            limit = np.sort(np.where(np.isfinite(distances), distances, np.inf), axis=0)[place - 1]
        return cls(
            center=np.where(empty, np.nan, center),
            scale=scale,
            limit=np.where(empty, np.inf, limit),
            count=count,
            rising=rising,
        )

    def distances(self, values: np.ndarray) -> np.ndarray:
        """(R, M, C) of other values: how many healthy standard deviations they are above the healthy median."""
        return np.asarray((values - self.center) / self.scale)

    def beyond(self, values: np.ndarray) -> np.ndarray:
        """(R, M, C) 1 where a value is above its limit, -1 where it is below, 0 within or where either is unknown."""
        distances = np.nan_to_num(self.distances(values), nan=0.0)
        below = (distances < -self.limit) & ~self.rising[:, None]
        return np.asarray((distances > self.limit).astype(int) - below.astype(int))


def _median_of_others(values: np.ndarray) -> np.ndarray:
    """(n, ...) for each value the median of the other n - 1."""
    count = len(values)
    if count < 2:
        return np.full_like(values, np.inf)
    ordered = np.sort(values, axis=0)
    rank = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0)
    middle = ((count - 2) // 2, (count - 1) // 2)  # of the others; those above the value itself are one further
    low, high = (np.take_along_axis(ordered, i + (rank <= i), axis=0) for i in middle)
    return np.asarray((low + high) / 2)


def _spread(values: np.ndarray, center: np.ndarray) -> np.ndarray:
    """(M, C) 1.4826 times the median absolute deviation; where more than half are equal, the standard deviation."""
    spread = 1.4826 * np.nanmedian(np.abs(values - center), axis=0)
    spread = np.where(spread > 0, spread, np.nanstd(values, axis=0))
    # Where all are equal, whatever differs by more than rounding is far away.
    return np.asarray(np.where(spread > 0, spread, np.maximum(1e-9 * np.abs(center), 1e-12)))


def highest_level(count: int) -> float:
    """The highest level that n healthy recordings are enough for, n / (n + 1).

    Examples
    --------
    >>> highest_level(19), highest_level(99)
    (0.95, 0.99)
    """
    return count / (count + 1)


def in_alarm(beyond: np.ndarray, persistence: tuple[int, int]) -> np.ndarray:
    """(R, ...) whether there is an alarm: k of the last n recordings, this one included, are beyond on the same side.

    Parameters
    ----------
    beyond : ndarray
        (R, ...) 1 above the limit, -1 below, 0 within.
    persistence : (int, int)
        The numbers k and n.

    Examples
    --------
    >>> in_alarm(np.array([0, 1, 1, 0, 1, -1]), (2, 3)).astype(int)
    array([0, 0, 1, 1, 1, 0])
    """
    needed, window = persistence
    result = np.zeros(beyond.shape, dtype=bool)
    for side in (1, -1):
        total = np.cumsum(beyond == side, axis=0)
        before = np.zeros_like(total)
        before[window:] = total[:-window]
        result |= total - before >= needed
    return result


def first_lasting(alarms: np.ndarray) -> int | None:
    """The first recording in alarm (R,) from which on nine tenths of all recordings are; None if there is none.

    Examples
    --------
    >>> first_lasting(np.array([False, True, False, False, True, True])), first_lasting(np.array([True, False]))
    (4, None)
    """
    shares = np.cumsum(alarms[::-1])[::-1] / np.arange(len(alarms), 0, -1)
    lasting = np.flatnonzero(alarms & (shares >= _LASTING))
    return int(lasting[0]) if len(lasting) else None


def check_persistence(persistence: Any) -> tuple[int, int]:
    """(k, n): an alarm is k of the last n recordings."""
    try:
        needed, window = persistence
    except (TypeError, ValueError):
        raise InputError(
            f"{Parameter('persistence')} must be two whole numbers, as in (4, 5): 4 of the last 5 recordings",
            got=f"{persistence!r}",
            parameter="persistence",
        ) from None
    window = _checks.whole(window, 1, "persistence")
    return _checks.whole(needed, 1, "persistence", window), window
