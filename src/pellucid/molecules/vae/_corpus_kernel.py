"""Compiled: whether packed junction trees are such that other compiled code, which checks nothing, can read them."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def first_wrong(
    atom_ends, atoms, bond_ends, bonds, node_ends, labels, parents, sizes, member_ends, members, offsets, kinds
):
    """The first molecule that is not one with its junction tree, or -1.

    Parameters
    ----------
    atom_ends, atoms, bond_ends, bonds, node_ends, labels, parents, sizes, member_ends, members : ndarray
        As in `Corpus.arrays`; where the rows of each molecule end is ascending, the last one at the end of the array.
    offsets, kinds : ndarray
        Label v has the atoms offsets[v] .. offsets[v + 1] - 1, of these kinds.
    """
    atom, bond, node, member = 0, 0, 0, 0
    for m in range(len(atom_ends)):
        nodes = node_ends[m] - node
        if not _is_graph(atoms[atom : atom_ends[m]], bonds[bond : bond_ends[m]]):
            return m
        if nodes < 1 or not _is_preorder(parents[node : node_ends[m]]):
            return m
        if not _are_clusters(
            atoms[atom : atom_ends[m]], labels[node : node_ends[m]], parents[node : node_ends[m]],
            sizes[node : node_ends[m]], members[member : member_ends[m]], offsets, kinds,
        ):  # fmt: skip
            return m
        atom, bond, node, member = atom_ends[m], bond_ends[m], node_ends[m], member_ends[m]
    return -1


@njit(nogil=True, cache=True)
def _is_graph(atoms, bonds):
    """Whether bonds are between two atoms of the molecule, of an order from 1 to 3."""
    count = len(atoms)
    if count < 1 or count > 255:
        return False
    for b in range(len(bonds)):
        code = bonds[b, 2]
        if bonds[b, 0] >= count or bonds[b, 1] >= count or bonds[b, 0] == bonds[b, 1] or code > 15 or code & 3 == 0:
            return False
    return True


@njit(nogil=True, cache=True)
def _is_preorder(parents):
    """Whether the first node is the root, and each other hangs on the one before it or on one above that."""
    if parents[0] != -1:
        return False
    for k in range(1, len(parents)):
        if parents[k] < 0 or parents[k] >= k:
            return False
        above = k - 1
        while above > parents[k]:
            above = parents[above]
        if above != parents[k]:
            return False
    return True


@njit(nogil=True, cache=True)
def _are_clusters(atoms, labels, parents, sizes, members, offsets, kinds):
    """Whether clusters are as their labels say, and each shares one or two atoms with its parent."""
    total = 0
    for k in range(len(sizes)):
        total += sizes[k]
    if total != len(members):
        return False
    begin = 0
    for k in range(len(labels)):
        label, size = labels[k], sizes[k]
        if label < 0 or label >= len(offsets) - 1 or size != offsets[label + 1] - offsets[label]:
            return False
        for i in range(size):
            atom = members[begin + i]
            if atom >= len(atoms) or 16 * atoms[atom, 0] + atoms[atom, 1] != kinds[offsets[label] + i]:
                return False
            for j in range(i):
                if members[begin + j] == atom:
                    return False
        if k:
            above = 0
            for other in range(parents[k]):
                above += sizes[other]
            shared = 0
            for i in range(size):
                for j in range(sizes[parents[k]]):
                    shared += members[begin + i] == members[above + j]
            if shared < 1 or shared > 2:
                return False
        begin += size
    return True
