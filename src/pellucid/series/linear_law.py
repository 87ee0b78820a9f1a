"""One linear law for everything: what a network begins as, and what it should beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

# Rows of the moments at once, rows that a law is fitted to and sequences that it is judged on at most: more of them
# would cost time and hardly change it.
_CHUNK, _ROWS, _SEQUENCES = 4096, 200_000, 1000
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Candidates, in units of the number of rows."""


class Errors(NamedTuple):
    """Of forecasts, divided by those of always forecasting the mean of the training data."""

    one_step: float
    """Each value from the real ones before it."""
    rolled_out: float
    """Over a horizon, along the forecasts themselves."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LinearLaw:
    """x_{i+1} = A [x_i, ..., x_{i-lags+1}] + b + e_i, e_i ~ N(0, covariance), in standardized units; c channels."""

    lags: int
    ridge: float
    """Of its least squares, in units of the number of rows."""
    weights: np.ndarray = field(repr=False)
    """(lags c, c): A', the present values of all channels first."""
    offset: np.ndarray = field(repr=False)
    """(c,)."""
    covariance: np.ndarray = field(repr=False)
    """(c, c)."""

    def forecast(self, context: np.ndarray, horizon: int) -> np.ndarray:
        """(S, horizon, c): rolled out after contexts (S, t, c), t >= lags."""
        seen, path = _lags(context, self.lags), []
        for _ in range(horizon):
            path.append(seen @ self.weights + self.offset)
            seen = np.concatenate([path[-1], seen[:, : seen.shape[1] - len(self.offset)]], axis=1)
        return np.stack(path, axis=1)

    def predict(self, z: np.ndarray, horizon: int) -> np.ndarray:
        """(S, horizon, c): the last values of sequences z (S, t, c), each from the real ones before it."""
        first = z.shape[1] - horizon
        steps = [_lags(z[:, :end], self.lags) @ self.weights + self.offset for end in range(first, z.shape[1])]
        return np.stack(steps, axis=1)

    def errors(self, z: np.ndarray, horizon: int) -> Errors:
        """On sequences (S, context + horizon, c)."""
        future = z[:, -horizon:]
        alone = np.square(future).mean()
        missed = (self.predict(z, horizon) - future, self.forecast(z[:, :-horizon], horizon) - future)
        return Errors(*(float(np.sqrt(np.square(gap).mean() / alone)) for gap in missed))


def _lags(seen: np.ndarray, lags: int) -> np.ndarray:
    """(S, lags c): the last values of (S, t, c), the present ones first."""
    return seen[:, : -lags - 1 : -1].reshape(len(seen), -1)


@final
class Moments:
    """Sums over rows from which the laws of all lags up to the longest follow.

    Parameters
    ----------
    tables : standardized recordings (T, c); shorter ones than the longest law reads are passed over.
    longest : lags.
    """

    def __init__(self, tables: Sequence[np.ndarray], longest: int) -> None:
        self.channels, self.longest = tables[0].shape[1], longest
        size = (longest + 1) * self.channels
        total, squares, self.rows = np.zeros(size), np.zeros((size, size)), 0
        # Whole stretches are passed over where there are too many rows.
        every = max(1, round(sum(len(table) for table in tables) / _ROWS))
        for number, rows in enumerate(_windows(tables, longest + 1)):
            if number % every == 0:
                total += rows.sum(0)
                squares += rows.T @ rows
                self.rows += len(rows)
        self.mean = total / max(1, self.rows)
        self.covariance = squares / max(1, self.rows) - np.outer(self.mean, self.mean)

    def law(self, lags: int, ridge: float) -> LinearLaw:
        """Ridge least squares; the offset is not penalised."""
        c = self.channels
        after, before = slice(0, c), slice(c, (1 + lags) * c)
        xx, xy = self.covariance[before, before], self.covariance[before, after]
        weights = np.linalg.solve(xx + ridge * np.eye(lags * c), xy)
        missed = self.covariance[after, after] - xy.T @ weights - weights.T @ xy + weights.T @ xx @ weights
        # An exact law still needs a covariance that can be inverted.
        missed = (missed + missed.T) / 2 + 1e-6 * np.eye(c)
        offset = self.mean[after] - self.mean[before] @ weights
        return LinearLaw(lags=lags, ridge=ridge, weights=weights, offset=offset, covariance=missed)


def _windows(tables: Sequence[np.ndarray], length: int) -> Iterator[np.ndarray]:
    """Chunks (rows, length c) of all windows, in each the last value first."""
    for table in tables:
        if len(table) < length:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(table, length, axis=0)[..., ::-1]  # (rows, c, length)
        for start in range(0, len(windows), _CHUNK):
            part = windows[start : start + _CHUNK].transpose(0, 2, 1)
            yield part.reshape(len(part), -1).astype(np.float64)


def choose(
    tables: Sequence[np.ndarray], watched: np.ndarray, horizon: int, *, lags: int | None = None
) -> LinearLaw:
    """The law of the training data whose one-step and rolled-out errors on validation data are smallest.

    Parameters
    ----------
    tables : standardized training recordings (T, c).
    watched : standardized validation sequences (S, context + horizon, c).
    lags : how many; by default chosen, too, among the powers of two up to the context, and the context.
    """
    context = watched.shape[1] - horizon
    if lags is None:
        candidates = [2**k for k in range(context.bit_length()) if 2**k < context] + [context]
    else:
        candidates = [lags]
    moments = Moments(tables, max(candidates))
    some = watched[:: -(-len(watched) // _SEQUENCES)].astype(np.float64)
    laws = [moments.law(count, ridge) for count in candidates for ridge in RIDGES]
    # Both errors count alike; ties go to the shorter law.
    return min(laws, key=lambda law: _cost(law.errors(some, horizon)))


def _cost(errors: Errors) -> float:
    """An unstable law may run away: its error is then no number."""
    cost = errors.one_step * errors.rolled_out
    return cost if np.isfinite(cost) else np.inf
