"""Neighborhoods of rows: the nearest rows of the table, and sampled rows between and around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from pellucid.neighborhoods import Neighborhoods


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RowNeighborhoods:
    """n neighborhoods of m = 1 + k + s rows each: the center, its nearest rows of the table, and sampled rows."""

    points: Tensor
    """(n m, P) scaled features, one neighborhood after the other, the center first, then the nearest rows."""
    hoods: Neighborhoods
    nearest: np.ndarray
    """(n, k) the nearest rows, by their places in the table that was learned from; nearest first."""
    distances: np.ndarray
    """(n, k) how far they are, in standard deviations."""

    @property
    def size(self) -> int:
        """The number m of members."""
        return len(self.points) // len(self.hoods)

    @property
    def members(self) -> Tensor:
        """(n, m, P) scaled features of the members, the center first."""
        return self.points.reshape(len(self.hoods), self.size, -1)

    @property
    def centers(self) -> Tensor:
        """(n, P) scaled features of the centers."""
        return self.points[self.hoods.centers]

    def of(self, i: int) -> RowNeighborhoods:
        """One of them alone."""
        m = self.size
        return RowNeighborhoods(
            points=self.points[i * m : (i + 1) * m],
            hoods=regular(1, m),
            nearest=self.nearest[i : i + 1],
            distances=self.distances[i : i + 1],
        )


def regular(count: int, size: int) -> Neighborhoods:
    """Neighborhoods of `size` points each, one after the other, of which the first is the center."""
    return Neighborhoods.checked(
        torch.arange(count * size), torch.arange(count + 1) * size, torch.arange(count) * size, count * size
    )


def nearest_places(rows: np.ndarray, k: int, queries: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(Q, k) places of the rows (N, P) nearest to each query (Q, P), and their distances; without queries each row's
    nearest other rows. There may be fewer than k rows.
    """
    from pellucid._nearest import nearest_rows

    others = 1 if queries is None else 0
    k = max(min(k, len(rows) - others), 0)
    asked = rows if queries is None else queries
    if not k or not len(asked):
        return np.zeros((len(asked), k), dtype=np.int64), np.zeros((len(asked), k))
    places = nearest_rows(rows, k + others, queries, torch.get_num_threads())[:, others:]
    distances = np.stack(
        [np.sqrt(np.square(rows[places[:, j]] - asked).sum(1)) for j in range(places.shape[1])], axis=1
    )
    return places, distances
