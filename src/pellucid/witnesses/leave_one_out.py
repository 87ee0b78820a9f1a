"""What linear witnesses say of members that they were not fitted to, exactly and without fitting again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.errors import InputError
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._arrays import rounding_unit

# Numbers that one batch of decompositions may hold: 32 MB.
_BATCH = 2**22
# A member whose leverage is closer to 1 than this alone determines a direction.
ALONE = 1e-9


def leave_one_out(
    x: Any, f: Any, hoods: BaseNeighborhoods, *, ridges: Sequence[float] = (0.0,), intercept: bool = True
) -> Tensor:
    """(R, M, K) at each member j of each neighborhood the value of the linear witness fitted to the others.

    With the hat matrix H of a neighborhood (the intercept included), a fit by least squares without member j misses
    f_j by

        (f - H f)_j / (1 - H_jj),        1 - H = 1 - 1 1'/m - U diag(s^2 / (s^2 + ridge)) U',

    where U diag(s) V' are the centered features: all ridges share one decomposition. Without a ridge, a member that
    alone determines a direction has leverage H_jj = 1; there the limit of small ridges, which is the minimum-norm
    solution, is (U s^-2 U' f)_j / (U s^-2 U')_jj. A neighborhood of one member has no others: NaN.

    Parameters
    ----------
    x : object
        Features that the witnesses read, an array of shape (N, P).
    f : object
        Predictions, an array of shape (N,) or (N, K).
    hoods : BaseNeighborhoods
        Neighborhoods over the N points.
    ridges : sequence of float
        The R ridges, as in `LinearFamily`.
    intercept : bool
        Whether witnesses have an intercept, which is never penalised.

    Examples
    --------
    >>> import torch, pellucid as pl
    >>> from pellucid.witnesses.leave_one_out import leave_one_out
    >>> x = torch.tensor([[0.0], [1.0], [3.0]])
    >>> values = leave_one_out(x, x[:, 0] ** 2, pl.from_lists([[0, 1, 2]], [0]))  # lines through two points
    >>> [round(value, 6) for value in values.flatten().tolist()]
    [-3.0, 3.0, 3.0]
    """
    x, f = check_points(x, f, hoods)
    if not len(ridges):
        raise InputError(
            "`ridges` must hold at least one ridge", got="none", cure="0 is least squares", parameter="ridges"
        )
    for ridge in ridges:
        _checks.at_least(ridge, 0, "ridges", "leave_one_out")
    features, values = (part.detach().double().cpu() for part in (x, f))
    unit = rounding_unit(x.dtype)
    members, offsets = hoods.members.cpu(), hoods.offsets.cpu()
    sizes = hoods.sizes.cpu().numpy()
    result = torch.empty(len(ridges), len(members), f.shape[1], dtype=torch.float64)
    for m in np.unique(sizes):
        group = torch.from_numpy(np.flatnonzero(sizes == m))
        for part in group.split(max(1, _BATCH // int(m * max(1, features.shape[1], m)))):
            entries = offsets[part][:, None] + torch.arange(m)  # (b, m)
            points = members[entries]
            result[:, entries] = _values(features[points], values[points], ridges, intercept, unit)
    return result.to(f.device)


def distances_from_others(f: Tensor, hoods: BaseNeighborhoods) -> Tensor:
    """(M, K) at each member j of each neighborhood: f_j minus the mean of the other members."""
    f = f.double()
    sizes = hoods.sizes[hoods.rows, None]
    mean = (hoods.sum(f) / hoods.sizes[:, None])[hoods.rows]
    return (f[hoods.members] - mean) * sizes / (sizes - 1)


def held_out_explained(x: Tensor, f: Tensor, hoods: BaseNeighborhoods, ridges: Sequence[float]) -> Tensor:
    """(R, K) held-out variance explained by linear witnesses, over all members of all neighborhoods:

        1 - sum |f_j - g_(-j)(x_j)|^2 / sum |f_j - mean of the others|^2.

    0 is no better than a constant; NaN where nothing varies.

    Parameters
    ----------
    x : Tensor
        (N, P) features that the witnesses read.
    f : Tensor
        (N, K) predictions.
    hoods : BaseNeighborhoods
        Neighborhoods of at least two members each.
    ridges : sequence of float
        The R ridges, as in `LinearFamily`.
    """
    missed = f[hoods.members].double() - leave_one_out(x, f, hoods, ridges=ridges)
    total = distances_from_others(f, hoods).square().sum(0)
    return 1 - missed.square().sum(1) / torch.where(total > 0, total, torch.nan)


def _values(x: Tensor, f: Tensor, ridges: Sequence[float], intercept: bool, unit: float) -> Tensor:
    """(R, b, m, K) for b neighborhoods of one size with features (b, m, P) and predictions (b, m, K).

    `unit` is the rounding unit of the features: what is rounding to `LinearFamily` is rounding here.
    """
    eps = torch.finfo(x.dtype).eps
    m = x.shape[1]
    share = x.shape[2] ** 0.5 * (max(x.shape[1:]) * eps + 8 * unit)
    if m == 1:
        return torch.full((len(ridges), *f.shape), torch.nan, dtype=f.dtype)
    centered, gaps = x, f
    if intercept:
        centered, gaps = x - x.mean(1, keepdim=True), f - f.mean(1, keepdim=True)
        # A column that is constant up to rounding does not vary.
        noise = share * x.norm(dim=1, keepdim=True)
        centered = torch.where(centered.norm(dim=1, keepdim=True) > noise, centered, 0.0)
    u, s, _ = torch.linalg.svd(centered, full_matrices=False)  # (b, m, r), (b, r)
    squares = torch.where(s > s[:, :1] * share, s, 0.0).square() if s.shape[1] else s
    turned = u.mT @ gaps  # (b, r, K)
    leverage = 1.0 / m if intercept else 0.0
    results = []
    for ridge in ridges:
        kept = torch.where(squares > 0, squares / (squares + ridge), 0.0)
        misses = gaps - u @ (kept[..., None] * turned)
        free = 1 - leverage - (u.square() * kept[:, None]).sum(2)  # (b, m): 1 - H_jj
        inverse = torch.where(squares > 0, 1 / (squares + ridge), 0.0)
        alone = u @ (inverse[..., None] * turned)
        weight = (u.square() * inverse[:, None]).sum(2)
        sole = (free < ALONE)[..., None] & (weight > 0)[..., None]
        missed = torch.where(sole, alone, misses) / torch.where(sole, weight[..., None], free[..., None])
        results.append(f - missed)
    return torch.stack(results)
