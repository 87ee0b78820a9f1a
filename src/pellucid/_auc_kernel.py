"""Counts of concordant pairs, one by one or by merge sort, for many segments in one compiled call."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _inversions(values, scratch):
    """Number of pairs a < b with values[a] > values[b]; sorts `values` on the way (bottom-up merge sort)."""
    n = len(values)
    total = 0
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            a, b = low, middle
            for k in range(low, high):
                if b >= high or (a < middle and values[a] <= values[b]):
                    scratch[k] = values[a]
                    a += 1
                else:
                    scratch[k] = values[b]
                    b += 1
                    total += middle - a
        values[:n] = scratch[:n]
        width *= 2
    return total


@njit(cache=True, nogil=True)
def _tied_pairs(values):
    """Number of pairs of equal values in a sorted array."""
    total = run = 0
    for k in range(1, len(values)):
        run = run + 1 if values[k] == values[k - 1] else 0
        total += run
    return total


@njit(cache=True, nogil=True)
def all_pairs(reference, prediction, offsets, gaps):
    """For each segment the pairs with y_i - y_j > gap and g_i > g_j, and the pairs with y_i - y_j > gap, in any order.

    Every pair is looked at: in short segments that takes less time than to sort them.
    """
    n = len(offsets) - 1
    alike, ordered = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i in range(n):
        y, g = reference[offsets[i] : offsets[i + 1]], prediction[offsets[i] : offsets[i + 1]]
        both = either = 0
        for j in range(len(y)):
            for k in range(j):
                above, below = y[j] - y[k] > gaps[i], y[k] - y[j] > gaps[i]
                either += above | below
                both += (above & (g[j] > g[k])) | (below & (g[k] > g[j]))
        alike[i], ordered[i] = both, either
    return alike, ordered


@njit(cache=True, nogil=True)
def separated_pairs(reference, prediction, offsets, gaps):
    """For each segment the pairs with y_i - y_j > gap and g_i > g_j, and the pairs with y_i - y_j > gap.

    Within a segment references rise. Points enter a binary indexed tree over the ranks of their predictions as soon as
    they lie below the current one by more than the gap.
    """
    n = len(offsets) - 1
    alike, ordered = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i in range(n):
        y, g = reference[offsets[i] : offsets[i + 1]], prediction[offsets[i] : offsets[i + 1]]
        m = len(y)
        ranks = np.searchsorted(np.sort(g), g)  # equal predictions have the same
        tree = np.zeros(m + 1, dtype=np.int64)
        entered = 0
        for k in range(m):
            while entered < k and y[k] - y[entered] > gaps[i]:
                at = ranks[entered] + 1
                while at <= m:
                    tree[at] += 1
                    at += at & -at
                entered += 1
            ordered[i] += entered
            at = ranks[k]
            while at > 0:
                alike[i] += tree[at]
                at -= at & -at
    return alike, ordered


@njit(cache=True, nogil=True)
def ordered_pairs(reference, prediction, offsets):
    """For each segment the pairs with y_i > y_j and g_i > g_j, and the pairs with y_i > y_j.

    Within a segment references fall, and predictions rise among equal references: then the inversions of the
    predictions are exactly the pairs that both order alike.
    """
    n = len(offsets) - 1
    alike, ordered = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    scratch = np.empty(len(prediction))
    for i in range(n):
        entries = slice(offsets[i], offsets[i + 1])
        m = offsets[i + 1] - offsets[i]
        ordered[i] = m * (m - 1) // 2 - _tied_pairs(reference[entries])
        alike[i] = _inversions(prediction[entries], scratch[entries])
    return alike, ordered
