"""Sampled rows: what lies between and around the rows of a neighborhood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import InputError, Parameter

RowSampler: TypeAlias = Callable[[Tensor, Tensor, int, torch.Generator], Tensor]
"""From centers (b, P), their neighbors (b, k, P), a size and a source of randomness to rows (b, size, P)."""
SamplerName: TypeAlias = Literal["mixed", "between", "around"]
SAMPLERS = ("mixed", "between", "around")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Sampler:
    """Draws rows in the neighborhood of a center row, all in scaled features.

    "between" goes from the center towards one of its neighbors, by a share u that is uniform in [0, 1]: numbers are
    center + u (neighbor - center), and each column whose values lie apart (levels, a few whole numbers) is the
    neighbor's with probability u. Such rows are as likely as the table's own, but span no more directions than there
    are neighbors. "around" does the same in each column by itself, with a neighbor and a share of its own: every column
    varies alone, so that laws can tell columns apart that go together in the table. "mixed", the default, draws one
    half of the rows in either way. No sampled value is outside the range of the neighborhood.

    Parameters
    ----------
    how : {"mixed", "between", "around"} or RowSampler
        Which rows are drawn; a function draws others.
    column_of : ndarray
        (P,) the column of each feature: features of one column go together.
    copied : ndarray
        (P,) the features whose values lie apart.
    """

    how: SamplerName | RowSampler
    column_of: np.ndarray
    copied: np.ndarray

    def __call__(self, centers: Tensor, neighbors: Tensor, size: int, generator: torch.Generator) -> Tensor:
        """(b, size, P) rows around the centers (b, P), from their neighbors (b, k, P)."""
        if callable(self.how):
            return self._checked(self.how(centers, neighbors, size, generator), centers, size)
        return self._drawn(centers, neighbors, size, generator, draws=len(centers))

    def alike(self, centers: Tensor, neighbors: Tensor, size: int, *, seed: int) -> Tensor:
        """The same with the same random numbers for each center: what a row gets does not depend on the others."""
        if callable(self.how):
            rows = [
                self(centers[i : i + 1], neighbors[i : i + 1], size, torch.Generator().manual_seed(seed))
                for i in range(len(centers))
            ]
            return torch.cat(rows) if rows else centers.new_zeros(0, size, centers.shape[1])
        return self._drawn(centers, neighbors, size, torch.Generator().manual_seed(seed), draws=1)

    def _drawn(
        self, centers: Tensor, neighbors: Tensor, size: int, generator: torch.Generator, *, draws: int
    ) -> Tensor:
        if not neighbors.shape[1]:
            return centers[:, None].expand(-1, size, -1)
        how = "mixed" if callable(self.how) else self.how
        halves = {"between": (size, 0), "around": (0, size), "mixed": (size - size // 2, size // 2)}[how]
        parts = [
            self._towards(centers, neighbors, count, generator, draws=draws, together=together)
            for count, together in zip(halves, (True, False), strict=True)
        ]
        return torch.cat(parts, dim=1)

    def _towards(
        self, centers: Tensor, neighbors: Tensor, size: int, generator: torch.Generator, *, draws: int, together: bool
    ) -> Tensor:
        b, p = centers.shape
        total = int(self.column_of.max()) + 1
        columns = 1 if together else total
        place = torch.zeros(p, dtype=torch.int64) if together else torch.from_numpy(self.column_of)
        shape = (draws, size, columns)
        which = torch.randint(neighbors.shape[1], shape, generator=generator)[..., place].expand(b, size, p)
        share = torch.rand(shape, generator=generator, dtype=torch.float64)[..., place].to(centers)
        other = neighbors.gather(1, which)
        start = centers[:, None]
        rows = start + share * (other - start)
        if self.copied.any():
            # One draw for a column, whatever the number of its features.
            drawn = torch.rand((draws, size, total), generator=generator, dtype=torch.float64).to(centers)
            taken = drawn[..., torch.from_numpy(self.column_of)] < share
            rows = torch.where(torch.from_numpy(self.copied), torch.where(taken, other, start), rows)
        return rows

    def _checked(self, rows: Any, centers: Tensor, size: int) -> Tensor:
        expected = (len(centers), size, centers.shape[1])
        if not isinstance(rows, Tensor) or rows.shape != expected:
            raise InputError(
                f"{Parameter('sampler')} must return a tensor of rows, shape (centers, size, features) = {expected}",
                got=f"{tuple(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__}",
                parameter="sampler",
            )
        return rows.to(centers)
