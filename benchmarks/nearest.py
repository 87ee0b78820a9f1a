"""Benchmarks of `pellucid.nearest` against scikit-learn's search and, where it is installed, faiss's exact one.

    python -m benchmarks.nearest            # measure, save, and update the table in benchmarks/README.md
    python -m benchmarks.nearest --smoke    # tiny sizes, nothing saved: shows that everything runs

All sides use as many threads as there are cores. A million points are searched once, by Pellucid alone: the others take
hours for it. faiss searches in float32, so it answers a slightly different question.
"""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from benchmarks.run import costs, publish, seconds
from numpy.typing import NDArray

import pellucid as pl

K = 15
SIZES = ((10_000, 10), (10_000, 100), (100_000, 10))
MILLION = 1_000_000


def points(n: int, p: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(n, p))


def faiss_search(x: NDArray[np.float64], threads: int) -> None:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(x.shape[1])
    index.add(x.astype(np.float32))
    index.search(x.astype(np.float32), K)


def searches(smoke: bool) -> list[dict[str, Any]]:
    """All points' nearest, in three ways that take turns."""
    from sklearn.neighbors import NearestNeighbors

    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    rows = []
    for n, p in ((500, 10), (500, 100)) if smoke else SIZES:
        x = points(n, p)

        def ours(x: NDArray[np.float64] = x) -> None:
            pl.nearest(x, k=K)

        def scikit(x: NDArray[np.float64] = x) -> None:
            NearestNeighbors(n_neighbors=K, n_jobs=threads).fit(x).kneighbors(x)

        def faiss(x: NDArray[np.float64] = x) -> None:
            faiss_search(x, threads)

        # The last takes minutes a turn with scikit-learn, and is the first to be warm.
        repeats = 1 if smoke or n > 10_000 else 5
        others = [("`NearestNeighbors`", scikit, 1.0)]
        if find_spec("faiss"):
            others.append(("faiss `IndexFlatL2`", faiss, 2.0))
        took = seconds(ours, *(action for _, action, _ in others), repeats=repeats)
        for (name, _, goal), theirs in zip(others, took[1:], strict=True):
            what = f"`nearest`, {n:,} points, {p} features, {K} each"
            rows.append(costs(what, name, took[0], theirs, goal, threads=threads))
    return rows


def million(smoke: bool) -> list[dict[str, Any]]:
    """One exact search among a million points."""
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    x = points(1000 if smoke else MILLION, 10)
    start = time.perf_counter()
    pl.nearest(x, k=K)
    took = time.perf_counter() - start
    return [
        {
            "name": f"`nearest`, {len(x):,} points, 10 features, {K} each",
            "against": "",
            "ratio": took,
            "unit": "s",
            "goal": "under 300 s",
            "met": took < 300,
            "threads": threads,
        }
    ]


SECTIONS = (searches, million)

if __name__ == "__main__":
    publish("nearest", SECTIONS)
