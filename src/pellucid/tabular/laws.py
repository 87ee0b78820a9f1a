"""Laws of many rows at once: what each column contributes, and how the law is said in the units of the table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.tabular.encoding import Encoding
from pellucid.witnesses import Witnesses
from pellucid.witnesses.linear import LinearWitnesses
from pellucid.witnesses.sparse import SparseLinearWitnesses
from pellucid.witnesses.tree import TreeWitnesses
from pellucid.witnesses.tree_witness import TreeWitness


def contributions(witnesses: Witnesses, centers: Tensor, reference: Tensor, encoding: Encoding) -> np.ndarray:
    """(n, C, K) what each column contributes to the law's value of a row, against other rows:

        sum over columns of contribution_c = g(row) - mean over the reference rows of g.

    A law is a sum of terms: of a linear one coefficient times feature; of a tree, feature by feature, the steps from
    node to node on the way of the row. The contribution of a column is the sum of its terms at the row, less the mean
    of that sum over the reference rows.

    Parameters
    ----------
    witnesses : Witnesses
        Linear laws of the n rows, sparse or not, or trees.
    centers : Tensor
        (n, P) scaled features of the rows.
    reference : Tensor
        (n, k, P) those of the rows that they are compared with.
    encoding : Encoding
        Which feature belongs to which column.
    """
    if isinstance(witnesses, TreeWitnesses):
        terms = _tree_differences(witnesses, centers.numpy(), reference.numpy())
    else:
        difference = (centers - reference.mean(1)).numpy() if reference.shape[1] else np.zeros(centers.shape)
        terms = difference[:, :, None] * linear_coefficients(witnesses)
    result = np.zeros((len(terms), len(encoding.used), terms.shape[2]))
    for feature, column in enumerate(encoding.column_of.tolist()):
        result[:, column] += terms[:, feature]
    return result


def linear_coefficients(witnesses: Witnesses) -> np.ndarray:
    """(n, P, K) coefficients of linear laws, of scaled features."""
    if not isinstance(witnesses, LinearWitnesses | SparseLinearWitnesses):
        raise TypeError(f"{type(witnesses).__name__} have no coefficients")
    return np.asarray(witnesses.coefficients.double().numpy())


def is_linear(witnesses: Witnesses) -> bool:
    """Whether laws have coefficients."""
    return isinstance(witnesses, LinearWitnesses | SparseLinearWitnesses)


def _tree_differences(witnesses: TreeWitnesses, centers: np.ndarray, reference: np.ndarray) -> np.ndarray:
    result = np.zeros((*centers.shape, witnesses.f.shape[1]))
    for i in range(len(centers)):
        tree = witnesses.witness(i, **_UNNAMED, feature_names=[""] * centers.shape[1])
        result[i] = _path_terms(tree, centers[i])
        if reference.shape[1]:
            result[i] -= np.mean([_path_terms(tree, row) for row in reference[i]], axis=0)
        else:
            result[i] = 0.0
    return result


_UNNAMED: dict[str, Any] = {"center": 0, "size": 0, "rmse": 0.0, "output_names": []}


def _path_terms(tree: TreeWitness, row: np.ndarray) -> np.ndarray:
    """(P, K) the steps from node to node on the way of a row, by the feature that each split is on."""
    nodes = tree.nodes
    terms = np.zeros((len(row), nodes["value"].shape[1]))
    path = tree.path(row)
    for above, below in pairwise(path):
        terms[nodes["feature"][above]] += nodes["value"][below] - nodes["value"][above]
    return terms


def held_out_shares(witnesses: Witnesses, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, K) shares of the network's variance around each row that the law explains at members that it was not fitted
    to, and (n, K) mean distances between law and network there. NaN where the network does not vary.

    Parameters
    ----------
    witnesses : Witnesses
        Laws of n neighborhoods.
    size : int
        The number of members of each.
    """
    outputs = witnesses.f.shape[1]
    f = witnesses.f[witnesses.hoods.members].double().numpy().reshape(-1, size, outputs)
    g = witnesses.held_out_values().double().numpy().reshape(-1, size, outputs)
    total = np.square((f - f.mean(1, keepdims=True)) * size / max(size - 1, 1)).sum(1)
    missed = np.square(f - g).sum(1)
    share = np.where(total > 1e-18, 1 - missed / np.where(total > 1e-18, total, 1.0), np.nan)
    return share, np.abs(f - g).mean(1)
