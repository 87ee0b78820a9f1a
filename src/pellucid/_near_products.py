"""The nearest of many points with many features, by blocks of matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from pellucid import _near_kernel as kernel
from pellucid._threads import run_chunks

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]

_ROWS, _COLUMNS = 512, 1024  # of a block: its products stay in the cache


def multiply(
    x: Array, names: Indices, queries: Array, own: Indices, distances: Array, ids: Indices, threads: int
) -> None:
    """Write squared distances (Q x k) and names (Q x k) of the points x (N x P) nearest to each query (Q x P).

    Products in float32 bound the distances; only where the bounds do not suffice, distances are computed.

    With the origin c at the middle of a block of queries, |q - y|^2 = |q - c|^2 + |y - c|^2 - 2 (q - c)'(y - c).
    In float32 this is off by at most (P + 16) 2^-23 (|q - c|^2 + |y - c|^2), little for what is near the block,
    however far all of it is from 0; what is too small for float32 adds less than P 1e-30.
    """
    distances[:], ids[:] = np.inf, np.iinfo(np.int64).max
    columns = [slice(a, a + _COLUMNS) for a in range(0, len(x), _COLUMNS)]
    middles = np.array([x[part].mean(0) for part in columns])
    radii = np.array([_lengths(x[part] - m).max() for part, m in zip(columns, middles, strict=True)])
    off, least = (x.shape[1] + 16) * 2.0**-23, x.shape[1] * 1e-30

    def search(first: int, last: int) -> None:
        """The blocks of queries first .. last - 1, one after the other, by one thread."""
        torch.set_num_threads(1)  # of this thread: products that take several would wait for the other searches
        for begin in range(first * _ROWS, min(last * _ROWS, len(queries)), _ROWS):
            rows = slice(begin, begin + _ROWS)
            block, heaps, origin = queries[rows], (distances[rows], ids[rows]), queries[rows].mean(0)
            skipped, ceilings = own[rows], np.full(len(block), np.inf)
            q = block - origin
            lengths = _lengths(q)
            lower, upper = (1 - off) * lengths**2 - least, (1 + off) * lengths**2 + least
            factors = torch.from_numpy((-2.0 * q).astype(np.float32))
            apart, reach = _lengths(middles - origin), radii + lengths.max()
            gaps = np.maximum(apart - reach - 1e-12 * (apart + reach), 0.0)
            for column in np.lexsort((apart, gaps)):
                if gaps[column] ** 2 > heaps[0][:, 0].max():
                    break  # no point of this block, or of any farther one, is near enough
                points, labels = x[columns[column]], names[columns[column]]
                y = points - origin
                norms = np.square(y).sum(1)
                products = (factors @ torch.from_numpy(y.astype(np.float32)).T).numpy()
                # Without ceilings, distances to half of the first points would be computed.
                if np.isinf(ceilings).any():
                    most = ((1 + off) * norms).astype(np.float32)
                    count = ids.shape[1]
                    kernel.ceilings_range(products, most, upper, labels, skipped, count, ceilings, 0, len(block))
                fewest = ((1 - off) * norms).astype(np.float32)
                kernel.sift(
                    products, fewest, lower, ceilings, points, labels, block, skipped, *heaps, 0, len(block)
                )  # fmt: skip

    before = torch.get_num_threads()
    try:
        with _full_float32():
            run_chunks(search, np.arange(-(-len(queries) // _ROWS) + 1), threads)
    finally:
        torch.set_num_threads(before)
    run_chunks(partial(kernel.unheap_range, distances, ids), np.arange(len(queries) + 1), threads)


def _lengths(x: Array) -> Array:
    return np.asarray(np.sqrt(np.square(x).sum(1)))


@contextmanager
def _full_float32() -> Iterator[None]:
    """Products in float32 even where the user asked torch for less: autocast, or bfloat16 inside of oneDNN."""
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
    try:
        with torch.autocast("cpu", enabled=False):
            yield
    finally:
        torch.backends.mkldnn.enabled = before
