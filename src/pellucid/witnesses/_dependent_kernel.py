"""Least squares where columns depend on each other, or nearly do, by a complete orthogonal decomposition.

Slower than normal equations and as exact as the data allow: no squares of the features are formed. For one
neighborhood, with features X (m x P), centered if there is an intercept, and D the sizes |x_a| of its columns before
centering:

1. X D^-1 = Q [R S; 0 rest], by Householder reflections with column pivoting, until no column of the rest is longer
   than the resolution: then the rest is rounding, and r columns have been told apart. R^-1 S is what the others are in
   terms of these.
2. The fit is theta = D^-1 R^-1 Q' f if r = P. Otherwise it is the shortest theta with [I, R^-1 S] D theta = R^-1 Q' f.
   Write [I, R^-1 S] D = Q [L 0] Z, again with column pivoting, so that units that are far apart stay apart: then
   theta = Z' phi with L phi = Q' R^-1 Q' f.
3. With a ridge write [R S] D = Q [L 0] Z: then theta = Z' phi, where phi minimises |Q' Q' f - L phi|^2 + ridge |phi|^2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be taken in any order, which lets them run in the lanes of the processor's vector registers.
_LOOSE = {"reassoc", "contract"}
# Roundings that lie behind a number which a user has computed, give or take.
ROUNDINGS = 8


@njit(cache=True, nogil=True)
def resolution(m, p, unit):
    """What share of a column's size is rounding: sqrt(P) (max(m, P) eps + 8 u), u the rounding unit of the features.

    Errors of a column by this share of its size come from the arithmetic (max(m, P) eps, as in ranks by singular
    values) and from the features themselves; sqrt(P) such columns together make up the norm of an error matrix.
    """
    return np.sqrt(p) * (max(m, p) * np.finfo(np.float64).eps + ROUNDINGS * unit)


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _reflect(v, factor, target):
    """Apply I - factor v v' in place, v_0 = 1 whatever is stored there; return the square of all but the first."""
    share = factor * (target[0] + _dot(v[1:], target[1:]))
    target[0] -= share
    rest = 0.0
    for i in range(1, len(target)):
        target[i] -= share * v[i]
        rest += target[i] * target[i]
    return rest


@njit(cache=True, nogil=True)
def _triangulate(columns, targets, pivoting, least, order, factors):
    """Triangulate a matrix, given as its columns (P x m), by Householder reflections; apply them to targets (K x m).

    `order` gets the columns in the order in which they were chosen: with pivoting the longest remaining one first.
    What remains of a column when it is no longer than `least` (P) is rounding and set to zero. Returns how many columns
    were chosen, until none was left. Column order[k] keeps R[:k + 1, k], below it the vector of reflection k.
    """
    p, m = columns.shape
    squares = np.empty(p)
    for a in range(p):
        order[a] = a
        squares[a] = _dot(columns[a], columns[a])
    for k in range(min(m, p)):
        best = k
        if pivoting:
            for j in range(k + 1, p):
                if squares[order[j]] > squares[order[best]]:
                    best = j
        if not squares[order[best]] > 0.0:
            return k
        order[k], order[best] = order[best], order[k]
        v = columns[order[k]][k:]
        length = np.sqrt(_dot(v, v))
        if v[0] > 0.0:
            length = -length
        first = v[0] - length
        factors[k] = -first / length
        for i in range(1, len(v)):
            v[i] /= first
        v[0] = length
        for j in range(k + 1, p):
            column = columns[order[j]]
            squares[order[j]] = _reflect(v, factors[k], column[k:])
            if squares[order[j]] <= least[order[j]] ** 2:
                column[k + 1 :] = squares[order[j]] = 0.0
        for c in range(len(targets)):
            _reflect(v, factors[k], targets[c, k:])
    return min(m, p)


@njit(cache=True, nogil=True)
def _substitute_back(columns, order, targets):
    """Solve R phi = targets (K x r) in place, R being what `_triangulate` left."""
    for target in targets:
        for k in range(len(target) - 1, -1, -1):
            column = columns[order[k]]
            target[k] /= column[k]
            for i in range(k):
                target[i] -= target[k] * column[i]


@njit(cache=True, nogil=True)
def _shortest(upper, targets, least, ridge):
    """The shortest theta (K x P) with upper' theta = target for r independent rows, given as columns (P x r).

    With a ridge the theta that minimises |target - upper' theta|^2 + ridge |theta|^2.
    """
    p, r = upper.shape
    outputs = len(targets)
    order, factors = np.empty(p, dtype=np.int64), np.empty(p)
    # Rows in order of size, each no longer than its diagonal: then reflections of rows keep small ones exact.
    r = _triangulate(upper, targets, True, least, order, factors)
    rows = np.zeros((r, p))
    for j in range(p):
        for k in range(min(j + 1, r)):
            rows[k, j] = upper[order[j], k]
    plain = np.empty(r, dtype=np.int64)
    _triangulate(rows, targets[:0], False, np.zeros(r), plain, factors)
    coordinates = np.zeros((outputs, p))
    if ridge > 0.0:
        stacked, right = np.zeros((r, 2 * r)), np.zeros((outputs, 2 * r))
        right[:, :r] = targets[:, :r]
        for k in range(r):
            for i in range(k, r):
                stacked[k, i] = rows[i, k]
            stacked[k, r + k] = np.sqrt(ridge)
        _triangulate(stacked, right, False, np.zeros(r), plain, np.empty(r))
        _substitute_back(stacked, plain, right[:, :r])
        coordinates[:, :r] = right[:, :r]
    else:
        for c in range(outputs):
            for k in range(r):
                coordinates[c, k] = (targets[c, k] - _dot(rows[k, :k], coordinates[c, :k])) / rows[k, k]
    theta = np.empty((outputs, p))
    for c in range(outputs):
        for k in range(r - 1, -1, -1):
            _reflect(rows[k, k:], factors[k], coordinates[c, k:])
        for j in range(p):
            theta[c, order[j]] = coordinates[c, j]
    return theta


