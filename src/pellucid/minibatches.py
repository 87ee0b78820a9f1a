"""Minibatches of neighborhoods: which of them play in a step, and which of their members are evaluated.

A game needs the predictor's values at every member of the neighborhoods that play. Where neighborhoods are large, a
step would evaluate many more points than it learns from. So a share of the batch plays, with some of the members, and
batches can be arranged such that neighborhoods that share members meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

import torch
from torch import Tensor
from torch.utils.data import Sampler

from pellucid import _checks
from pellucid._point_checks import check_neighborhoods
from pellucid.errors import InputError
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods

# Seeds of consecutive epochs lie one apart, those of consecutive seeds this far.
_STRIDE = 1_000_003


class Minibatch(NamedTuple):
    """What one step evaluates, and the neighborhoods that play; see `sample_minibatch`."""

    centers: Tensor
    """(B,) the centers of all neighborhoods of the batch, in its order, whether they play or not."""
    others: Tensor
    """(L - B,) the further points that belong to the neighborhoods that play, in rising order."""
    hoods: Neighborhoods
    """The neighborhoods that play, over the L points; `hoods.selected` tells which of all neighborhoods they are."""

    @property
    def points(self) -> Tensor:
        """(L,) the points to evaluate: the batch's centers, then the others."""
        return torch.cat([self.centers, self.others])

    def to(self, device: torch.device | str) -> Minibatch:
        """The same minibatch on another device."""
        return Minibatch(self.centers.to(device), self.others.to(device), self.hoods.to(device))


def sample_minibatch(
    hoods: BaseNeighborhoods,
    index: Tensor | list[int],
    *,
    share: float = 1.0,
    max_members: int | None = None,
    generator: torch.Generator | None = None,
) -> Minibatch:
    """Choose which neighborhoods of a batch play in a step, and which of their members are evaluated.

    The first `share` of the batch plays, which is a random choice as batches are. Of a neighborhood with more than
    `max_members` members its center, if it is a member, and a random choice of the others are taken. All neighborhoods
    of a step choose by one random order of all points: members that they share are chosen together, and evaluated once.

    Parameters
    ----------
    hoods : BaseNeighborhoods
        All neighborhoods.
    index : Tensor or list of int
        (B,) the neighborhoods of the batch. Where neighborhood i belongs to point i, as with `nearest`, `within` and
        `windows`, these are also the batch's points.
    share : float
        The share of the batch that plays, above 0 and at most 1; at least one neighborhood does.
    max_members : int, optional
        The number of members of a neighborhood that are evaluated at most; by default all.
    generator : Generator, optional
        Source of randomness, for repeatable choices.

    Examples
    --------
    >>> import pellucid as pl
    >>> x = torch.linspace(0, 1, 100)[:, None]
    >>> hoods = pl.nearest(x, k=25)
    >>> batch = pl.sample_minibatch(hoods, [30, 31, 32, 70], max_members=8)
    >>> batch.hoods.sizes.tolist(), batch.hoods.selected.tolist()
    ([8, 8, 8, 8], [30, 31, 32, 70])
    >>> f = torch.sin(6 * x[batch.points])  # the predictor, evaluated on these points alone
    >>> outcome = pl.SymmetricGame(pl.LinearFamily())(f, x[batch.points], batch.hoods)
    >>> f[: len(batch.centers)].shape  # its values at the points 30, 31, 32 and 70
    torch.Size([4, 1])
    """
    check_neighborhoods(hoods)
    if not 0 < _checks.at_least(share, 0, "share", "sample_minibatch") <= 1:
        raise InputError(
            "`share` of sample_minibatch must be above 0 and at most 1", got=f"{share!r}", parameter="share"
        )
    batch = hoods.select(index)
    playing = batch.select(slice(max(round(share * len(batch)), 1)))
    members, offsets = _sample_members(playing, max_members, generator)
    position = torch.full((hoods.n_points,), -1, device=hoods.device)  # of each point among those that are evaluated
    position[batch.centers] = torch.arange(len(batch), device=hoods.device)
    others = torch.unique(members[position[members] < 0])
    position[others] = len(batch) + torch.arange(len(others), device=hoods.device)
    local = Neighborhoods.checked(
        position[members],
        offsets,
        position[playing.centers],
        len(batch) + len(others),
        selected=playing.selected,
    )
    return Minibatch(batch.centers, others, local)


