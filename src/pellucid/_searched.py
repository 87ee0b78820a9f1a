"""Neighborhoods of nearest points that are looked for when they are asked for: of so many that memory would not do."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._capacity import require_memory
from pellucid.errors import Parameter
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods


@final
class PointSearch:
    """Points, and the search for the nearest of them, which is prepared when it is first asked.

    Parameters
    ----------
    x : ndarray
        (N, P) the points; they may lie on the disk.
    """

    def __init__(self, x: np.ndarray) -> None:
        self.x = x

    @cached_property
    def _search(self) -> Any:
        from pellucid._nearest import Search, memory

        require_memory(
            memory(len(self.x), self.x.shape[1], 0),
            f"The search for the nearest of {len(self.x):,} points with {self.x.shape[1]} features",
            cure=f"take a sample of the points, or fewer {Parameter('features')}",
        )
        return Search(np.asarray(self.x))

    def rows(self, which: Tensor, k: int) -> Tensor:
        """(Q, k) the points nearest to each of some points, which come first themselves, as `nearest` has them.

        Parameters
        ----------
        which : Tensor
            (Q,) these points.
        k : int
            How many.
        """
        return torch.from_numpy(self._search.rows(which.numpy(), k, torch.get_num_threads()))


@final
class SearchedNeighborhoods(BaseNeighborhoods):
    """The k nearest of each of some points, the same as `nearest` finds; nothing is kept but who is asked about.

    A selection searches for its own alone. `members` of all would search for all, and keep them.

    Parameters
    ----------
    search : PointSearch
        The points.
    k : int
        The number of members.
    centers : Tensor, optional
        (n,) the points that are asked about; by default all.
    selected : Tensor, optional
        (n,) which of the original neighborhoods these are; `select` sets it.
    """

    _parts = ("search", "k", "centers", "selected")

    def __init__(
        self, search: PointSearch, k: int, centers: Tensor | None = None, *, selected: Tensor | None = None
    ) -> None:
        self.search, self.n_points = search, len(search.x)
        self.k = _checks.whole(k, 1, "k", self.n_points)
        self.centers = torch.arange(self.n_points) if centers is None else centers
        self.offsets = torch.arange(len(self.centers) + 1) * self.k
        self.selected = selected

    @cached_property
    def members(self) -> Tensor:
        return self.search.rows(self.centers, self.k).flatten()

    @property
    def found(self) -> Neighborhoods:
        """The same with their members."""
        return Neighborhoods.checked(self.members, self.offsets, self.centers, self.n_points, selected=self.selected)

    def members_of(self, i: int) -> Tensor:
        """The points of neighborhood i."""
        if "members" in vars(self):
            return super().members_of(i)
        return self.search.rows(self.centers[[range(len(self))[i]]], self.k)[0]

    def sum(self, v: Tensor) -> Tensor:
        return self.found.sum(v)

    def spread(self, u: Tensor) -> Tensor:
        return self.found.spread(u)

    def select(self, index: Tensor | list[int] | slice) -> SearchedNeighborhoods:
        chosen = self._index(index)
        return SearchedNeighborhoods(self.search, self.k, self.centers[chosen], selected=self._origin(chosen))

    def first(self, count: int) -> SearchedNeighborhoods:
        """The first `count` members of each."""
        return SearchedNeighborhoods(
            self.search, _checks.whole(count, 1, "count", self.k), self.centers, selected=self.selected
        )
