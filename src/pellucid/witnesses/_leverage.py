"""Leverages of linear fits: how much of a member's fitted value is that member itself."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from pellucid._threads import run_chunks
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._arrays import numbers, rounding_unit
from pellucid.witnesses.leave_one_out import ALONE, leave_one_out


@dataclass(frozen=True, eq=False)
class _Memory:
    """Leverages of one call, and all that they depend on."""

    x: Tensor
    penalty: Tensor
    intercept: bool
    free: Tensor

    def holds_for(self, x: Tensor, penalty: Tensor, intercept: bool) -> bool:
        return (
            self.intercept == intercept
            and self.x.dtype == x.dtype
            and self.x.shape == x.shape
            and torch.equal(self.penalty, penalty)
            and torch.equal(self.x, x)
        )


# Where features and neighborhoods stay as they are from one step of a training to the next, so do the leverages: those
# of the last call are kept as long as the neighborhoods live. Comparing features is much cheaper than factorizing them.
# Numbers that features may hold to be remembered: 128 MB.
_REMEMBERED = 2**24
_last: WeakKeyDictionary[BaseNeighborhoods, _Memory] = WeakKeyDictionary()


def free_shares(x: Tensor, hoods: BaseNeighborhoods, penalty: Tensor | float, intercept: bool) -> Tensor:
    """(M,) 1 - H_jj at each member, H the hat matrix of its neighborhood; NaN where columns depend on each other.

    Parameters
    ----------
    x : Tensor
        (N, P) features.
    hoods : BaseNeighborhoods
        The neighborhoods.
    penalty : Tensor or float
        Of the square of each coefficient, (P,) or one for all.
    intercept : bool
        Whether the fit has one.
    """
    from pellucid.witnesses._leverage_kernel import free_range

    penalties = torch.as_tensor(penalty, dtype=torch.float64).cpu().expand(x.shape[1]).contiguous()
    memory = _last.get(hoods)
    if memory is not None and memory.holds_for(x, penalties, intercept):
        return memory.free
    features, offsets = numbers(x), hoods.offsets.cpu().numpy()
    members = hoods.members.cpu().numpy()
    free, regular = np.empty(len(members)), np.empty(len(hoods), dtype=bool)
    unit = rounding_unit(x.dtype)

    def compute(begin: int, end: int) -> None:
        free_range(features, members, offsets, penalties.numpy(), unit, intercept, begin, end, free, regular)

    run_chunks(compute, offsets, torch.get_num_threads())
    free[np.repeat(~regular, np.diff(offsets))] = np.nan
    result = torch.from_numpy(free).to(hoods.device)
    if x.numel() <= _REMEMBERED:
        _last[hoods] = _Memory(x.clone(), penalties, intercept, result)
    return result


def held_out_from_fit(
    x: Tensor,
    f: Tensor,
    hoods: BaseNeighborhoods,
    values: Tensor,
    free: Tensor,
    *,
    penalty: Tensor | float,
    intercept: bool,
) -> Tensor:
    """(M, K) the values of linear witnesses at members that they were not fitted to, in float64:

        f_j - (f_j - g(x_j)) / (1 - H_jj),

    from the values g(x_j) of the witness that was. Where a member alone determines a direction, H_jj = 1, and where
    columns depend on each other, a decomposition gives the limit of small ridges. A member without others keeps its
    prediction.

    Parameters
    ----------
    x : Tensor
        (N, P) features.
    f : Tensor
        (N, K) predictions.
    hoods : BaseNeighborhoods
        The neighborhoods.
    values : Tensor
        (M, K) values of the witnesses at their members.
    free : Tensor
        (M,) 1 - H_jj, or NaN where that is not known.
    penalty : Tensor or float
        Of the square of each coefficient, (P,) or one for all.
    intercept : bool
        Whether the fit has one.
    """
    predictions = f[hoods.members].double()
    if bool((free > ALONE).all()) and bool((hoods.sizes > 1).all()):  # as a rule
        return predictions - (predictions - values.double()) / free[:, None]
    alone = (hoods.sizes == 1)[hoods.rows]
    clear = (free > ALONE) & ~alone
    gaps = (predictions - values.double()) / torch.where(clear, free, 1.0)[:, None]
    result = predictions - torch.where(alone[:, None], 0.0, gaps)
    rest = torch.unique(hoods.rows[~clear & ~alone])
    if len(rest):
        root = torch.as_tensor(penalty, dtype=torch.float64, device=x.device).sqrt()
        ridge = float(bool(root.any()))
        part = hoods.select(rest)
        chosen = torch.zeros(len(hoods), dtype=torch.bool, device=hoods.device)
        chosen[rest] = True
        # In features divided by the roots of their penalties the ridge is 1.
        scaled = x if not ridge else x.double() / root
        result[chosen[hoods.rows]] = leave_one_out(scaled, f, part, ridges=(ridge,), intercept=intercept)[0]
    return result
