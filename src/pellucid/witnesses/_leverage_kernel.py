"""What linear witnesses say of their members, and how much each member says itself, in one compiled call."""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid.witnesses._dependent_kernel import resolution
from pellucid.witnesses._linear_kernel import DEPENDENT, EPSILON, SMALLEST


@njit(cache=True, nogil=True)
def members_range(x, members, offsets, theta, begin, end, values):
    """Write values_j = theta_0i + theta_i' x_j (M x K) at the members of the neighborhoods begin..end-1."""
    p, k = theta.shape[1] - 1, theta.shape[2]
    for i in range(begin, end):
        own = theta[i]
        for e in range(offsets[i], offsets[i + 1]):
            row = x[members[e]]
            for c in range(k):
                value = own[0, c]
                for a in range(p):
                    value += own[1 + a, c] * row[a]
                values[e, c] = value


@njit(cache=True, nogil=True)
def free_range(x, members, offsets, penalty, unit, intercept, begin, end, free, regular):
    """Write 1 - H_jj (M,) for the members of the neighborhoods begin..end-1, H the hat matrix.

    With the centered features x~ and (X~'X~ + diag(penalty)) = L L', H_jj = 1/m + |L^-1 x~_j|^2. `regular` (n) is False
    where columns depend on each other too much for that; columns without variation count as zero. `unit` is the
    rounding unit of the features, as in `solve_range`.
    """
    p = x.shape[1]
    mean, gram, row = np.zeros(p), np.empty((p, p)), np.empty(p)
    varies = np.empty(p, np.bool_)
    for i in range(begin, end):
        own = members[offsets[i] : offsets[i + 1]]
        m = len(own)
        if intercept:
            mean[:] = 0.0
            for j in own:
                for a in range(p):
                    mean[a] += x[j, a]
            for a in range(p):
                mean[a] /= m
        gram[:] = 0.0
        for j in own:
            for a in range(p):
                row[a] = x[j, a] - mean[a]
            for a in range(p):
                for b in range(a + 1):
                    gram[a, b] += row[a] * row[b]
        regular[i] = True
        for a in range(p):
            least = (resolution(m, p, unit) if penalty[a] == 0.0 else EPSILON) ** 2
            size = gram[a, a] + (m * mean[a] ** 2 if intercept else 0.0)
            varies[a] = gram[a, a] > least * size
            # Too small or too large to be squared: left to another way.
            regular[i] &= size == 0.0 or SMALLEST < size < np.inf
            scale = max(gram[a, a], least / DEPENDENT * size) + penalty[a]
            gram[a, a] += penalty[a]
            for b in range(a):
                if not (varies[a] and varies[b]):
                    gram[a, b] = 0.0
                    continue
                for r in range(b):
                    gram[a, b] -= gram[a, r] * gram[b, r]
                gram[a, b] *= gram[b, b]
                gram[a, a] -= gram[a, b] * gram[a, b]
            if varies[a] and not gram[a, a] > DEPENDENT * scale:
                regular[i] = False
            gram[a, a] = 1.0 / np.sqrt(gram[a, a]) if varies[a] and regular[i] else 0.0
        if not regular[i]:
            continue
        for e in range(offsets[i], offsets[i + 1]):
            left = 1.0 - (1.0 / m if intercept else 0.0)
            for a in range(p):
                value = x[members[e], a] - mean[a]
                for b in range(a):
                    value -= gram[a, b] * row[b]
                row[a] = value * gram[a, a]
                left -= row[a] * row[a]
            free[e] = left
