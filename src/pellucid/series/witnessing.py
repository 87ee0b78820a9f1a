"""Witnesses along horizons: which points they see, in which units they are fitted, and what they say."""

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
from pellucid.series.choosing import held_out_explained
from pellucid.series.network import Gaussian, Network
from pellucid.series.scaling import Scaling
from pellucid.trust import DRAWS, FEWEST, HeldOut, held_out
from pellucid.witnesses import LinearFamily, lagged
from pellucid.witnesses.linear import LinearWitnesses


class Trace(NamedTuple):
    """What the predictor does along a batch of horizons, and the witnesses' answer."""

    gaussian: Gaussian
    """(B, horizon, c) standardized."""
    features: Tensor
    """(B, horizon, order c) the witnesses' lags, standardized."""
    witnesses: LinearWitnesses
    """In the units of the game."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Witnessing:
    """Autoregressive witnesses of the given order over windows of the horizon; see `Forecaster`."""

    scaling: Scaling
    scale: bool
    """Whether the units of the game are standard deviations, or those of the data."""
    horizon: int
    order: int
    radius: int
    ridge: float

    @property
    def family(self) -> LinearFamily:
        return LinearFamily(ridge=self.ridge)

    @property
    def units(self) -> Tensor:
        """(c,) what one standard deviation of each channel is in the units of the game."""
        scale = self.scaling.scale
        return torch.from_numpy(np.ones_like(scale) if self.scale else scale)

    def points(self, mean: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Windows]:
        """What a game is played with: predictions f, features x and neighborhoods, in the units of the game.

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
        """(B, horizon, order c) what the witnesses read at the last `horizon` positions."""
        return lagged(seen[:, seen.shape[1] - self.horizon - self.order + 1 :], order=self.order)

    @torch.no_grad()
    def trace(self, network: Network, z: Tensor, *, forced: bool) -> Trace:
        """Along the horizon after z (B, context, c), or along the end of z (B, context + horizon, c) if forced."""
        if forced:
            seen = z[:, :-1]
            gaussian, _ = network(seen, last=self.horizon)
        else:
            gaussian = network.generate(z, self.horizon)
            seen = torch.cat([z, gaussian.mean[:, :-1]], dim=1)
        f, x, hoods = self.points(gaussian.mean, seen)
        return Trace(gaussian, self.lags(seen), self.family.best_response(x, f, hoods))

    def parameters(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(n, 1 + order c, c) in the units of the data."""
        return self.scaling.parameters(witnesses.theta, self.units.numpy())

    def gaps(self, witnesses: LinearWitnesses) -> Tensor:
        """(n, c) predictor minus witness at each center, standardized."""
        return (witnesses.f - witnesses.at_centers()).double() / self.units

    def absolute(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(n, c) mean of |predictor - witness| over each neighborhood, in the units of the game."""
        hoods = witnesses.hoods
        misses = (witnesses.f[hoods.members] - witnesses.at_members()).double().abs()
        return np.asarray((hoods.sum_members(misses) / hoods.sizes[:, None]).numpy())

    def in_units(self, distances: np.ndarray) -> np.ndarray:
        """Distances (..., c) in the units of the game, in those of the data."""
        return np.asarray(distances * self.scaling.scale / self.units.numpy())

    def explained(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(c,) held-out variance explained: by laws of all steps, at the steps that were left out of their fits."""
        shares = held_out_explained(witnesses.x, witnesses.f, witnesses.hoods, [self.ridge])
        return np.asarray(shares[0].numpy())

    @torch.no_grad()
    def held_out(self, network: Network, pieces: Iterable[Tensor], *, forced: bool, seed: int) -> HeldOut:
        """What laws say of positions that they were not fitted to: in every draw one of the neighborhoods of each
        sequence, as these are alike.
        """
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for z in pieces:
            trace = self.trace(network, z if forced else z[:, : z.shape[1] - self.horizon], forced=forced)
            f, x, hoods = trace.witnesses.f, trace.witnesses.x, trace.witnesses.hoods
            telling = (hoods.sizes[: self.horizon] >= FEWEST).nonzero().flatten()
            if not len(telling):  # no window of any step has enough members
                telling = torch.arange(self.horizon)
            draws = []
            for _ in range(DRAWS):
                steps = telling[torch.randint(len(telling), (len(z),), generator=generator)]
                chosen = hoods.select(torch.arange(len(z)) * self.horizon + steps)
                again = int(torch.randint(2**31, (), generator=generator))
                draws.append(held_out(f, x, chosen, self.family, draws=1, seed=again))
            parts.append(HeldOut.of_draws(draws))
        return HeldOut.joined(parts)

    def fit(self, witnesses: LinearWitnesses) -> np.ndarray:
        """(n,) root mean squared error over each neighborhood and the channels, in the units of the data."""
        hoods = witnesses.hoods
        unit = torch.from_numpy(self.scaling.scale) / self.units
        squares = ((witnesses.f[hoods.members] - witnesses.at_members()) * unit).square().mean(1)
        return np.asarray((hoods.sum_members(squares) / hoods.sizes).sqrt().numpy())


@lru_cache(maxsize=8)
def _windows(horizon: int, sequences: int, radius: int) -> Windows:
    """Neighborhoods of a batch: batches of one size share theirs."""
    return windows([horizon] * sequences, radius=radius)