def _sample_members(
    hoods: BaseNeighborhoods, most: int | None, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Members and offsets of neighborhoods that keep a limited number of their members."""
    most = hoods.n_points if most is None else _checks.whole(most, 1, "max_members")
    order = torch.rand(hoods.n_points, generator=generator, dtype=torch.float64).to(hoods.device)[hoods.members]
    order[hoods.members == hoods.centers[hoods.rows]] = -1.0  # the center comes first
    ranked = torch.argsort(hoods.rows * 4.0 + order, stable=True)
    rank = torch.arange(len(ranked), device=hoods.device) - hoods.offsets[hoods.rows]
    sizes = hoods.sizes.clamp(max=most)
    return hoods.members[ranked[rank < most]], torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def overlap_order(hoods: BaseNeighborhoods, *, generator: torch.Generator | None = None) -> Tensor:
    """A random order (n,) of the neighborhoods in which those that share members tend to stand together.

    Points get a random order, and each neighborhood stands where its first member does: two neighborhoods have the same
    first member with a probability of |A and B| / |A or B|, the share of their members that they have in common.
    Batches of consecutive neighborhoods then hold fewer different points.

    Parameters
    ----------
    hoods : BaseNeighborhoods
        The neighborhoods.
    generator : Generator, optional
        Source of randomness, for a repeatable order.

    Examples
    --------
    >>> import pellucid as pl
    >>> hoods = pl.from_lists([[0, 1], [2, 3], [0, 1], [2, 3]], centers=[0, 2, 1, 3])
    >>> order = overlap_order(hoods, generator=torch.Generator().manual_seed(0))
    >>> sorted(order[:2].tolist())  # the first two share their members
    [1, 3]
    """
    check_neighborhoods(hoods)
    order = torch.rand(hoods.n_points, generator=generator, dtype=torch.float64).to(hoods.device)
    first = torch.full((len(hoods),), 2.0, dtype=torch.float64, device=hoods.device)
    return torch.argsort(first.scatter_reduce(0, hoods.rows, order[hoods.members], "amin"), stable=True)


@final
class OverlapSampler(Sampler[int]):
    """The sampler of a DataLoader over neighborhoods: in every epoch another `overlap_order`.

    The order depends on the seed and the epoch alone, so that a run that was interrupted after an epoch goes on as it
    would have. As with torch's `DistributedSampler`, call `set_epoch` before each epoch.

    Parameters
    ----------
    hoods : BaseNeighborhoods
        The neighborhoods.
    seed : int
        Fixes the orders.

    Examples
    --------
    >>> import pellucid as pl
    >>> from torch.utils.data import DataLoader
    >>> x = torch.linspace(0, 1, 100)[:, None]
    >>> sampler = pl.OverlapSampler(pl.nearest(x, k=10))
    >>> loader = DataLoader(range(100), batch_size=25, sampler=sampler)
    >>> sampler.set_epoch(3)
    >>> [len(batch) for batch in loader]
    [25, 25, 25, 25]
    """

    def __init__(self, hoods: BaseNeighborhoods, *, seed: int = 0) -> None:
        check_neighborhoods(hoods)
        self.hoods, self.seed, self.epoch = hoods, _checks.seed(seed), 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next."""
        self.epoch = _checks.whole(epoch, 0, "epoch")

    def __len__(self) -> int:
        return len(self.hoods)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * _STRIDE + self.epoch)
        return iter(overlap_order(self.hoods, generator=generator).tolist())
