"""Least squares on every neighborhood in one compiled call.

Written for many small problems: the second moments of a neighborhood are gathered about a nearby reference
point, so that nothing is lost to a large offset, and the normal equations are solved by Cholesky. Numbers
are float64 throughout.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid.witnesses._dependent_kernel import resolution

# Where the columns before it explain a column up to this share (its pivot, relative to its own square), or up to what
# rounding leaves of it, the neighborhood is left to an orthogonal decomposition: normal equations would lose more than
# half of the digits.
DEPENDENT = 1e-8
EPSILON = np.finfo(np.float64).eps
# Squares below this lose digits to underflow.
SMALLEST = 1e-280

# Sliding windows: moments are updated by the points that enter and leave, and gathered afresh at every
# neighborhood whose number is a multiple of this, which keeps the reference nearby and rounding errors from
# piling up. Threads start at such multiples too, so their number does not change the result.
REFRESH = 64
# They are also gathered afresh where a column varies less than this share of the largest square that has passed
# since: what an outlier or a step leaves behind when it leaves the window would drown what is there now.
FADED = 1e-4

# A residual below this share of the total, or of columns that depend on each other more than this, is computed
# member by member: differences of moments would not resolve it.
CLOSE_FIT = 1e-6
RATHER_DEPENDENT = 1e-4


# Neighborhoods are solved side by side, this many at once, in the lanes of the processor's vector registers.
LANES = 8


@njit(cache=True, nogil=True)
def _cholesky_solve(a, b, scale, pivots):
    """Solve a t = b in place, lane by lane, for a (P x P x LANES, lower triangle) and b (P x K x LANES).

    `scale` (P x LANES) is what pivots are judged against; zero marks a column without variation, which gets the
    coefficient zero. `pivots` gets the smallest share of a column's scale that the columns before it do not explain,
    and 0 where that is too little.
    """
    p, k = b.shape[:2]
    pivots[:] = 1.0
    for i in range(p):
        for j in range(i):
            for r in range(j):
                for w in range(LANES):
                    a[i, j, w] -= a[i, r, w] * a[j, r, w]
            for w in range(LANES):
                a[i, j, w] *= a[j, j, w]
                a[i, i, w] -= a[i, j, w] * a[i, j, w]
        for w in range(LANES):
            varies = scale[i, w] > 0.0
            regular = varies and a[i, i, w] > DEPENDENT * scale[i, w]
            if varies:
                pivots[w] = min(pivots[w], a[i, i, w] / scale[i, w] if regular else 0.0)
            # The reciprocal, so that the substitutions only multiply.
            a[i, i, w] = 1.0 / np.sqrt(a[i, i, w]) if regular else 0.0
    for i in range(p):
        for j in range(i):
            for c in range(k):
                for w in range(LANES):
                    b[i, c, w] -= a[i, j, w] * b[j, c, w]
        for c in range(k):
            for w in range(LANES):
                b[i, c, w] *= a[i, i, w]
    for i in range(p - 1, -1, -1):
        for j in range(i + 1, p):
            for c in range(k):
                for w in range(LANES):
                    b[i, c, w] -= a[j, i, w] * b[j, c, w]
        for c in range(k):
            for w in range(LANES):
                b[i, c, w] *= a[i, i, w]


@njit(cache=True, nogil=True)
def _add(x, f, point, sign, reference, row, total, moments):
    """Add (or with sign -1 take away) a point's first and second moments about the reference.

    moments is (P + 1) x (P + K): rows of [x'x, x'f], and in the last row the squares of all columns.
    """
    p = x.shape[1]
    for a in range(p):
        row[a] = x[point, a] - reference[a]
    for c in range(f.shape[1]):
        row[p + c] = f[point, c] - reference[p + c]
    for a in range(p):
        weight = sign * row[a]
        for b in range(len(row)):
            moments[a, b] += weight * row[b]
    for b in range(len(row)):
        total[b] += sign * row[b]
        moments[p, b] += sign * row[b] * row[b]


@njit(cache=True, nogil=True)
def _has_faded(total, squares, shift, peak):
    """Is what is left of some column's squares small beside the largest that there were?"""
    for b in range(len(total)):
        peak[b] = max(peak[b], squares[b])
        if squares[b] - shift * total[b] ** 2 < FADED * peak[b]:
            return True
    return False


