"""How many neighbors, and how strong a ridge: chosen for the predictions of any model, by what witnesses say of members
that they were not fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid._searched import SearchedNeighborhoods
from pellucid.errors import InputError
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.witnesses.base import WitnessFamily
from pellucid.witnesses.leave_one_out import distances_from_others, leave_one_out

NEIGHBORS = (10, 15, 25, 40, 60, 100, 160)
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# Number of nearest members at which all candidates are compared.
_COMPARED = 10
# Candidates whose error is larger by no more than this share are as good as the best.
_TOLERANCE = 0.02
# Neighborhoods that choose; with fewer than the second number to choose and as many to judge none is set aside.
_MOST, _SET_ASIDE = 500, 10
# Work of all decompositions (m min(m, P)^2 each): a few seconds. With many features fewer neighborhoods choose.
_WORK, _FEWEST = 3e8, 60


class Candidate(NamedTuple):
    """A number of neighbors and a ridge, and how good they are."""

    neighbors: int | None
    """None where neighborhoods are what they are."""
    ridge: float | None
    """None for families without one."""
    explained: float
    """Held-out variance explained, at the members at which all candidates are compared; NaN where nothing varies."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """What was chosen, from what, and which neighborhoods had no part in it; see `choose`."""

    best: Candidate
    candidates: tuple[Candidate, ...] = field(repr=False)
    compared: int | None
    """Number of members nearest to each center at which candidates are compared; None for all."""
    used: Tensor = field(repr=False)
    """The neighborhoods that chose."""
    others: Tensor | None = field(repr=False)
    """The neighborhoods that did not: those to judge by. None where there were too few to set some aside."""

    def at(self, neighbors: int | None, ridge: float | None) -> Candidate | None:
        """The candidate with these settings, if it is one."""
        return next((c for c in self.candidates if (c.neighbors, c.ridge) == (neighbors, ridge)), None)

    def to_dict(self) -> dict[str, Any]:
        """In plain numbers, ready for JSON."""
        return {
            "neighbors": self.best.neighbors,
            "ridge": self.best.ridge,
            "compared_at_nearest": self.compared,
            "neighborhoods": len(self.used),
            "set_aside": 0 if self.others is None else len(self.others),
            "candidates": [
                {**c._asdict(), "explained": None if math.isnan(c.explained) else c.explained} for c in self.candidates
            ],
        }


def choose(
    f: Any,
    x: Any,
    hoods: BaseNeighborhoods,
    *,
    neighbors: Sequence[int] | None = None,
    ridges: Sequence[float] = RIDGES,
    family: WitnessFamily | None = None,
    seed: int = 0,
) -> Choice:
    """The number of neighbors and the ridge whose witnesses are best at members that they were not fitted to.

    Every candidate (k, ridge) is fitted to the k nearest members of a center but one, for each of the ten nearest
    members in turn (linear witnesses exactly and at once, see `leave_one_out`), and

        1 - sum |f_j - g_(-j)(x_j)|^2 / min_k sum |f_j - mean of the k nearest but j|^2

    is its held-out variance explained, a mean over the outputs; 0 is no better than the best constant. The members are
    the same for every k: the share that is explained of each neighborhood's *own* variance rises with k almost whatever
    the model does, for there is more of it, while the law of a large neighborhood becomes a worse account of what
    happens near its center.

    Chosen are the fewest neighbors, which are the most local, that with some ridge come within 2 % of the smallest
    error; and then the largest ridge, whose coefficients are the steadiest, that comes within 2 % of the smallest error
    of so many neighbors.

    A random half of the neighborhoods chooses, at most 500 (fewer with very many features); the rest, `Choice.others`,
    has had no part in it and is there to judge the choice by. Of fewer than 20 all choose, and `others` is None.

    Parameters
    ----------
    f : array_like
        (N,) or (N, K) predictions at all points.
    x : array_like
        (N, P) features that the witnesses read, in units in which a ridge may treat them alike: standardized.
    hoods : BaseNeighborhoods
        With `neighbors`, neighborhoods of one size with the nearest members first, as `nearest` makes them; otherwise
        any.
    neighbors : sequence of int, optional
        The numbers of neighbors to choose from, at most the size of the neighborhoods; None leaves the neighborhoods
        as they are.
    ridges : sequence of float
        Ridges of linear witnesses to choose from.
    family : WitnessFamily, optional
        Other witnesses than linear ones, which are fitted again for each member; then there is no ridge to choose.
    seed : int
        Seed of the choice of the neighborhoods that choose.

    Examples
    --------
    >>> import torch, pellucid as pl
    >>> from pellucid.choosing import choose
    >>> x = torch.randn(300, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> f = x[:, 0] + torch.randn(300, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    >>> choice = choose(f, x, pl.nearest(x, k=60), neighbors=(10, 20, 60))
    >>> choice.best.neighbors, choice.best.ridge > 0
    (60, True)
    """
    x, f = check_points(x, f, hoods)
    f = f.detach()
    sizes = hoods.sizes
    counts = _counts(neighbors, sizes)
    large = (sizes >= 2).nonzero().flatten().cpu()
    if not len(large):
        raise InputError(
            "Neighborhoods must have at least 2 members to leave one out", got="smaller ones", cure="join them"
        )
    work = sum(m * min(m, x.shape[1]) ** 2 for m in (counts or [int(sizes.double().mean())]))
    most = min(_MOST, max(_FEWEST, int(_WORK / work)))
    used, others = choosing_half(large, most=most, seed=seed)
    choosing = hoods.select(used.to(hoods.device))
    compared = None if counts is None else min(_COMPARED, counts[0])
    options: list[int | None] = [*counts] if counts else [None]
    parts = [choosing if count is None else prefix(choosing, count) for count in options]
    total = torch.stack([_alone(f, part, compared) for part in parts]).amin(0)  # (K,)
    candidates = []
    for count, part in zip(options, parts, strict=True):
        settings = [None] if family is not None else list(ridges)
        for ridge, missed in zip(settings, _missed(f, x, part, compared, ridges, family), strict=True):
            share = 1 - float((missed / total)[total > 0].mean())  # NaN where nothing varies
            candidates.append(Candidate(count, ridge, share))
    return Choice(
        best=_best(candidates),
        candidates=tuple(candidates),
        compared=compared,
        used=used,
        others=others,
    )


def choosing_half(neighborhoods: Tensor, *, most: int, seed: int) -> tuple[Tensor, Tensor | None]:
    """A random half of the neighborhoods, at most so many, to choose settings by, and the others, to judge them by.

    Of fewer than 20 neighborhoods all choose, and there are no others.
    """
    generator = torch.Generator().manual_seed(_checks.seed(seed))
    order = neighborhoods[torch.randperm(len(neighborhoods), generator=generator)]
    aside = len(order) >= 2 * _SET_ASIDE
    used = torch.sort(order[: min(most, len(order) // 2 if aside else len(order))]).values
    return used, torch.sort(order[len(used) :]).values if aside else None


def prefix(hoods: BaseNeighborhoods, count: int) -> BaseNeighborhoods:
    """The first `count` members of neighborhoods that all have at least as many."""
    if isinstance(hoods, SearchedNeighborhoods):
        return hoods.first(count)
    places = (hoods.offsets[:-1, None] + torch.arange(count, device=hoods.device)).flatten()
    offsets = torch.arange(len(hoods) + 1, device=hoods.device) * count
    return Neighborhoods(hoods.members[places], offsets, hoods.centers, hoods.n_points)


def candidates_for(points: int) -> tuple[int, ...]:
    """Numbers of neighbors to choose from: at most half of the points, so that neighborhoods differ."""
    return tuple(k for k in NEIGHBORS if k <= points // 2) or (min(NEIGHBORS[0], points),)


def _counts(neighbors: Sequence[int] | None, sizes: Tensor) -> list[int] | None:
    if neighbors is None:
        return None
    smallest = int(sizes.min())
    counts = sorted({_checks.whole(k, 2, "neighbors", smallest) for k in neighbors})
    if not counts:
        raise InputError(
            "`neighbors` must hold at least one number",
            got="none",
            cure="leave it out to choose the ridge alone",
            parameter="neighbors",
        )
    return counts


def _best(candidates: Sequence[Candidate]) -> Candidate:
    """The fewest neighbors, and then the largest ridge, that are as good as the best; see `choose`."""
    near = _good(candidates)
    fewest = min(candidate.neighbors or 0 for candidate in near)
    return max(
        _good([candidate for candidate in candidates if (candidate.neighbors or 0) == fewest]),
        key=lambda candidate: candidate.ridge or 0.0,
    )


def _good(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those whose error is hardly larger than the smallest; all of them where nothing varies."""
    errors = np.nan_to_num([1 - candidate.explained for candidate in candidates])
    # Where witnesses are exact, rounding is all that tells candidates apart.
    return [candidates[i] for i in np.flatnonzero(errors <= (1 + _TOLERANCE) * errors.min() + 1e-12).tolist()]


def _counting(hoods: BaseNeighborhoods, compared: int | None) -> Tensor:
    """(M,) which members count: the nearest ones, or all."""
    rank = torch.arange(len(hoods.members), device=hoods.device) - hoods.offsets[:-1][hoods.rows]
    return rank < compared if compared is not None else torch.ones_like(rank, dtype=torch.bool)


def _alone(f: Tensor, hoods: BaseNeighborhoods, compared: int | None) -> Tensor:
    """(K,) squared errors of the mean of the other members, summed over the members that count."""
    return distances_from_others(f, hoods)[_counting(hoods, compared)].square().sum(0)


def _missed(
    f: Tensor,
    x: Tensor,
    hoods: BaseNeighborhoods,
    compared: int | None,
    ridges: Sequence[float],
    family: WitnessFamily | None,
) -> list[Tensor]:
    """For each ridge (K,) squared errors at members left out, summed over the members that count."""
    if family is None:
        values = leave_one_out(x, f, hoods, ridges=ridges)  # (R, M, K)
        counting = _counting(hoods, compared)
        return list((values - f[hoods.members].double())[:, counting].square().sum(1))
    longest = int(hoods.sizes.max()) if compared is None else compared
    missed = torch.zeros(f.shape[1], dtype=torch.float64, device=f.device)
    for position in range(longest):
        rest, left = _without(hoods.select((hoods.sizes > position).nonzero().flatten()), position)
        witnesses = family.best_response(x, f, rest)
        values = witnesses.evaluate(torch.arange(len(rest), device=f.device), x[left])
        missed += (values.double() - f[left].double()).square().sum(0)
    return [missed]


def _without(hoods: BaseNeighborhoods, position: int) -> tuple[Neighborhoods, Tensor]:
    """Neighborhoods without their member at this position, and (n,) these members."""
    out = hoods.offsets[:-1] + position
    remaining = torch.ones(len(hoods.members), dtype=torch.bool, device=hoods.device)
    remaining[out] = False
    sizes = hoods.sizes - 1
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return Neighborhoods(hoods.members[remaining], offsets, hoods.centers, hoods.n_points), hoods.members[out]
