"""One linear law for everything: what a network begins as, and what it should beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

# Rows that moments are summed over at once; rows of a part that a law is fitted to, and sequences that it is judged on,
# at most: more of them would cost time and hardly change it.
_CHUNK, _ROWS, _SEQUENCES = 4096, 50_000, 250
_FOLDS = 4
# The smallest variance of errors, standardized.
_LEAST = 1e-6
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Candidates, in units of the number of rows."""


class RelativeErrors(NamedTuple):
    """Errors of forecasts, divided by those of always forecasting the mean of the training data."""

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
    """Ridge of its least squares, in units of the number of rows."""
    weights: np.ndarray = field(repr=False)
    """(lags c, c): A', the present values of all channels first."""
    offset: np.ndarray = field(repr=False)
    """(c,)."""
    covariance: np.ndarray = field(repr=False)
    """(c, c)."""

    @property
    def reach(self) -> str:
        """The values that it reads, in words."""
        return "last value" if self.lags == 1 else f"last {self.lags} values"

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

    def errors(self, z: np.ndarray, horizon: int) -> RelativeErrors:
        """Relative errors on sequences (S, context + horizon, c)."""
        future = z[:, -horizon:]
        alone = np.square(future).mean()
        missed = (self.predict(z, horizon) - future, self.forecast(z[:, :-horizon], horizon) - future)
        return RelativeErrors(*(float(np.sqrt(np.square(gap).mean() / alone)) for gap in missed))


def _lags(seen: np.ndarray, lags: int) -> np.ndarray:
    """(S, lags c): the last values of (S, t, c), the present ones first."""
    return seen[:, : -lags - 1 : -1].reshape(len(seen), -1)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """Sums over rows from which the laws of all lags up to the longest follow; those of several parts add up."""

    channels: int
    rows: int
    total: np.ndarray
    """((longest + 1) c,) sums of the next values, then of the present ones, then of those before."""
    squares: np.ndarray
    """((longest + 1) c, (longest + 1) c) sums of their products."""

    @classmethod
    def of(cls, tables: Sequence[np.ndarray], longest: int, *, most: int = _ROWS) -> Moments:
        """Moments of recordings.

        Parameters
        ----------
        tables : sequence of ndarray
            Standardized recordings (T, c); those too short for the longest law are skipped.
        longest : int
            The largest number of lags.
        most : int
            The number of rows that are used, about.
        """
        channels = tables[0].shape[1]
        size = (longest + 1) * channels
        total, squares, rows = np.zeros(size), np.zeros((size, size)), 0
        for part in _windows(tables, longest + 1, most):
            total += part.sum(0)
            squares += part.T @ part
            rows += len(part)
        return cls(channels=channels, rows=rows, total=total, squares=squares)

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        """Moments of several parts together."""
        return cls(
            channels=parts[0].channels,
            rows=sum(part.rows for part in parts),
            total=np.sum([part.total for part in parts], axis=0),
            squares=np.sum([part.squares for part in parts], axis=0),
        )

    def law(self, lags: int, ridge: float) -> LinearLaw:
        """The law of ridge least squares; the offset is not penalised."""
        c, rows = self.channels, max(1, self.rows)
        mean = self.total / rows
        covariance = self.squares / rows - np.outer(mean, mean)
        after, before = slice(0, c), slice(c, (1 + lags) * c)
        xx, xy = covariance[before, before], covariance[before, after]
        weights = np.linalg.solve(xx + ridge * np.eye(lags * c), xy)
        missed = covariance[after, after] - xy.T @ weights - weights.T @ xy + weights.T @ xx @ weights
        # An exact law still needs a covariance that can be inverted.
        missed = (missed + missed.T) / 2 + _LEAST * np.eye(c)
        offset = mean[after] - mean[before] @ weights
        return LinearLaw(lags=lags, ridge=ridge, weights=weights, offset=offset, covariance=missed)


def _windows(tables: Sequence[np.ndarray], length: int, most: int) -> Iterator[np.ndarray]:
    """Chunks (rows, length c) of all windows, in each the last value first; of very many rows some chunks only."""
    stride, number = max(1, round(sum(len(table) for table in tables) / most)), 0
    for table in tables:
        if len(table) < length:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(table, length, axis=0)[..., ::-1]  # (rows, c, length)
        for start in range(0, len(windows), _CHUNK):
            if number % stride == 0:
                part = windows[start : start + _CHUNK].transpose(0, 2, 1)
                yield part.reshape(len(part), -1).astype(np.float64)
            number += 1


def choose(tables: Sequence[np.ndarray], context: int, horizon: int, *, lags: int | None = None) -> LinearLaw:
    """The law with the smallest one-step and rolled-out errors on parts of the data that it was not fitted to.

    Lags (the powers of two up to the context, and the context) and ridge are chosen by cross-validation over stretches
    of the recordings; the law is then fitted to all.

    Parameters
    ----------
    tables : sequence of ndarray
        Standardized recordings (T, c), of context + horizon rows or more.
    context, horizon : int
        The number of rows that a forecast reads, and that it predicts.
    lags : int, optional
        The number of lags, if it is set.
    """
    candidates = [2**k for k in range(context.bit_length()) if 2**k < context] + [context]
    candidates = candidates if lags is None else [lags]
    folds = _folds(tables, context + horizon)
    moments = [Moments.of(fold, max(candidates)) for fold in folds]
    laws = [(count, ridge) for count in candidates for ridge in RIDGES]
    costs = np.zeros(len(laws))
    for k, fold in enumerate(folds):
        others = Moments.joined([part for j, part in enumerate(moments) if j != k] or moments)
        sequences = sequences_of(fold, context + horizon, horizon, most=_SEQUENCES)
        for i, (count, ridge) in enumerate(laws):
            errors = others.law(count, ridge).errors(sequences, horizon)
            # Both count alike. A law that runs away has an error that is no number.
            costs[i] += np.nan_to_num(np.log(errors.one_step * errors.rolled_out), nan=np.inf)
    return Moments.joined(moments).law(*laws[int(np.argmin(costs))])


def _folds(tables: Sequence[np.ndarray], length: int) -> list[list[np.ndarray]]:
    """The recordings cut into stretches of at least `length` rows, which are dealt out in turn."""
    total = sum(len(table) for table in tables)
    size = max(length, total // (4 * _FOLDS))
    stretches = []
    for table in tables:
        count = max(1, len(table) // size)
        stretches += [part for part in np.array_split(table, count) if len(part) >= length]
    return [part for part in (stretches[k::_FOLDS] for k in range(_FOLDS)) if part]


def sequences_of(tables: Sequence[np.ndarray], length: int, stride: int, *, most: int) -> np.ndarray:
    """(S, length, c) sequences of all recordings, about `most` of them, evenly spaced."""
    every = [table[row : row + length] for table in tables for row in range(0, len(table) - length + 1, stride)]
    return np.stack(every[:: -(-len(every) // most)]).astype(np.float64)
