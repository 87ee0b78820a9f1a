"""Trees from files: their nodes, checked to be one tree before anything walks through them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid.schemas import SchemaError, checked
from pellucid.stored_arrays import array_of

# The most splits on a path: trees are walked by functions that call themselves.
_DEEPEST = 64


def nodes_of(content: Any, *, features: int, outputs: int) -> dict[str, np.ndarray]:
    """The nodes of a `TreeWitness`, from lists.

    Every node but the root is a branch of exactly one node before it, so that there is no way round in a circle.

    Parameters
    ----------
    content : object
        The lists by the names of `NODE_FIELDS`.
    features : int
        The number of features; splits are on one of them.
    outputs : int
        The number of outputs.
    """
    lists = checked(dict[str, Any], content, "tree")
    feature = _whole(lists, "feature", None)
    count = len(feature)
    left, right, size = (_whole(lists, name, count) for name in ("left", "right", "size"))
    nodes = {
        "feature": feature,
        "threshold": array_of(lists["threshold"], [count], "tree.threshold", blanks=True),
        "left": left,
        "right": right,
        "value": array_of(lists["value"], [count, outputs], "tree.value"),
        "size": size,
    }
    splits = np.flatnonzero(feature >= 0)
    branches = np.concatenate([left[splits], right[splits]])
    parents = np.concatenate([splits, splits])
    if not count or feature.min() < -1 or feature.max() >= features:
        raise SchemaError(f"tree.feature is not that of nodes over {features} features")
    if not np.array_equal(np.sort(branches), np.arange(1, count)) or (branches <= parents).any():
        raise SchemaError("tree.left and tree.right are not the branches of one tree")
    depth = np.zeros(count, dtype=np.int64)
    for node in splits:  # parents come first
        depth[[left[node], right[node]]] = depth[node] + 1
    if depth.max() > _DEEPEST:
        raise SchemaError(f"the tree has {depth.max()} splits on a path, more than {_DEEPEST}")
    return nodes


def _whole(lists: Mapping[str, Any], name: str, count: int | None) -> np.ndarray:
    values = array_of(lists[name], [count], f"tree.{name}", low=-(2**40))
    if (values != np.round(values)).any() or (values > 2**40).any():
        raise SchemaError(f"tree.{name} is not a list of whole numbers")
    return values.astype(np.int64)


def path_of(content: Any, nodes: Mapping[str, np.ndarray]) -> tuple[int, ...]:
    """A path through the nodes, from the root to a leaf, from a list."""
    path = checked(tuple[int, ...], content, "path")
    if not path or path[0] != 0:
        raise SchemaError("path does not begin at the root")
    for node, following in zip(path, [*path[1:], None], strict=True):
        branches = (nodes["left"][node], nodes["right"][node]) if nodes["feature"][node] >= 0 else (None,)
        if following not in branches:
            raise SchemaError("path is not one from the root of the tree to a leaf")
    return path
