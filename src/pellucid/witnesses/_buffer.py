"""Held-out values of linear witnesses where a member is left out together with those beside it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pellucid._threads import run_chunks
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.witnesses._arrays import numbers, rounding_unit

# Numbers that the members of one batch of further fits may hold: 32 MB.
_BATCH = 2**22


def held_out_apart(
    x: Tensor,
    f: Tensor,
    hoods: BaseNeighborhoods,
    fitted: Tensor,
    *,
    buffer: int,
    least_others: int,
    ridge: float,
    intercept: bool,
    fit: Callable[[Neighborhoods], Tensor],
) -> Tensor:
    """(M, K) at each member j the value of the linear witness fitted without its block B, the members that stand at
    most `buffer` places from j in the list of members, j itself among them; in float64.

    With the hat matrix H of the neighborhood and the residuals r = f - H f, the fit without B misses f_B by

        e_B = (1 - H_BB)^-1 r_B,

    of which the value at j is read. Where a block alone determines a direction, 1 - H_BB has no inverse, and the others
    are fitted again. Where fewer than `least_others` members are outside of B, j keeps its prediction.

    Parameters
    ----------
    x : Tensor
        (N, P) features.
    f : Tensor
        (N, K) predictions.
    hoods : BaseNeighborhoods
        The neighborhoods.
    fitted : Tensor
        (M, K) values of the witnesses at their members.
    buffer : int
        Places to either side that are left out with a member.
    least_others : int
        Members that must be left, at least 1.
    ridge : float
        The ridge of the fit.
    intercept : bool
        Whether the fit has one.
    fit : callable
        Parameters (n, 1 + P, K) of the witnesses of other neighborhoods.
    """
    from pellucid.witnesses._buffer_kernel import apart_range

    features, predictions, answers = numbers(x), numbers(f), numbers(fitted)
    members, offsets = hoods.members.cpu().numpy(), hoods.offsets.cpu().numpy()
    penalty = np.full(x.shape[1], float(ridge))
    unit = 0.0 if ridge > 0 else rounding_unit(x.dtype)
    values, clear = np.empty((len(members), f.shape[1])), np.empty(len(members), dtype=bool)

    def compute(begin: int, end: int) -> None:
        apart_range(
            features, predictions, answers, members, offsets, penalty, unit, intercept, buffer, least_others,
            begin, end, values, clear,
        )  # fmt: skip

    run_chunks(compute, offsets, torch.get_num_threads())
    result = torch.from_numpy(values).to(f.device)
    rest = torch.from_numpy(np.flatnonzero(~clear)).to(hoods.device)
    size = int(hoods.sizes.max()) + (1 + x.shape[1]) * f.shape[1]
    for entries in rest.split(max(1, _BATCH // size)):
        theta = fit(others(hoods, entries, buffer))
        points = hoods.members[entries]
        result[entries] = theta[:, 0] + torch.bmm(x[points].double()[:, None], theta[:, 1:])[:, 0]
    return result


def block_ends(hoods: BaseNeighborhoods, entries: Tensor, buffer: int) -> tuple[Tensor, Tensor]:
    """(L,) the first entry of the block of each of L entries, and the one after its last."""
    rows = hoods.rows[entries]
    return (entries - buffer).maximum(hoods.offsets[rows]), (entries + buffer + 1).minimum(hoods.offsets[rows + 1])


def others(hoods: BaseNeighborhoods, entries: Tensor, buffer: int) -> Neighborhoods:
    """The neighborhoods of these entries without their blocks, one for each entry."""
    rows = hoods.rows[entries]
    low, high = block_ends(hoods, entries, buffer)
    sizes = hoods.sizes[rows] - (high - low)
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    place = torch.arange(int(offsets[-1]), device=hoods.device)
    which = torch.repeat_interleave(torch.arange(len(entries), device=hoods.device), sizes)
    entry = hoods.offsets[rows][which] + place - offsets[which]
    entry = entry + torch.where(entry >= low[which], (high - low)[which], 0)
    return Neighborhoods.checked(hoods.members[entry], offsets, hoods.centers[rows], hoods.n_points)
