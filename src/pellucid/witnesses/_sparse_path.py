"""Greedy choice of columns for one neighborhood: orthogonal matching pursuit with exact refits."""

from __future__ import annotations

import numpy as np
from numba import njit

# Gains that differ by no more than this share are equal.
TIE = 1e-9
# What is left of a column is counted down from step to step; once it is below this share of what it was when it was
# last measured, it is measured again.
FADED = 1e-4


@njit(cache=True, nogil=True, fastmath={"contract"})
def _products(z, vectors, result):
    """Write vectors (R x m) times z (m x D)."""
    m, d = z.shape
    result[:] = 0.0
    whole = m - m % 4
    for i in range(0, whole, 4):  # four rows at a time: results are fetched and stored less often
        z0, z1, z2, z3 = z[i], z[i + 1], z[i + 2], z[i + 3]
        for k in range(len(vectors)):
            w0, w1, w2, w3 = vectors[k, i], vectors[k, i + 1], vectors[k, i + 2], vectors[k, i + 3]
            into = result[k]
            for c in range(d):
                into[c] += (w0 * z0[c] + w1 * z1[c]) + (w2 * z2[c] + w3 * z3[c])
    for i in range(whole, m):
        for k in range(len(vectors)):
            for c in range(d):
                result[k, c] += vectors[k, i] * z[i, c]


@njit(cache=True, nogil=True)
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def _orthogonalise(vector, basis, t, shares):
    """Take the first t directions of a basis (T x m) out of a vector (m), twice, since once leaves rounding.

    How much of each was in it is written into shares (T); returns the square of what is left.
    """
    for s in range(t):
        shares[s] = 0.0
    for _ in range(2):
        for s in range(t):
            share = _dot(basis[s], vector)
            shares[s] += share
            for i in range(len(vector)):
                vector[i] -= share * basis[s, i]
    return _dot(vector, vector)


@njit(cache=True, nogil=True)
def _best(with_vectors, norms, gains):
    """The column that reduces the sum of squares most, the lowest of equal ones, and by how much.

    with_vectors (K + 1 x D) are the products of columns and targets; the last row is of something else.
    """
    best, pick = 0.0, 0
    for c in range(len(norms)):
        gain = 0.0
        for e in range(len(with_vectors) - 1):
            gain += with_vectors[e, c] ** 2
        gains[c] = gain / norms[c] if norms[c] > 0.0 else 0.0
        best = max(best, gains[c])
    while gains[pick] < (1.0 - TIE) * best:
        pick += 1
    return pick, best


@njit(cache=True, nogil=True)
def _enlarged(rows):
    result = np.empty((2 * len(rows), rows.shape[1]))
    for r in range(len(rows)):
        for i in range(rows.shape[1]):
            result[r, i] = rows[r, i]
    return result


@njit(cache=True, nogil=True)
def greedy_path(z, squares, sizes, targets, rounding, least, most):
    """Choose columns of z (m x D, centered), each the one that reduces the sum of squares of all targets most.

    targets are (K x m, centered). The path ends after `most` columns, where what is left of each target is no longer
    than its `rounding` (K), or where no column helps: those of which the chosen ones leave no more than the share
    `least` of their `sizes` (D; both of squares, as are the `squares` (D) of z) are none. z is overwritten.

    Returns the places of the T columns in the order of the choice, an orthonormal basis (T x m) of them, the triangle R
    (T x T) with z_t = sum_s R_st q_s, and the products (T x K) of basis and targets.
    """
    (m, d), k = z.shape, len(targets)
    picks, basis = np.empty(most, np.int64), np.empty((most, m))
    triangle, products = np.zeros((most, most)), np.empty((most, k))
    norms, measured, gains = np.empty(d), np.empty(d), np.empty(d)
    for c in range(d):
        norms[c] = measured[c] = squares[c] if squares[c] > least * sizes[c] else 0.0
    # Columns as they were, for those few of which z keeps only what the chosen ones left.
    place, kept, n_kept = np.full(d, -1, np.int64), np.empty((4, m)), 0
    column, shares = np.empty(m), np.empty(most)
    # What is left of the targets and, in the last row, the latest direction: one pass over z serves both.
    vectors, with_vectors = np.zeros((k + 1, m)), np.empty((k + 1, d))
    for e in range(k):
        for i in range(m):
            vectors[e, i] = targets[e, i]
    _products(z, vectors, with_vectors)
    t = 0
    while t < most:
        left, total = False, 0.0
        for e in range(k):
            square = _dot(vectors[e], vectors[e])
            left |= square > rounding[e] ** 2
            total += square
        if not left:
            break
        pick, best = _best(with_vectors, norms, gains)
        if best <= least * total:
            break
        picks[t] = pick
        for i in range(m):
            column[i] = z[i, pick] if place[pick] < 0 else kept[place[pick], i]
        length = np.sqrt(_orthogonalise(column, basis, t, shares))
        for s in range(t):
            triangle[s, t] = shares[s]
        triangle[t, t] = length
        for i in range(m):
            basis[t, i] = vectors[k, i] = column[i] / length
        for e in range(k):
            products[t, e] = _dot(basis[t], vectors[e])
            for i in range(m):
                vectors[e, i] -= products[t, e] * basis[t, i]
        _products(z, vectors, with_vectors)
        norms[pick] = 0.0
        t += 1
        for c in range(d):
            if norms[c] <= 0.0:
                continue
            norms[c] -= with_vectors[k, c] ** 2
            if norms[c] > FADED * measured[c]:
                continue
            if place[c] < 0:
                place[c] = n_kept
                n_kept += 1
                if n_kept > len(kept):
                    kept = _enlarged(kept)
                for i in range(m):
                    kept[n_kept - 1, i] = z[i, c]
            for i in range(m):
                column[i] = z[i, c]
            norms[c] = _orthogonalise(column, basis, t, shares)
            for i in range(m):
                z[i, c] = column[i]
            for e in range(k):
                with_vectors[e, c] = _dot(vectors[e], column)
            if norms[c] <= least * sizes[c]:
                norms[c] = 0.0
            measured[c] = norms[c]
    return picks[:t], basis[:t], triangle[:t, :t], products[:t]
