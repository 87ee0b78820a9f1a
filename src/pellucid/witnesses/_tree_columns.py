"""The features of one neighborhood, in the form in which trees are grown on them.

Of P features only those that vary among the m members matter. One with two values there is *two-valued*: it
offers one split and becomes a column of bits (1: the upper value). All others are *many-valued* and are
sorted once. Two-valued columns that part the members in the same way are the same split, and deep in a tree
most of them are; `distinct` keeps the lowest of them, so that little is scored twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid._bits import ones

# Runs of this length are sorted by counting before they are merged.
RUN = 64

# An odd number without pattern (2^64 over the golden ratio): multiplying by it scatters words over a table.
MIX = np.uint64(0x9E3779B97F4A7C15)
# Entries of that table: well above the usual number of columns.
SLOTS = 1024
HASH_SHIFT = np.uint64(64 - 10)


@njit(cache=True, nogil=True)
def midpoint(low, high):
    """The threshold between two adjacent values: `low` goes left, `high` goes right, whatever the rounding."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


@njit(cache=True, nogil=True)
def gather(x, rows):
    """The features that vary among the given m rows of x (N x P).

    Returns the features (V, ascending), many (V: has it more than two values?), cuts (V: half way between the
    lowest and the highest value) and words (ceil(m / 64) x V: bit i % 64 of word i // 64 tells whether row i
    has the highest value). Cuts and words of many-valued features mean nothing.
    """
    m, p = len(rows), x.shape[1]
    low, high = x[rows[0]].copy(), x[rows[0]].copy()
    for i in range(1, m):
        row = x[rows[i]]
        for j in range(p):
            low[j] = row[j] if row[j] < low[j] else low[j]
            high[j] = row[j] if row[j] > high[j] else high[j]
    v = 0
    for j in range(p):
        v += low[j] < high[j]
    features = np.empty(v, np.uint32)
    cuts = np.empty(v, np.float64)
    v = 0
    for j in range(p):
        if low[j] < high[j]:
            features[v] = j
            cuts[v] = midpoint(np.float64(low[j]), np.float64(high[j]))
            low[v], high[v] = low[j], high[j]
            v += 1
    words = np.zeros(((m + 63) // 64, v), np.uint64)
    many = np.zeros(v, np.uint8)
    values = np.empty(v, x.dtype)
    for i in range(m):
        row, word, shift = x[rows[i]], words[i // 64], np.uint64(i % 64)
        # First collected, then compared: the loops that compare become vector instructions.
        for c in range(v):
            values[c] = row[features[c]]
        for c in range(v):
            many[c] |= np.uint8(values[c] != high[c]) & np.uint8(values[c] != low[c])
        for c in range(v):
            word[c] |= np.uint64(values[c] == high[c]) << shift
    return features, many, cuts, words


@njit(cache=True, nogil=True)
def argsort(values, order, spare):
    """Write into `order` the stable order of values (m); spare is scratch of the same kind as `order`.

    Runs are sorted by counting how many values are smaller (all pairs, but without branches), then merged:
    several times faster than `np.argsort` on a few dozen values.
    """
    m = len(values)
    run, met = np.empty(RUN, np.float64), np.empty(RUN, np.int64)
    for start in range(0, m, RUN):
        stop = min(start + RUN, m)
        # Filled up with infinity, which is smaller than nothing, so that all runs are equally long.
        run[:] = np.inf
        met[:] = start
        for i in range(start, stop):
            run[i - start] = values[i]
            order[i] = i
        for i in range(start, stop):
            value, rank = values[i], 0
            for j in range(RUN):
                rank += run[j] < value
            order[rank + met[rank]] = i  # equal values have the same rank and take their places in turn
            met[rank] += 1
    width = RUN
    while width < m:
        for start in range(0, m, 2 * width):
            middle, stop = min(start + width, m), min(start + 2 * width, m)
            a, b = start, middle
            for i in range(start, stop):
                if b >= stop or (a < middle and values[order[a]] <= values[order[b]]):
                    spare[i] = order[a]
                    a += 1
                else:
                    spare[i] = order[b]
                    b += 1
        for i in range(m):
            order[i] = spare[i]
        width *= 2


@njit(cache=True, nogil=True)
def places(flags, flag):
    """Where the flags (V, 0 or 1) are `flag`, ascending."""
    count = 0
    for v in range(len(flags)):
        count += flags[v] == flag
    result, count = np.empty(count, np.int64), 0
    for v in range(len(flags)):
        if flags[v] == flag:
            result[count] = v
            count += 1
    return result


@njit(cache=True, nogil=True)
def sort_many_valued(x, rows, features, many):
    """The R many-valued features, sorted.

    Returns their values (R x m), the members in the order of each (R x m), and their places among the V (R).
    """
    m = len(rows)
    which = places(many, 1)
    values = np.empty((len(which), m), np.float64)
    orders = np.empty((len(which), m), np.uint32)
    spare = np.empty(m, np.uint32)
    for r in range(len(which)):
        for i in range(m):
            values[r, i] = x[rows[i], features[which[r]]]
        argsort(values[r], orders[r], spare)
    return values, orders, which


@njit(cache=True, nogil=True)
def distinct(words, candidates, inside, first, kept, masked, signatures, table):
    """Drop candidate columns that are constant in a node or part its members as a lower column does.

    words: the packed columns; candidates: columns, ascending; inside: the node as a packed column; first: the
    node's first member. A column is put in the form that gives 0 to the first member, so that complements
    meet. Writes the kept columns into `kept`, that form of them into `masked` (words x candidates or more) and
    its signature into `signatures` (candidates or more; the word itself if there is only one); returns their
    number. table (SLOTS) remembers for a hash the place of the last column kept with it. It may hold anything,
    since columns are compared; a duplicate that has been pushed out by another column stays, which costs time
    and nothing else.
    """
    count = np.uint32(0)
    row, into, node, length = words[0], masked[0], inside[0], len(inside)
    first_word, first_bit = words[first // 64], np.uint64(first % 64)
    for c in candidates:
        # All ones if the first member has the upper value, so that exclusive or takes the complement.
        flip = np.uint64(0) - ((first_word[c] >> first_bit) & np.uint64(1))
        word = (row[c] ^ flip) & node
        into[count] = word
        some, signature = word, word
        for w in range(1, length):
            word = (words[w, c] ^ flip) & inside[w]
            masked[w, count] = word
            some |= word
            signature = ((signature ^ (signature >> np.uint64(32))) * MIX) ^ word
        slot = (signature * MIX) >> HASH_SHIFT
        other = table[slot]
        other = other if other < count else count
        same = (other < count) & (signatures[other] == signature)
        # With equal signatures and equal words from the second on, the first words are equal, too.
        for w in range(1, length):
            same &= masked[w, other] == masked[w, count]
        # No branch here, it would often be mispredicted: what is dropped is overwritten by the next column.
        signatures[count] = signature
        table[slot] = other if same else count
        kept[count] = c
        count += np.uint32((not same) & (some != 0))
    return np.int64(count)


@njit(cache=True, nogil=True)
def balanced(kept, masked, number, length, m, least):
    """Of the first `number` columns that `distinct` kept in a node of m members, keep those with `least` on each side.

    Their order stays; returns their number. A side only gets smaller further down, so what is dropped here need not be
    looked at again below. length is the number of words of a column.
    """
    count = 0
    for c in range(number):
        upper = 0
        for w in range(length):
            word = masked[w, c]
            masked[w, count] = word
            upper += np.int64(ones(word))
        kept[count] = kept[c]
        count += (upper >= least) & (m - upper >= least)
    return count


@njit(cache=True, nogil=True)
def unpack(masked, first, columns, members, eight, tile):
    """Write packed columns from `first` on into the rows of tile (members x columns or more), a byte for a bit.

    members must ascend: eight (columns or more, bytes) holds the bits of eight neighboring members meanwhile,
    since vector instructions treat many more bytes than words at a time.
    """
    current = -1
    for i in members:
        if i // 8 != current:
            current = i // 8
            word, shift = masked[i // 64, first : first + columns], np.uint64(i % 64 // 8 * 8)
            for c in range(columns):
                eight[c] = np.uint8(word[c] >> shift)
        row, bit = tile[i], np.uint8(1 << i % 8)
        for c in range(columns):
            row[c] = np.uint8(eight[c] & bit) != np.uint8(0)


@njit(cache=True, nogil=True)
def steps(order, values, first, tile, ends):
    """Write the splits of a sorted feature as columns, from `first` on, into the rows of tile.

    order (m): members in the order of the feature; values (members). Split j parts order[:t] from order[t:],
    where t is written into ends[j] (m or more); it separates different values. Returns the number of splits.
    """
    m, count = len(order), 0
    for t in range(1, m):
        ends[count] = t
        count += values[order[t - 1]] < values[order[t]]
    level = 0
    for t in range(m):
        row = tile[order[t], first : first + count]
        level += level < count and ends[level] == t
        for c in range(count):
            row[c] = c < level
    return count
