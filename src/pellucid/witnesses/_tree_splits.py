"""How good is each split of a node? Four answers: two criteria, two kinds of features.

A node holds m members with K outputs y. A split parts them into two sides; its *score*, to be minimised, is

    absolute   sum over sides and outputs of  sum_i |y_i - median|
    squared    sum over sides and outputs of  sum_i (y_i - mean)^2,  less the same sum before the split

**Absolute.** With y_(1) <= ... <= y_(m), sum_i |y_i - median| = sum_r (y_(r+1) - y_(r)) min(r, m - r): the
gap above rank r counts once for each member of the shorter end. All terms are positive and only differences
of y occur, so a large offset does no harm, and ties among the y (gaps of zero) do not matter.

**Squared.** With y centered at the node's mean and s the sums of the a members on one side, the score is
-|s|^2 m / (a (m - a)).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid._bits import lowest, ones


@njit(cache=True, nogil=True)
def _shorter(kind, below, total):
    """min(below, total - below); casts to `kind` keep the numbers, and so the vector lanes, narrow."""
    above = kind(total - below)
    return above if above < below else below


@njit(cache=True, nogil=True, fastmath={"contract"})
def absolute_two_valued(bits, order, ordered, counts, scores):
    """Absolute scores of columns of bits, one split each.

    bits: a row for each member, a column for each split; order (K x m): members in the order of each output;
    ordered (K x (m + 2)): the sorted outputs, at 1..m; counts (5 x columns or more): scratch, of an unsigned
    kind that can hold m.

    The members are met in the order of an output. How many of those met are on the upper side says how many
    of each side lie below and above the next gap. The loops over columns have no branches and a single kind
    of number each, so that they become vector instructions; they treat two gaps at a time.
    """
    columns = len(scores)
    outputs, m = order.shape
    kind = counts.dtype.type
    all_upper, all_lower, met_upper, crossing0, crossing1 = counts[0], counts[1], counts[2], counts[3], counts[4]
    all_upper[:columns] = 0
    for r in range(m):
        row0 = bits[order[0, r]]
        for c in range(columns):
            all_upper[c] += row0[c]
    for c in range(columns):
        all_lower[c] = m - all_upper[c]
        scores[c] = 0.0
    for k in range(outputs):
        met_upper[:columns] = 0
        line = ordered[k]
        for r in range(0, m - 1, 2):
            row0, row1 = bits[order[k, r]], bits[order[k, r + 1]]
            met0, met1 = kind(r + 1), kind(r + 2)
            gap0 = line[r + 2] - line[r + 1]
            gap1 = line[r + 3] - line[r + 2] if r + 2 < m else 0.0
            for c in range(columns):
                upper = kind(met_upper[c] + row0[c])
                lower = kind(met0 - upper)
                crossing0[c] = kind(_shorter(kind, upper, all_upper[c]) + _shorter(kind, lower, all_lower[c]))
                upper = kind(upper + row1[c])
                lower = kind(met1 - upper)
                crossing1[c] = kind(_shorter(kind, upper, all_upper[c]) + _shorter(kind, lower, all_lower[c]))
                met_upper[c] = upper
            for c in range(columns):
                scores[c] += gap0 * crossing0[c] + gap1 * crossing1[c]


@njit(cache=True, nogil=True)
def absolute_many_valued(order, place, ordered, spreads, above, below, middle, spread, scores):
    """Absolute scores of the splits of one sorted feature: scores[t] of order[:t] against order[t:], 0 < t < m.

    order (m): members in the order of the feature; place (K x members): rank of each member in each output,
    from 1; ordered (K x (m + 2)): the sorted outputs, at 1..m; spreads (K): the node's deviations; the others
    are scratch.

    Members leave one by one, from the end (what remains is the left side of a split), then again from the
    beginning (the right side). For each output the remaining values are a linked list (above, below: K x
    (m + 2)) with a pointer to the lower median, which moves by at most one when a value leaves: constant time,
    whatever m. With q the value that was or becomes the exact middle, the deviation falls by |y_leaving - y_q|.
    """
    m, outputs = len(order), len(place)
    scores[:m] = 0.0
    for beginning in range(2):
        for k in range(outputs):
            for r in range(m + 2):
                above[k, r] = r + 1
                below[k, r] = r - 1
            middle[k] = (m + 1) // 2
            spread[k] = spreads[k]
        for remaining in range(m, 1, -1):
            member = order[m - remaining if beginning else remaining - 1]
            even = remaining % 2 == 0
            total = 0.0
            for k in range(outputs):
                leaving, q = place[k, member], middle[k]
                up, down = above[k, leaving], below[k, leaving]
                # Both neighbors are fetched, needed or not: a choice without a branch is never mispredicted.
                if even:
                    # The middle was the gap above q. Now it is a value: q's successor if the lower half lost one.
                    successor = above[k, q]
                    q = successor if leaving <= q else q
                    middle[k] = q
                else:
                    # The middle was q. Now it is a gap: above q if the lower half lost one, else below it.
                    predecessor = below[k, q]
                    middle[k] = q if leaving < q else predecessor
                spread[k] -= abs(ordered[k, leaving] - ordered[k, q])
                total += spread[k]
                above[k, down] = up
                below[k, up] = down
            scores[m - remaining + 1 if beginning else remaining - 1] += total


@njit(cache=True, nogil=True, error_model="numpy")
def squared_two_valued(masked, inside, m, y, scores):
    """Squared scores of packed columns (words x columns), one split each.

    inside (words): the node as a packed column, m its members; y (members x blocks x 4): centered at the
    node's mean, the K outputs filled up with zeros. As y adds up to zero, either side will do: the smaller is
    summed, four outputs at a time, which do not wait for each other.
    """
    for c in range(len(scores)):
        size = 0
        for w in range(len(inside)):
            size += np.int64(ones(masked[w, c]))
        flip = np.uint64(0) - np.uint64(2 * size > m)
        total = 0.0
        for block in range(y.shape[1]):
            s0 = s1 = s2 = s3 = 0.0
            for w in range(len(inside)):
                word = (masked[w, c] ^ flip) & inside[w]
                while word:
                    row = y[np.uint64(64 * w) + lowest(word), block]
                    s0 += row[0]
                    s1 += row[1]
                    s2 += row[2]
                    s3 += row[3]
                    word &= word - np.uint64(1)
            total += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)
        scores[c] = -total * m / (size * (m - size))


@njit(cache=True, nogil=True, error_model="numpy")
def squared_many_valued(order, y, sums, scores):
    """Squared scores of the splits of one sorted feature: scores[t] of order[:t] against order[t:], 0 < t < m.

    order (m): members in the order of the feature; y (members x K or more): centered at the node's mean;
    sums (K): scratch.
    """
    m, outputs = len(order), len(sums)
    sums[:] = 0.0
    for t in range(1, m):
        row = y[order[t - 1]]
        total = 0.0
        for k in range(outputs):
            sums[k] += row[k]
            total += sums[k] * sums[k]
        scores[t] = -total * m / (t * (m - t))
