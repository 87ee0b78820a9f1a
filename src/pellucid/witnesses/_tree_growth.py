"""Growing one tree: nodes are split depth first, each by the best of all splits.

Members are numbered 0..m-1 in this file. Every list of members (of a node, in the order of a feature or of an
output) is one row of which a node owns the part start:stop, parted stably as nodes are split, so that nothing
is sorted twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid.witnesses._tree_columns import SLOTS, argsort, balanced, distinct, midpoint, places, steps, unpack
from pellucid.witnesses._tree_nodes import center_outputs, means, medians, partition, rank, sort_outputs
from pellucid.witnesses._tree_splits import (
    absolute_many_valued,
    absolute_two_valued,
    squared_many_valued,
    squared_two_valued,
)

# Scores closer than this share of the node's impurity are a tie.
TIE = 1e-12

# Columns are scored in tiles of so many: this bounds the scratch memory and keeps it in the cache ...
TILE = 256
# ... filled up to a multiple of so many, a whole number of vector registers.
LANES = 16

# Up to so many members, the splits of many-valued features are scored as columns, too: quadratic, but in
# vector instructions. Must be less than TILE.
PAIRWISE = 48


@njit(cache=True, nogil=True, inline="always")
def _score_two_valued(masked, number, members, output_orders, ordered, tile, narrow, wide, scores):
    """Absolute scores of `number` packed columns, a tile at a time."""
    for first in range(0, number, TILE):
        width = min(TILE, number - first)
        unpack(masked, first, width, members, narrow[5], tile)
        out = scores[first : first + (width + LANES - 1) // LANES * LANES]
        if len(members) < 256:
            absolute_two_valued(tile, output_orders, ordered, narrow, out)
        else:
            absolute_two_valued(tile, output_orders, ordered, wide, out)


@njit(cache=True, nogil=True, inline="always")
def _score_steps(values, orders, start, stop, output_orders, ordered, tile, narrow, scores, ends, offsets):
    """Absolute scores of the splits of all many-valued features of a small node, several features to a tile.

    Those of feature r are scores[offsets[r]:offsets[r + 1]], and ends has the members that go left in each.
    """
    done, filled = 0, 0
    for r in range(len(orders) + 1):
        if r == len(orders) or filled + stop - start > TILE:
            out = scores[done : done + (filled + LANES - 1) // LANES * LANES]
            absolute_two_valued(tile, output_orders, ordered, narrow, out)
            done, filled = done + filled, 0
        if r < len(orders):
            filled += steps(orders[r, start:stop], values[r], filled, tile, ends[done + filled :])
            offsets[r + 1] = done + filled


@njit(cache=True, nogil=True, inline="always")
def grow_tree(y, features, many, cuts, words, values, orders, which, depth, min_leaf, absolute, tree, reached):
    """Grow one tree on the m members whose outputs are y (m x K); the number of its nodes.

    The criterion is "absolute" where `absolute` is True, and "squared" where it is None: then the compiler leaves out
    the other half of the code. The columns are those that `gather` and `sort_many_valued` return (orders is permuted).
    No split leaves fewer than min_leaf members on a side. Nodes are written into the arrays of `tree` and the leaf of
    each member into reached (m).
    """
    feature, threshold, left, right, value, size = tree
    m, outputs = y.shape
    members = np.empty((1, m), np.uint32)
    for i in range(m):
        members[0, i] = i
    spare, side = np.empty(m, np.uint32), np.zeros(m, np.uint32)
    # Outputs
    transposed, blocks = np.empty((outputs, m)), (outputs + 3) // 4
    for i in range(m):
        for k in range(outputs):
            transposed[k, i] = y[i, k]
    by_order = 0 if absolute is None else outputs
    output_orders, place = np.empty((by_order, m), np.uint32), np.empty((by_order, m), np.uint32)
    for k in range(by_order):
        argsort(transposed[k], output_orders[k], spare)
    ordered, spreads, sums = np.empty((by_order, m + 2)), np.empty(outputs), np.empty(outputs)
    above, below = np.empty((by_order, m + 2), np.uint32), np.empty((by_order, m + 2), np.uint32)
    middle = np.empty(outputs, np.uint32)
    centered = np.zeros((m if absolute is None else 0, 4 * blocks))
    # The candidates of a node are the two-valued columns kept at its parent. They lie one behind the other
    # along the path from the root, since a depth-first walk never needs others.
    two_valued = places(many, 0)
    kept = np.empty(4 * len(two_valued) + 1, np.uint32)
    for j in range(len(two_valued)):
        kept[j] = two_valued[j]
    inside, masked = np.empty(len(words), np.uint64), np.empty((len(words), len(two_valued) + 1), np.uint64)
    signatures, table = np.empty(len(two_valued) + 1, np.uint64), np.zeros(SLOTS, np.uint32)
    tile = np.zeros((0 if absolute is None else m, TILE), np.uint8)
    narrow, wide = np.empty((6, TILE), np.uint8), np.empty((5, TILE), np.uint32)
    scores = np.empty(len(two_valued) + LANES)
    # Many-valued columns
    line = np.empty(m)
    pairs = 0 if absolute is None else len(which) * min(m, PAIRWISE) + LANES
    step_scores, step_ends = np.empty(pairs), np.empty(pairs, np.int32)
    step_offsets = np.zeros(len(which) + 1, np.int64)
    # Open nodes: start, stop, levels below, parent (+1; negative for a right child), candidates' start and stop
    stack = [(0, m, depth, 0, 0, len(two_valued))]
    count = 0
    while stack:
        start, stop, levels, parent, kept_start, kept_stop = stack.pop()
        node, here, mine, mine_by_output = count, stop - start, members[0, start:stop], output_orders[:, start:stop]
        count += 1
        size[node] = here
        if parent > 0:
            left[parent - 1] = node
        elif parent < 0:
            right[-parent - 1] = node
        if absolute is None:
            pure = means(y, mine, sums, spreads, value[node])
        else:
            pure = medians(transposed, mine_by_output, value[node])
        best, column, cut, sorted_column, position, number = np.inf, -1, 0.0, -1, 0, 0
        if levels > 0 and not pure and here >= 2 * min_leaf:
            # Two-valued columns: which are left, and how good are they?
            needed = 2 * kept_stop - kept_start
            if needed > len(kept):
                longer = np.empty(2 * needed, np.uint32)
                for j in range(kept_stop):
                    longer[j] = kept[j]
                kept = longer
            inside[:] = 0
            for i in mine:
                inside[i // 64] |= np.uint64(1) << np.uint64(i % 64)
            mine_kept = kept[kept_stop:]
            number = distinct(words, kept[kept_start:kept_stop], inside, mine[0], mine_kept, masked, signatures, table)
            if min_leaf > 1:
                number = balanced(mine_kept, masked, number, len(inside), here, min_leaf)
            if absolute is None:
                impurity = center_outputs(y, mine, sums, spreads, centered)
                squared_two_valued(masked, inside, here, centered.reshape(m, blocks, 4), scores[:number])
            else:
                impurity = sort_outputs(transposed, mine_by_output, ordered, spreads)
                _score_two_valued(masked, number, mine, mine_by_output, ordered, tile, narrow, wide, scores)
                if len(which) and here <= PAIRWISE:
                    _score_steps(
                        values,
                        orders,
                        start,
                        stop,
                        mine_by_output,
                        ordered,
                        tile,
                        narrow,
                        step_scores,
                        step_ends,
                        step_offsets,
                    )
                elif len(which):
                    rank(mine_by_output, place)
            # The best split, in ascending order of features: a later one must be better by more than rounding.
            tolerance = TIE * impurity
            r = 0
            for j in range(number + 1):
                following = np.int64(mine_kept[j]) if j < number else len(cuts)
                while r < len(which) and which[r] < following:
                    order, of_feature = orders[r, start:stop], values[r]
                    if of_feature[order[0]] < of_feature[order[-1]]:
                        if absolute is None:
                            squared_many_valued(order, centered, sums, line)
                        elif here <= PAIRWISE:
                            for step in range(step_offsets[r], step_offsets[r + 1]):
                                line[step_ends[step]] = step_scores[step]
                        else:
                            absolute_many_valued(order, place, ordered, spreads, above, below, middle, sums, line)
                        for t in range(min_leaf, here - min_leaf + 1):
                            low, high = of_feature[order[t - 1]], of_feature[order[t]]
                            if low < high and line[t] < best - tolerance:
                                best, column, cut = line[t], which[r], midpoint(low, high)
                                sorted_column, position = r, t
                    r += 1
                if j < number and scores[j] < best - tolerance:
                    best, column, cut, sorted_column = scores[j], following, cuts[following], -1
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
        between = partition(members, start, stop, side, spare)
        partition(output_orders, start, stop, side, spare)
        partition(orders, start, stop, side, spare)
        stack.append((between, stop, levels - 1, -node - 1, kept_stop, kept_stop + number))
        stack.append((start, between, levels - 1, node + 1, kept_stop, kept_stop + number))
    return count
