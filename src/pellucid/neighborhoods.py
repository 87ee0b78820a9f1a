"""Neighborhoods: which points belong to which center.

Shapes, here and everywhere: N points, n neighborhoods, M entries (the sum of the neighborhoods' sizes),
P witness features, K outputs. The neighborhoods are the rows of a sparse 0/1 matrix S (n x N) with row sums
m_i and a center c(i) for each row; all that the games need of it is S v and S' u.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._range_sums import range_sums, summable
from pellucid.errors import InputError


class BaseNeighborhoods(ABC):
    """What `Neighborhoods` and `Windows` have in common.

    Attributes
    ----------
    n_points : int
        Number of points N.
    centers : Tensor
        (n,) the point that each neighborhood belongs to.
    offsets : Tensor
        (n + 1,) neighborhood i owns the entries offsets[i] .. offsets[i + 1] - 1.
    members : Tensor
        (M,) the point of each entry, neighborhood after neighborhood.
    sizes : Tensor
        (n,) the number of members m_i.
    rows : Tensor
        (M,) the neighborhood of each entry.
    selected : Tensor or None
        (n,) which of the original neighborhoods these are, where `select` made them; None for original ones.
    """

    n_points: int
    centers: Tensor
    offsets: Tensor
    selected: Tensor | None = None
    _parts: ClassVar[tuple[str, ...]]
    """The arguments that make one. They are what is saved; all else is derived."""

    @property
    @abstractmethod
    def members(self) -> Tensor: ...

    @abstractmethod
    def sum(self, v: Tensor) -> Tensor:
        """S v: the sum of v (N x ...) over each neighborhood (n x ...). Differentiable.

        Sums have the type of v, but for types that could not hold them: those of whole numbers come in int64, those
        of float16 and bfloat16 in float32. The same holds for `spread`, `sum_members` and `spread_members`.
        """

    @abstractmethod
    def spread(self, u: Tensor) -> Tensor:
        """S' u: for each point the sum of u (n x ...) over the neighborhoods that hold it (N x ...)."""

    @abstractmethod
    def select(self, index: Tensor | list[int] | slice) -> BaseNeighborhoods:
        """The chosen neighborhoods only (indices, a mask or a slice), over the same points.

        They remember which of the original neighborhoods they are, `selected`, also in a selection of a selection:
        a game that keeps something for each neighborhood, such as `UniformGame`, finds it by that.

        Examples
        --------
        >>> import pellucid as pl
        >>> part = pl.windows([6], radius=1).select([5, 3, 0])
        >>> part.selected.tolist(), part.select([2, 1]).selected.tolist()
        ([5, 3, 0], [0, 3])
        """

    def to(self, device: torch.device | str) -> Self:
        """The same neighborhoods on another device."""
        moved = object.__new__(type(self))
        # Tensors move, those already derived included; what else was derived is made anew when asked for.
        moved.__dict__ = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        moved.n_points = self.n_points
        return moved

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # with all checks: a file may hold anything

    def __len__(self) -> int:
        return len(self.centers)

    @property
    def device(self) -> torch.device:
        return self.centers.device

    @cached_property
    def sizes(self) -> Tensor:
        return self.offsets.diff()

    @cached_property
    def rows(self) -> Tensor:
        return torch.repeat_interleave(torch.arange(len(self), device=self.device), self.sizes)

    @cached_property
    def coverage(self) -> Tensor:
        """N-bar = S' (1/m), (N,): how much of a neighborhood each point makes up, summed over all of them."""
        return self.spread(1.0 / self.sizes.double())

    @cached_property
    def by_point(self) -> tuple[Tensor, Tensor]:
        """The entries ordered by their point (M,), and where each point's entries start (N + 1,)."""
        counts = torch.bincount(self.members, minlength=self.n_points)
        return torch.argsort(self.members, stable=True), torch.cat([counts.new_zeros(1), counts.cumsum(0)])

    @cached_property
    def covers(self) -> tuple[Tensor, Tensor]:
        """The neighborhoods that hold each point (M,), point after point, and where each point's start (N + 1,)."""
        order, starts = self.by_point
        return self.rows[order], starts

    def members_of(self, i: int) -> Tensor:
        """The points of neighborhood i."""
        i = range(len(self))[i]
        return self.members[self.offsets[i] : self.offsets[i + 1]]

    def sum_members(self, w: Tensor) -> Tensor:
        """Sum values given per entry (M x ...) over each neighborhood (n x ...). Differentiable."""
        self._require_rows(w, len(self.members), "entries")
        w = summable(w)
        return w.new_zeros(len(self), *w.shape[1:]).index_add(0, self.rows, w)

    def spread_members(self, w: Tensor) -> Tensor:
        """Sum values given per entry (M x ...) over the entries of each point (N x ...). Differentiable."""
        self._require_rows(w, len(self.members), "entries")
        w = summable(w)
        return w.new_zeros(self.n_points, *w.shape[1:]).index_add(0, self.members, w)

    def _require_rows(self, values: Tensor, count: int, what: str) -> None:
        if not isinstance(values, Tensor) or values.ndim == 0 or len(values) != count:
            got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
            raise InputError(f"There must be a tensor with one row for each of the {count} {what}", got=f"{got}")
        if values.is_complex() or values.dtype == torch.bool:
            raise InputError(
                "Sums are taken of real numbers", got=f"{values.dtype}", cure="convert it, e.g. with `.double()`"
            )

    def _index(self, index: Tensor | list[int] | slice) -> Tensor:
        """Indices of the chosen neighborhoods, checked."""
        n = len(self)
        if isinstance(index, slice):
            chosen = torch.arange(n, device=self.device)[index]
        else:
            chosen = _checks.tensor(index, "index").to(self.device)
            if chosen.dtype == torch.bool:
                self._require_rows(chosen.long(), n, "neighborhoods")
                chosen = chosen.nonzero().flatten()
            chosen = _checks.indices(chosen, "index")
        if not len(chosen):
            raise InputError(
                "A selection must name at least one neighborhood, by indices, a mask or a slice", got="none"
            )
        _checks.in_range(chosen, n, "index", "neighborhoods")
        return chosen

    def _origin(self, index: Tensor) -> Tensor:
        """Which of the original neighborhoods those at `index` are."""
        return index if self.selected is None else self.selected[index]

    def _remember(self, selected: Any) -> None:
        """Keep which of the original neighborhoods these are, checked."""
        if selected is None:
            return
        self.selected = _checks.indices(selected, "selected")
        if len(self.selected) != len(self) or (self.selected < 0).any():
            raise InputError(
                f"`selected` must hold one index >= 0 for each of the {len(self)} neighborhoods",
                got=f"{self.selected.tolist()[:20]}",
                parameter="selected",
            )

    def __repr__(self) -> str:
        sizes = self.sizes.cpu().numpy()
        return (
            f"{type(self).__name__}({len(self)} neighborhoods over {self.n_points} points; "
            f"sizes {sizes.min()} to {sizes.max()}, median {np.median(sizes):g})"
        )


