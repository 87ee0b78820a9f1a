"""Greedy choice of columns for one neighborhood: orthogonal matching pursuit with exact refits."""

from __future__ import annotations

import numpy as np
from numba import njit

# Gains that differ by no more than this share are equal.
TIE = 1e-9
# What is left of a column is counted down from step to step; once it is below this share of what it was when it was
# last measured, it is measured again.
FADED = 1e-4


@njit(cache=True, nogil=True)
def _products(z, vectors, result):
    """Write vectors (R x m) times z (m x D)."""
    result[:] = 0.0
    for i in range(z.shape[0]):
        row = z[i]
        for k in range(len(vectors)):
            weight, into = vectors[k, i], result[k]
            for c in range(len(row)):
                into[c] += weight * row[c]


@njit(cache=True, nogil=True)
def _orthogonalise(vector, basis, shares):
    """Take the directions of basis (t x m) out of a vector (m), twice, since once leaves rounding; add up the shares."""
    for _ in range(2):
        for s in range(len(basis)):
            share = np.dot(basis[s], vector)
            shares[s] += share
            for i in range(len(vector)):
                vector[i] -= share * basis[s, i]


@njit(cache=True, nogil=True)
def greedy_path(z, lengths, targets, rounding, share, most):
    """Choose columns of z (m x D, centered), each the one that reduces the sum of squares of all targets most.

    targets (K x m, centered) become what is left of them. The path ends after `most` columns, where what is left of
    each target is no longer than its `rounding` (K), or where no column is left: those that the chosen ones explain
    up to `share` of their `lengths` (D) are none. z is overwritten.

    Returns the places of the T columns in the order of the choice, an orthonormal basis (T x m) of them, the triangle R
    (T x T) with z_t = sum_s R_st q_s, and the products (T x K) of basis and targets.
    """
    m, d = z.shape
    k = len(targets)
    picks, basis = np.empty(most, np.int64), np.empty((most, m))
    triangle, products = np.zeros((most, most)), np.empty((most, k))
    norms, measured = np.zeros(d), np.empty(d)
    for i in range(m):
        for c in range(d):
            norms[c] += z[i, c] * z[i, c]
    for c in range(d):
        if norms[c] <= (share * lengths[c]) ** 2:
            norms[c] = 0.0
        measured[c] = norms[c]
    with_targets, with_last = np.empty((k, d)), np.empty((1, d))
    gains, spare = np.empty(d), np.empty(most)
    # Columns as they were, for those few of which z keeps only what the chosen ones left.
    kept, kept_columns = np.full(d, -1, np.int64), np.empty((8, m))
    n_kept = t = 0
    while t < most:
        left, total = False, 0.0
        for c in range(k):
            square = np.dot(targets[c], targets[c])
            left |= square > rounding[c] ** 2
            total += square
        if not left:
            break
        _products(z, targets, with_targets)
        best = 0.0
        for c in range(d):
            gain = 0.0
            for e in range(k):
                gain += with_targets[e, c] ** 2
            gains[c] = gain / norms[c] if norms[c] > 0.0 else 0.0
            best = max(best, gains[c])
        if best <= share**2 * total:
            break
        pick = 0
        while gains[pick] < (1.0 - TIE) * best:
            pick += 1
        picks[t] = pick
        basis[t] = z[:, pick] if kept[pick] < 0 else kept_columns[kept[pick]]
        _orthogonalise(basis[t], basis[:t], triangle[:t, t])
        length = np.sqrt(np.dot(basis[t], basis[t]))
        triangle[t, t] = length
        basis[t] /= length
        for c in range(k):
            products[t, c] = np.dot(basis[t], targets[c])
            targets[c] -= products[t, c] * basis[t]
        _products(z, basis[t : t + 1], with_last)
        norms[pick] = 0.0
        t += 1
        for c in range(d):
            if norms[c] <= 0.0:
                continue
            norms[c] -= with_last[0, c] ** 2
            if norms[c] > FADED * measured[c]:
                continue
            if kept[c] < 0:
                if n_kept == len(kept_columns):
                    kept_columns = np.concatenate((kept_columns, np.empty_like(kept_columns)))
                kept[c] = n_kept
                kept_columns[n_kept] = z[:, c]
                n_kept += 1
            rest = z[:, c].copy()
            _orthogonalise(rest, basis[:t], spare)
            z[:, c] = rest
            norms[c] = np.dot(rest, rest)
            if norms[c] <= (share * lengths[c]) ** 2:
                norms[c] = 0.0
            measured[c] = norms[c]
    return picks[:t], basis[:t], triangle[:t, :t], products[:t]
