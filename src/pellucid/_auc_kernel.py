"""Counts of concordant pairs by merge sort, for many segments and columns in one compiled call."""

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
def ordered_pairs(reference, prediction, offsets):
    """For each segment and column the share of pairs ordered by the reference that the prediction orders alike.

    With references sorted downwards, and predictions upwards among tied references, the inversions of the
    predictions are exactly the pairs with y_i > y_j and y'_i > y'_j.
    """
    segments, columns = len(offsets) - 1, reference.shape[1]
    result = np.empty((segments, columns))
    largest = 0
    for i in range(segments):
        largest = max(largest, offsets[i + 1] - offsets[i])
    y, g, scratch = np.empty(largest), np.empty(largest), np.empty(largest)
    for i in range(segments):
        for c in range(columns):
            m = 0
            for j in range(offsets[i], offsets[i + 1]):
                if not np.isnan(reference[j, c]):
                    y[m] = -reference[j, c]
                    g[m] = prediction[j, c]
                    m += 1
            by_prediction = np.argsort(g[:m], kind="mergesort")
            order = by_prediction[np.argsort(y[:m][by_prediction], kind="mergesort")]
            y[:m] = y[:m][order]
            g[:m] = g[:m][order]
            ordered = m * (m - 1) // 2 - _tied_pairs(y[:m])
            result[i, c] = _inversions(g[:m], scratch) / ordered if ordered else np.nan
    return result
