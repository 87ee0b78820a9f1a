"""Compiled search for the ways in which a cluster can be attached to a growing molecule.

A way is a row (p, c, q, d): atom c of the child's label becomes atom p of the parent's, and where two rings share a
bond, d becomes q; otherwise q = d = -1. Ways that differ by a symmetry of the molecule so far, or of the child,
are one: atoms have the same color if they look alike from all distances (color refinement), and ways are told apart
by the colors of the atoms that they join. That is exact but for some cages, such as prismane with a fused ring, in
which atoms of the same colors have bonds of two sorts; there only one of these ways is offered.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MAX_WAYS = 33
"""The most ways per pair of atoms: one by itself, and with at most 4 bonds per atom 2 * 4 * 4 with a bond."""


@njit(nogil=True, cache=True, inline="always")
def _mix(a, b):
    """A hash of two 64-bit words."""
    z = a * np.uint64(0x9E3779B97F4A7C15) + b + np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def refine(colors, bonds, present):
    """Tell atoms apart by everything around them, however far: until a round tells no more of them apart."""
    n = len(colors)
    colors_before = 0
    while True:
        ordered = np.sort(colors)
        different = 1
        for i in range(1, n):
            different += ordered[i] != ordered[i - 1]
        if different == colors_before:
            return
        colors_before = different
        sums = np.zeros(n, dtype=np.uint64)
        for b in range(len(bonds)):
            if present[b]:
                i, j, order = bonds[b, 0], bonds[b, 1], np.uint64(bonds[b, 2])
                sums[i] += _mix(colors[j], order)
                sums[j] += _mix(colors[i], order)
        for i in range(n):
            colors[i] = _mix(colors[i], sums[i])


@njit(nogil=True, cache=True)
def _may_hang(tally, p, parent_size, child_size, alone):
    """Whether the child may share atom p with the molecule so far.

    Where three clusters meet and two of them are bonds, they meet in a cluster of that single atom, and nowhere else.
    `tally` counts, for each atom, the clusters with more than one atom, the bonds, and the single atoms among them.
    """
    if tally[p, 2] and (child_size == 1 or (alone and parent_size > 1)):
        return False
    several = tally[p, 0] + (child_size > 1)
    pairs = tally[p, 1] + (child_size == 2)
    return not (several > 2 and pairs > 1 and tally[p, 2] == 0 and child_size > 1)


@njit(nogil=True, cache=True)
def find_ways(
    kinds, bonds, present, used, tally, marks, members, parent_label, child_label, truth,
    offsets, template_kinds, template_colors, template_used, capacities, squares, adjacency, out,
):  # fmt: skip
    """Write the ways to attach a child into `out`, the true one first if there is one; returns their number.

    Parameters
    ----------
    kinds : ndarray
        Kinds of the atoms of the molecule so far.
    bonds, present : ndarray
        (atom, atom, order), and which of them the molecule has so far.
    used, tally, marks : ndarray
        Of the atoms so far: sum of bond orders, clusters (see `_may_hang`), and what tells the clusters apart
        that may still grow.
    members : ndarray
        The atoms of the parent, in the order of its label.
    parent_label, child_label : int
        Labels of parent and child.
    truth : ndarray
        A way, or -1s.
    offsets : ndarray
        Where the atoms of each label begin.
    template_kinds, template_colors, template_used, capacities : ndarray
        Of the atoms of all labels: kind, what tells them apart, sum of bond orders, and the most that it may be.
    squares, adjacency : ndarray
        Where the matrix of each label begins, and the orders of their bonds as square matrices, one after the other.
    out : ndarray
        Where the ways are written.
    """
    size, begin = offsets[child_label + 1] - offsets[child_label], offsets[child_label]
    parent_size = len(members)
    square, parent_square = squares[child_label], squares[parent_label]
    count = 0
    for p in range(parent_size):
        a = members[p]
        if not _may_hang(tally, a, parent_size, size, True):
            continue
        for c in range(size):
            if kinds[a] == template_kinds[begin + c] and used[a] + template_used[begin + c] <= capacities[begin + c]:
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = p, c, -1, -1
                count += 1
    if size > 2 and parent_size > 2:
        for p in range(parent_size):
            for q in range(p + 1, parent_size):
                order = adjacency[parent_square + p * parent_size + q]
                a, b = members[p], members[q]
                if order == 0 or not (
                    _may_hang(tally, a, parent_size, size, False) and _may_hang(tally, b, parent_size, size, False)
                ):
                    continue
                for c in range(size):
                    if kinds[a] != template_kinds[begin + c]:
                        continue
                    if used[a] + template_used[begin + c] - order > capacities[begin + c]:
                        continue
                    for d in range(size):
                        if (
                            adjacency[square + c * size + d] == order
                            and kinds[b] == template_kinds[begin + d]
                            and used[b] + template_used[begin + d] - order <= capacities[begin + d]
                        ):
                            out[count, 0], out[count, 1], out[count, 2], out[count, 3] = p, c, q, d
                            count += 1
    if count < 2:
        return count
    colors = np.empty(len(kinds), dtype=np.uint64)
    for i in range(len(kinds)):
        colors[i] = _mix(np.uint64(kinds[i]), marks[i])
    refine(colors, bonds, present)
    keys = np.empty(count, dtype=np.uint64)
    for w in range(count):
        keys[w] = _mix(colors[members[out[w, 0]]], template_colors[begin + out[w, 1]])
        if out[w, 2] >= 0:
            keys[w] += _mix(colors[members[out[w, 2]]], template_colors[begin + out[w, 3]])
            keys[w] = _mix(keys[w], np.uint64(adjacency[square + out[w, 1] * size + out[w, 3]]))
    kept = 0
    if truth[0] >= 0:
        for w in range(count):
            same = out[w, 0] == truth[0] and out[w, 1] == truth[1] and out[w, 2] == truth[2] and out[w, 3] == truth[3]
            if same:
                for k in range(4):
                    out[w, k], out[0, k] = out[0, k], out[w, k]
                keys[w], keys[0] = keys[0], keys[w]
    for w in range(count):
        new = True
        for v in range(kept):
            new = new and keys[v] != keys[w]
        if new:
            for k in range(4):
                out[kept, k] = out[w, k]
            keys[kept] = keys[w]
            kept += 1
    return kept


@njit(nogil=True, cache=True)
def pairwise_fits(offsets, template_kinds, template_colors, template_used, capacities, squares, adjacency, fits):
    """For every two labels whether the second can be attached to the first, with nothing else there."""
    none = np.full(4, -1)
    bonds, present = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.bool_)
    count = len(offsets) - 1
    largest = 0
    for i in range(count):
        largest = max(largest, offsets[i + 1] - offsets[i])
    out = np.empty((MAX_WAYS * largest**2, 4), dtype=np.int64)
    for i in range(count):
        part = slice(offsets[i], offsets[i + 1])
        size = offsets[i + 1] - offsets[i]
        tally = np.zeros((size, 3), dtype=np.int64)
        tally[:, 0], tally[:, 1], tally[:, 2] = size > 1, size == 2, size == 1
        marks = np.zeros(size, dtype=np.uint64)
        members = np.arange(size)
        for j in range(count):
            ways = find_ways(
                template_kinds[part], bonds, present, template_used[part], tally, marks, members, i, j, none,
                offsets, template_kinds, template_colors, template_used, capacities, squares, adjacency, out,
            )  # fmt: skip
            fits[i, j] = ways > 0


@njit(nogil=True, cache=True)
def mark_path(marks, node, parents, member_offsets, members):
    """Mark the atoms of a cluster and of all above it, which may still grow, each cluster with a number of its own."""
    while node >= 0:
        number = _mix(np.uint64(node), np.uint64(7))
        for k in range(member_offsets[node], member_offsets[node + 1]):
            marks[members[k]] += number
        node = parents[node]


@njit(nogil=True, cache=True)
def grow(node, size, bonds, present, used, tally, inside, member_offsets, members):
    """Add a cluster to the molecule: its bonds that are new, and its part of the tally."""
    for k in range(member_offsets[node], member_offsets[node + 1]):
        a = members[k]
        inside[a] = node
        tally[a, 0] += size > 1
        tally[a, 1] += size == 2
        tally[a, 2] += size == 1
    if size > 1:
        for b in range(len(bonds)):
            i, j = bonds[b, 0], bonds[b, 1]
            if inside[i] == node and inside[j] == node and not present[b]:
                present[b] = True
                used[i] += bonds[b, 2]
                used[j] += bonds[b, 2]


@njit(nogil=True, cache=True)
def true_attachments(
    atom_offsets, all_kinds, bond_offsets, all_bonds, node_offsets, labels, all_parents, member_offsets, all_members,
    offsets, template_kinds, template_colors, template_used, capacities, squares, adjacency,
):  # fmt: skip
    """All attachments of many molecules, with the true way of each.

    Returns the nodes that can be attached in more than one way, the number of ways of each, the ways (the true one
    first), what already hangs on the parent then, rows (step, atom of the parent, node), and a node that cannot be
    attached as it is, or -1. Nodes are numbered over all molecules; the atoms in `all_bonds` and `all_members`, and
    `all_parents`, within their own.
    """
    steps = np.empty(1024, dtype=np.int64)
    counts = np.empty(1024, dtype=np.int64)
    ways = np.empty((4096, 4), dtype=np.int64)
    hanging = np.empty((4096, 3), dtype=np.int64)
    n_steps, n_ways, n_hanging = 0, 0, 0
    out = np.empty((256, 4), dtype=np.int64)
    truth = np.empty(4, dtype=np.int64)
    for m in range(len(atom_offsets) - 1):
        kinds = all_kinds[atom_offsets[m] : atom_offsets[m + 1]]
        bonds = all_bonds[bond_offsets[m] : bond_offsets[m + 1]]
        first, last = node_offsets[m], node_offsets[m + 1]
        parents, nodes = all_parents[first:last], member_offsets[first : last + 1]
        members = all_members
        n = len(kinds)
        present = np.zeros(len(bonds), dtype=np.bool_)
        used = np.zeros(n, dtype=np.int64)
        tally = np.zeros((n, 3), dtype=np.int64)
        inside = np.full(n, -1)
        grow(0, nodes[1] - nodes[0], bonds, present, used, tally, inside, nodes, members)
        for node in range(1, last - first):
            parent = parents[node]
            size = nodes[node + 1] - nodes[node]
            parent_atoms = members[nodes[parent] : nodes[parent + 1]]
            truth[:] = -1
            filled = 0
            for p in range(len(parent_atoms)):
                for c in range(size):
                    if parent_atoms[p] == members[nodes[node] + c]:
                        truth[filled], truth[filled + 1] = p, c
                        filled += 2
            room = MAX_WAYS * len(parent_atoms) * size
            if room > len(out):
                out = np.empty((room, 4), dtype=np.int64)
            marks = np.zeros(n, dtype=np.uint64)
            mark_path(marks, parent, parents, nodes, members)
            count = find_ways(
                kinds, bonds, present, used, tally, marks, parent_atoms, labels[first + parent], labels[first + node],
                truth, offsets, template_kinds, template_colors, template_used, capacities, squares, adjacency, out,
            )  # fmt: skip
            if count == 0 or (count == 1 and (out[0] != truth).any()):
                return steps[:0], counts[:0], ways[:0], hanging[:0], first + node
            if count > 1:
                if n_steps == len(steps):
                    steps, counts = np.concatenate((steps, steps)), np.concatenate((counts, counts))
                while n_ways + count > len(ways):
                    ways = np.concatenate((ways, ways))
                ways[n_ways : n_ways + count] = out[:count]
                steps[n_steps], counts[n_steps] = first + node, count
                for other in range(node):
                    if other == parents[parent] or parents[other] == parent:
                        for k in range(nodes[other], nodes[other + 1]):
                            for p in range(len(parent_atoms)):
                                if parent_atoms[p] == members[k]:
                                    if n_hanging == len(hanging):
                                        hanging = np.concatenate((hanging, hanging))
                                    hanging[n_hanging, 0], hanging[n_hanging, 1] = n_steps, p
                                    hanging[n_hanging, 2] = first + other
                                    n_hanging += 1
                n_ways += count
                n_steps += 1
            grow(node, size, bonds, present, used, tally, inside, nodes, members)
    return steps[:n_steps], counts[:n_steps], ways[:n_ways], hanging[:n_hanging], -1
