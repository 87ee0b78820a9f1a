"""Greedy regression trees for many neighborhoods in one compiled call over flat arrays.

The trees are those of scikit-learn's `DecisionTreeRegressor` (depth first; a node is split unless it is at
full depth, pure, or not separated by any feature; `x <= threshold` goes left), except that ties have a rule:
the lowest feature, then the lowest threshold, where scores that differ by rounding only count as equal.
Hence the same neighborhood gives the same tree, whatever the order of its members.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pellucid._threads import run_chunks
from pellucid.witnesses._tree_columns import SLOTS, argsort, distinct, gather, midpoint, sort_many_valued, steps, unpack
from pellucid.witnesses._tree_splits import (
    absolute_many_valued,
    absolute_two_valued,
    squared_many_valued,
    squared_two_valued,
)

# Scores closer than this share of the node's impurity are a tie.
TIE = 1e-12

# Two-valued columns are scored in tiles of so many: this bounds the scratch memory and keeps it in the cache.
TILE = 256
# ... and tiles are filled up to a multiple of so many, a whole number of vector registers.
LANES = 16

# Up to so many members, the splits of a many-valued feature are scored as so many columns: quadratic, but in
# vector instructions. Must be less than TILE.
PAIRWISE = 128


class Trees(NamedTuple):
    """n fitted trees on flat arrays; the nodes of tree i are node_offsets[i]:node_offsets[i + 1], in preorder.

    `left` and `right` count from the tree's own first node; they and `feature` are -1 at leaves.
    """

    node_offsets: NDArray[np.int64]  # n + 1
    feature: NDArray[np.int32]  # nodes
    threshold: NDArray[np.float64]  # nodes; 0 at leaves
    left: NDArray[np.int32]  # nodes
    right: NDArray[np.int32]  # nodes
    value: NDArray[np.float64]  # nodes x K: mean or median of the node, inner nodes too
    size: NDArray[np.int32]  # nodes: members in the node
    leaf: NDArray[np.int64]  # M: for each member the flat index of its leaf


def grow(
    x: NDArray,
    f: NDArray[np.float64],
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    depths: NDArray[np.int64],
    criterion: Literal["squared", "absolute"],
    threads: int = 1,
) -> Trees:
    """Grow one tree for each neighborhood.

    Args:
        x: features (N x P), C-contiguous, of dtype uint8, bool, float32 or float64; finite.
        f: predictions (N x K).
        members: point indices of all neighborhoods, one after the other (M); no point twice in one.
        offsets: neighborhood i is members[offsets[i]:offsets[i + 1]] (n + 1); none is empty.
        depths: greatest depth of each tree (n), at least 1.
        criterion: what a split minimises, summed over outputs: the squares about the mean, or the absolute
            values about the median. Leaves hold the mean or the median.
        threads: how many threads share the work; the result does not depend on it.
    """
    x = _as_numbers(x)
    sizes = np.diff(offsets)
    # A tree of depth d on m members has at most 2^(d+1) - 1 nodes and at most m leaves.
    room = np.minimum(2 * sizes, 2 ** np.minimum(depths + 1, 40)) - 1
    starts = np.concatenate([[0], np.cumsum(room)])
    total = int(starts[-1])
    nodes = (
        np.empty(total, np.int32),
        np.empty(total, np.float64),
        np.empty(total, np.int32),
        np.empty(total, np.int32),
        np.empty((total, f.shape[1]), np.float64),
        np.empty(total, np.int32),
    )
    leaf = np.empty(len(members), np.int64)
    counts = np.empty(len(sizes), np.int64)
    kernel = partial(_grow_range, x, f, members, offsets, depths, criterion == "absolute", starts, nodes, leaf, counts)
    run_chunks(kernel, offsets, threads)
    node_offsets = np.concatenate([[0], np.cumsum(counts)])
    used = np.repeat(starts[:-1] - node_offsets[:-1], counts) + np.arange(node_offsets[-1])
    leaf += np.repeat(node_offsets[:-1], sizes)
    return Trees(node_offsets, *(array[used] for array in nodes), leaf)


def walk(trees: Trees, which: NDArray[np.int64], x: NDArray) -> NDArray[np.int64]:
    """The flat index of the leaf that row r of x reaches in tree which[r]."""
    leaf = np.empty(len(x), np.int64)
    _walk(trees.node_offsets, trees.feature, trees.threshold, trees.left, trees.right, which, _as_numbers(x), leaf)
    return leaf


def _as_numbers(x: NDArray) -> NDArray:
    return x.view(np.uint8) if x.dtype == np.bool_ else x


@njit(cache=True, nogil=True)
def _walk(node_offsets, feature, threshold, left, right, which, x, leaf):
    for r in range(len(x)):
        start = node_offsets[which[r]]
        node = start
        while feature[node] >= 0:
            node = start + (left[node] if x[r, feature[node]] <= threshold[node] else right[node])
        leaf[r] = node


@njit(cache=True, nogil=True)
def _grow_range(x, f, members, offsets, depths, absolute, starts, nodes, leaf, counts, begin, end):
    """Grow the trees begin..end; tree i writes its nodes from starts[i] on and their number into counts[i]."""
    feature, threshold, left, right, value, size = nodes
    for i in range(begin, end):
        mine = members[offsets[i] : offsets[i + 1]]
        room = slice(starts[i], starts[i + 1])
        # In ascending order of points: then sums, too, do not depend on the order of the members.
        ascending = np.argsort(mine)
        rows = mine[ascending]
        features, many, cuts, words = gather(x, rows)
        values, orders, which = sort_many_valued(x, rows, features, many)
        reached = np.empty(len(rows), np.int64)
        tree = feature[room], threshold[room], left[room], right[room], value[room], size[room]
        counts[i] = _grow_tree(
            f[rows], features, many, cuts, words, values, orders, which, depths[i], absolute, tree, reached
        )
        for j in range(len(rows)):
            leaf[offsets[i] + ascending[j]] = reached[j]


@njit(cache=True, nogil=True)
def _partition(orders, start, stop, side, spare):
    """In the part start:stop of each row, move members on side 0 before those on side 1, keeping the order
    otherwise. Returns where side 1 begins."""
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
def _medians(y, orders, value):
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
def _sort_outputs(y, orders, ordered, spreads):
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
def _means(y, members, span, value):
    """Means of a node (into value, K) and whether it is pure; y (members x K).

    They are summed about the first member, so that a pure node gets its value exactly. span (K) is scratch.
    """
    reference = y[members[0]]
    value[:] = 0.0
    span[:] = 0.0
    for i in members:
        row = y[i]
        for k in range(len(value)):
            value[k] += row[k] - reference[k]
            span[k] += abs(row[k] - reference[k])
    for k in range(len(value)):
        value[k] = reference[k] + value[k] / len(members)
    return (span == 0.0).all()


@njit(cache=True, nogil=True)
def _center_outputs(y, members, shift, squares, centered):
    """The outputs of a node about their means (into centered, members x K); the impurity, the sum of squares.

    The mean is taken of differences from the first member: it is not rounded to the precision that a large
    offset leaves. shift and squares (K) are scratch.
    """
    reference = y[members[0]]
    shift[:] = 0.0
    squares[:] = 0.0
    for i in members:
        row = y[i]
        for k in range(len(shift)):
            shift[k] += row[k] - reference[k]
    for k in range(len(shift)):
        shift[k] /= len(members)
    for i in members:
        row, into = y[i], centered[i]
        for k in range(len(shift)):
            into[k] = (row[k] - reference[k]) - shift[k]
            squares[k] += into[k] * into[k]
    return squares.sum()


@njit(cache=True, nogil=True)
def _grow_tree(y, features, many, cuts, words, values, orders, which, depth, absolute, tree, reached):
    """Grow one tree on the m members whose outputs are y (m x K); the number of its nodes.

    The columns are those of `_tree_columns`; orders is permuted. Members are numbered 0..m-1 here; reached (m)
    gets the leaf of each. Every list of members is kept in order and parted stably as nodes are split, so that
    nothing is sorted twice.
    """
    feature, threshold, left, right, value, size = tree
    m, outputs = y.shape
    columns = len(many)
    members = np.arange(m).astype(np.uint32).reshape(1, m)
    spare = np.empty(m, np.uint32)
    side = np.empty(m, np.uint32)
    # Outputs
    sorted_outputs = outputs if absolute else 0
    transposed = y.T.copy()
    output_orders = np.empty((sorted_outputs, m), np.uint32)
    for k in range(sorted_outputs):
        argsort(transposed[k], output_orders[k], spare)
    place = np.empty((outputs, m), np.int32)
    ordered = np.empty((outputs, m + 2), np.float64)
    spreads, spread = np.empty(outputs), np.empty(outputs)
    middle = np.empty(outputs, np.int32)
    above, below = np.empty((outputs, m + 2), np.int32), np.empty((outputs, m + 2), np.int32)
    centered = np.empty((m, outputs), np.float64)
    # Two-valued columns. The candidates of a node are the columns kept at its parent; they lie in `kept` one
    # behind the other along the path from the root, since a depth-first walk never needs others.
    inside = np.empty(len(words), np.uint64)
    kept = np.empty(4 * columns + 1, np.uint32)
    root = 0
    for c in range(columns):
        if not many[c]:
            kept[root] = c
            root += 1
    masked = np.empty((len(words), root + 1), np.uint64)
    signatures = np.empty(root + 1, np.uint64)
    table = np.zeros(SLOTS, np.uint32)
    tile = np.zeros((m, TILE), np.uint8)
    narrow, wide = np.empty((6, TILE), np.uint8), np.empty((5, TILE), np.uint32)
    floats, sums = np.empty((5, TILE)), np.empty((outputs, TILE))
    scores = np.empty(root + LANES)
    line, few, ends = np.empty(m), np.empty(TILE), np.empty(m, np.int64)
    # Open nodes: start, stop, depth left, parent (+ 1, negative for a right child), candidates' start and number
    stack = np.empty((min(depth, m) + 2, 6), np.int64)
    stack[0] = (0, m, depth, 0, 0, root)
    top, count = 1, 0
    while top:
        top -= 1
        start, stop, levels, parent, kept_start, candidates = stack[top]
        node = count
        count += 1
        if parent > 0:
            left[parent - 1] = node
        elif parent < 0:
            right[-parent - 1] = node
        mine = members[0, start:stop]
        here = stop - start
        size[node] = here
        if absolute:
            pure = _medians(transposed, output_orders[:, start:stop], value[node])
        else:
            pure = _means(y, mine, spread, value[node])
        best, column, cut, position, sorted_column = np.inf, -1, 0.0, 0, -1
        number = 0
        if levels > 0 and not pure:
            if absolute:
                impurity = _sort_outputs(transposed, output_orders[:, start:stop], ordered, spreads)
                for k in range(outputs if len(which) else 0):
                    for r in range(here):
                        place[k, output_orders[k, start + r]] = r + 1
            else:
                impurity = _center_outputs(y, mine, spread, spreads, centered)
            # Which two-valued columns are left?
            if kept_start + 2 * candidates > len(kept):
                longer = np.empty(2 * (kept_start + 2 * candidates), np.uint32)
                longer[: len(kept)] = kept
                kept = longer
            inside[:] = 0
            for i in mine:
                inside[i // 64] |= np.uint64(1) << np.uint64(i % 64)
            middle_kept = kept_start + candidates
            mine_kept = kept[middle_kept:]
            number = distinct(
                words, kept[kept_start:middle_kept], inside, mine[0], mine_kept, masked, signatures, table
            )
            for first in range(0, number, TILE):
                width = min(TILE, number - first)
                full = (width + LANES - 1) // LANES * LANES
                unpack(masked, first, width, mine, narrow[5], tile)
                out = scores[first : first + full]
                if not absolute:
                    squared_two_valued(tile, mine, centered, floats, sums, out)
                elif here < 256:
                    absolute_two_valued(tile, output_orders[:, start:stop], ordered, narrow, out)
                else:
                    absolute_two_valued(tile, output_orders[:, start:stop], ordered, wide, out)
            # The best split, in ascending order of features
            tolerance = TIE * impurity
            r = 0
            for j in range(number + 1):
                limit = mine_kept[j] if j < number else columns
                while r < len(which) and which[r] < limit:
                    order, column_values = orders[r, start:stop], values[r]
                    if column_values[order[0]] < column_values[order[-1]]:
                        if absolute and here <= PAIRWISE:
                            splits = steps(order, column_values, tile, ends)
                            full = (splits + LANES - 1) // LANES * LANES
                            absolute_two_valued(tile, output_orders[:, start:stop], ordered, narrow, few[:full])
                            for t in range(splits):
                                line[ends[t]] = few[t]
                        elif absolute:
                            absolute_many_valued(
                                order, place, ordered, spreads, above, below, middle, spread, line
                            )
                        else:
                            squared_many_valued(order, centered, spread, line)
                        for t in range(1, here):
                            if line[t] < best - tolerance:
                                low, high = column_values[order[t - 1]], column_values[order[t]]
                                if low < high:
                                    best, column, sorted_column, position = line[t], which[r], r, t
                                    cut = midpoint(low, high)
                    r += 1
                if j < number and scores[j] < best - tolerance:
                    best, column, sorted_column, cut = scores[j], limit, -1, cuts[limit]
        if column < 0:
            feature[node], threshold[node], left[node], right[node] = -1, 0.0, -1, -1
            for i in mine:
                reached[i] = node
            continue
        feature[node], threshold[node] = features[column], cut
        if sorted_column >= 0:
            for t in range(here):
                side[orders[sorted_column, start + t]] = t >= position
        else:
            for i in mine:
                side[i] = (words[i // 64, column] >> np.uint64(i % 64)) & np.uint64(1)
        between = _partition(members, start, stop, side, spare)
        _partition(output_orders, start, stop, side, spare)
        _partition(orders, start, stop, side, spare)
        stack[top] = (between, stop, levels - 1, -node - 1, kept_start + candidates, number)
        stack[top + 1] = (start, between, levels - 1, node + 1, kept_start + candidates, number)
        top += 2
    return count
