"""Compiled search for near points: a k-d tree whose nodes and leaves are read many numbers at a time.

Distances are sums of squared differences in float64, added feature by feature; nothing is estimated. The distance to a
box is computed by the same operations in the same order, each of which is monotone, so that no point of a box is ever
computed nearer than the box: what is passed over is passed over rightly, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid._ordering_kernel import ascend

LEAF = 32  # points of a leaf, and
FAN = 32  # children of a node: what the compiler turns into a few vector instructions
LEVELS = 5
BATCH = 32  # binary splits that make up the children of a node, 2^4 = 16


@njit(nogil=True, cache=True)
def _median_split(keys, order, start, stop, middle):
    """Reorder start..stop-1 so that no key before `middle` is above one from there on (Hoare's selection)."""
    low, high = start, stop - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(nogil=True, cache=True)
def split(x, levels):
    """An order of the points in which 2^levels leaves lie one after the other, and where each starts.

    Every node is halved along the feature in which it is widest.
    """
    n, p = x.shape
    order, keys = np.arange(n), np.empty(n)
    starts = np.zeros(2, dtype=np.int64)
    starts[1] = n
    low, high = np.empty(p), np.empty(p)
    for _ in range(levels):
        finer = np.empty(2 * len(starts) - 1, dtype=np.int64)
        finer[-1] = n
        for node in range(len(starts) - 1):
            start, stop = starts[node], starts[node + 1]
            for a in range(p):
                low[a] = high[a] = x[order[start], a]
            for i in range(start + 1, stop):
                for a in range(p):
                    value = x[order[i], a]
                    low[a] = min(low[a], value)
                    high[a] = max(high[a], value)
            widest = 0
            for a in range(1, p):
                if high[a] - low[a] > high[widest] - low[widest]:
                    widest = a
            for i in range(start, stop):
                keys[i] = x[order[i], widest]
            middle = (start + stop) // 2
            _median_split(keys, order, start, stop, middle)
            finer[2 * node], finer[2 * node + 1] = start, middle
        starts = finer
    return order, starts


@njit(nogil=True, cache=True)
def leaves(x, starts):
    """The points of each leaf, feature by feature (leaves x P x LEAF); empty places are infinitely far."""
    p = x.shape[1]
    result = np.full((len(starts) - 1, p, LEAF), np.inf)
    for leaf in range(len(starts) - 1):
        for i in range(starts[leaf], starts[leaf + 1]):
            for a in range(p):
                result[leaf, a, i - starts[leaf]] = x[i, a]
    return result


@njit(nogil=True, cache=True)
def boxes(x, starts, low, high, fan, first):
    """The boxes around the points of each range, written to the children of nodes first, first + 1, ..."""
    p = x.shape[1]
    for child in range(len(starts) - 1):
        node, c = first + child // fan, child % fan
        for a in range(p):
            least = most = x[starts[child], a]
            for i in range(starts[child] + 1, starts[child + 1]):
                value = x[i, a]
                least, most = min(least, value), max(most, value)
            low[node, a, c], high[node, a, c] = least, most


@njit(nogil=True, cache=True, inline="always")
def _to_boxes(low, high, q, gap):
    """Squared distances from q to the boxes of all children of a node."""
    for c in range(FAN):
        gap[c] = 0.0
    for a in range(len(q)):
        value = q[a]
        for c in range(len(gap)):
            below, above = low[a, c] - value, value - high[a, c]
            d = below if below > above else above
            d = d if d > 0.0 else 0.0
            gap[c] += d * d


@njit(nogil=True, cache=True, inline="always")
def _to_points(leaf, q, distance):
    """Squared distances from q to all points of a leaf."""
    p = len(q)
    for j in range(LEAF):
        distance[j] = 0.0
    a = 0
    while a + 2 <= p:  # two features a turn: sums need not be stored in between
        one, two = q[a], q[a + 1]
        for j in range(len(distance)):
            d, e = leaf[a, j] - one, leaf[a + 1, j] - two
            distance[j] = (distance[j] + d * d) + e * e
        a += 2
    if a < p:
        one = q[a]
        for j in range(len(distance)):
            d = leaf[a, j] - one
            distance[j] += d * d


@njit(nogil=True, cache=True, inline="always")
def push(distances, ids, distance, name):
    """Replace the worst of a heap; the worst is the farthest, among equally far ones that with the highest name."""
    k = len(distances)
    here = 0
    while True:
        child = 2 * here + 1
        if child >= k:
            break
        other = child + 1
        if other < k and (
            distances[other] > distances[child] or (distances[other] == distances[child] and ids[other] > ids[child])
        ):
            child = other
        if distances[child] < distance or (distances[child] == distance and ids[child] < name):
            break
        distances[here], ids[here] = distances[child], ids[child]
        here = child
    distances[here], ids[here] = distance, name


@njit(nogil=True, cache=True)
def unheap(distances, ids):
    """Sort a heap, nearest first."""
    for last in range(len(distances) - 1, 0, -1):
        distance, name = distances[last], ids[last]
        distances[last], ids[last] = distances[0], ids[0]
        push(distances[:last], ids[:last], distance, name)


@njit(nogil=True, cache=True)
def nearest_range(
    points, names, starts, low, high, firsts, fans, queries, own, distances, ids, begin, end
):  # fmt: skip
    """The k nearest points of queries begin..end-1, by squared distance and then by name, nearest first.

    Queries walk the tree in batches of neighbors, so that a leaf that comes from memory serves all of them; each
    reads only what may hold a nearer point than its own k-th. `own[i]` is the name of a point that does not count
    for query i, -1 if all do. Rows of `distances` and `ids` (queries x k) are written. Returns the number of
    leaves that were read, counted once for each query.
    """
    depth = len(fans)
    size = FAN * (depth + 1)
    stack_node, stack_level, stack_child = (
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )
    stack_key = np.empty(size)
    gaps = np.zeros((depth + 1, FAN, BATCH))  # from each query of the batch to each child of the node last seen
    gap, key, distance = np.empty(FAN), np.empty(FAN), np.empty(LEAF)
    active = np.empty(BATCH, dtype=np.int64)
    worst = np.empty(BATCH)  # of each heap, side by side
    read = 0
    for first in range(begin, end, BATCH):
        batch = min(BATCH, end - first)
        distances[first : first + batch] = np.inf
        ids[first : first + batch] = np.iinfo(np.int64).max
        worst[:batch], worst[batch:] = np.inf, -1.0
        stack_node[0] = stack_level[0] = stack_child[0] = 0
        top = 1
        while top:
            top -= 1
            node, level = stack_node[top], stack_level[top]
            if not _any_within(gaps[level, stack_child[top]], worst):
                continue
            count = 0
            for b in range(batch):
                if gaps[level, stack_child[top], b] <= worst[b]:
                    active[count] = b
                    count += 1
            if level == depth:
                read += count
                for b in active[:count]:
                    i = first + b
                    _to_points(points[node], queries[i], distance)
                    _keep(distances[i], ids[i], distance, names[starts[node] : starts[node + 1]], own[i])
                    worst[b] = distances[i, 0]
                continue
            fan, place = fans[level], firsts[level] + node
            key[:] = 0.0
            gaps[level + 1, :fan] = np.inf
            for b in active[:count]:
                _to_boxes(low[place], high[place], queries[first + b], gap)
                for c in range(fan):
                    gaps[level + 1, c, b] = gap[c]
                    key[c] += gap[c]
            bottom = top
            for c in range(fan):
                here = top  # what is nearest to the batch comes out first
                while here > bottom and stack_key[here - 1] < key[c]:
                    stack_key[here], stack_node[here] = stack_key[here - 1], stack_node[here - 1]
                    stack_child[here] = stack_child[here - 1]
                    here -= 1
                stack_key[here], stack_node[here], stack_child[here] = key[c], node * fan + c, c
                stack_level[top] = level + 1
                top += 1
        for i in range(first, first + batch):
            unheap(distances[i], ids[i])
    return read


@njit(nogil=True, cache=True, inline="always")
def _any_within(gaps, worst):
    """Whether any gap is at most the limit of its query; in this form the compiler compares many at once."""
    hit = np.int32(0)
    for b in range(BATCH):
        hit |= np.int32(1) if gaps[b] <= worst[b] else np.int32(0)
    return hit != 0


@njit(nogil=True, cache=True, inline="always")
def _keep(heap, held, distance, names, skip):
    """Put the points of a leaf that are near enough into a heap."""
    worst = heap[0]
    hit = np.int32(0)  # in this form the compiler compares many at once
    for j in range(len(distance)):
        hit |= np.int32(1) if distance[j] <= worst else np.int32(0)
    if hit:
        for j in range(len(names)):
            if distance[j] <= heap[0] and names[j] != skip and (distance[j] < heap[0] or names[j] < held[0]):
                push(heap, held, distance[j], names[j])


@njit(nogil=True, cache=True)
def ceilings_range(products, norms, shares, names, own, k, ceilings, begin, end):
    """For queries begin..end-1 a number that the k-th smallest squared distance to these points does not exceed.

    norms[j] + products[i, j] + shares[i] is an upper bound of the one between query i and point j.
    """
    heap, held = np.empty(k, dtype=np.float32), np.zeros(k, dtype=np.int64)
    for i in range(begin, end):
        heap[:] = np.inf
        for start in range(0, len(norms), 64):
            stop = min(start + 64, len(norms))
            if _any_below(norms[start:stop], products[i, start:stop], heap[0]):
                for j in range(start, stop):
                    value = norms[j] + products[i, j]
                    if value < heap[0] and names[j] != own[i]:
                        push(heap, held, value, 0)
        ceilings[i] = _above(np.float64(heap[0]) + shares[i])


@njit(nogil=True, cache=True)
def sift(products, norms, shares, ceilings, points, names, queries, own, distances, ids, begin, end):
    """Put those points into the heaps of queries begin..end-1 that products in float32 do not rule out.

    norms[j] + products[i, j] + shares[i] is a lower bound of the squared distance between query i and point j; only
    where it does not exceed that of the k-th nearest so far, or the ceiling of that, the distance is computed.
    """
    hits = np.empty(len(norms) + 3, dtype=np.int64)
    for i in range(begin, end):
        heap, held, q = distances[i], ids[i], queries[i]
        limit = _above(min(heap[0], ceilings[i]) - shares[i])
        count = 0
        for start in range(0, len(norms), 64):
            stop = min(start + 64, len(norms))
            if _any_below(norms[start:stop], products[i, start:stop], limit):
                for j in range(start, stop):
                    if norms[j] + products[i, j] <= limit and names[j] != own[i]:
                        hits[count] = j
                        count += 1
        hits[count : count + 3] = hits[0]
        for at in range(0, count, 4):  # four at a time: a sum waits for its last addition
            a, b, c, d = hits[at], hits[at + 1], hits[at + 2], hits[at + 3]
            to_a, to_b, to_c, to_d = 0.0, 0.0, 0.0, 0.0
            for g in range(len(q)):
                value = q[g]
                to_a += (points[a, g] - value) * (points[a, g] - value)
                to_b += (points[b, g] - value) * (points[b, g] - value)
                to_c += (points[c, g] - value) * (points[c, g] - value)
                to_d += (points[d, g] - value) * (points[d, g] - value)
            for h, distance in enumerate((to_a, to_b, to_c, to_d)):
                if at + h < count:
                    name = names[hits[at + h]]
                    if distance < heap[0] or (distance == heap[0] and name < held[0]):
                        push(heap, held, distance, name)


@njit(nogil=True, cache=True, inline="always")
def _any_below(norms, products, limit):
    """Whether any sum is at most the limit; in this form the compiler compares many at once."""
    hit = np.int32(0)
    for j in range(len(norms)):
        hit |= np.int32(1) if norms[j] + products[j] <= limit else np.int32(0)
    return hit != 0


@njit(nogil=True, cache=True, inline="always")
def _above(value):
    """The value in float32, rounded up."""
    return np.float32(value + abs(value) * 1.2e-7)


@njit(nogil=True, cache=True)
def unheap_range(distances, ids, begin, end):
    """Sort the rows of heaps begin..end-1, nearest first."""
    for i in range(begin, end):
        unheap(distances[i], ids[i])


@njit(nogil=True, cache=True)
def rank_range(points, queries, own, candidates, distances, ids, begin, end):
    """The k nearest of some candidates (queries x C, -1: none), for queries begin..end-1, nearest first.

    Those that are missing are infinitely far. Distances and ties are as in `nearest_range`.
    """
    for i in range(begin, end):
        heap, held, q = distances[i], ids[i], queries[i]
        heap[:], held[:] = np.inf, np.iinfo(np.int64).max
        for j in candidates[i]:
            if j < 0 or j == own[i]:
                continue
            distance = 0.0
            for a in range(len(q)):
                d = points[j, a] - q[a]
                distance += d * d
            if distance < heap[0] or (distance == heap[0] and j < held[0]):
                push(heap, held, distance, j)
        unheap(heap, held)


@njit(nogil=True, cache=True)
def expand_range(groups, first, distances, ids, members, starts, result, begin, end):
    """From groups of coinciding points to the points: rows begin..end-1 of `result` (queries x k).

    The groups near query i are ids[g] at distances[g], g = groups[i], nearest first; group h holds the points
    members[starts[h]..starts[h + 1] - 1], in rising order. Point first[i] comes first (-1: none does); then, among
    equally near points, the one with the lowest index, whatever group it is of.
    """
    k, near = result.shape[1], ids.shape[1]
    tied = np.empty(near * (k + 1), dtype=np.int64)
    for i in range(begin, end):
        g, filled, at = groups[i], 0, 0
        if first[i] >= 0:
            result[i, 0] = first[i]
            filled = 1
        while filled < k:
            distance, count = distances[g, at], 0
            while at < near and distances[g, at] == distance:
                own = members[starts[ids[g, at]] : starts[ids[g, at] + 1]]
                for j in own[: k - filled + 1]:
                    if j != first[i]:
                        tied[count] = j
                        count += 1
                at += 1
            run = tied[:count]
            ascend(run)
            for j in run[: k - filled]:
                result[i, filled] = j
                filled += 1


@njit(nogil=True, cache=True)
def fingerprints(x):
    """A 64-bit number for each row, the same for equal rows."""
    result = np.empty(len(x), dtype=np.uint64)
    words = x.view(np.uint64)
    for i in range(len(x)):
        value = np.uint64(0x9E3779B97F4A7C15)
        for a in range(x.shape[1]):
            value = (value ^ words[i, a]) * np.uint64(0xBF58476D1CE4E5B9)
            value ^= value >> np.uint64(29)
        result[i] = value
    return result
