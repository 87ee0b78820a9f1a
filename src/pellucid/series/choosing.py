"""Order, radius and ridge of the laws that follow a forecast, chosen by leave-one-out; and when they are too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pellucid.builders import windows
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.series import linear_law
from pellucid.series.laws import spectral_radius
from pellucid.series.linear_law import LinearLaw
from pellucid.witnesses import LinearFamily, lagged
from pellucid.witnesses.leave_one_out import leave_one_out

ORDERS = (1, 2, 3, 4)
RIDGES = (0.01, 0.03, 0.1)
"""Candidates, in units of each channel's variance. Larger ones shrink the laws, and the game then pays the network for
moving less."""
# Steps that a law needs for each of its coefficients, unless a ridge of this size bears a part of them; and what is
# tried then.
_PER_COEFFICIENT, _TINY = 1.5, 0.1
_BEARING = (0.1, 0.3, 1.0, 3.0, 10.0)
_FIRM = _TINY * (1 - 1e-9)
# Coefficients of saturated laws that are tried, at most: more would cost more than they explain.
_MOST = 64
# More lags, wider windows or a larger ridge must explain so much more of the variance to be worth it.
_HARDLY = 0.05
# Sequences that candidates are judged on.
_SEQUENCES = 40
# What unstable laws cost, and the windows whose laws are looked at: one in so many.
_RUNAWAY, _EVERY = 0.1, 7


class Laws(NamedTuple):
    """What the laws along a forecast are like."""

    order: int
    radius: int
    ridge: float
    """In units of each channel's variance."""
    explained: float | None = None
    """Held-out variance explained, of what a linear law says along real values and along its forecasts; None where
    nothing was left to choose."""

    def described(self, horizon: int, channels: int, chosen: Sequence[str] = ("order", "radius", "ridge")) -> str:
        """What was chosen and why, in a sentence; what is not among the names in `chosen` was decided by the user."""
        widest = members(self.radius, horizon)
        least = min(self.radius + 1, horizon)
        steps = f"{widest}" if least == widest else f"{least} to {widest}"
        share = (
            ""
            if self.explained is None
            else f"; they explain {self.explained:.0%} of a linear law's forecasts at steps left out"
        )
        decided = [name for name in ("order", "radius", "ridge") if name not in chosen]
        how = "chosen by leave-one-out"
        if decided:
            how = f"{' and '.join(chosen)} {how}, {' and '.join(decided)} as you say"
        return (
            f"laws: order {self.order}, radius {self.radius}, ridge {self.ridge:g} ({how}): "
            f"{self.order * channels + 1} coefficients per channel on {steps} steps{share}"
        )


def members(radius: int, horizon: int) -> int:
    """Steps of the widest window."""
    return min(2 * radius + 1, horizon)


def saturated(order: int, radius: int, horizon: int, channels: int) -> bool:
    """Whether laws have too many coefficients for the steps that they are fitted to."""
    return members(radius, horizon) < _PER_COEFFICIENT * (order * channels + 1)


def require_room(order: int, radius: int, ridge: float, horizon: int, channels: int) -> None:
    """Refuse laws that would follow anything; the ridge is in units of each channel's variance."""
    if ridge < _FIRM and saturated(order, radius, horizon, channels):
        count = order * channels + 1
        raise InputError(
            f"A law must have fewer coefficients than steps to fit: {_PER_COEFFICIENT:g} steps for each",
            got=(
                f"{count} coefficients ({channels} channels, order {order}) on {members(radius, horizon)} "
                f"steps with a ridge of {ridge:g}, which follow anything"
            ),
            cure=(
                f"lower {Parameter('order')}, raise {Parameter('radius')} and {Parameter('horizon')}, "
                f"choose fewer {Parameter('channels')}, or leave out {Parameter('order')}, "
                f"{Parameter('radius')} and {Parameter('ridge')} to have them chosen"
            ),
        )


def settle(
    tables: Sequence[np.ndarray],
    context: int,
    horizon: int,
    *,
    order: int | None,
    radius: int | None,
    ridge: float | None,
    linear: int | None,
) -> tuple[LinearLaw | None, Laws]:
    """The linear law that a network begins as, None for one without a linear path, and what its laws are like.

    Parameters
    ----------
    tables : sequence of ndarray
        Standardized recordings (T, c) that are learned from.
    context, horizon : int
        How many rows a forecast reads, and how many it is of.
    order, radius, ridge, linear : int or float, optional
        What is decided; the ridge in units of each channel's variance.
    """
    channels = tables[0].shape[1]
    if order is not None and radius is not None and ridge is not None:
        require_room(order, radius, ridge, horizon, channels)
        law = None if linear == 0 else linear_law.choose(tables, context, horizon, lags=linear)
        return law, Laws(order, radius, ridge)
    law = linear_law.choose(tables, context, horizon, lags=linear or None)
    judged = linear_law.sequences_of(tables, context + horizon, horizon, most=_SEQUENCES)
    laws = choose(law, judged, horizon, order=order, radius=radius, ridge=ridge)
    require_room(laws.order, laws.radius, laws.ridge, horizon, channels)
    return (None if linear == 0 else law), laws