@final
class Neighborhoods(BaseNeighborhoods):
    """Ragged neighborhoods in compressed rows: `members` and `offsets` as in a CSR matrix.

    Most users call a builder instead: `nearest`, `within`, `from_lists`, `from_pairs`, `sampled`.

    Parameters
    ----------
    members : Tensor
        (M,) point of each entry; no point twice in one neighborhood.
    offsets : Tensor
        (n + 1,) rising from 0 to M; no neighborhood is empty.
    centers : Tensor
        (n,) the point that each neighborhood belongs to; it need not be among its members.
    n_points : int
        The number of points N.
    selected : Tensor, optional
        (n,) which of the original neighborhoods these are; `select` sets it.
    """

    _parts = ("members", "offsets", "centers", "n_points", "selected")

    def __init__(
        self, members: Tensor, offsets: Tensor, centers: Tensor, n_points: int, *, selected: Tensor | None = None
    ) -> None:
        self._members = _checks.indices(members, "members")
        self.offsets = _checks.indices(offsets, "offsets")
        self.centers = _checks.indices(centers, "centers")
        self.n_points = _checks.whole(n_points, 1, "n_points")
        n, m = len(self.centers), len(self._members)
        if not n or len(self.offsets) != n + 1 or self.offsets[0] != 0 or self.offsets[-1] != m:
            raise InputError(
                "`offsets` must rise from 0 to the number of entries, one more than there are centers, and "
                "there must be at least one neighborhood",
                got=f"{len(self.offsets)} offsets for {n} centers and {m} entries",
                parameter="offsets",
            )
        empty = (self.offsets.diff() <= 0).nonzero().flatten()
        if len(empty):
            raise InputError(
                "Every neighborhood must have at least one member",
                got=f"none in neighborhood {int(empty[0])} ({len(empty)} of {n} are empty)",
                cure="leave them out, or add the center itself",
            )
        _checks.in_range(self._members, self.n_points, "member", "points")
        _checks.in_range(self.centers, self.n_points, "center", "points")
        entries = torch.sort(self.rows * self.n_points + self._members).values
        twice = (entries[1:] == entries[:-1]).nonzero().flatten()
        if len(twice):
            i, j = divmod(int(entries[twice[0]]), self.n_points)
            raise InputError(
                f"A point may be in a neighborhood only once. Point {j} is twice in neighborhood {i}",
                cure="remove the repetition, e.g. with `torch.unique`",
            )
        self._remember(selected)

    @classmethod
    def checked(
        cls, members: Tensor, offsets: Tensor, centers: Tensor, n_points: int, *, selected: Tensor | None = None
    ) -> Neighborhoods:
        """Neighborhoods from parts that are known to be right: nothing is checked again."""
        result = cls.__new__(cls)
        result._members, result.offsets, result.centers, result.n_points = members, offsets, centers, n_points
        result.selected = selected
        return result

    @property
    def members(self) -> Tensor:
        return self._members

    def sum(self, v: Tensor) -> Tensor:
        self._require_rows(v, self.n_points, "points")
        return self.sum_members(v[self._members])

    def spread(self, u: Tensor) -> Tensor:
        self._require_rows(u, len(self), "neighborhoods")
        return self.spread_members(u[self.rows])

    def select(self, index: Tensor | list[int] | slice) -> Neighborhoods:
        chosen = self._index(index)
        sizes = self.sizes[chosen]
        offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        shift = torch.repeat_interleave(self.offsets[chosen] - offsets[:-1], sizes)
        entries = torch.arange(int(offsets[-1]), device=self.device) + shift
        return Neighborhoods.checked(
            self._members[entries], offsets, self.centers[chosen], self.n_points, selected=self._origin(chosen)
        )


