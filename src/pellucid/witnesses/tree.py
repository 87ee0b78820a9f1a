"""Decision-tree witnesses, grown greedily for all neighborhoods in one compiled call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.text import presence, tree_text
from pellucid.witnesses.witness import Witness

if TYPE_CHECKING:
    from pellucid.witnesses._tree_kernel import Trees

DepthRule: TypeAlias = Callable[[int], int]
_FIELDS = ("feature", "threshold", "left", "right", "value", "size")


@final
@dataclass(frozen=True)
class effective_depth:  # noqa: N801 - used like a function: TreeFamily(depth=effective_depth())
    """The depth max(ceil(log2 m) - 1 + delta, 1) for a neighborhood of m members.

    With delta = 0 it is the deepest tree that m > 2 members still hold to account (m > 2^depth); lower delta
    gives shallower trees.

    Examples
    --------
    >>> [effective_depth()(m) for m in (1, 2, 3, 4, 5, 59, 300)]
    [1, 1, 1, 1, 2, 5, 8]
    """

    delta: int = 0

    def __call__(self, m: int) -> int:
        return max((m - 1).bit_length() - 1 + self.delta, 1)  # (m - 1).bit_length() = ceil(log2 m)


@final
@dataclass(frozen=True, kw_only=True)
class TreeFamily(WitnessFamily):
    """Decision trees of bounded depth, grown greedily as scikit-learn's `DecisionTreeRegressor` grows them.

    Each split is the best one for all outputs together; ties go to the lowest feature, then the lowest
    threshold. Rows with x <= threshold go left. Fingerprints should be `bool` or `uint8`: one byte a bit.

    Parameters
    ----------
    depth : int or DepthRule
        An int >= 1, or a rule that gives the depth for m members, such as `effective_depth()`.
    criterion : {"squared", "absolute"}
        "squared" minimises sum_j |f_j - g(x_j)|^2, leaves predict the mean; "absolute" minimises sum_j sum_k |f_jk -
        g(x_j)_k|, the total variation, leaves predict the median.
    """

    depth: int | DepthRule = effective_depth()
    criterion: Literal["squared", "absolute"] = "squared"

    def __post_init__(self) -> None:
        if self.criterion not in ("squared", "absolute"):
            raise InputError(
                '`criterion` of TreeFamily must be "squared" or "absolute"',
                got=f"{self.criterion!r}",
                parameter="criterion",
            )
        if not callable(self.depth):
            self._require_depth(self.depth)

    def depth_for(self, m: int) -> int:
        """The depth allowed for a neighborhood of m members."""
        depth = self.depth(m) if callable(self.depth) else self.depth
        self._require_depth(depth)
        return depth

    @staticmethod
    def _require_depth(depth: Any) -> None:
        if not isinstance(depth, int | np.integer) or isinstance(depth, bool) or depth < 1:
            raise InputError(
                f"{Parameter('depth')} of TreeFamily must be a whole number >= 1, or a rule of m that gives one",
                got=f"{depth!r}",
                cure="for a witness without splits use ConstantFamily()",
                parameter="depth",
            )

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> TreeWitnesses:
        from pellucid.witnesses._tree_kernel import grow

        x, f = check_points(x, f, hoods)
        sizes, inverse = np.unique(hoods.sizes.cpu().numpy(), return_inverse=True)
        # No tree on m members is deeper than m - 1, which also keeps huge depths within 64 bits.
        depths = np.array([min(self.depth_for(int(m)), int(m)) for m in sizes], dtype=np.int64)[inverse]
        trees = grow(
            _features(x),
            np.ascontiguousarray(f.detach().double().cpu().numpy()),
            hoods.members.cpu().numpy(),
            hoods.offsets.cpu().numpy(),
            depths,
            self.criterion,
            threads=torch.get_num_threads(),
        )
        return TreeWitnesses(x=x, f=f.detach(), hoods=hoods, trees=trees, family=self)

    def effective_size(self, n_features: int) -> int:
        if not callable(self.depth):
            return int(2**self.depth + 1)
        # For a rule, the smallest m with m > 2^depth(m), that is ceil(log2 m) > depth(m).
        for m in range(1, 2**16):
            if (m - 1).bit_length() > self.depth_for(m):
                return m
        raise InputError(f"No size below 2^16 is effective for {self!r}: lower its depth")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeWitnesses(Witnesses):
    """Fitted trees."""

    trees: Trees = field(repr=False)

    @property
    def parameters(self) -> Trees:
        """The flat arrays of all trees."""
        return self.trees

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        from pellucid.witnesses._tree_kernel import walk

        which, x = self._asked(which, x)
        leaves = walk(self.trees, which.cpu().numpy(), _features(x))
        return torch.from_numpy(self.trees.value[leaves]).to(self.f.device)

    def at_members(self) -> Tensor:
        # Growing the trees has already told in which leaf each member is.
        return torch.from_numpy(self.trees.value[self.trees.leaf]).to(self.f)

    def witness(self, i: int, **common: Any) -> TreeWitness:
        part = slice(*self.trees.node_offsets[i : i + 2].tolist())
        return TreeWitness(nodes={name: getattr(self.trees, name)[part] for name in _FIELDS}, **common)


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
        feature, threshold, left, right, value, size = (self.nodes[name][index].tolist() for name in _FIELDS)
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


def _features(x: Tensor) -> np.ndarray:
    """Features in a form that the kernel reads: bytes for binary ones, otherwise floating point."""
    kept = (torch.bool, torch.uint8, torch.float32, torch.float64)
    values = x.detach().cpu()
    return np.ascontiguousarray((values if values.dtype in kept else values.double()).numpy())
