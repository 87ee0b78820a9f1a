"""What autoregressive laws say of positions whose values they have not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from pellucid._range_sums import range_sums
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.linear import LinearWitnesses


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutLaws:
    """Laws at the members of their windows, each fitted without all positions that share a value with the member.

    Position t of a law of order K is one row of its least squares: it reads x_t, ..., x_{t-K+1}, and answers for
    x_{t+1}. These are the values t-K+1 .. t+1, so that two rows share at least one exactly if

        |s - t| <= K.

    Along a forecast this is what the answer at t being a lag of the positions after it means: x_{t+1} is f_t itself.
    Along real values, where f_t is no lag, the same rule is kept, so that both can be compared. So in window i the law
    that is asked about t is fitted to the positions s with |s - t| > K, and to no others; see `LinearFamily`, of which
    K is the buffer.

    What is left of a short window may not determine a law of 1 + K c coefficients. Such a law is a guess that says
    nothing of the law of the whole window, so that only members with at least as many positions left are asked, and
    only there a held-out game is played. Where no window leaves so many at its center, as with many channels, a large
    ridge has to support the laws: then one position is enough.
    """

    hoods: BaseNeighborhoods
    gaps: Tensor
    """(M, c) f_t - g(x_t) at each member, g the law of the window without its block."""
    alone: Tensor
    """(M, c) f_t minus the mean of f over the same positions: what a constant would miss."""
    known: Tensor
    """(M,) whether enough positions are left; where not, gaps are 0 and mean nothing."""

    @classmethod
    def of(cls, witnesses: LinearWitnesses) -> HeldOutLaws:
        """Of fitted laws in windows, with a buffer."""
        order = witnesses.buffer
        hoods, rows = witnesses.hoods, witnesses.hoods.rows
        f = witnesses.f[hoods.members].double()
        entries = torch.arange(len(f))
        low = (entries - order).maximum(hoods.offsets[rows])
        high = (entries + order + 1).minimum(hoods.offsets[rows + 1])
        others = hoods.sum_members(f)[rows] - range_sums(f, low, high)
        count = hoods.sizes[rows] - (high - low)
        return cls(
            hoods=hoods,
            gaps=f - witnesses.held_out_values().double(),
            alone=f - others / count.clamp(min=1)[:, None],
            known=count >= witnesses.least_others,
        )

    def at_centers(self) -> Tensor:
        """(n, c) the gaps at the center of each window; NaN where they are not known."""
        entries = (self.hoods.members == self.hoods.centers[self.hoods.rows]).nonzero().flatten()
        return torch.where(self.known[entries, None], self.gaps[entries], torch.nan)

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """(c,) the sums of squares that laws miss, and that constants miss, over all members where both are known."""
        missed, total = (part[self.known].square().sum(0).numpy() for part in (self.gaps, self.alone))
        return missed, total

    def explained(self) -> np.ndarray:
        """(c,) held-out variance explained, over all members of all windows; see `share_explained`."""
        return share_explained(*self.squares())


def least_others(order: int, radius: int, horizon: int, channels: int) -> int:
    """The positions that must be left of a window for a law of this order to be asked; see `HeldOutLaws`.

    Examples
    --------
    >>> least_others(2, 9, 20, channels=4), least_others(2, 9, 20, channels=8)
    (9, 1)
    """
    coefficients = 1 + order * channels
    left = [max(0, min(h, radius) - order) + max(0, min(horizon - 1 - h, radius) - order) for h in range(horizon)]
    return coefficients if max(left) >= coefficients else 1


def share_explained(missed: np.ndarray, total: np.ndarray) -> np.ndarray:
    """(c,) held-out variance explained, 1 - sum |f - g|^2 / sum |f - mean|^2, g and mean both fitted without the block.

    0 is no better than a constant; NaN where nothing varies, or nothing is known.
    """
    return np.asarray(np.where(total > 0, 1 - missed / np.where(total > 0, total, 1.0), np.nan))
