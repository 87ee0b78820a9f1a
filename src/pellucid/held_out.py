"""Held-out fits: a member of each neighborhood is held out, and the witness of the others is asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.errors import InputError, quietly
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.witnesses.base import WitnessFamily

# Neighborhoods of fewer members say nothing: any witness follows them.
FEWEST = 3
# More of them would cost time and hardly change the bound.
MOST = 1000
# Members that are held out of a neighborhood, one after the other.
DRAWS = 5


class HeldOut(NamedTuple):
    """Of n neighborhoods, what happens at a member that the witness was not fitted to, in R draws.

    A copy of another member takes its place, so that the fit is that of as many members as there are.
    """

    gaps: np.ndarray
    """(n, R, K) |f - g| there."""
    deviations: np.ndarray
    """(n, R, K) mean of |f - g| over the members that it was fitted to, the copy among them."""
    alone: np.ndarray
    """(n, R, K) |f - mean of f over these members| there: what a constant would miss."""
    spread: np.ndarray
    """(K,) standard deviation of the predictions."""
    extent: np.ndarray | None = None
    """(K,) largest minus smallest prediction, if that is known."""
    saturated: np.ndarray | None = None
    """(n, R) whether the witness of all members would go through any values, see `Witnesses.saturated`; if None, none
    would."""
    sizes: np.ndarray | None = None
    """(n, R) the number of members, if that is known."""

    @classmethod
    def of_draws(cls, draws: Sequence[HeldOut]) -> HeldOut:
        """Draws from the same neighborhoods as one."""
        return cls._together(draws, 1, draws[0].spread)

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Different neighborhoods as one."""
        return cls._together(parts, 0, np.mean([part.spread for part in parts], axis=0))

    @classmethod
    def _together(cls, parts: Sequence[HeldOut], axis: int, spread: np.ndarray) -> HeldOut:
        gaps, deviations, alone = (np.concatenate(part, axis) for part in zip(*(p[:3] for p in parts), strict=True))
        extents = [part.extent for part in parts if part.extent is not None]
        saturated = np.concatenate([~part.telling for part in parts], axis)
        extent = np.max(extents, axis=0) if extents else None
        sizes = [part.sizes for part in parts if part.sizes is not None]
        known = np.concatenate(sizes, axis) if len(sizes) == len(parts) else None
        return cls(gaps, deviations, alone, spread, extent, saturated, known)

    @property
    def telling(self) -> np.ndarray:
        """(n, R) whether the witness can be held to account."""
        return np.ones(self.gaps.shape[:2], dtype=bool) if self.saturated is None else ~self.saturated

    def explained(self) -> np.ndarray:
        """(K,) share of the predictor's variance in the neighborhoods that witnesses account for at members held out:

            1 - sum |f - g|^2 / sum |f - mean of the others|^2;

        0 is no better than a constant, and noise is below it. NaN where nothing varies.
        """
        missed, total = np.square(self.gaps).sum((0, 1)), np.square(self.alone).sum((0, 1))
        return np.asarray(np.where(total > 0, 1 - missed / np.where(total > 0, total, 1.0), np.nan))


def held_out(
    f: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, draws: int = DRAWS, seed: int = 0
) -> HeldOut:
    """Leave one member out of each neighborhood, and see what the witness of the others says of it.

    The parameters are those of `pellucid.calibrate`.
    """
    x, f = check_points(x, f, hoods)
    f = f.detach()
    if not isinstance(family, WitnessFamily):
        raise InputError(
            "`family` must be a witness family, such as LinearFamily()", got=f"{family!r}", parameter="family"
        )
    generator = torch.Generator().manual_seed(_checks.seed(seed))
    large = (hoods.sizes >= FEWEST).nonzero().flatten().cpu()
    values = f.double()
    spread, extent = values.std(0, correction=0).cpu().numpy(), (values.amax(0) - values.amin(0)).cpu().numpy()
    if not len(large):
        nothing = np.zeros((0, 1, len(spread)))
        return HeldOut(nothing, nothing, nothing, spread, extent, sizes=np.zeros((0, 1), dtype=np.int64))
    large = torch.sort(large[torch.randperm(len(large), generator=generator)[:MOST]]).values
    f, x, hoods = _alone(f, x, hoods.select(large.to(hoods.device)))
    draws = _checks.whole(draws, 1, "draws")
    parts = [_left_out(f, x, hoods, family, generator) for _ in range(draws)]
    gaps, deviations, alone = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    with quietly():  # the neighborhoods are those of which a fit has warned already
        saturated = family.best_response(x, f, hoods).saturated().cpu().numpy()
    sizes = hoods.sizes.cpu().numpy()
    saturated, sizes = (np.repeat(part[:, None], draws, axis=1) for part in (saturated, sizes))
    return HeldOut(gaps, deviations, alone, spread, extent, saturated, sizes)


def _alone(f: Tensor, x: Tensor, hoods: BaseNeighborhoods) -> tuple[Tensor, Tensor, Neighborhoods]:
    """These neighborhoods with no points but their own."""
    points, places = torch.unique(torch.cat([hoods.members, hoods.centers]), return_inverse=True)
    members, centers = places.split([len(hoods.members), len(hoods)])
    return f[points], x[points], Neighborhoods(members, hoods.offsets, centers, len(points))


def _left_out(
    f: Tensor, x: Tensor, hoods: Neighborhoods, family: WitnessFamily, generator: torch.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parts of `HeldOut`, (n, K) each, with one member of every neighborhood held out."""
    others, left, copied = one_left_out(hoods, generator)
    x_all, f_all = torch.cat([x, x[copied]]), torch.cat([f, f[copied]])
    with quietly():
        witnesses = family.best_response(x_all, f_all, others)
    answers = witnesses.evaluate(torch.arange(len(others), device=f.device), x[left])
    gaps = (f[left].double() - answers.double()).abs()
    misses = (f_all[others.members].double() - witnesses.at_members().double()).abs()
    sizes = others.sizes[:, None]
    alone = (f[left].double() - others.sum(f_all.double()) / sizes).abs()
    return gaps.cpu().numpy(), (others.sum_members(misses) / sizes).cpu().numpy(), alone.cpu().numpy()


def one_left_out(hoods: BaseNeighborhoods, generator: torch.Generator) -> tuple[Neighborhoods, Tensor, Tensor]:
    """Neighborhoods of two members or more that each lack one, chosen at random, whose place a copy of another takes.

    Returns
    -------
    (Neighborhoods, Tensor, Tensor)
        neighborhoods over N + n points, of which the last n are the copies; (n,) the members held out; (n,) those
        copied.
    """
    n, sizes = len(hoods), hoods.sizes
    chance = torch.rand(n, generator=generator, dtype=torch.float64).to(hoods.device) * sizes
    out = chance.long()
    other = (out + 1 + ((chance - out) * (sizes - 1)).long()) % sizes  # what is left of a chance is one, too
    start, members = hoods.offsets[:-1], hoods.members.clone()
    left, copied = members[start + out], members[start + other]
    members[start + out] = hoods.n_points + torch.arange(n, device=hoods.device)
    return Neighborhoods(members, hoods.offsets, hoods.centers, hoods.n_points + n), left, copied
