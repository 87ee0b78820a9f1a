"""Ridge regression with its leave-one-out errors on every neighborhood, in one compiled call.

Only the V columns that vary among the m members of a neighborhood count. With X (m x V) centered, if there is an
intercept, and f likewise, the smaller one of two systems is factorized:

    dual    (X X' + r I) a = f,          theta = X'a,   f - X theta = r a,   1 - H_jj = r [(X X' + r I)^-1]_jj - 1/m;
    primal  (X'X + r I) theta = X'f,     X'X + r I = L L',                   H_jj = 1/m + |L^-1 x_j|^2;

without an intercept the 1/m are absent. A member that is left out is missed by (f - X theta)_j / (1 - H_jj). Of several
ridges the one with the smallest sum of squares of these is chosen, the larger one if equal.

What such a witness says of a member that it has not seen includes the choice, made without that member: its errors at
the others, with two members left out. With G = I - H and e = f - X theta, member k is then missed by

    (G_jj e_k - G_jk e_j) / (G_jj G_kk - G_jk^2).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid._bits import ones

# Sums may be taken in any order, which lets them run in the lanes of the processor's vector registers.
_LOOSE = {"reassoc", "contract"}
# Members that are solved for side by side: their columns stay in the nearest cache.
_BLOCK = 128
# The ridge must be at least this share of the trace: otherwise half of the digits would be lost.
_REGULAR = 1e-8
# Errors that differ by less than this share are equal, but for rounding.
_EQUAL = 1 + 1e-9


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _dot(a, b, count):
    total = 0.0
    for i in range(count):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def _copy(source, into):
    for i in range(len(into)):
        for c in range(into.shape[1]):
            into[i, c] = source[i, c]


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _factorize(gram, ridge, lower):
    """Write L of gram + ridge I = L L' (lower triangle); the diagonal holds reciprocals."""
    size = len(gram)
    for i in range(size):
        row = lower[i]
        for j in range(i):
            row[j] = (gram[i, j] - _dot(row, lower[j], j)) * lower[j, j]
        row[i] = 1.0 / np.sqrt(gram[i, i] + ridge - _dot(row, row, i))


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _solve(lower, right):
    """Solve L L' t = right in place, for each of the columns of right (size x K)."""
    size, outputs = right.shape
    for c in range(outputs):
        for i in range(size):
            value = right[i, c]
            for j in range(i):
                value -= lower[i, j] * right[j, c]
            right[i, c] = value * lower[i, i]
        for i in range(size - 1, -1, -1):
            value = right[i, c] * lower[i, i]
            right[i, c] = value
            for j in range(i):
                right[j, c] -= lower[i, j] * value


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _inverse_diagonal(lower, inverse, diagonal):
    """Write the diagonal of (L L')^-1; `inverse` is scratch, in which row k becomes that of L^-1."""
    size = len(lower)
    diagonal[:] = 0.0
    for i in range(size):
        row, scale = inverse[i], lower[i, i]
        row[:] = 0.0
        k = 0
        while k + 3 < i:  # rows end in zeros, so that four of them share a pass
            w0, w1, w2, w3 = lower[i, k], lower[i, k + 1], lower[i, k + 2], lower[i, k + 3]
            r0, r1, r2, r3 = inverse[k], inverse[k + 1], inverse[k + 2], inverse[k + 3]
            for j in range(k + 4):
                row[j] -= w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
            k += 4
        for rest in range(k, i):
            weight, other = lower[i, rest], inverse[rest]
            for j in range(rest + 1):
                row[j] -= weight * other[j]
        for j in range(i):
            row[j] *= scale
        row[i] = scale
        for j in range(i + 1):
            diagonal[j] += row[j] * row[j]


@njit(cache=True, nogil=True)
def _varying(x, own, columns):
    """Write the columns that vary among the rows `own` of x; their number."""
    p = x.shape[1]
    differs = np.zeros(p, np.uint8)
    first = x[own[0]]
    for i in range(1, len(own)):
        row = x[own[i]]
        for a in range(p):
            differs[a] |= np.uint8(row[a] != first[a])
    count = 0
    for a in range(p):
        columns[count] = a
        count += differs[a]
    return count