@njit(cache=True, nogil=True)
def _centered(column, intercept):
    """Take the mean away in place, and return it; exact to the last digit, also of numbers that hardly differ."""
    if not intercept:
        return 0.0
    first = column[0]
    column -= first
    mean = column.mean()
    column -= mean
    rest = column.mean()
    column -= rest
    return first + (mean + rest)


@njit(cache=True, nogil=True)
def _length(column):
    """Its Euclidean length; no square overflows."""
    largest = np.abs(column).max()
    return largest * np.sqrt(np.square(column / largest).sum()) if largest > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _relations(columns, order, r, least):
    """(P - r) x r: what the other columns are in terms of the r chosen ones, R^-1 S; zero where that is rounding."""
    inverse = np.eye(r)
    _substitute_back(columns, order, inverse)
    error = np.zeros(r)
    for c in range(r):
        error += least * np.abs(inverse[c])
    others = np.empty((len(order) - r, r))
    for j in range(len(others)):
        others[j] = columns[order[r + j], :r]
    _substitute_back(columns, order, others)
    for j in range(len(others)):
        for k in range(r):
            if abs(others[j, k]) <= error[k]:
                others[j, k] = 0.0
    return others


@njit(cache=True, nogil=True)
def _coefficients(columns, sizes, targets, least, ridge):
    """(K x P) of columns (P x m) in units of their sizes, targets (K x m); both are overwritten."""
    p = len(columns)
    order, factors = np.empty(p, dtype=np.int64), np.empty(p)
    r = _triangulate(columns, targets, True, np.full(p, least), order, factors)
    right = targets[:, :r].copy()
    unit = sizes.max() if p else 1.0
    relative = sizes / unit
    upper = np.zeros((p, r))
    if ridge > 0.0:
        for j in range(p):
            for k in range(min(j + 1, r)):
                upper[order[j], k] = columns[order[j], k] * relative[order[j]]
    else:
        _substitute_back(columns, order, right)
        if r == p:
            theta = np.empty((len(right), p))
            for k in range(p):
                theta[:, order[k]] = right[:, k] / sizes[order[k]]
            return theta
        others = _relations(columns, order, r, least)
        for j in range(p):
            if j < r:
                upper[order[j], j] = relative[order[j]]
            else:
                upper[order[j]] = others[j - r] * relative[order[j]]
    small = np.empty(p)
    for j in range(p):
        small[j] = least * _length(upper[j])
    return _shortest(upper, right, small, ridge / unit / unit) / unit


@njit(cache=True, nogil=True)
def solve_listed(x, f, members, offsets, which, unit, ridge, intercept, begin, end, parameters, residuals):
    """Fit the neighborhoods which[begin:end].

    Writes parameters (n x (1 + P) x K, the intercept first) and the mean squared residuals (n). `unit` is the rounding
    unit of the features; 0 takes them as exact.
    """
    p, k = x.shape[1], f.shape[1]
    active, sizes, means = np.empty(p, dtype=np.int64), np.empty(p), np.empty(p)
    for i in which[begin:end]:
        own = members[offsets[i] : offsets[i + 1]]
        m = len(own)
        columns, targets = np.empty((p, m)), np.empty((k, m))
        least = resolution(m, p, unit)
        for c in range(k):
            for j in range(m):
                targets[c, j] = f[own[j], c]
            parameters[i, 0, c] = _centered(targets[c], intercept)
        parameters[i, 1:] = 0.0
        count = 0
        for a in range(p):
            column = columns[count]
            for j in range(m):
                column[j] = x[own[j], a]
            size = _length(column)
            mean = _centered(column, intercept)
            if size > 0.0:
                column /= size
                if _dot(column, column) > least * least:  # otherwise it is constant, up to rounding
                    active[count], sizes[count], means[count] = a, size, mean
                    count += 1
        columns = columns[:count]
        rest = targets.copy()
        theta = _coefficients(columns.copy(), sizes[:count], targets, least, ridge)
        for c in range(k):
            for a in range(count):
                slope = theta[c, a]
                parameters[i, 1 + active[a], c] = slope
                parameters[i, 0, c] -= slope * means[a]
                for j in range(m):
                    rest[c, j] -= slope * sizes[a] * columns[a, j]
        residuals[i] = np.square(rest).sum() / m
