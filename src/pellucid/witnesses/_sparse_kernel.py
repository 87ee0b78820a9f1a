"""Sparse linear laws of many neighborhoods in one compiled call: choice of terms, ridge, weights, and values."""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid._ordering_kernel import ascend
from pellucid.witnesses._dependent_kernel import resolution
from pellucid.witnesses._sparse_columns import center_columns, merge_columns
from pellucid.witnesses._sparse_path import greedy_path

# Mean squared errors that differ by no more than this share are equal: then the shorter law and the larger ridge win.
TIE = 1e-9
# A ridge beyond this would overflow; nothing is left of the weights long before.
LARGEST = 1e300


@njit(cache=True, nogil=True)
def _choose(basis, triangle, products, targets, ridges):
    """The number of terms t and the ridge with the least leave-one-out error.

    basis (T x m), triangle (T x T) and products (T x K) are those of `greedy_path`, targets (K x m) centered. With
    R_t R_t' = W diag(s) W' and U = W'Q_t, member j misses its target by

        (f_j - sum_a U_aj h_a (U f)_a) / (1 - 1/m - sum_a h_a U_aj^2),   h = s / (s + ridge),

    when it is left out. The ridges are relative to sum(s) / m.
    """
    k, m = targets.shape
    free, gaps = np.empty(m), np.empty((k, m))
    best = 0.0  # of no terms: each member misses the mean of the others
    for c in range(k):
        best += np.dot(targets[c], targets[c]) * (m / (m - 1.0)) ** 2
    terms, chosen = 0, 0.0
    for t in range(1, len(basis) + 1):
        part = np.ascontiguousarray(triangle[:t, :t])
        s, w = np.linalg.eigh(part @ part.T)
        turned = np.ascontiguousarray(w.T)
        u, b = turned @ basis[:t], turned @ products[:t]
        scale = s.sum() / m
        for r in range(len(ridges) - 1, -1, -1):
            ridge = ridges[r] * scale
            for j in range(m):
                free[j] = 1.0 - 1.0 / m
            for c in range(k):
                for j in range(m):
                    gaps[c, j] = targets[c, j]
            for a in range(t):
                h, direction = max(s[a], 0.0) / (max(s[a], 0.0) + ridge), u[a]
                for j in range(m):
                    free[j] -= h * direction[j] * direction[j]
                for c in range(k):
                    weight = h * b[a, c]
                    for j in range(m):
                        gaps[c, j] -= weight * direction[j]
            error = 0.0
            for c in range(k):
                for j in range(m):
                    error += (gaps[c, j] / free[j]) ** 2
            if error < (1.0 - TIE) * best:
                best, terms, chosen = error, t, ridge
    return terms, chosen


@njit(cache=True, nogil=True, inline="always")
def _ridge_weights(triangle, products, ridge):
    """Minimise |products - R theta|^2 + ridge |theta|^2, R (t x t) a triangle; theta (t x K), and the freedom it takes.

    The rows of sqrt(ridge) I are turned into the triangle one by one, which squares nothing: R becomes L with
    L'L = R'R + ridge I. The freedom is the trace of R (L'L)^-1 R' = |R L^-1|^2.
    """
    t, k = products.shape
    factor, right = triangle.copy(), products.copy()
    row, rest = np.empty(t), np.empty(k)
    root = np.sqrt(min(ridge, LARGEST))
    for i in range(t if root > 0.0 else 0):
        row[:] = 0.0
        rest[:] = 0.0
        row[i] = root
        for a in range(i, t):
            length = np.hypot(factor[a, a], row[a])
            cosine, sine = factor[a, a] / length, row[a] / length
            for b in range(a, t):
                upper, lower = factor[a, b], row[b]
                factor[a, b], row[b] = cosine * upper + sine * lower, cosine * lower - sine * upper
            for c in range(k):
                upper, lower = right[a, c], rest[c]
                right[a, c], rest[c] = cosine * upper + sine * lower, cosine * lower - sine * upper
    for a in range(t - 1, -1, -1):
        for c in range(k):
            for b in range(a + 1, t):
                right[a, c] -= factor[a, b] * right[b, c]
            right[a, c] /= factor[a, a]
    freedom = 0.0
    for i in range(t):
        for b in range(t):
            row[b] = triangle[i, b]
        for b in range(t):
            for a in range(b):
                row[b] -= row[a] * factor[a, b]
            row[b] /= factor[b, b]
            freedom += row[b] ** 2
    return right, freedom


@njit(cache=True, nogil=True, inline="always")
def _center(f, rows, unit, targets, rounding, means):
    """Write the columns of f (N x K) at m rows, less their means, into targets (K x m); what of them is rounding (K);
    and the means (K).
    """
    m = len(rows)
    for c in range(len(targets)):
        size, shift, first = 0.0, 0.0, f[rows[0], c]
        for j in range(m):
            value = f[rows[j], c]
            targets[c, j] = value - first
            shift += targets[c, j]
            size += value**2
        shift /= m
        for j in range(m):
            targets[c, j] -= shift
        rounding[c] = resolution(m, 1, unit) * np.sqrt(size)
        means[c] = first + shift


