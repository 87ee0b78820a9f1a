"""Hierarchical shrinkage of grown trees, by a number or by the one that holds best at members left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._tree_kernel import Trees, walk
from pellucid.witnesses.folds import FOLDS, divide

# What "auto" chooses from, ascending.
SHRINKAGES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
# Errors closer than this share of the largest are a tie: they differ by rounding.
TIE = 1e-9


def shrink(trees: Trees, shrinkage: NDArray[np.float64]) -> Trees:
    """The same trees with shrunk values in all nodes; shrinkage (n) has one number >= 0 for each tree.

    With v the values before and p(t) the parent of t, the root keeps its value, and below it

        value_t = value_p(t) + (v_t - v_p(t)) / (1 + shrinkage / size_p(t)).
    """
    if not shrinkage.any():
        return trees
    values = trees.value.copy()
    _shrink(trees.node_offsets, trees.left, trees.right, trees.size, trees.value, shrinkage, values)
    return trees._replace(value=values)


def choose_shrinkage(
    grow: Callable[[BaseNeighborhoods], Trees],
    x: NDArray[Any],
    f: NDArray[np.float64],
    hoods: BaseNeighborhoods,
    criterion: Literal["squared", "absolute"],
) -> NDArray[np.float64]:
    """(n,) for each neighborhood the one of `SHRINKAGES` with the least error at members left out, a fold at a time.

    The trees without a fold are grown once; only their values depend on the shrinkage. Of equally good ones the
    largest is chosen. Where members left out say nothing, since there are no others (m = 1) or the trees without them
    have no splits (m = 2), all are equally good.

    Parameters
    ----------
    grow : callable
        Grows the trees of some neighborhoods over the same points, without shrinkage.
    x : NDArray
        (N, P) features in the form that the kernel reads.
    f : NDArray
        (N, K) predictions.
    hoods : BaseNeighborhoods
        The n neighborhoods with M members in all.
    criterion : {"squared", "absolute"}
        Which errors are summed over members and outputs: squares or absolute values.
    """
    members, rows = hoods.members.cpu().numpy(), hoods.rows.cpu().numpy()
    errors = np.zeros((len(SHRINKAGES), len(hoods)))
    for fold in divide(hoods, FOLDS):
        entries, trees = fold.entries.cpu().numpy(), grow(fold.rest)
        leaves = walk(trees, fold.which.cpu().numpy(), np.ascontiguousarray(x[members[entries]]))
        for number, shrinkage in enumerate(SHRINKAGES):
            values = shrink(trees, np.full(len(fold.rest), shrinkage)).value[leaves]
            gaps = np.abs(f[members[entries]] - values)
            error = (gaps**2 if criterion == "squared" else gaps).sum(1)
            errors[number] += np.bincount(rows[entries], weights=error, minlength=len(hoods))
    least = errors <= errors.min(0) + TIE * errors.max(0)
    chosen: NDArray[np.float64] = np.array(SHRINKAGES)[len(SHRINKAGES) - 1 - least[::-1].argmax(0)]
    return chosen


@njit(cache=True, nogil=True)
def _shrink(node_offsets, left, right, size, value, shrinkage, values):
    """Overwrite values, a copy of value; in preorder a parent has its final value before its children are reached."""
    for i in range(len(shrinkage)):
        start = node_offsets[i]
        if shrinkage[i] == 0.0:
            continue  # nothing is rounded in trees that are not shrunk
        for node in range(start, node_offsets[i + 1]):
            if left[node] < 0:
                continue
            share = size[node] / (size[node] + shrinkage[i])
            for child in (start + left[node], start + right[node]):
                for k in range(value.shape[1]):
                    values[child, k] = values[node, k] + share * (value[child, k] - value[node, k])
