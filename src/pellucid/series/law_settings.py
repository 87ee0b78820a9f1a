"""Order, radius and ridge of the laws along a forecast, chosen before there is a network to explain.

`pellucid.choosing` chooses neighbors and ridge for the predictions of a finished model. Here nothing is trained yet:
candidates are fitted to the linear law that the network begins as, along real values and along its own forecasts, and
unstable ones are charged for it. Both judge by `held_out_explained`, or its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from pellucid.builders import windows
from pellucid.errors import InputError, Parameter
from pellucid.numbers import percent
from pellucid.series import linear_law
from pellucid.series.linear_law import LinearLaw
from pellucid.series.stability import spectral_radius
from pellucid.witnesses import LinearFamily, lagged
from pellucid.witnesses.leave_one_out import held_out_explained

ORDERS = (1, 2, 3, 4)
RIDGES = (0.01, 0.03, 0.1)
"""Candidates, in units of each channel's variance. Larger ones shrink the laws, and the game then pays the network for
moving less."""
# Steps that a law needs for each of its coefficients, and the ridge from which on fewer will do, up to rounding.
_STEPS_PER_COEFFICIENT = 1.5
_STRONG_RIDGE = 0.1 * (1 - 1e-9)
# Candidates where there are fewer steps.
_STRONG_RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)
# Coefficients of a saturated candidate, at most: more would cost more than they explain.
_MAX_COEFFICIENTS = 64
# More lags, wider windows or a larger ridge must explain this much more of the variance to be worth it.
_MIN_GAIN = 0.05
# Sequences that candidates are judged on.
_SEQUENCES = 40
# What a share of unstable laws costs; and of how many windows one is checked for stability.
_INSTABILITY_COST, _STABILITY_STRIDE = 0.1, 7


class LawSettings(NamedTuple):
    """Settings of the laws along a forecast."""

    order: int
    radius: int
    ridge: float
    """In units of each channel's variance."""
    explained: float | None = None
    """Held-out variance explained of the linear law's predictions, along real values and along its forecasts; None
    where the user set everything."""

    def describe(self, horizon: int, channels: int, chosen: Sequence[str] = ("order", "radius", "ridge")) -> str:
        """What was chosen and why, in a sentence.

        Parameters
        ----------
        horizon : int
            Steps of a forecast.
        channels : int
            The number of channels.
        chosen : sequence of str
            The settings that were chosen; the user set the others.
        """
        widest = window_size(self.radius, horizon)
        narrowest = min(self.radius + 1, horizon)
        steps = f"{widest}" if narrowest == widest else f"{narrowest} to {widest}"
        share = (
            ""
            if self.explained is None
            else f"; held-out variance explained {percent(self.explained, 0)} (of a linear law's forecasts)"
        )
        fixed = [name for name in ("order", "radius", "ridge") if name not in chosen]
        how = "chosen by leave-one-out"
        if fixed:
            how = f"{' and '.join(chosen)} {how}, {' and '.join(fixed)} as set"
        return (
            f"laws: order {self.order}, radius {self.radius}, ridge {self.ridge:g} ({how}): "
            f"{self.order * channels + 1} coefficients per channel on {steps} steps{share}"
        )


def window_size(radius: int, horizon: int) -> int:
    """The number of steps in the widest window."""
    return min(2 * radius + 1, horizon)


def saturated(order: int, radius: int, horizon: int, channels: int) -> bool:
    """Whether laws have too many coefficients for the steps that they are fitted to."""
    return window_size(radius, horizon) < _STEPS_PER_COEFFICIENT * (order * channels + 1)


def require_room(order: int, radius: int, ridge: float, horizon: int, channels: int) -> None:
    """Refuse laws that would fit anything; the ridge is in units of each channel's variance."""
    if ridge < _STRONG_RIDGE and saturated(order, radius, horizon, channels):
        count = order * channels + 1
        raise InputError(
            f"A law must have fewer coefficients than steps to fit: {_STEPS_PER_COEFFICIENT:g} steps for each",
            got=(
                f"{count} coefficients ({channels} channels, order {order}) on {window_size(radius, horizon)} "
                f"steps with a ridge of {ridge:g}, which fit anything"
            ),
            cure=(
                f"lower {Parameter('order')}, raise {Parameter('radius')} and {Parameter('horizon')}, "
                f"choose fewer {Parameter('channels')}, or leave out {Parameter('order')}, "
                f"{Parameter('radius')} and {Parameter('ridge')} to have them chosen"
            ),
        )


def require_others(order: int, radius: int, horizon: int) -> None:
    """Refuse a held-out game in which no law has a step to be fitted to, if it must not share a value with another."""
    if window_size(radius, horizon) <= order + 1:
        raise InputError(
            f"A held-out game needs laws over more than {Parameter('order')} + 1 steps, as those that share a value "
            "are left out together",
            got=f"{window_size(radius, horizon)} steps and order {order}",
            cure=f"lower {Parameter('order')}, or raise {Parameter('radius')} and {Parameter('horizon')}",
            parameter="held_out_game",
        )