@njit(cache=True, nogil=True)
def _mean(x, f, members, mean):
    p = x.shape[1]
    mean[:] = 0.0
    for j in members:
        for a in range(p):
            mean[a] += x[j, a]
        for c in range(f.shape[1]):
            mean[p + c] += f[j, c]
    for b in range(len(mean)):
        mean[b] /= len(members)


@njit(cache=True, nogil=True)
def _is_zero(x, members, column):
    for j in members:
        if x[j, column] != 0.0:
            return False
    return True


@njit(cache=True, nogil=True)
def _judge(x, members, column, variation, size, least):
    """What pivots of a column are judged against: zero if it is constant up to rounding.

    `variation` and `size` are its squares about the mean and about zero, `least` is the square of the resolution.
    """
    if not SMALLEST < size < np.inf:
        return 0.0 if _is_zero(x, members, column) else np.inf  # too small or large to be squared
    if variation <= least * size:
        return 0.0
    return max(variation, least / DEPENDENT * size)


@njit(cache=True, nogil=True)
def _direct_residual(x, f, members, theta):
    total = 0.0
    for j in members:
        for c in range(f.shape[1]):
            guess = theta[0, c]
            for a in range(x.shape[1]):
                guess += theta[1 + a, c] * x[j, a]
            total += (f[j, c] - guess) ** 2
    return total


@njit(cache=True, nogil=True)
def solve_range(x, f, members, offsets, sliding, unit, ridge, intercept, begin, end, parameters, residuals, solved):
    """Fit the neighborhoods begin..end-1.

    Writes parameters (n x (1 + P) x K, the intercept first), the mean squared residuals (n) and `solved` (n),
    False where the columns are too dependent. `sliding` promises that members are consecutive points, `unit` is the
    rounding unit of the features; 0 takes them as exact.
    """
    p, k = x.shape[1], f.shape[1]
    reference, row, total = np.zeros(p + k), np.empty(p + k), np.empty(p + k)
    moments, peak = np.empty((p + 1, p + k)), np.empty(p + k)
    means = np.zeros((p + k, LANES))
    gram, right, theta = np.empty((p, p, LANES)), np.empty((p, k, LANES)), np.empty((p, k, LANES))
    square = np.empty(LANES)
    scale, pivots = np.zeros((p, LANES)), np.empty(LANES)
    low = high = count = 0
    least = 0.0
    for block in range(begin, end, LANES):
        lanes = min(LANES, end - block)
        if lanes < LANES:  # idle lanes solve a harmless problem
            gram[:] = 0.0
            right[:] = 0.0
            scale[:] = 0.0
        for w in range(lanes):
            i = block + w
            own = members[offsets[i] : offsets[i + 1]]
            first, last = own[0], own[-1] + 1
            # Moments about the mean, if there is an intercept: subtract total total' / m.
            shift = 1.0 / len(own) if intercept else 0.0
            fresh = not (sliding and i % REFRESH and low <= first < high <= last)
            if not fresh:
                for j in range(high, last):
                    _add(x, f, j, 1.0, reference, row, total, moments)
                for j in range(low, first):
                    _add(x, f, j, -1.0, reference, row, total, moments)
                fresh = _has_faded(total, moments[p], shift, peak)
            if fresh:
                if intercept:
                    _mean(x, f, own, reference)
                total[:] = 0.0
                moments[:] = 0.0
                for j in own:
                    _add(x, f, j, 1.0, reference, row, total, moments)
                for b in range(p + k):
                    peak[b] = moments[p, b]
            low, high = first, last
            for a in range(p + k):
                means[a, w] = reference[a] + shift * total[a]
            if len(own) != count:
                count = len(own)
                # A ridge has its own way with what is small; only the last digit, in which means are off, is left out.
                least = (resolution(count, p, unit) if ridge == 0.0 else EPSILON) ** 2
            for a in range(p):
                for b in range(a + 1):
                    gram[a, b, w] = moments[a, b] - shift * total[a] * total[b]
                for c in range(k):
                    right[a, c, w] = moments[a, p + c] - shift * total[a] * total[p + c]
                variation = judged = gram[a, a, w]
                size = variation + (count * means[a, w] ** 2 if intercept else 0.0)
                if not variation > least / DEPENDENT * size + SMALLEST:
                    judged = _judge(x, own, a, variation, size, least)
                gram[a, a, w] = variation + ridge
                scale[a, w] = judged + ridge if judged > 0.0 else 0.0
            square[w] = 0.0
            for c in range(k):
                square[w] += moments[p, p + c] - shift * total[p + c] ** 2

        for a in range(p):
            for c in range(k):
                for w in range(LANES):
                    theta[a, c, w] = right[a, c, w]
        _cholesky_solve(gram, theta, scale, pivots)

        for w in range(lanes):
            i = block + w
            solved[i] = pivots[w] > DEPENDENT
            residual = square[w]
            for c in range(k):
                offset = means[p + c, w]
                for a in range(p):
                    slope = theta[a, c, w]
                    parameters[i, 1 + a, c] = slope
                    offset -= slope * means[a, w]
                    # With (G + ridge I) theta = b: |f - X theta|^2 = f'f - theta'b - ridge theta'theta.
                    residual -= slope * (right[a, c, w] + ridge * slope)
                parameters[i, 0, c] = offset
            own = members[offsets[i] : offsets[i + 1]]
            if residual <= CLOSE_FIT * square[w] or pivots[w] < RATHER_DEPENDENT:
                residual = _direct_residual(x, f, own, parameters[i])
            residuals[i] = residual / len(own)


