"""Greedy regression trees for many neighborhoods in one compiled call over flat arrays.

The trees are those of scikit-learn's `DecisionTreeRegressor` (depth first; a node is split unless it is at
full depth, pure, too small, or not separated by any feature; `x <= threshold` goes left), except that ties have a rule:
the lowest feature, then the lowest threshold, where scores that differ by rounding only count as equal.
Hence the same neighborhood gives the same tree, whatever the order of its members.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pellucid._threads import run_chunks
from pellucid.witnesses._tree_columns import argsort, gather, sort_many_valued
from pellucid.witnesses._tree_growth import grow_tree


class Trees(NamedTuple):
    """n fitted trees on flat arrays; the nodes of tree i are node_offsets[i]:node_offsets[i + 1], in preorder.

    `left` and `right` count from the tree's own first node; they and `feature` are -1 at leaves.
    """

    node_offsets: NDArray[np.int64]  # n + 1
    feature: NDArray[np.int32]  # nodes
    threshold: NDArray[np.float64]  # nodes; 0 at leaves
    left: NDArray[np.int32]  # nodes
    right: NDArray[np.int32]  # nodes
    value: NDArray[np.float64]  # nodes x K: mean or median of the node, inner nodes too; maybe shrunk since
    size: NDArray[np.int32]  # nodes: members in the node
    leaf: NDArray[np.int64]  # M: for each member the flat index of its leaf


def grow(
    x: NDArray[Any],
    f: NDArray[np.float64],
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    depths: NDArray[np.int64],
    criterion: Literal["squared", "absolute"],
    min_leaf: int = 1,
    threads: int = 1,
) -> Trees:
    """Grow one tree for each neighborhood.

    Parameters
    ----------
    x : NDArray
        (N, P) features, C-contiguous, of dtype uint8, bool, float32 or float64; finite.
    f : NDArray
        (N, K) predictions.
    members : NDArray
        (M,) point indices of all neighborhoods, one after the other; no point twice in one.
    offsets : NDArray
        (n + 1,) neighborhood i is members[offsets[i]:offsets[i + 1]]; none is empty.
    depths : NDArray
        (n,) greatest depth of each tree, at least 1.
    criterion : {"squared", "absolute"}
        What a split minimises, summed over outputs: the squares about the mean, or the absolute values about the
        median. Leaves hold the mean or the median.
    min_leaf : int
        The least number of members on each side of a split, at least 1.
    threads : int
        How many threads share the work; the result does not depend on it.
    """
    x = _as_numbers(x)
    sizes = np.diff(offsets)
    # A tree of depth d on m members has at most 2^(d+1) - 1 nodes and at most m / min_leaf leaves, if it has splits.
    room = np.minimum(2 * np.maximum(sizes // min_leaf, 1), 2 ** np.minimum(depths + 1, 40)) - 1
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
    # None is known when the kernel is compiled, which then has one criterion alone.
    absolute = True if criterion == "absolute" else None
    kernel = partial(_grow_range, x, f, members, offsets, absolute, depths, min_leaf, starts, nodes, leaf, counts)
    run_chunks(kernel, offsets, threads)
    node_offsets = np.concatenate([[0], np.cumsum(counts)])
    used = np.repeat(starts[:-1] - node_offsets[:-1], counts) + np.arange(node_offsets[-1])
    leaf += np.repeat(node_offsets[:-1], sizes)
    feature, threshold, left, right, value, size = (array[used] for array in nodes)
    return Trees(node_offsets, feature, threshold, left, right, value, size, leaf)


def walk(trees: Trees, which: NDArray[np.int64], x: NDArray[Any]) -> NDArray[np.int64]:
    """The flat index of the leaf that row r of x reaches in tree which[r]."""
    leaf = np.empty(len(x), np.int64)
    _walk(trees.node_offsets, trees.feature, trees.threshold, trees.left, trees.right, which, _as_numbers(x), leaf)
    return leaf


def _as_numbers(x: NDArray[Any]) -> NDArray[Any]:
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
def _grow_range(x, f, members, offsets, absolute, depths, min_leaf, starts, nodes, leaf, counts, begin, end):
    """Grow the trees begin..end; tree i writes its nodes from starts[i] on and their number into counts[i]."""
    feature, threshold, left, right, value, size = nodes
    for i in range(begin, end):
        mine = members[offsets[i] : offsets[i + 1]]
        room = slice(starts[i], starts[i + 1])
        # In ascending order of points: then sums, too, do not depend on the order of the members.
        m = len(mine)
        points, ascending, spare = np.empty(m), np.empty(m, np.uint32), np.empty(m, np.uint32)
        for j in range(m):
            points[j] = mine[j]
        argsort(points, ascending, spare)
        rows, y = np.empty(m, np.int64), np.empty((m, f.shape[1]))
        for j in range(m):
            rows[j] = mine[ascending[j]]
            for k in range(f.shape[1]):
                y[j, k] = f[rows[j], k]
        features, many, cuts, words = gather(x, rows)
        values, orders, which = sort_many_valued(x, rows, features, many)
        reached = np.empty(m, np.int64)
        tree = feature[room], threshold[room], left[room], right[room], value[room], size[room]
        counts[i] = grow_tree(
            y, features, many, cuts, words, values, orders, which, depths[i], min_leaf, absolute, tree, reached
        )
        for j in range(m):
            leaf[offsets[i] + ascending[j]] = reached[j]
