"""What linear witnesses say of members that are left out together with those beside them, in one compiled call.

Neighborhoods are handled side by side in the lanes of the processor's vector registers. Those with fewer members than
others beside them are filled up with rows of zeros, which are members that nobody sees: their part of 1 - H is that of
the identity.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid.witnesses._dependent_kernel import resolution
from pellucid.witnesses._linear_kernel import DEPENDENT, EPSILON, LANES, SMALLEST

# Pivots of 1 - H_BB below this say that a block alone determines a direction, or nearly so: it is fitted again without.
CLEAR = 1e-6


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(x, f, fitted, members, first, last, intercept, w, rows, missed, size):
    """Write the centered features and the residuals of one neighborhood to lane w, and m mean^2 of each column."""
    m = last - first
    for a in range(x.shape[1]):
        mean = 0.0
        if intercept:
            for e in range(first, last):
                mean += x[members[e], a]
            mean /= m
        for e in range(first, last):
            rows[e - first, a, w] = x[members[e], a] - mean
        size[a, w] = m * mean * mean
    for e in range(first, last):
        for c in range(f.shape[1]):
            missed[e - first, c, w] = f[members[e], c] - fitted[e, c]


@njit(cache=True, nogil=True, error_model="numpy")
def _whiten(rows, most, size, least, penalty, gram, regular):
    """Write L^-1 x~_s in the place of the centered features x~_s, with X~'X~ + diag(penalty) = L L'.

    `regular` (LANES) is False where columns depend on each other too much for that; columns without variation count as
    zero. `least` (P x LANES) are the squares of the resolution, see `LinearFamily`.
    """
    p = rows.shape[1]
    gram[:] = 0.0
    for s in range(most):
        for a in range(p):
            for b in range(a + 1):
                for w in range(LANES):
                    gram[a, b, w] += rows[s, a, w] * rows[s, b, w]
    regular[:] = True
    for a in range(p):
        for w in range(LANES):
            size[a, w] += gram[a, a, w]
            # Too small or too large to be squared: left to another way.
            regular[w] &= size[a, w] == 0.0 or SMALLEST < size[a, w] < np.inf
            if not gram[a, a, w] > least[a, w] * size[a, w]:
                for s in range(most):
                    rows[s, a, w] = 0.0
                for b in range(p):
                    gram[max(a, b), min(a, b), w] = 0.0
                size[a, w] = 0.0
            # From here on what pivots are judged against; 0 for a column that does not vary.
            size[a, w] = max(gram[a, a, w], least[a, w] / DEPENDENT * size[a, w]) + penalty[a] * (size[a, w] > 0.0)
    for a in range(p):
        for w in range(LANES):
            gram[a, a, w] += penalty[a]
        for b in range(a):
            for r in range(b):
                for w in range(LANES):
                    gram[a, b, w] -= gram[a, r, w] * gram[b, r, w]
            for w in range(LANES):
                gram[a, b, w] *= gram[b, b, w]
                gram[a, a, w] -= gram[a, b, w] * gram[a, b, w]
        for w in range(LANES):
            varies = size[a, w] > 0.0
            regular[w] &= not varies or gram[a, a, w] > DEPENDENT * size[a, w]
            # The reciprocal, so that the substitution only multiplies.
            gram[a, a, w] = 1.0 / np.sqrt(gram[a, a, w]) if varies and regular[w] else 0.0
    for s in range(most):
        for a in range(p):
            for b in range(a):
                for w in range(LANES):
                    rows[s, a, w] -= gram[a, b, w] * rows[s, b, w]
            for w in range(LANES):
                rows[s, a, w] *= gram[a, a, w]


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_band(rows, most, counts, intercept, band):
    """Write (1 - H)_{s,s+d} to band[s, d], for all distances d that members of a block have."""
    p, width = rows.shape[1], band.shape[1]
    for s in range(most):
        for d in range(min(s + 1, width)):
            for w in range(LANES):
                value = 1.0 if d == 0 else 0.0
                band[s - d, d, w] = value - (1.0 / counts[w] if intercept and s < counts[w] else 0.0)
            for a in range(p):
                for w in range(LANES):
                    band[s - d, d, w] -= rows[s, a, w] * rows[s - d, a, w]


@njit(cache=True, nogil=True, error_model="numpy")
def _invert(band, low, high, place, factor, weights, clear):
    """Write the row of `place` of (1 - H_BB)^-1, B = low..high-1, to weights: those of the others, then its own.

    The member itself is eliminated last, so that only the last row of the inverse is needed. `clear` (LANES) is False
    where a pivot is too small.
    """
    size = high - low
    clear[:] = True
    for i in range(size):
        s = place if i == size - 1 else low + i + (low + i >= place)
        for j in range(i + 1):
            t = place if j == size - 1 else low + j + (low + j >= place)
            for w in range(LANES):
                factor[i, j, w] = band[min(s, t), abs(s - t), w]
            for r in range(j):
                for w in range(LANES):
                    factor[i, j, w] -= factor[i, r, w] * factor[j, r, w]
            if j < i:
                for w in range(LANES):
                    factor[i, j, w] *= factor[j, j, w]
        for w in range(LANES):
            clear[w] &= factor[i, i, w] > CLEAR
            factor[i, i, w] = 1.0 / np.sqrt(max(factor[i, i, w], CLEAR))
    # With 1 - H_BB = C C', the last row of the inverse is C'^-1 e / C_nn, e the last unit vector.
    for i in range(size - 1, -1, -1):
        for w in range(LANES):
            weights[i, w] = factor[i, i, w] if i == size - 1 else 0.0
        for r in range(i + 1, size):
            for w in range(LANES):
                weights[i, w] -= factor[r, i, w] * weights[r, w]
        for w in range(LANES):
            weights[i, w] *= factor[i, i, w]


@njit(cache=True, nogil=True, error_model="numpy")
def apart_range(
    x, f, fitted, members, offsets, penalty, unit, intercept, buffer, least_others, begin, end, values, clear
):
    """Write values (M x K) of witnesses fitted without the members within `buffer` places of each, for begin..end-1.

    `fitted` (M x K) are the values of the witnesses that were fitted to all members. `clear` (M) is False where the
    others do not determine the fit well enough. Members with fewer than `least_others` others keep their prediction.
    `unit` is the rounding unit of the features, as in `solve_range`.
    """
    p, k, largest = x.shape[1], f.shape[1], 0
    for i in range(begin, end):
        largest = max(largest, offsets[i + 1] - offsets[i])
    width = min(2 * buffer + 1, largest)
    rows, missed = np.empty((largest, p, LANES)), np.empty((largest, k, LANES))
    gram, size, least = np.empty((p, p, LANES)), np.empty((p, LANES)), np.empty((p, LANES))
    band, factor, weights = np.empty((largest, width, LANES)), np.empty((width, width, LANES)), np.empty((width, LANES))
    counts, regular, inverted = np.empty(LANES, np.int64), np.empty(LANES, np.bool_), np.empty(LANES, np.bool_)
    answers = np.empty((k, LANES))
    for start in range(begin, end, LANES):
        lanes, most = min(LANES, end - start), 0
        rows[:], missed[:], size[:], least[:], counts[:] = 0.0, 0.0, 0.0, 0.0, 0
        for w in range(lanes):
            first, last = offsets[start + w], offsets[start + w + 1]
            counts[w] = last - first
            most = max(most, counts[w])
            for a in range(p):
                least[a, w] = (resolution(counts[w], p, unit) if penalty[a] == 0.0 else EPSILON) ** 2
            _gather(x, f, fitted, members, first, last, intercept, w, rows, missed, size)
        _whiten(rows, most, size, least, penalty, gram, regular)
        _fill_band(rows, most, counts, intercept, band)
        for place in range(most):
            low, high = max(0, place - buffer), min(most, place + buffer + 1)
            _invert(band, low, high, place, factor, weights, inverted)
            answers[:] = 0.0
            for r in range(high - low):
                s = place if r == high - low - 1 else low + r + (low + r >= place)
                for c in range(k):
                    for w in range(LANES):
                        answers[c, w] += weights[r, w] * missed[s, c, w]
            for w in range(lanes):
                if place >= counts[w]:
                    continue
                e = offsets[start + w] + place
                few = low + max(0, counts[w] - place - buffer - 1) < least_others
                clear[e] = few or (regular[w] and inverted[w])
                for c in range(k):
                    values[e, c] = f[members[e], c] - (0.0 if few else answers[c, w])