@final
class Windows(BaseNeighborhoods):
    """Neighborhoods that are ranges of consecutive points, as in a time series; built by `windows`.

    Nothing is stored but the ends of the ranges: `sum` and `spread` use running sums, taken in float64, and
    cost the same for every radius. `members` and `rows` are made when somebody asks.

    Parameters
    ----------
    lower, upper : Tensor
        (n,) neighborhood i holds the points lower[i] .. upper[i] - 1.
    centers : Tensor
        (n,) the point that each neighborhood belongs to.
    n_points : int
        The number of points N.
    selected : Tensor, optional
        (n,) which of the original neighborhoods these are; `select` sets it.
    """

    _parts = ("lower", "upper", "centers", "n_points", "selected")

    def __init__(
        self, lower: Tensor, upper: Tensor, centers: Tensor, n_points: int, *, selected: Tensor | None = None
    ) -> None:
        self.lower = _checks.indices(lower, "lower")
        self.upper = _checks.indices(upper, "upper")
        self.centers = _checks.indices(centers, "centers")
        self.n_points = _checks.whole(n_points, 1, "n_points")
        if not len(self.centers) == len(self.lower) == len(self.upper) > 0:
            raise InputError(
                "`lower`, `upper` and `centers` must be equally long and not empty",
                got=f"{len(self.lower)}, {len(self.upper)} and {len(self.centers)}",
                parameter="lower",
            )
        if (self.upper <= self.lower).any():
            raise InputError("Every window must hold at least one point: `lower` must be below `upper`")
        _checks.in_range(self.lower, self.n_points, "lower end", "points")
        _checks.in_range(self.upper - 1, self.n_points, "last member", "points")
        _checks.in_range(self.centers, self.n_points, "center", "points")
        sizes = self.upper - self.lower
        self.offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        self._remember(selected)

    @cached_property
    def members(self) -> Tensor:
        shift = torch.repeat_interleave(self.lower - self.offsets[:-1], self.sizes)
        return torch.arange(int(self.offsets[-1]), device=self.device) + shift

    def sum(self, v: Tensor) -> Tensor:
        self._require_rows(v, self.n_points, "points")
        return range_sums(v, self.lower, self.upper)

    def spread(self, u: Tensor) -> Tensor:
        self._require_rows(u, len(self), "neighborhoods")
        order, first, last = self._cover
        if first is None:
            return self.spread_members(u[self.rows])
        return range_sums(u if order is None else u[order], first, last)

    @cached_property
    def _cover(self) -> tuple[Tensor | None, Tensor | None, Tensor]:
        """An order of the neighborhoods (None: as they are) in which those that cover point j are the range
        first[j] .. last[j] - 1; first is None if there is no such order because some window lies in another.
        """
        order = torch.argsort(self.lower * (self.n_points + 1) + self.upper)
        lower, upper = self.lower[order], self.upper[order]
        if (upper.diff() < 0).any():
            return None, None, upper
        points = torch.arange(self.n_points, device=self.device)
        sorted_already = bool((order.diff() > 0).all())
        first, last = torch.searchsorted(upper, points, right=True), torch.searchsorted(lower, points, right=True)
        return None if sorted_already else order, first, last

    def select(self, index: Tensor | list[int] | slice) -> Windows:
        chosen = self._index(index)
        lower, upper, centers = self.lower[chosen], self.upper[chosen], self.centers[chosen]
        return Windows(lower, upper, centers, self.n_points, selected=self._origin(chosen))


# `torch.load` reads saved neighborhoods without `weights_only=False`: they are numbers, and are checked when read.
torch.serialization.add_safe_globals([Neighborhoods, Windows])
