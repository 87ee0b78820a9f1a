"""The columns of one neighborhood that a sparse law may choose from: those that vary there, equal ones taken as one."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Signatures of columns: h -> (h mod 2^32) A + floor(h / 2^32) + next value, "multiply with carry", which runs in the
# lanes of vector registers; then a product with 2^64 over the golden ratio scatters them over a table.
FACTOR = np.uint64(4294883355)
LOWER = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MIX = np.uint64(0x9E3779B97F4A7C15)

# Columns that vary by less than this are constant: their squares would be zero, and their weights infinite.
SMALLEST = 1e-140


@njit(cache=True, nogil=True)
def merge_columns(keys, rows):
    """Find the columns that vary among the given rows of keys (N x P), and which of them are equal there.

    Returns the V columns that vary, ascending, and for each the place (among the V) of the lowest column that is equal
    to it in all rows. Keys are whole numbers that are equal exactly where the features are.
    """
    m, p = len(rows), keys.shape[1]
    first = keys[rows[0]]
    varies = np.zeros(p, np.uint8)
    for i in range(1, m):
        row = keys[rows[i]]
        for a in range(p):
            varies[a] |= np.uint8(row[a] != first[a])
    v = 0
    for a in range(p):
        v += varies[a]
    columns, v = np.empty(v, np.int64), 0
    for a in range(p):
        if varies[a]:
            columns[v] = a
            v += 1
    own = np.empty((m, v), keys.dtype)
    signatures = np.zeros(v, np.uint64)
    for i in range(m):
        row, mine = keys[rows[i]], own[i]
        # First collected, then hashed: the second loop becomes vector instructions.
        for c in range(v):
            mine[c] = row[columns[c]]
        for c in range(v):
            h = signatures[c]
            signatures[c] = (h & LOWER) * FACTOR + (h >> HALF) + np.uint64(mine[c])
    bits = 4
    while 1 << bits < 2 * v:
        bits += 1
    table, shift = np.full(1 << bits, -1, np.int64), np.uint64(64 - bits)
    lowest = np.empty(v, np.int64)
    for c in range(v):
        slot = np.int64((signatures[c] * MIX) >> shift)
        lowest[c] = c
        while table[slot] >= 0:
            other = table[slot]
            if signatures[other] == signatures[c] and _are_equal(own, other, c):
                lowest[c] = other
                break
            slot = (slot + 1) & ((1 << bits) - 1)
        if lowest[c] == c:
            table[slot] = c
    return columns, lowest


@njit(cache=True, nogil=True)
def _are_equal(own, a, b):
    i = 0
    while i < len(own) and own[i, a] == own[i, b]:
        i += 1
    return i == len(own)


@njit(cache=True, nogil=True)
def center_columns(x, rows, columns):
    """Columns of x (N x P) at the given rows, less their means, in units that bring them near 1.

    Returns z (m x D); the means (D); the units (D: powers of two, so that nothing is rounded); and in these units the
    squared lengths of the columns less their means (D) and before that (D). Columns that are too small to be squared
    become zero.
    """
    m, d = len(rows), len(columns)
    z = np.empty((m, d))
    first, means, units, inverse = np.empty(d), np.zeros(d), np.zeros(d), np.zeros(d)
    squares, sizes = np.zeros(d), np.zeros(d)
    for c in range(d):
        first[c] = x[rows[0], columns[c]]
    for i in range(m):
        row, own = x[rows[i]], z[i]
        for c in range(d):
            own[c] = np.float64(row[columns[c]])
        for c in range(d):
            own[c] -= first[c]  # neighbors differ by little, and little is lost
            means[c] += own[c]
            size = abs(own[c])
            units[c] = size if size > units[c] else units[c]
    for c in range(d):
        means[c] /= m
        units[c] = math.ldexp(1.0, math.frexp(units[c])[1])
        inverse[c] = 1.0 / units[c] if units[c] > SMALLEST else 0.0
    for i in range(m):
        own = z[i]
        for c in range(d):
            own[c] = (own[c] - means[c]) * inverse[c]
            squares[c] += own[c] * own[c]
    for c in range(d):
        means[c] += first[c]
        sizes[c] = squares[c] + m * (means[c] * inverse[c]) ** 2
    return z, means, units, squares, sizes