@njit(cache=True, nogil=True)
def _common_bits(table, gram):
    """Write the number of columns in which two rows of a table of 0 and 1 are both 1, for all pairs."""
    m, count = table.shape
    words = np.zeros((m, (count + 63) // 64), np.uint64)
    for i in range(m):
        row = table[i]
        for w in range(words.shape[1]):
            word, low = np.uint64(0), 64 * w
            for v in range(min(64, count - low)):
                word |= np.uint64(row[low + v]) << np.uint64(v)
            words[i, w] = word
    for i in range(m):
        for j in range(i + 1):
            both = np.uint64(0)
            for w in range(words.shape[1]):
                both += ones(words[i, w] & words[j, w])
            gram[i, j] = np.float64(both)


@njit(cache=True, nogil=True)
def _center_gram(gram):
    """Turn inner products of rows (lower triangle) into those of rows about their mean."""
    m = len(gram)
    means = np.zeros(m)
    for i in range(m):
        for j in range(i):
            means[i] += gram[i, j]
            means[j] += gram[i, j]
        means[i] += gram[i, i]
    mean = 0.0
    for i in range(m):
        means[i] /= m
        mean += means[i]
    mean /= m
    for i in range(m):
        for j in range(i + 1):
            gram[i, j] += mean - means[i] - means[j]


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _dual(gram, y, ridge, constant, lower, scratch, theta, missed, free):
    """Fit in the dual: `theta` (m x K) gets a, `missed` (m x K) the residuals, `free` (m) 1 - H_jj."""
    _factorize(gram, ridge, lower)
    _copy(y, theta)
    _solve(lower, theta)
    _inverse_diagonal(lower, scratch, free)
    for j in range(len(gram)):
        free[j] = ridge * free[j] - constant
        for c in range(y.shape[1]):
            missed[j, c] = ridge * theta[j, c]


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _forward(lower, across, solved):
    """Write Z = L^-1 X' (V x m) from X' (V x m): blocks of members side by side, each in a lane of its own."""
    count, m = across.shape
    for begin in range(0, m, _BLOCK):
        end = min(begin + _BLOCK, m)
        for a in range(count):
            row, weights = solved[a], lower[a]
            row[begin:end] = across[a, begin:end]
            b = 0
            while b + 3 < a:  # four of them share a pass
                w0, w1, w2, w3 = weights[b], weights[b + 1], weights[b + 2], weights[b + 3]
                r0, r1, r2, r3 = solved[b], solved[b + 1], solved[b + 2], solved[b + 3]
                for j in range(begin, end):
                    row[j] -= w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
                b += 4
            for rest in range(b, a):
                weight, other = weights[rest], solved[rest]
                for j in range(begin, end):
                    row[j] -= weight * other[j]
            scale = weights[a]
            for j in range(begin, end):
                row[j] *= scale


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _primal(gram, right, across, y, ridge, constant, lower, solved, theta, missed, free):
    """Fit in the primal: `theta` (V x K), `missed` (m x K) the residuals, `free` (m) 1 - H_jj; `solved` (V x m) gets
    Z = L^-1 X'.
    """
    _factorize(gram, ridge, lower)
    _copy(right, theta)
    _solve(lower, theta)
    _forward(lower, across, solved)
    count, m = across.shape
    free[:] = 1.0 - constant
    for a in range(count):
        row = solved[a]
        for j in range(m):
            free[j] -= row[j] * row[j]
    rest = np.empty(m)
    for c in range(y.shape[1]):
        rest[:] = y[:, c]
        for a in range(count):
            weight, row = theta[a, c], across[a]
            for j in range(m):
                rest[j] -= weight * row[j]
        missed[:, c] = rest


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _full_dual(inverse, ridge, constant, full):
    """Write G = r (X X' + r I)^-1 - 1/m (lower triangle) from the rows of L^-1."""
    size = len(full)
    for j in range(size):
        full[j, : j + 1] = -constant
    for i in range(size):
        row = inverse[i]
        for j in range(i + 1):
            weight, into = ridge * row[j], full[j]
            for k in range(j + 1):
                into[k] += weight * row[k]


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _full_primal(solved, constant, full):
    """Write G = 1 - 1/m - Z'Z (lower triangle) from Z = L^-1 X' (V x m)."""
    count, m = solved.shape
    for j in range(m):
        into = full[j]
        into[: j + 1] = -constant
        for a in range(count):
            row = solved[a]
            weight = row[j]
            for k in range(j + 1):
                into[k] -= weight * row[k]
        into[j] += 1.0


@njit(cache=True, nogil=True)
def _mirror(full, diagonal):
    """Copy the lower triangle to the upper one, and write the diagonal."""
    for j in range(len(full)):
        diagonal[j] = full[j, j]
        for k in range(j):
            full[k, j] = full[j, k]


@njit(cache=True, nogil=True, fastmath=_LOOSE, error_model="numpy")
def _without(full, diagonal, missed, j):
    """Sum of squares of the errors (K x m) at the other members, each left out together with member j."""
    total = 0.0
    own, row = full[j, j], full[j]
    for c in range(len(missed)):
        errors = missed[c]
        error = errors[j]
        for begin, end in ((0, j), (j + 1, len(full))):
            for k in range(begin, end):
                value = (own * errors[k] - row[k] * error) / (own * diagonal[k] - row[k] * row[k])
                total += value * value
    return total


@njit(cache=True, nogil=True)
def ridge_range(
    x, bits, f, members, offsets, ridges, relative, intercept, nested, begin, end,
    parameters, values, free, chosen, solved, held_out,
):  # fmt: skip
    """Fit the neighborhoods begin..end-1.

    x (N x P) are features, whole numbers 0 and 1 in bytes if `bits`; ridges (R) ascend and are multiples of the mean
    square of the members' features about their mean if `relative`. Writes parameters (n x (1 + P) x K, the intercept
    first), values (M x K) at the members, free (M) 1 - H_jj, the ridge chosen (n), and `solved` (n), False where the
    ridge is too small beside the features; and if `nested`, held_out (M x K), the values at members left out of fit and
    choice. A member without others keeps its prediction.
    """
    outputs = f.shape[1]
    columns = np.empty(x.shape[1] + 1, np.int64)
    for i in range(begin, end):
        own, first = members[offsets[i] : offsets[i + 1]], offsets[i]
        m = len(own)
        count = _varying(x, own, columns) if intercept else x.shape[1]
        if not intercept:
            for v in range(count):
                columns[v] = v
        constant = 1.0 / m if intercept else 0.0
        y, mean = np.empty((m, outputs)), np.zeros(outputs)
        for j in range(m):
            for c in range(outputs):
                mean[c] += constant * f[own[j], c]
        for j in range(m):
            for c in range(outputs):
                y[j, c] = f[own[j], c] - mean[c]
        dual = count > m
        size = m if dual else count
        table = np.empty((m, count), x.dtype)
        for j in range(m):
            row = x[own[j]]
            for v in range(count):
                table[j, v] = row[columns[v]]
        gram = np.empty((size, size))
        shift = np.zeros(count)
        # Columns of members side by side in the primal, rows of features in the dual.
        across, centered = np.empty((0 if dual else count, m)), np.empty((m if dual else 0, count))
        right = np.zeros((0 if dual else count, outputs))
        if dual and bits:
            _common_bits(table, gram)
            if intercept:
                _center_gram(gram)
        elif dual:
            for j in range(m):
                for v in range(count):
                    centered[j, v] = table[j, v]
                    shift[v] += constant * centered[j, v]
            for j in range(m):
                for v in range(count):
                    centered[j, v] -= shift[v]
            for j in range(m):
                for k in range(j + 1):
                    gram[j, k] = _dot(centered[j], centered[k], count)
        else:
            for j in range(m):
                for v in range(count):
                    across[v, j] = table[j, v]
                    shift[v] += constant * across[v, j]
            for a in range(count):
                row = across[a]
                for j in range(m):
                    row[j] -= shift[a]
                for b in range(a + 1):
                    gram[a, b] = _dot(row, across[b], m)
                for c in range(outputs):
                    right[a, c] = 0.0
                    for j in range(m):
                        right[a, c] += row[j] * y[j, c]
        trace = 0.0
        for a in range(size):
            trace += gram[a, a]
        lower, scratch = np.empty((size, size)), np.empty((size, m))
        theta, missed, left = np.empty((size, outputs)), np.empty((m, outputs)), np.empty(m)
        unit = trace / m if relative and trace > 0.0 else 1.0
        best, smallest = 0, np.inf
        # Of two members that are left out of three or more, some remain to be fitted to.
        apart = nested and m > 2
        full, diagonal = np.empty((m if apart else 0, m)), np.empty(m)
        lowest = np.full(m, np.inf)
        if nested:
            for j in range(m):
                for c in range(outputs):
                    held_out[first + j, c] = y[j, c] + mean[c]
        # All ridges, if there are several, and then the best of them.
        for r in range(0 if len(ridges) > 1 else 1, len(ridges) + 1):
            final = r == len(ridges)
            ridge = ridges[best if final else r] * unit
            if final:
                chosen[i] = ridge
                solved[i] = ridge > _REGULAR * trace
            if ridge <= _REGULAR * trace:
                continue
            if dual:
                _dual(gram, y, ridge, constant, lower, scratch, theta, missed, left)
            else:
                _primal(gram, right, across, y, ridge, constant, lower, scratch, theta, missed, left)
            if final:
                break
            error = 0.0
            for j in range(m):
                for c in range(outputs):
                    error += (missed[j, c] / left[j]) ** 2 if left[j] > 0.0 else 0.0
            if error <= smallest * _EQUAL:
                best, smallest = r, min(error, smallest)
            if apart:
                if dual:
                    _full_dual(scratch, ridge, constant, full)
                else:
                    _full_primal(scratch, constant, full)
                _mirror(full, diagonal)
                errors = np.ascontiguousarray(missed.T)
                for j in range(m):
                    others = _without(full, diagonal, errors, j)
                    if others <= lowest[j] * _EQUAL:
                        lowest[j] = min(others, lowest[j])
                        for c in range(outputs):
                            held_out[first + j, c] = f[own[j], c] - missed[j, c] / full[j, j]
        if not solved[i]:
            continue
        slopes, average = np.zeros((outputs, count)), np.zeros(count)
        for j in range(m):
            for v in range(count):
                average[v] += constant * table[j, v]
        if dual:
            # Dual weights of a fit with an intercept add up to zero: features may be counted from the first member's.
            start = np.empty(count)
            for v in range(count):
                start[v] = np.float64(table[0, v]) if intercept else 0.0
            for j in range(m):
                for c in range(outputs):
                    weight = theta[j, c]
                    for v in range(count):
                        slopes[c, v] += weight * (table[j, v] - start[v])
        else:
            for v in range(count):
                for c in range(outputs):
                    slopes[c, v] = theta[v, c]
        parameters[i] = 0.0
        for c in range(outputs):
            parameters[i, 0, c] = mean[c]
        for v in range(count):
            for c in range(outputs):
                parameters[i, 1 + columns[v], c] = slopes[c, v]
                parameters[i, 0, c] -= slopes[c, v] * average[v]
        if nested and m == 2:  # whatever the ridge
            for j in range(m):
                for c in range(outputs):
                    held_out[first + j, c] = f[own[j], c] - missed[j, c] / left[j]
        for j in range(m):
            free[first + j] = left[j]
            for c in range(outputs):
                values[first + j, c] = f[own[j], c] - missed[j, c]
