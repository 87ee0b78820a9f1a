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
    held_out: Tensor
    """(M, K) values at members that had no part in fit and choice; empty if they were not asked for."""


def fit_ridge(
    x: Tensor,
    f: Tensor,
    hoods: BaseNeighborhoods,
    ridges: Sequence[float],
    *,
    relative: bool,
    intercept: bool,
    nested: bool = False,
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
    nested : bool
        Whether to compute `held_out`.
    """
    from pellucid.witnesses._ridge_kernel import ridge_range

    n, outputs = len(hoods), f.shape[1]
    table, targets = features(x), numbers(f)
    bits = table.dtype == np.uint8 and bool(table.max(initial=0) <= 1)
    members, offsets = hoods.members.cpu().numpy(), hoods.offsets.cpu().numpy()
    theta, values = np.zeros((n, 1 + x.shape[1], outputs)), np.zeros((len(members), outputs))
    free, chosen, solved = np.full(len(members), np.nan), np.empty(n), np.empty(n, dtype=bool)
    grid = np.array(ridges, dtype=np.float64)
    held_out = np.empty((len(members) if nested else 0, outputs))

    def solve(begin: int, end: int) -> None:
        ridge_range(
            table, bits, targets, members, offsets, grid, relative, intercept, nested,
            begin, end, theta, values, free, chosen, solved, held_out,
        )  # fmt: skip

    run_chunks(solve, offsets, torch.get_num_threads())

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(f.device)

    return RidgeFit(tensor(theta), tensor(values), tensor(free), tensor(chosen), solved, tensor(held_out))
