"""How far a witness can be trusted: a split-conformal bound on its distance from the predictor, near its center.

What a witness says of its own members is known, and how far it is off there is no more than a report of the past. The
question that matters is about the next point: somebody changes the molecule a little, or the forecast moves on by a
step. From each of n held-out neighborhoods one member z is left out at random, the witness g is fitted to the others,
and the distance at z, in units of what the fit itself leads one to expect, is a score of the neighborhood:

    s_i = |f(z) - g(z)| / (D_i + floor),     D_i = mean over the other members of |f - g|.

The bound of a new neighborhood with deviation D is q (D + floor), where q is the quantile of the scores at
ceil((n + 1) level) / n. With one score per neighborhood it holds with probability >= level, as neighborhoods are
exchangeable (Vovk et al. 2005; Lei et al. 2018). Several draws of z are pooled, which makes the bound steadier and, for
few neighborhoods, a little too wide rather than too narrow (Dunn, Wasserman and Ramdas 2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError, quietly
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.witnesses.base import WitnessFamily

LEVEL = 0.9
# Neighborhoods of fewer members say nothing: any witness follows them.
FEWEST = 3
# More of them would cost time and hardly change the bound.
MOST = 1000
# Members that are left out of a neighborhood, one after the other.
DRAWS = 5


class HeldOut(NamedTuple):
    """Of n neighborhoods, what happens at members that the witness was not fitted to, in R draws."""

    gaps: np.ndarray
    """(n, R, K) |f - g| there."""
    deviations: np.ndarray
    """(n, R, K) mean of |f - g| over the members that it was fitted to."""
    alone: np.ndarray
    """(n, R, K) |f - mean of f over these members| there: what a constant would miss."""
    spread: np.ndarray
    """(K,) standard deviation of the predictions."""

    @classmethod
    def of_draws(cls, draws: Sequence[HeldOut]) -> HeldOut:
        """Draws from the same neighborhoods as one."""
        gaps, deviations, alone = (np.concatenate(part, axis=1) for part in zip(*(d[:3] for d in draws), strict=True))
        return cls(gaps, deviations, alone, draws[0].spread)

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Different neighborhoods as one."""
        gaps, deviations, alone = (np.concatenate(part) for part in zip(*(p[:3] for p in parts), strict=True))
        return cls(gaps, deviations, alone, np.mean([part.spread for part in parts], axis=0))

    def explained(self) -> np.ndarray:
        """(K,) share of the predictor's variance in the neighborhoods that witnesses account for at members left out:

            1 - sum |f - g|^2 / sum |f - mean of the others|^2;

        0 is no better than a constant, and noise is below it. NaN where nothing varies.
        """
        missed, total = np.square(self.gaps).sum((0, 1)), np.square(self.alone).sum((0, 1))
        return np.asarray(np.where(total > 0, 1 - missed / np.where(total > 0, total, 1.0), np.nan))


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Calibration:
    """Scores of n held-out neighborhoods, from which bounds for others follow; K outputs. See `calibrate`.

    The floor is the median deviation of the same neighborhoods: it keeps a witness that happens to fit its few
    members exactly from promising the same of all others.
    """

    scores: np.ndarray = field(repr=False)
    """(n, R, K) s_i of each output, in R draws."""
    floor: np.ndarray
    """(K,) in the units of the predictions."""

    @classmethod
    def of(cls, held_out: HeldOut) -> Calibration:
        """Scores from distances at members left out."""
        gaps, deviations, _, spread = held_out
        # Where witnesses are exact, rounding is all that is left: it must not be divided by nothing.
        least = np.maximum(1e-6 * spread, np.finfo(np.float32).tiny)
        floor = np.maximum(np.median(deviations, axis=(0, 1)), least) if len(gaps) else least
        return cls(scores=gaps / (deviations + floor), floor=floor)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        outputs = "1 output" if len(self.floor) == 1 else f"{len(self.floor)} outputs"
        return f"Calibration({len(self)} held-out neighborhoods, {outputs})"

    def bound(self, deviations: Any, level: float = LEVEL) -> np.ndarray:
        """What |f - g| does not exceed, with confidence `level`, at a further point of a neighborhood.

        Parameters
        ----------
        deviations : (..., K) mean of |f - g| over the members of the neighborhood, for each output.
        level : of the confidence; infinity is returned where there are too few scores for it: 90 % need 9, 99 % 99.
        """
        n, draws, outputs = self.scores.shape
        worst = np.full(outputs, np.inf)
        if self.knows(level):
            rank = _rank(n, level) * draws
            worst = np.sort(self.scores.reshape(-1, outputs), axis=0)[rank - 1]
        return np.asarray(worst * (np.asarray(deviations, dtype=np.float64) + self.floor))

    def knows(self, level: float) -> bool:
        """Whether there are enough scores for bounds of this confidence."""
        return _rank(len(self), level) <= len(self)

    def coverage(self, held_out: HeldOut, level: float = LEVEL) -> np.ndarray:
        """(K,) how often the bound held at members left out of other neighborhoods; NaN where it is not known."""
        if not len(held_out.gaps) or not self.knows(level):
            return np.full(len(self.floor), np.nan)
        return np.asarray((held_out.gaps <= self.bound(held_out.deviations, level)).mean((0, 1)))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {"scores": self.scores.tolist(), "floor": self.floor.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Calibration:
        """What `to_dict` gave."""
        floor = np.array(content["floor"], dtype=np.float64)
        scores = np.array(content["scores"], dtype=np.float64)
        return cls(scores=scores.reshape(len(scores), -1, len(floor)) if len(scores) else _nothing(floor), floor=floor)


def _rank(n: int, level: float) -> int:
    """ceil((n + 1) level), whatever the floating-point numbers say."""
    return math.ceil((n + 1) * check_level(level) - 1e-9)


def _nothing(outputs: np.ndarray) -> np.ndarray:
    return np.zeros((0, 1, len(outputs)))


def calibrate(
    f: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, draws: int = DRAWS, seed: int = 0
) -> Calibration:
    """Learn from held-out neighborhoods how far witnesses can be trusted near their centers.

    The neighborhoods must not have been looked at when the predictor was trained or chosen, and must be like those
    that will be asked about; those of fewer than three members are left out, of very many a thousand are chosen.

    Parameters
    ----------
    f : (N,) or (N, K) predictions at all points.
    x : (N, P) features that the witnesses read.
    hoods : the held-out neighborhoods, over the N points.
    family : where the witnesses come from.
    draws : so many times a member of each neighborhood is left out; 1 is split-conformal to the letter.
    seed : of the choice of members that are left out.

    Examples
    --------
    >>> import torch, pellucid as pl
    >>> x = torch.rand(400, 2, generator=torch.Generator().manual_seed(0))
    >>> f = torch.sin(6 * x[:, 0]) + x[:, 1]
    >>> calibration = pl.calibrate(f, x, pl.nearest(x, k=12), pl.LinearFamily())
    >>> print(f"{calibration.bound([0.01])[0]:.3f}")  # at a point whose witness is off by 0.01 on average
    0.044
    """
    return Calibration.of(held_out(f, x, hoods, family, draws=draws, seed=seed))


def held_out(
    f: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, draws: int = DRAWS, seed: int = 0
) -> HeldOut:
    """Leave one member out of each neighborhood, and see what the witness of the others says of it; see `calibrate`."""
    x, f = _checks.points(x, f, hoods)
    f = f.detach()
    if not isinstance(family, WitnessFamily):
        raise InputError(f"`family` must be a witness family, such as LinearFamily(). Got {family!r}.")
    generator = torch.Generator().manual_seed(_checks.whole(seed, 0, "seed"))
    large = (hoods.sizes >= FEWEST).nonzero().flatten().cpu()
    spread = f.double().std(0, correction=0).cpu().numpy()
    if not len(large):
        return HeldOut(_nothing(spread), _nothing(spread), _nothing(spread), spread)
    large = torch.sort(large[torch.randperm(len(large), generator=generator)[:MOST]]).values
    hoods = hoods.select(large.to(hoods.device))
    found = [_left_out(f, x, hoods, family, generator) for _ in range(_checks.whole(draws, 1, "draws"))]
    gaps, deviations, alone = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    return HeldOut(gaps, deviations, alone, spread)


def _left_out(
    f: Tensor, x: Tensor, hoods: BaseNeighborhoods, family: WitnessFamily, generator: torch.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parts of `HeldOut`, (n, K) each, with one member of every neighborhood left out."""
    rest, left = without_one(hoods, generator)
    with quietly():  # one member fewer is not what the user chose
        witnesses = family.best_response(x, f, rest)
    said = witnesses.evaluate(torch.arange(len(rest), device=f.device), x[left])
    gaps = (f[left].double() - said.double()).abs()
    misses = (f[rest.members].double() - witnesses.at_members().double()).abs()
    sizes = rest.sizes[:, None]
    alone = (f[left].double() - rest.sum(f.double()) / sizes).abs()
    return gaps.cpu().numpy(), (rest.sum_members(misses) / sizes).cpu().numpy(), alone.cpu().numpy()


def without_one(hoods: BaseNeighborhoods, generator: torch.Generator) -> tuple[Neighborhoods, Tensor]:
    """Neighborhoods that each lack one member, chosen at random, and (n,) these members."""
    chance = torch.rand(len(hoods), generator=generator, dtype=torch.float64).to(hoods.device)
    out = hoods.offsets[:-1] + (chance * hoods.sizes).long()
    kept = torch.ones(len(hoods.members), dtype=torch.bool, device=hoods.device)
    kept[out] = False
    sizes = hoods.sizes - 1
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return Neighborhoods(hoods.members[kept], offsets, hoods.centers, hoods.n_points), hoods.members[out]


def unknown(level: float, calibrated: int, *, enough: bool = True) -> str:
    """In one sentence why there is no bound.

    Parameters
    ----------
    enough : whether the neighborhood has enough members.
    """
    if not enough:
        return f"how far it can be trusted is not known: fewer than {FEWEST} members say nothing"
    if not calibrated:
        return (
            "how far it can be trusted is not known: the model was not calibrated on held-out neighborhoods of "
            f"{FEWEST} members or more, see `calibrate`"
        )
    return (
        f"how far it can be trusted with {percent(level)} confidence is not known: {calibrated} held-out "
        "neighborhoods are too few; hold out more, or lower the level"
    )


def percent(level: float) -> str:
    """A confidence as people say it.

    >>> percent(0.9), percent(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * level:.4g} %"


def check_level(level: Any) -> float:
    """A confidence, strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InputError(f"`level` must be a confidence between 0 and 1. Got {level!r}; 0.9 is usual.")
    return float(level)
