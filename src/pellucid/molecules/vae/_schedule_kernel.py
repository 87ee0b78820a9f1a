"""Compiled: in which order messages pass through trees, and on which others each of them depends.

Every node but the roots has two messages, numbered in the order of computation: up to its parent, 0 .. E - 1, those of
lower subtrees first; and down from its parent, E .. 2 E - 1, those near the roots first.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _ordered(nodes, level):
    """Nodes by level, and where each level begins."""
    highest = 0
    for node in nodes:
        highest = max(highest, level[node])
    bounds = np.zeros(highest + 2, dtype=np.int64)
    for node in nodes:
        bounds[level[node] + 1] += 1
    bounds = np.cumsum(bounds)
    free = bounds.copy()
    order = np.empty(len(nodes), dtype=np.int64)
    for node in nodes:
        order[free[level[node]]] = node
        free[level[node]] += 1
    return order, bounds


@njit(nogil=True, cache=True)
def schedule(parents):
    """The messages of trees, from each node's parent (-1 for roots), which stands before it.

    Returns
    -------
    up, up_bounds, up_pairs : the node that each message comes from, the levels, and (message, message that it depends
        on): those from the node's children.
    down, down_bounds : the node that each message goes to, and the levels.
    causal_pairs : down messages depend on the message to the parent, and on those from the node's earlier siblings.
    full_pairs : the same with all its siblings.
    visits, expands, visit_pairs : a walk through the trees stands at a node once before each of its children and once
        after the last; whether it goes on to a child then; and (visit, message that has arrived).
    """
    count = len(parents)
    children = np.zeros(count + 1, dtype=np.int64)
    depth = np.zeros(count, dtype=np.int64)
    height = np.zeros(count, dtype=np.int64)
    edges = 0
    for i in range(count):
        if parents[i] >= 0:
            children[parents[i] + 1] += 1
            depth[i] = depth[parents[i]] + 1
            edges += 1
    for i in range(count - 1, -1, -1):
        if parents[i] >= 0:
            height[parents[i]] = max(height[parents[i]], height[i] + 1)
    first = np.cumsum(children)
    free = first.copy()
    child = np.empty(edges, dtype=np.int64)
    nodes = np.empty(edges, dtype=np.int64)
    k = 0
    for i in range(count):
        if parents[i] >= 0:
            child[free[parents[i]]] = i
            free[parents[i]] += 1
            nodes[k] = i
            k += 1
    up, up_bounds = _ordered(nodes, height)
    down, down_bounds = _ordered(nodes, depth)
    down_bounds = down_bounds[1:]  # no message goes down to a root
    up_of, down_of = np.full(count, -1), np.full(count, -1)
    for k in range(edges):
        up_of[up[k]] = k
        down_of[down[k]] = edges + k

    up_pairs = np.empty((edges, 2), dtype=np.int64)
    n = 0
    for k in range(edges):
        for c in child[first[up[k]] : first[up[k] + 1]]:
            up_pairs[n] = k, up_of[c]
            n += 1
    up_pairs = up_pairs[:n]

    n_causal, n_full, n_visits = 0, 0, 0
    for i in range(count):
        degree = first[i + 1] - first[i]
        inner = 1 if parents[i] >= 0 else 0
        n_causal += degree * (degree - 1) // 2 + degree * inner
        n_full += degree * (degree - 1) + degree * inner
        n_visits += degree * (degree + 1) // 2 + (degree + 1) * inner
    causal_pairs, full_pairs = np.empty((n_causal, 2), dtype=np.int64), np.empty((n_full, 2), dtype=np.int64)
    n_causal, n_full = 0, 0
    for k in range(edges):
        node = down[k]
        parent = parents[node]
        if parents[parent] >= 0:
            causal_pairs[n_causal] = edges + k, down_of[parent]
            full_pairs[n_full] = edges + k, down_of[parent]
            n_causal, n_full = n_causal + 1, n_full + 1
        for c in child[first[parent] : first[parent + 1]]:
            if c < node:
                causal_pairs[n_causal] = edges + k, up_of[c]
                n_causal += 1
            if c != node:
                full_pairs[n_full] = edges + k, up_of[c]
                n_full += 1

    visits = np.empty(count + edges, dtype=np.int64)
    expands = np.empty(count + edges, dtype=np.bool_)
    visit_pairs = np.empty((n_visits, 2), dtype=np.int64)
    n, n_visits = 0, 0
    for i in range(count):
        below = child[first[i] : first[i + 1]]
        for k in range(len(below) + 1):
            visits[n], expands[n] = i, k < len(below)
            if parents[i] >= 0:
                visit_pairs[n_visits] = n, down_of[i]
                n_visits += 1
            for c in below[:k]:
                visit_pairs[n_visits] = n, up_of[c]
                n_visits += 1
            n += 1
    return up, up_bounds, up_pairs, down, down_bounds, causal_pairs, full_pairs, visits, expands, visit_pairs
