"""Decision-tree witnesses, grown greedily for all neighborhoods in one compiled call."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._arrays import features, numbers
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.tree_witness import NODE_FIELDS, TreeWitness

if TYPE_CHECKING:
    from pellucid.witnesses._tree_kernel import Trees

DepthRule: TypeAlias = Callable[[int], int]


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

    Leaves of few members follow the predictor where they were fitted and fail at the next point. Two settings mend
    this. With `min_leaf` no leaf is that small. Hierarchical shrinkage (Agarwal et al., ICML 2022) leaves the splits
    alone and draws the value of each node towards those above it, the more so the fewer members there are to tell
    them apart: along the path root = t_0, t_1, ..., t_L = t

        value_t = v_root + sum_l (v_t_l - v_t_(l-1)) / (1 + shrinkage / size_t_(l-1)),

    where v is the mean or median of a node's members. All nodes get such values, inner ones too.

    Parameters
    ----------
    depth : int or DepthRule
        An int >= 1, or a rule that gives the depth for m members, such as `effective_depth()`.
    criterion : {"squared", "absolute"}
        "squared" minimises sum_j |f_j - g(x_j)|^2, leaves predict the mean; "absolute" minimises sum_j sum_k |f_jk -
        g(x_j)_k|, the total variation, leaves predict the median.
    min_leaf : int
        The least number of members on each side of a split, at least 1; a smaller neighborhood is one leaf.
    shrinkage : float or {"auto"}
        A number >= 0, about the members that a node needs for its split to count half; 0 leaves all values as they
        are. "auto" gives each neighborhood the one of 0, 1, 3, 10, 30 and 100 with the least error (squared or
        absolute, as the criterion) at members left out, in five fixed folds; of equally good ones the largest.
        `TreeWitnesses.shrinkage` tells which. The choice is part of the fit: held-out values are those of trees that
        were grown, and whose shrinkage was chosen, without the member, at six times the cost of a fixed one.
    """

    depth: int | DepthRule = effective_depth()
    criterion: Literal["squared", "absolute"] = "squared"
    min_leaf: int = 1
    shrinkage: float | Literal["auto"] = 0.0

    def __post_init__(self) -> None:
        if self.criterion not in ("squared", "absolute"):
            raise InputError(
                '`criterion` of TreeFamily must be "squared" or "absolute"',
                got=f"{self.criterion!r}",
                parameter="criterion",
            )
        if not callable(self.depth):
            self._require_depth(self.depth)
        _checks.whole(self.min_leaf, 1, "min_leaf")
        shrinkage: Any = self.shrinkage
        number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool)
        if shrinkage != "auto" and not (number and 0 <= shrinkage < math.inf):
            raise InputError(
                f'{Parameter("shrinkage", of="TreeFamily")} must be a finite number >= 0, or "auto"',
                got=f"{shrinkage!r}",
                parameter="shrinkage",
            )

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
        from pellucid.witnesses._tree_shrinkage import choose_shrinkage, shrink

        x, f = check_points(x, f, hoods)
        table, outputs = features(x), numbers(f)
        grow = partial(self._grow, table, outputs)
        if self.shrinkage == "auto":
            shrinkage = choose_shrinkage(grow, table, outputs, hoods, self.criterion)
        else:
            shrinkage = np.full(len(hoods), float(self.shrinkage))
        trees = shrink(grow(hoods), shrinkage)
        amounts = torch.from_numpy(shrinkage).to(f.device)
        return TreeWitnesses(x=x, f=f.detach(), hoods=hoods, trees=trees, shrinkage=amounts, family=self)

    def _grow(self, x: np.ndarray, f: np.ndarray, hoods: BaseNeighborhoods) -> Trees:
        """The trees before any shrinkage."""
        from pellucid.witnesses._tree_kernel import grow

        sizes, inverse = np.unique(hoods.sizes.cpu().numpy(), return_inverse=True)
        # No tree on m members is deeper than m - 1, which also keeps huge depths within 64 bits.
        depths = np.array([min(self.depth_for(int(m)), int(m)) for m in sizes], dtype=np.int64)[inverse]
        return grow(
            x,
            f,
            hoods.members.cpu().numpy(),
            hoods.offsets.cpu().numpy(),
            depths,
            self.criterion,
            min_leaf=min(int(self.min_leaf), int(sizes.max(initial=1))),
            threads=torch.get_num_threads(),
        )

    def effective_size(self, n_features: int) -> int:
        """The smallest effective neighborhood size; see `WitnessFamily.effective_size`.

        It is 2^k + 1 for depth k, and the smallest m > 2^depth(m) for a rule. With min_leaf >= 2 it is 2: of two
        or more members every leaf holds at least two, whose values may differ. Shrinkage, like a ridge, holds
        witnesses back on fewer points already, and does not count.

        Parameters
        ----------
        n_features : int
            The number of features P that witnesses read.
        """
        if self.min_leaf > 1:
            return 2
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
    shrinkage: Tensor = field(repr=False)
    """(n,) the shrinkage of each tree: that of the family, or what "auto" chose."""

    @property
    def parameters(self) -> Trees:
        """The flat arrays of all trees."""
        return self.trees

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        from pellucid.witnesses._tree_kernel import walk

        which, x = self._asked(which, x)
        leaves = walk(self.trees, which.cpu().numpy(), features(x))
        return torch.from_numpy(self.trees.value[leaves]).to(self.f.device)

    def at_members(self) -> Tensor:
        # Growing the trees has already told in which leaf each member is.
        return torch.from_numpy(self.trees.value[self.trees.leaf]).to(self.f)

    def witness(self, i: int, **common: Any) -> TreeWitness:
        part = slice(*self.trees.node_offsets[i : i + 2].tolist())
        return TreeWitness(nodes={name: getattr(self.trees, name)[part] for name in NODE_FIELDS}, **common)
