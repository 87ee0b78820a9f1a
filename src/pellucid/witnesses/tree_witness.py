"""One fitted tree: its nodes, its text, and what it says of a point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError
from pellucid.witnesses.text import presence, tree_text
from pellucid.witnesses.witness import Witness

# What is known of a node.
NODE_FIELDS = ("feature", "threshold", "left", "right", "value", "size")


@final
@dataclass(frozen=True, kw_only=True)
class TreeNode:
    """A node of a tree with all that is below it.

    Parameters
    ----------
    index : int
        Its row in the arrays of `TreeWitness.nodes`; the root has 0.
    size : int
        The number of members that reach it.
    value : tuple of float
        (K,) what it predicts.
    feature : int
        The feature that it splits on; -1 at leaves.
    threshold : float
        Members with x <= threshold go to the first branch.
    branches : tuple of TreeNode
        Two nodes, left and right; none at leaves.
    """

    index: int
    size: int
    value: tuple[float, ...]
    feature: int = -1
    threshold: float = math.nan
    branches: tuple[TreeNode, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether no split follows."""
        return not self.branches

    @property
    def depth(self) -> int:
        """The number of splits on the longest path from here."""
        return max((1 + branch.depth for branch in self.branches), default=0)

    def walk(self) -> Iterator[TreeNode]:
        """Itself and all nodes below it; what is at the left comes first."""
        yield self
        for branch in self.branches:
            yield from branch.walk()

    def leaves(self) -> list[TreeNode]:
        """The leaves below it, from left to right."""
        return [node for node in self.walk() if node.is_leaf]


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TreeWitness(Witness):
    """One decision tree over named features."""

    nodes: dict[str, np.ndarray]
    """Arrays with one row per node, the root first: feature (-1 at leaves), threshold, left, right, value, size."""

    @cached_property
    def root(self) -> TreeNode:
        """The same tree as linked nodes, to be walked."""
        return self._node(0)

    def _node(self, index: int) -> TreeNode:
        feature, threshold, left, right, value, size = (self.nodes[name][index].tolist() for name in NODE_FIELDS)
        common: dict[str, Any] = {"index": index, "size": size, "value": tuple(value)}
        if feature < 0:
            return TreeNode(**common)
        return TreeNode(feature=feature, threshold=threshold, branches=(self._node(left), self._node(right)), **common)

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        return self.root.depth

    def path(self, x: Any) -> list[int]:
        """The nodes that one point x (P,) passes, from the root to its leaf."""
        row, nodes = _checks.tensor(x, "x").flatten().tolist(), self.nodes
        if len(row) != len(self.feature_names):
            raise InputError(
                f"A path is that of one point with {len(self.feature_names)} features", got=f"{len(row)} numbers"
            )
        path = [0]
        while (feature := nodes["feature"][path[-1]]) >= 0:
            side = "left" if row[feature] <= nodes["threshold"][path[-1]] else "right"
            path.append(int(nodes[side][path[-1]]))
        return path

    def predict(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.nodes["value"][[self.path(row)[-1] for row in x]])

    def text(self, *, digits: int = 4, substructures: Mapping[int, str] | None = None) -> str:
        """The tree as indented lines.

        Parameters
        ----------
        digits : int
            Significant digits of the values.
        substructures : mapping of int to str, optional
            What the features that the tree splits on stand for, where they are bits of fingerprints.
        """

        def split(node: TreeNode) -> tuple[str, str]:
            if substructures is not None:
                return presence(substructures[node.feature])
            # Two digits more than values have: 2019.5 must not read as 2020.
            name, threshold = self.feature_names[node.feature], f"{node.threshold:.{digits + 2}g}"
            return f"if {name} <= {threshold}:", f"else:  # {name} > {threshold}"

        def leaf(node: TreeNode) -> str:
            values = zip(self.output_names, node.value, strict=True)
            return ", ".join(f"{name} = {value:.{digits}g}" for name, value in values)

        return tree_text(self.root, split=split, leaf=leaf)

    def parameters(self) -> dict[str, Any]:
        return {"kind": "tree", "nodes": {name: values.tolist() for name, values in self.nodes.items()}}
