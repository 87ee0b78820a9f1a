"""A node of a tree: its value, its impurity, its members' outputs, and how lists of members are parted.

m are the members of the node, K the outputs. With the criterion "absolute" a node knows its members in the
order of each output, with "squared" their outputs about the mean.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def partition(orders, start, stop, side, spare):
    """In the part start:stop of each row, move members on side 0 before those on side 1.

    Keeps the order otherwise and returns where side 1 begins. spare (m) is scratch.
    """
    between = start
    for r in range(len(orders)):
        order = orders[r, start:stop]
        lower, upper = np.uint32(0), np.uint32(0)
        for i in range(len(order)):
            member = order[i]
            order[lower] = member
            spare[upper] = member
            upper += side[member]
            lower = np.uint32(i + 1) - upper
        for i in range(upper):
            order[lower + np.uint32(i)] = spare[i]
        between = start + lower
    return between


@njit(cache=True, nogil=True)
def medians(y, orders, value):
    """Medians of a node (into value, K) and whether it is pure; y (K x members), orders (K x m): members by output."""
    outputs, m = orders.shape
    pure = True
    for k in range(outputs):
        low, high = y[k, orders[k, (m - 1) // 2]], y[k, orders[k, m // 2]]
        value[k] = low if low == high else 0.5 * low + 0.5 * high
        pure &= y[k, orders[k, 0]] == y[k, orders[k, m - 1]]
    return pure


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _spread(line, m):
    """Sum of |y - median| over the sorted y at 1..m. All terms are positive: they may be added in any order."""
    total = 0.0
    for r in range(1, m):
        total += (line[r + 1] - line[r]) * min(r, m - r)
    return total


@njit(cache=True, nogil=True)
def sort_outputs(y, orders, ordered, spreads):
    """Sorted outputs (K x (m + 2), at 1..m) and deviations (K) of a node; the impurity, which is their sum."""
    outputs, m = orders.shape
    impurity = 0.0
    for k in range(outputs):
        line, mine = ordered[k], y[k]
        for r in range(m):
            line[r + 1] = mine[orders[k, r]]
        spreads[k] = _spread(line, m)
        impurity += spreads[k]
    return impurity


@njit(cache=True, nogil=True)
def rank(orders, place):
    """The rank of each member of a node in each output, from 1, into place (K x members)."""
    for k in range(len(orders)):
        for r in range(orders.shape[1]):
            place[k, orders[k, r]] = r + 1


@njit(cache=True, nogil=True)
def means(y, members, shift, span, value):
    """Means of a node (into value, K) and whether it is pure; y (members x K).

    shift (K) gets the means of the differences from the first member, which a large offset does not round.
    span (K) is scratch.
    """
    reference = y[members[0]]
    shift[:] = 0.0
    span[:] = 0.0
    for i in members:
        row = y[i]
        for k in range(len(shift)):
            difference = row[k] - reference[k]
            shift[k] += difference
            span[k] += abs(difference)
    pure = True
    for k in range(len(shift)):
        shift[k] /= len(members)
        value[k] = reference[k] + shift[k]
        pure &= span[k] == 0.0
    return pure


@njit(cache=True, nogil=True)
def center_outputs(y, members, shift, squares, centered):
    """The outputs of a node about their means (into centered, members x K); the impurity, the sum of squares.

    shift (K) is that of `means`; squares (K) is scratch.
    """
    reference = y[members[0]]
    squares[:] = 0.0
    for i in members:
        row, into = y[i], centered[i]
        for k in range(len(shift)):
            difference = (row[k] - reference[k]) - shift[k]
            into[k] = difference
            squares[k] += difference * difference
    return squares.sum()