def settings_for(
    tables: Sequence[np.ndarray],
    context: int,
    horizon: int,
    *,
    order: int | None,
    radius: int | None,
    ridge: float | None,
    linear: int | None,
) -> tuple[LinearLaw | None, LawSettings]:
    """The linear law that a network begins as, None for one without a linear path, and the settings of its laws.

    Parameters
    ----------
    tables : sequence of ndarray
        Standardized recordings (T, c) that are learned from.
    context, horizon : int
        The number of rows that a forecast reads, and that it predicts.
    order, radius, ridge, linear : int or float, optional
        Settings of the user, which are kept; the ridge in units of each channel's variance.
    """
    channels = tables[0].shape[1]
    if order is not None and radius is not None and ridge is not None:
        require_room(order, radius, ridge, horizon, channels)
        law = None if linear == 0 else linear_law.choose(tables, context, horizon, lags=linear)
        return law, LawSettings(order, radius, ridge)
    law = linear_law.choose(tables, context, horizon, lags=linear or None)
    sequences = linear_law.sequences_of(tables, context + horizon, horizon, most=_SEQUENCES)
    laws = choose(law, sequences, horizon, order=order, radius=radius, ridge=ridge)
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
) -> LawSettings:
    """The smallest order, radius and ridge whose laws explain nearly the most at steps that they were not fitted to.

    Before training there is no network, but the linear law that it begins as. Candidates are fitted to what this says
    along real values and along its own forecasts, leave-one-out within every window:

        1 - sum |f - g|^2 / sum |f - mean of the others|^2,

    each channel by itself, then the mean, minus a tenth of the share of unstable laws. Of all orders and radii within
    0.05 of the best the smallest order is taken, then the smallest radius, and likewise the smallest ridge. Orders with
    too many coefficients for every radius are candidates only where that is so of all above the first: at the widest
    radius, with strong ridges.

    Parameters
    ----------
    law : LinearLaw
        In standardized units.
    z : ndarray
        (S, context + horizon, c) standardized sequences.
    horizon : int
        The number of rows that are forecast.
    order, radius, ridge : int or float, optional
        Settings of the user, which are kept; the ridge in units of each channel's variance.
    """
    channels, context = z.shape[2], z.shape[1] - horizon
    orders = [o for o in ORDERS if o <= context] if order is None else [order]
    radii = _radii(horizon) if radius is None else [radius]
    scores: dict[tuple[int, int], dict[float, _Score]] = {}
    room = {o: [r for r in radii if not saturated(o, r, horizon, channels)] for o in orders}
    # With many channels no order above the first has room. Then all have the same candidates for the ridge, so that an
    # order is not preferred for its ridge.
    crowded = len(orders) > 1 and not any(room[o] for o in orders[1:]) and (ridge is None or ridge >= _STRONG_RIDGE)
    for o in orders:
        if not room[o] and o > orders[0] and not (crowded and o * channels < _MAX_COEFFICIENTS):
            continue
        for r in room[o] or radii[-1:]:
            ridges: tuple[float, ...] = (*RIDGES, *_STRONG_RIDGES[1:]) if crowded else RIDGES
            if saturated(o, r, horizon, channels):
                ridges = _STRONG_RIDGES
            if ridge is not None:
                ridges = (ridge,)
            scores[o, r] = dict(zip(ridges, _scores(law, z, horizon, o, r, ridges), strict=True))
    tops = {pair: max(score.value for score in by_ridge.values()) for pair, by_ridge in scores.items()}
    o, r = min(pair for pair, top in tops.items() if top >= max(tops.values()) - _MIN_GAIN)
    g = min(ridge for ridge, score in scores[o, r].items() if score.value >= tops[o, r] - _MIN_GAIN)
    return LawSettings(o, r, g, scores[o, r][g].explained)


def _radii(horizon: int) -> list[int]:
    """From a quarter of the horizon to two thirds of it: over all of it, laws would be one law, and not local."""
    return sorted({max(1, horizon // 4), max(1, (horizon - 1) // 2), max(1, 2 * horizon // 3)})


class _Score(NamedTuple):
    """How good a candidate is."""

    explained: float
    unstable: float

    @property
    def value(self) -> float:
        return self.explained - _INSTABILITY_COST * self.unstable


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
    sample = hoods.select(torch.arange(0, len(hoods), _STABILITY_STRIDE))
    explained, unstable = [], []
    for mean, seen in paths:
        x = lagged(torch.from_numpy(seen[:, seen.shape[1] - horizon - order + 1 :]), order=order).flatten(0, 1)
        f = torch.from_numpy(mean).flatten(0, 1)
        explained.append(held_out_explained(x, f, hoods, ridges).nanmean(1))
        laws = [LinearFamily(ridge=ridge).best_response(x, f, sample).theta.numpy() for ridge in ridges]
        unstable.append([(spectral_radius(theta) > 1).mean() for theta in laws])
    # Where nothing moves nothing is explained.
    shares = torch.stack(explained).nan_to_num(0.0).mean(0).tolist()
    return [_Score(*pair) for pair in zip(shares, np.mean(unstable, axis=0).tolist(), strict=True)]
