"""Exact search for the nearest points, by trees where features are few, by matrix products where they are many.

Both compare the same numbers, sums of squared differences in float64, and give the same points to the last tie; which
one is used is a matter of speed alone. Memory is bounded, see `memory`. For many points with many features there is an
index that finds most of the nearest, `_near_approximate`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from pellucid import _near_kernel as kernel
from pellucid._capacity import announce
from pellucid._near_products import multiply
from pellucid._threads import run_chunks
from pellucid.errors import Parameter

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]

_PROBES = 4  # batches of queries that are tried to tell how much of a tree must be read
_FEWEST_LONG = 100_000  # fewer queries do not take long
_BLOCK = 50_000  # rows whose nearest are looked for at a time


class Index(Protocol):
    """What the nearest of distinct points are asked of."""

    def others(self, k: int, threads: int) -> tuple[Array, Indices]:
        """Squared distances (N x k) and indices (N x k) of the other points nearest to each."""

    def nearest(self, queries: Array, k: int, threads: int) -> tuple[Array, Indices]:
        """Squared distances (Q x k) and indices (Q x k) of the points nearest to each query."""


def memory(n: int, p: int, k: int, queries: int | None = None) -> int:
    """Bytes that an exact search takes at its peak, beyond its points: four copies of these, and two of the results."""
    asked = n if queries is None else queries
    return (32 * p + 48) * n + (32 * k + 8) * asked + (0 if queries is None else 24 * p * queries)


def nearest_rows(
    x: Array, k: int, queries: Array | None, threads: int, index: Callable[[Array], Index] | None = None
) -> Indices:
    """(Q, k) the rows of x (N x P) nearest to each query (Q x P), nearest first, among equally near ones the lowest.

    Without queries each row of x is one, and comes first in its own neighborhood. By default the search is exact.
    """
    x, queries = _scaled(x, queries)
    groups = _Groups.of(x)
    tree: Index = (index or Tree)(x if len(groups.lowest) == len(x) else x[groups.lowest])
    if queries is None:
        distances, ids = tree.others(min(k, len(groups.lowest)) - 1, threads)
        if len(groups.lowest) == len(x):
            return np.concatenate([np.arange(len(x))[:, None], ids], axis=1)
        # Each group is its own nearest.
        near = np.concatenate([np.arange(len(ids))[:, None], ids], axis=1)
        far = np.concatenate([np.zeros((len(ids), 1)), distances], axis=1)
        return groups.expand(groups.group, np.arange(len(x)), far, near, k, threads)
    distances, ids = tree.nearest(queries, min(k, len(groups.lowest)), threads)
    if len(groups.lowest) == len(x):
        return ids
    rows = np.arange(len(queries))
    return groups.expand(rows, np.full(len(rows), -1), distances, ids, k, threads)


@final
class Search:
    """The nearest of points, asked for some of them at a time: the same as `nearest_rows` has for these.

    It takes four copies of the points in memory, and of the results those that were asked for.

    Parameters
    ----------
    x : ndarray
        (N, P) the points.
    """

    def __init__(self, x: Array) -> None:
        self.x, _ = _scaled(x, None)
        self.groups = _Groups.of(self.x)
        self.distinct = len(self.groups.lowest) == len(self.x)
        self.tree = Tree(self.x if self.distinct else self.x[self.groups.lowest])

    def rows(self, which: Indices, k: int, threads: int) -> Indices:
        """(Q, k) the rows nearest to each of some rows, which come first themselves.

        Parameters
        ----------
        which : ndarray
            (Q,) these rows.
        k : int
            How many.
        threads : int
            The number of threads.
        """
        blocks = range(0, len(which), _BLOCK)
        return np.concatenate([self._block(which[begin : begin + _BLOCK], k, threads) for begin in blocks])

    def _block(self, which: Indices, k: int, threads: int) -> Indices:
        group = self.groups.group[which]
        queries = self.x[self.groups.lowest[group]]
        distances, ids = self.tree.search(queries, group, min(k, len(self.groups.lowest)) - 1, threads)
        if self.distinct:
            return np.concatenate([which[:, None], ids], axis=1)
        near = np.concatenate([group[:, None], ids], axis=1)
        far = np.concatenate([np.zeros((len(ids), 1)), distances], axis=1)
        return self.groups.expand(np.arange(len(which)), which, far, near, k, threads)


def _scaled(x: Array, queries: Array | None) -> tuple[Array, Array | None]:
    """In units of a power of two, which changes no digit, such that no square overflows or vanishes."""
    everything = x if queries is None else np.concatenate([x, queries])
    # Halved, so that the difference of the largest numbers is one.
    width = (everything.max(0) / 2 - everything.min(0) / 2).max()
    exponent = -np.frexp(width)[1] - 1 if width > 0 else 0
    # -0.0 becomes 0.0: equal numbers get equal bits.
    scaled = np.ldexp(everything, exponent) + 0.0
    return scaled[: len(x)], None if queries is None else scaled[len(x) :]


@final
@dataclass(frozen=True)
class _Groups:
    """Points that coincide, one group for each place; groups are numbered by their lowest index."""

    lowest: Indices
    """(G,) the lowest index of each."""
    group: Indices
    """(N,) the group of each point."""
    members: Indices
    """(N,) the points of one group after the other, in rising order."""
    starts: Indices
    """(G + 1,) where each group starts."""

    @classmethod
    def of(cls, x: Array) -> _Groups:
        keys = kernel.fingerprints(np.ascontiguousarray(x))
        order = np.argsort(keys, kind="stable")
        fresh = np.ones(len(x), dtype=bool)
        fresh[1:] = keys[order[1:]] != keys[order[:-1]]
        if fresh.all():
            rows = np.arange(len(x))
            return cls(rows, rows, rows, np.arange(len(x) + 1))
        if (x[order[1:]] != x[order[:-1]]).any(axis=1)[~fresh[1:]].any():  # two places with one key
            places = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)
            order = np.argsort(places, kind="stable")
            fresh[1:] = places[order[1:]] != places[order[:-1]]
        first = np.flatnonzero(fresh)
        number = np.empty(len(first), dtype=np.int64)
        number[np.argsort(order[first])] = np.arange(len(first))
        group = np.empty(len(x), dtype=np.int64)
        group[order] = number[np.cumsum(fresh) - 1]
        starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
        return cls(np.sort(order[first]), group, np.argsort(group, kind="stable"), starts)

    def expand(self, row: Indices, first: Indices, distances: Array, ids: Indices, k: int, threads: int) -> Indices:
        result = np.empty((len(row), k), dtype=np.int64)

        def part(begin: int, end: int) -> None:
            kernel.expand_range(row, first, distances, ids, self.members, self.starts, result, begin, end)

        run_chunks(part, np.arange(len(row) + 1), threads)
        return result


@final
class Tree:
    """A k-d tree over distinct points."""

    def __init__(self, x: Array) -> None:
        self.levels = _levels(len(x))
        self.order, self.starts = kernel.split(x, self.levels)
        self.x = x[self.order]

    def others(self, k: int, threads: int) -> tuple[Array, Indices]:
        """Squared distances (N x k) and indices (N x k) of the other points nearest to each."""
        return _put_back(self.order, *self._search(self.x, self.order, k, threads))

    def nearest(self, queries: Array, k: int, threads: int) -> tuple[Array, Indices]:
        """Squared distances (Q x k) and indices (Q x k) of the points nearest to each query."""
        return self.search(queries, np.full(len(queries), -1), k, threads)

    def search(self, queries: Array, own: Indices, k: int, threads: int) -> tuple[Array, Indices]:
        """The same, where point own[i] does not count for query i."""
        order, _ = kernel.split(queries, _levels(len(queries)))  # such that queries of a batch are near each other
        return _put_back(order, *self._search(queries[order], own[order], k, threads))

    def _search(self, queries: Array, own: Indices, k: int, threads: int) -> tuple[Array, Indices]:
        distances, ids = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        if not k:
            return distances, ids

        def walk(begin: int, end: int) -> int:
            arguments: Any = (*self._nodes, queries, own, distances, ids, begin, end)
            return int(kernel.nearest_range(*arguments))

        walks = self._walking_pays(walk, len(queries))
        self._announce(walk if walks else None, len(queries), k, threads)
        if walks:
            run_chunks(walk, np.arange(len(queries) + 1), threads, grain=kernel.BATCH)
        else:
            multiply(self.x, self.order, queries, own, distances, ids, threads)
        return distances, ids

    @cached_property
    def _nodes(self) -> tuple[NDArray[Any], ...]:
        """What a walk reads: the leaves, and the boxes of nodes of 32 children each."""
        # Five binary levels make up a node; what does not divide by five is left to the root.
        rest = self.levels % kernel.LEVELS
        steps = [rest] * (rest > 0) + [kernel.LEVELS] * (self.levels // kernel.LEVELS)
        fans = 2 ** np.array(steps, dtype=np.int64)
        firsts = np.cumsum([0, *np.cumprod([1, *fans[:-1]])]) if steps else np.zeros(1, dtype=np.int64)
        low = np.full((firsts[-1], self.x.shape[1], kernel.FAN), np.inf)
        high = np.full_like(low, np.inf)
        below = self.levels
        for fan, step, first in zip(fans.tolist(), steps, firsts.tolist(), strict=False):
            below -= step
            kernel.boxes(self.x, self.starts[:: 2**below].copy(), low, high, fan, first)
        return kernel.leaves(self.x, self.starts), self.order, self.starts, low, high, firsts, fans

    def _walking_pays(self, walk: Callable[[int, int], int], count: int) -> bool:
        """Whether a walk through the tree is cheaper than products with all points, judged by a few queries."""
        n, p = self.x.shape
        if p < 4 or n <= kernel.LEAF:
            return True
        if p > 15 and count < 20_000:
            return False  # the trial would cost more than it could gain
        starts = np.linspace(0, count, _PROBES, endpoint=False).astype(int) // kernel.BATCH * kernel.BATCH
        ends = np.minimum(starts + kernel.BATCH, count)
        read = sum(walk(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)) / (ends - starts).sum()
        # Nanoseconds, measured; only their ratio matters.
        return bool(read * kernel.LEAF * (0.22 * p + 0.8) < n * _product_cost(p))

    def _announce(self, walk: Callable[[int, int], int] | None, count: int, k: int, threads: int) -> None:
        """Say how long it will take, where it is long."""
        n, p = self.x.shape
        if count < _FEWEST_LONG:
            return
        if walk is None:
            seconds = 1e-9 * _product_cost(p) * n * count / threads
        else:
            starts = np.linspace(0, count - kernel.BATCH, _PROBES + 1).astype(int) // kernel.BATCH * kernel.BATCH
            took = []
            for begin in starts.tolist():
                before = perf_counter()
                walk(begin, begin + kernel.BATCH)
                took.append(perf_counter() - before)
            # The first may have waited for the compiler.
            seconds = float(np.mean(took[1:])) / kernel.BATCH * count / threads
        what = f"The exact search for the nearest of {n:,} points with {p} features"
        less = f"{Parameter('approximate', True)} finds most of the nearest in less time where features are many"
        announce(seconds, memory(n, p, k, count), what, cure=f"{less}; so does the exact search with fewer features")


def _product_cost(p: int) -> float:
    """Nanoseconds that a pair of points with p features costs in matrix products, as measured."""
    return 0.03 * p + 0.8


def _levels(n: int) -> int:
    """How often n points must be halved until they fit into leaves."""
    return max(0, (n - 1).bit_length() - (kernel.LEAF - 1).bit_length())


def _put_back(order: Indices, distances: Array, ids: Indices) -> tuple[Array, Indices]:
    """Rows that were computed in this order, where they belong."""
    result = np.empty_like(distances), np.empty_like(ids)
    result[0][order], result[1][order] = distances, ids
    return result