def choose(
    law: LinearLaw,
    z: np.ndarray,
    horizon: int,
    *,
    order: int | None = None,
    radius: int | None = None,
    ridge: float | None = None,
) -> Laws:
    """The laws that explain most at steps that they were not fitted to, of those with few coefficients and near steps.

    Before training there is no network, but the linear law that it begins as. Candidates are fitted to what this says
    along real values and along its own forecasts, leave-one-out within every window:

        1 - sum |f - g|^2 / sum |f - mean of the others|^2,

    each channel by itself, then the mean, minus a tenth of the share of unstable laws. Of all orders and radii within
    0.05 of the best the smallest order is taken, then the smallest radius, and likewise the smallest ridge. Orders with
    too many coefficients for every radius are tried only where that is so of all above the first: at the widest, with
    ridges that bear a part of them.

    Parameters
    ----------
    law : LinearLaw
        In standardized units.
    z : ndarray
        (S, context + horizon, c) standardized sequences.
    horizon : int
        How many of their rows are forecast.
    order, radius, ridge : int or float, optional
        What is decided; the ridge in units of each channel's variance.
    """
    channels, context = z.shape[2], z.shape[1] - horizon
    orders = [o for o in ORDERS if o <= context] if order is None else [order]
    radii = _radii(horizon) if radius is None else [radius]
    best: dict[tuple[int, int], dict[float, _Score]] = {}
    room = {o: [r for r in radii if not saturated(o, r, horizon, channels)] for o in orders}
    # Of many channels no order above the first has room. Then all are tried with the same ridges, so that an order is
    # not preferred for its ridge.
    crowded = len(orders) > 1 and not any(room[o] for o in orders[1:]) and (ridge is None or ridge >= _FIRM)
    for o in orders:
        if not room[o] and o > orders[0] and not (crowded and o * channels < _MOST):
            continue
        for r in room[o] or radii[-1:]:
            usual = _BEARING if saturated(o, r, horizon, channels) else (*RIDGES, *_BEARING[1:]) if crowded else RIDGES
            ridges = usual if ridge is None else (ridge,)
            best[o, r] = dict(zip(ridges, _scores(law, z, horizon, o, r, ridges), strict=True))
    tops = {pair: max(score.worth for score in scores.values()) for pair, scores in best.items()}
    o, r = min(pair for pair, top in tops.items() if top >= max(tops.values()) - _HARDLY)
    g = min(ridge for ridge, score in best[o, r].items() if score.worth >= tops[o, r] - _HARDLY)
    return Laws(o, r, g, best[o, r][g].explained)


def _radii(horizon: int) -> list[int]:
    """From a quarter of the horizon to two thirds of it: over all of it, laws would be one law, and not local."""
    return sorted({max(1, horizon // 4), max(1, (horizon - 1) // 2), max(1, 2 * horizon // 3)})


class _Score(NamedTuple):
    """Of a candidate."""

    explained: float
    unstable: float

    @property
    def worth(self) -> float:
        return self.explained - _RUNAWAY * self.unstable


def _scores(
    law: LinearLaw, z: np.ndarray, horizon: int, order: int, radius: int, ridges: Sequence[float]
) -> list[_Score]:
    """For each ridge, the means along real and generated values."""
    generated = law.forecast(z[:, :-horizon], horizon)
    paths = [
        (law.predict(z, horizon), z[:, :-1]),
        (generated, np.concatenate([z[:, :-horizon], generated[:, :-1]], axis=1)),
    ]
    hoods = windows([horizon] * len(z), radius=radius)
    some = hoods.select(torch.arange(0, len(hoods), _EVERY))
    explained, unstable = [], []
    for mean, seen in paths:
        x = lagged(torch.from_numpy(seen[:, seen.shape[1] - horizon - order + 1 :]), order=order).flatten(0, 1)
        f = torch.from_numpy(mean).flatten(0, 1)
        explained.append(held_out_explained(x, f, hoods, ridges).nanmean(1))
        laws = [LinearFamily(ridge=ridge).best_response(x, f, some).theta.numpy() for ridge in ridges]
        unstable.append([(spectral_radius(theta) > 1).mean() for theta in laws])
    # Where nothing moves nothing is explained.
    shares = torch.stack(explained).nan_to_num(0.0).mean(0).tolist()
    return [_Score(*pair) for pair in zip(shares, np.mean(unstable, axis=0).tolist(), strict=True)]


def held_out_explained(x: Tensor, f: Tensor, hoods: BaseNeighborhoods, ridges: Sequence[float]) -> Tensor:
    """(R, K) share of the variance within neighborhoods that witnesses account for at members left out of the fit.

    NaN where nothing varies.
    """
    values = leave_one_out(x, f, hoods, ridges=ridges)
    f = f.double()
    own = f[hoods.members]
    sizes = hoods.sizes.repeat_interleave(hoods.sizes)[:, None]
    mean = (hoods.sum(f) / hoods.sizes[:, None]).repeat_interleave(hoods.sizes, 0)
    alone = (own - mean) * sizes / (sizes - 1)  # from the mean of the others
    total = alone.square().sum(0)
    return 1 - (own - values).square().sum(1) / torch.where(total > 0, total, torch.nan)
