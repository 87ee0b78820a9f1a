"""Fits witnesses along horizons: which points they read, in which units they are fitted, and how close they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid.builders import windows
from pellucid.neighborhoods import Windows
from pellucid.series.held_out_laws import HeldOutLaws, least_others
from pellucid.series.network import Gaussian, Network
from pellucid.series.scaling import Scaling
from pellucid.trust import DRAWS, FEWEST, HeldOut, held_out
from pellucid.witnesses import LinearFamily, lagged
from pellucid.witnesses.linear import LinearWitnesses


class WitnessedBatch(NamedTuple):
    """The predictor along a batch of horizons, and the witnesses fitted to it."""

    gaussian: Gaussian
    """(B, horizon, c) standardized."""
    features: Tensor
    """(B, horizon, order c) the witnesses' lags, standardized."""
    witnesses: LinearWitnesses
    """In the units of the game."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class WitnessFitter:
    """Fits autoregressive witnesses of one order to a predictor, over windows of its horizon; see `Forecaster`."""

    scaling: Scaling
    scale: bool
    """Whether the units of the game are standard deviations, or those of the data."""
    horizon: int
    order: int
    radius: int
    ridge: float

    @property
    def family(self) -> LinearFamily:
        """Linear laws of the lags. Held out, a position takes along all those that share a value with it; see
        `HeldOutLaws`.
        """
        least = least_others(self.order, self.radius, self.horizon, len(self.scaling.scale))
        return LinearFamily(ridge=self.ridge, buffer=self.order, least_others=least)

    @property
    def units(self) -> Tensor:
        """(c,) what one standard deviation of each channel is in the units of the game."""
        scale = self.scaling.scale
        return torch.from_numpy(np.ones_like(scale) if self.scale else scale)

    def points(self, mean: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Windows]:
        """The arguments of a game: predictions f, features x and neighborhoods, in the units of the game.

        Parameters
        ----------
        mean : Tensor
            (B, horizon, c) the predictor's means, standardized.
        seen : Tensor
            (B, t, c) the values up to the last position of the horizon, standardized.
        """
        units = self.units.to(mean)
        hoods = _windows(self.horizon, len(mean), self.radius).to(mean.device)
        return (mean * units).flatten(0, 1), self.lags(seen * units).flatten(0, 1), hoods

    def lags(self, seen: Tensor) -> Tensor:
        """(B, horizon, order c) the values that witnesses read at the last `horizon` positions."""
        return lagged(seen[:, seen.shape[1] - self.horizon - self.order + 1 :], order=self.order)

    @torch.no_grad()
    def witness(self, network: Network, z: Tensor, *, forced: bool) -> WitnessedBatch:
        """Fit witnesses to a network.

        Parameters
        ----------
        network : Network
            The predictor.
        z : Tensor
            (B, context, c) standardized values before the horizon; with `forced` (B, context + horizon, c), those of
            the horizon included.
        forced : bool
            Predict each step from the real values before it, instead of from the forecast so far.
        """
        if forced:
            seen = z[:, :-1]
            gaussian, _ = network(seen, last=self.horizon)
        else:
            gaussian = network.generate(z, self.horizon)
            seen = torch.cat([z, gaussian.mean[:, :-1]], dim=1)
        f, x, hoods = self.points(gaussian.mean, seen)
        return WitnessedBatch(gaussian, self.lags(seen), self.family.best_response(x, f, hoods))

    def parameters(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(n, 1 + order c, c) in the units of the data."""
        return self.scaling.parameters(witnesses.theta, self.units.numpy())

    def gaps(self, witnesses: LinearWitnesses) -> Tensor:
        """(n, c) predictor minus witness at each center, standardized."""
        return (witnesses.f - witnesses.at_centers()).double() / self.units

    def held_out_gaps(self, witnesses: LinearWitnesses) -> Tensor:
        """(n, c) predictor minus the witness fitted without what shares a value with the center, there, standardized.

        NaN where nothing is left to fit it to.
        """
        return self.held_out_laws(witnesses).at_centers() / self.units

    def absolute_gaps(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(n, c) mean of |predictor - witness| over each neighborhood, in the units of the game."""
        hoods = witnesses.hoods
        gaps = (witnesses.f[hoods.members] - witnesses.at_members()).double().abs()
        return np.asarray((hoods.sum_members(gaps) / hoods.sizes[:, None]).numpy())

    def in_units(self, distances: np.ndarray) -> np.ndarray:
        """Distances (..., c) in the units of the game, in those of the data."""
        return np.asarray(distances * self.scaling.scale / self.units.numpy())

    def held_out_laws(self, witnesses: LinearWitnesses) -> HeldOutLaws:
        """What the laws of all positions say where they were not fitted, in the units of the game."""
        return HeldOutLaws.of(witnesses)

    @torch.no_grad()
    def central_laws(self, network: Network, pieces: Iterable[Tensor]) -> LinearWitnesses:
        """The law in the middle of each sequence, along the real values.

        Parameters
        ----------
        network : Network
            The predictor.
        pieces : iterable of Tensor
            (B, context + horizon, c) standardized sequences.
        """
        parts = []
        for z in pieces:
            gaussian, _ = network(z[:, :-1], last=self.horizon)
            parts.append(self.points(gaussian.mean, z[:, :-1])[:2])
        f, x = (torch.cat(part) for part in zip(*parts, strict=True))
        count = len(f) // self.horizon
        middle = torch.arange(count) * self.horizon + self.horizon // 2
        return self.family.best_response(x, f, _windows(self.horizon, count, self.radius).select(middle))

    @torch.no_grad()
    def held_out(self, network: Network, pieces: Iterable[Tensor], *, forced: bool, seed: int) -> HeldOut:
        """What laws say of single positions that they were not fitted to, from which trust is calibrated.

        The neighborhoods of a sequence are alike, so that every draw takes one of each sequence.

        Parameters
        ----------
        network : Network
            The predictor.
        pieces : iterable of Tensor
            (B, context + horizon, c) standardized sequences.
        forced : bool
            Predict each step from the real values before it.
        seed : int
            Seed of the draws.
        """
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for z in pieces:
            batch = self.witness(network, z if forced else z[:, : z.shape[1] - self.horizon], forced=forced)
            f, x, hoods = batch.witnesses.f, batch.witnesses.x, batch.witnesses.hoods
            usable = (hoods.sizes[: self.horizon] >= FEWEST).nonzero().flatten()  # steps
            if not len(usable):  # no window of any step has enough members
                usable = torch.arange(self.horizon)
            draws = []
            for _ in range(DRAWS):
                steps = usable[torch.randint(len(usable), (len(z),), generator=generator)]
                chosen = hoods.select(torch.arange(len(z)) * self.horizon + steps)
                draw_seed = int(torch.randint(2**31, (), generator=generator))
                draws.append(held_out(f, x, chosen, self.family, draws=1, seed=draw_seed))
            parts.append(HeldOut.of_draws(draws))
        return HeldOut.joined(parts)

    def neighborhood_errors(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(n,) root mean squared error over each neighborhood and the channels, in the units of the data."""
        hoods = witnesses.hoods
        unit = torch.from_numpy(self.scaling.scale) / self.units
        squares = ((witnesses.f[hoods.members] - witnesses.at_members()) * unit).square().mean(1)
        return np.asarray((hoods.sum_members(squares) / hoods.sizes).sqrt().numpy())


@lru_cache(maxsize=8)
def _windows(horizon: int, sequences: int, radius: int) -> Windows:
    """Neighborhoods of a batch: batches of one size share theirs."""
    return windows([horizon] * sequences, radius=radius)
