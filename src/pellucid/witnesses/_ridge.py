"""Ridge regression on every neighborhood, with what it says of members that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pellucid._threads import run_chunks
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._arrays import features, numbers

RIDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Ridges to choose from, as multiples of the mean over the members of |x_j - mean|^2."""


class RidgeFit(NamedTuple):
    """Fits of n neighborhoods with M members, in float64."""

    theta: Tensor
    """(n, 1 + P, K): the intercept, then a coefficient for each feature."""
    values: Tensor
    """(M, K) at the members."""
    free: Tensor
    """(M,) 1 - H_jj."""
    ridges: Tensor
    """(n,) the ridge of each."""
    solved: np.ndarray
    """(n,) False where the ridge is too small beside the features for this way of solving: nothing is told there."""


def fit_ridge(
    x: Tensor, f: Tensor, hoods: BaseNeighborhoods, ridges: Sequence[float], *, relative: bool, intercept: bool
) -> RidgeFit:
    """Fit with the ridge, or of several with the one whose leave-one-out errors have the smallest sum of squares.

    Parameters
    ----------
    x : Tensor
        (N, P) features.
    f : Tensor
        (N, K) predictions.
    hoods : BaseNeighborhoods
        The neighborhoods.
    ridges : sequence of float
        One ridge, or those to choose from, ascending.
    relative : bool
        Whether they are multiples of the mean over the members of |x_j - mean|^2.
    intercept : bool
        Whether there is one, which is never penalised.
    """
    from pellucid.witnesses._ridge_kernel import ridge_range

    n, outputs = len(hoods), f.shape[1]
    table, targets = features(x), numbers(f)
    bits = table.dtype == np.uint8 and bool(table.max(initial=0) <= 1)
    members, offsets = hoods.members.cpu().numpy(), hoods.offsets.cpu().numpy()
    theta, values = np.zeros((n, 1 + x.shape[1], outputs)), np.zeros((len(members), outputs))
    free, chosen, solved = np.full(len(members), np.nan), np.empty(n), np.empty(n, dtype=bool)
    grid = np.array(ridges, dtype=np.float64)

    def solve(begin: int, end: int) -> None:
        ridge_range(
            table, bits, targets, members, offsets, grid, relative, intercept,
            begin, end, theta, values, free, chosen, solved,
        )  # fmt: skip

    run_chunks(solve, offsets, torch.get_num_threads())
    theta_, values_, free_, chosen_ = (torch.from_numpy(part).to(f.device) for part in (theta, values, free, chosen))
    return RidgeFit(theta_, values_, free_, chosen_, solved)