@njit(cache=True, nogil=True, inline="always")
def _different(varying, lowest):
    """Of the columns of `merge_columns` those that equal no lower one: their places and the columns."""
    count = 0
    for v in range(len(varying)):
        count += lowest[v] == v
    places, columns = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for v in range(len(varying)):
        if lowest[v] == v:
            places[count], columns[count] = v, varying[v]
            count += 1
    return places, columns


@njit(cache=True, nogil=True)
def _twice(values):
    """The same numbers, and room for as many more."""
    longer = np.empty(2 * len(values), np.int64)
    for i in range(len(values)):
        longer[i] = values[i]
    return longer


@njit(cache=True, nogil=True, inline="always")
def _fit(z, units, squares, sizes, targets, rounding, share, most, ridges, automatic):
    """The places of the terms of one law (t), their weights (t x K), its ridge and the freedom that it takes.

    z, `units`, `squares` and `sizes` are those of `center_columns`; for the rest see `greedy_path` and `fit_range`.
    """
    picks, basis, triangle, products = greedy_path(z, squares, sizes, targets, rounding, share**2, most)
    # Back in the units of the features, but for a common one that keeps squares in range.
    common = 1.0
    for t in range(len(picks)):
        common = units[picks[t]] if t == 0 else max(common, units[picks[t]])
    for t in range(len(picks)):
        for s in range(t + 1):
            triangle[s, t] *= units[picks[t]] / common
    used, ridge = len(picks), ridges[0] / common / common
    if automatic:
        used, ridge = _choose(basis, triangle, products, targets, ridges)
    weights, freedom = _ridge_weights(triangle[:used, :used], products[:used], ridge)
    for t in range(used):
        for c in range(weights.shape[1]):
            weights[t, c] /= common
    return picks[:used], weights, ridge * common * common if automatic else ridges[0], freedom


@njit(cache=True, nogil=True)
def fit_range(
    x, keys, f, members, offsets, terms, ridges, automatic, unit, f_unit, begin, end,
    intercepts, columns, weights, counts, ridge_of, freedom,
):  # fmt: skip
    """Fit the neighborhoods begin..end-1 and return all columns of their terms, one term after the other.

    Writes intercepts (n x K); for each term its lowest column (n x T, -1 where there is none), its weights (n x T x K)
    and its number of columns (n x T); and the ridge and the degrees of freedom left (n). `ridges` is the grid if
    `automatic`, and one number otherwise; `unit` and `f_unit` are the rounding units of x and f.
    """
    k, room = f.shape[1], columns.shape[1]
    merged, length = np.empty(1024, np.int64), 0
    rounding = np.empty(k)
    for i in range(begin, end):
        # In ascending order of points, so that nothing depends on the order of the members.
        rows = members[offsets[i] : offsets[i + 1]].copy()
        ascend(rows)
        m = len(rows)
        targets = np.empty((k, m))
        _center(f, rows, f_unit, targets, rounding, intercepts[i])
        columns[i] = -1
        weights[i] = 0.0
        counts[i] = 0
        ridge_of[i] = 0.0 if automatic else ridges[0]
        freedom[i] = m - 1.0
        most = min(room, m - 2)
        if most < 1:
            continue
        varying, lowest = merge_columns(keys, rows)
        places, different = _different(varying, lowest)
        z, means, units, squares, sizes = center_columns(x, rows, different)
        picks, theta, ridge_of[i], taken = _fit(
            z, units, squares, sizes, targets, rounding, resolution(m, terms, unit), most, ridges, automatic
        )
        freedom[i] -= taken
        for t in range(len(picks)):
            place = places[picks[t]]
            columns[i, t] = varying[place]
            for c in range(k):
                weights[i, t, c] = theta[t, c]
                intercepts[i, c] -= theta[t, c] * means[picks[t]]
            for v in range(len(varying)):
                if lowest[v] == place:
                    if length == len(merged):
                        merged = _twice(merged)
                    merged[length] = varying[v]
                    length += 1
                    counts[i, t] += 1
    return merged[:length]


@njit(cache=True, nogil=True)
def values_range(x, points, which, intercepts, weights, merged, starts, begin, end, values):
    """Write the values (L x K) of the laws which[l] at the points x[points[l]], for l from begin to end - 1.

    Term t of law i is the mean of the columns merged[starts[i, t] : starts[i, t + 1]].
    """
    for e in range(begin, end):
        i, row = which[e], x[points[e]]
        for c in range(values.shape[1]):
            values[e, c] = intercepts[i, c]
        for t in range(weights.shape[1]):
            a, b = starts[i, t], starts[i, t + 1]
            if a == b:
                break
            total = 0.0
            for column in merged[a:b]:
                total += row[column]
            for c in range(values.shape[1]):
                values[e, c] += weights[i, t, c] * (total / (b - a))
