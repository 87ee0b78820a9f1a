"""Most of the nearest points, by an index of pynndescent (Dong, Moses and Li 2011): for many points of many features.

The index proposes candidates; their distances are computed and ranked as those of the exact search are. What is missed
is measured on a sample, by the exact search.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from pellucid import _near_kernel as kernel
from pellucid._nearest import Tree
from pellucid._threads import run_chunks
from pellucid.errors import InputError, Parameter, warn_once
from pellucid.numbers import percent

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]

FEWEST = 5_000
"""Among fewer points the exact search is faster than the index is made."""
_CANDIDATES = 60  # neighbors of neighbors that are looked at in each round of the descent
_SAMPLE = 200
_LEAST_RECALL = 0.9


def require_index() -> None:
    """Refuse where there is no index to be had, before anything is computed."""
    try:
        import pynndescent  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(
            f"{Parameter('approximate', True)} needs pynndescent, which must be installed",
            cure="pip install 'pellucid[approximate]', or search exactly",
            parameter="approximate",
        ) from error


@final
class ApproximateIndex:
    """An index over distinct points; it answers what `Tree` answers, and may miss some."""

    def __init__(self, x: Array) -> None:
        self.x = np.ascontiguousarray(x)
        self.middle = x.mean(0)

    @cached_property
    def _exact(self) -> Tree:
        return Tree(self.x)

    def others(self, k: int, threads: int) -> tuple[Array, Indices]:
        """Squared distances (N x k) and indices (N x k) of other points near each."""
        if len(self.x) < FEWEST or not k:
            return self._exact.others(k, threads)
        candidates, _ = self._index(k, threads).neighbor_graph
        return self._ranked(self.x, np.arange(len(self.x)), candidates, k, threads)

    def nearest(self, queries: Array, k: int, threads: int) -> tuple[Array, Indices]:
        """Squared distances (Q x k) and indices (Q x k) of points near each query."""
        if len(self.x) < FEWEST:
            return self._exact.nearest(queries, k, threads)
        candidates, _ = self._index(k, threads).query(self._single(queries), k=_width(k), epsilon=0.2)
        return self._ranked(queries, np.full(len(queries), -1), candidates, k, threads)

    def _single(self, x: Array) -> NDArray[np.float32]:
        """In float32, as the index reads points; around 0, where it has most digits."""
        return np.ascontiguousarray(x - self.middle, dtype=np.float32)

    def _index(self, k: int, threads: int) -> Any:
        import pynndescent

        return pynndescent.NNDescent(
            self._single(self.x), n_neighbors=_width(k), max_candidates=_CANDIDATES, n_jobs=threads, random_state=0
        )

    def _ranked(
        self, queries: Array, own: Indices, candidates: NDArray[Any], k: int, threads: int
    ) -> tuple[Array, Indices]:
        distances, ids = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        proposed = np.ascontiguousarray(candidates, dtype=np.int64)
        queries = np.ascontiguousarray(queries)

        def part(begin: int, end: int) -> None:
            kernel.rank_range(self.x, queries, own, proposed, distances, ids, begin, end)

        run_chunks(part, np.arange(len(queries) + 1), threads)
        lacking = np.flatnonzero(np.isinf(distances[:, -1]))
        if len(lacking):  # the index did not reach as many as were asked for
            distances[lacking], ids[lacking] = self._exact.search(queries[lacking], own[lacking], k, threads)
        self._judge(queries, own, distances, k, threads)
        return distances, ids

    def _judge(self, queries: Array, own: Indices, distances: Array, k: int, threads: int) -> None:
        """Warn if many of the nearest were missed, judged by a sample of the queries."""
        sample = np.random.default_rng(0).choice(len(queries), min(_SAMPLE, len(queries)), replace=False)
        exact, _ = self._exact.search(queries[sample], own[sample], k, threads)
        recall = float((distances[sample] <= exact[:, -1:]).mean())  # as near as the k-th is as good as it
        if recall < _LEAST_RECALL:
            warn_once(
                f"The approximate search has found {percent(recall, 0)} of the nearest points, judged by {len(sample)} "
                f"of {len(queries):,}. Features without structure cannot be indexed: search exactly, or among fewer "
                "features, such as principal components.",
                "recall",
            )


def _width(k: int) -> int:
    """Candidates for each query: the descent goes wrong with few."""
    return max(30, 2 * k)