# Neighboring points are mostly covered by the same windows; so many points share the sum over those.
SHARING = 4


@njit(cache=True, nogil=True)
def _add_shares(parameters, sizes, i, total):
    share = 1.0 / sizes[i]
    for q in range(len(total)):
        total[q] += share * parameters[i, q]


@njit(cache=True, nogil=True)
def pull_range(x, parameters, sizes, covers, starts, begin, end, result):
    """For the points begin..end-1 write result_j = sum_i S_ij (theta_0i + theta_i' x_j) / m_i.

    parameters is n x ((1 + P) K), intercept first; covers[starts[j] : starts[j + 1]] are the neighborhoods that
    hold point j, ascending. Parameters are added up before they meet x_j: one product per point, not one per
    entry.
    """
    p, k = x.shape[1], result.shape[1]
    common, total = np.empty(parameters.shape[1]), np.empty(parameters.shape[1])
    for block in range(begin, end, SHARING):
        points = range(block, min(block + SHARING, end))
        # The neighborhoods low..high-1 cover all of these points, if those of each point are consecutive.
        low, high = 0, len(parameters)
        for j in points:
            count = starts[j + 1] - starts[j]
            if count and covers[starts[j + 1] - 1] - covers[starts[j]] + 1 == count:
                low, high = max(low, covers[starts[j]]), min(high, covers[starts[j + 1] - 1] + 1)
            else:
                high = 0
        common[:] = 0.0
        for i in range(low, high):
            _add_shares(parameters, sizes, i, common)
        for j in points:
            for q in range(len(total)):
                total[q] = common[q]
            for e in range(starts[j], starts[j + 1]):
                if not low <= covers[e] < high:
                    _add_shares(parameters, sizes, covers[e], total)
            for c in range(k):
                value = total[c]
                for a in range(p):
                    value += x[j, a] * total[(1 + a) * k + c]
                result[j, c] = value
