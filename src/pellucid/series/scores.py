"""How good and how transparent forecasts are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pellucid.series.held_out_laws import share_explained
from pellucid.series.network import Network
from pellucid.series.stability import spectral_radius
from pellucid.series.steadiness import law_changes, neighbor_distance, step_pairs
from pellucid.series.witness_fitter import WitnessFitter


class ForecastScores(NamedTuple):
    """How good and how transparent forecasts are: in the units of the data, and relative to what they are about.

    A predictor can come close to its witnesses by following a law, or by hardly moving at all. The relative
    numbers tell these apart: a relative error near 1 and a flat forecast are no gain, however small the deviation.
    """

    error: float
    """Root mean squared error between the trajectories and what really came."""
    held_out_variance_explained: float
    """The share of the predictor's variance along the forecasts that laws account for at steps whose values they have
    not seen, the mean over the channels: 0 is no better than a constant. See `HeldOutLaws`."""
    held_out_deviation: float
    """Root mean squared error between predictor and witness at each center, where the witness was fitted without all
    that shares a value with the center."""
    deviation: float
    """The same where fitted: each witness at its own center, which it was fitted to."""
    variation: float
    """Mean total variation of the witnesses' parameters between consecutive positions; see `ForecastExplanation`."""
    negative_log_likelihood: float
    """Mean over the horizon positions, each given all that really came before it."""
    relative_error: float
    """The error divided by that of always forecasting the training mean; channels in their standard deviations."""
    relative_held_out_deviation: float
    """The held-out deviation divided by how much the forecasts move along the horizon; channels in their standard
    deviations."""
    relative_deviation: float
    """The same for the deviation where fitted."""
    relative_error_one_step: float
    """The relative error one step ahead: each value of the horizon from the real ones before it."""
    law_change: float
    """How much laws change along a forecast, the median; see `Steadiness`: "steady" below 0.1, "drifting" below 0.5."""
    spectral_radius: float
    """The median spectral radius of the witnesses: above 1 the forecast of a law runs away; see `spectral_radius`."""
    unstable: float
    """The share of witnesses with a spectral radius above 1."""
    sequences: int
    """The number of sequences measured."""

    def __str__(self) -> str:
        return "\n".join(f"{_words(name):<28}{value:>10.4g}" for name, value in self._asdict().items())


def _words(name: str) -> str:
    """The name of a score in words; deviations say where they are measured."""
    words = name.replace("held_out", "held-out").replace("_", " ")
    return f"{words} where fitted" if name in ("deviation", "relative_deviation") else words


@torch.no_grad()
def forecast_scores(
    network: Network, fitter: WitnessFitter, pieces: Iterable[Tensor], *, forced: bool
) -> ForecastScores:
    """Scores over sequences.

    Parameters
    ----------
    network : Network
        The predictor.
    fitter : WitnessFitter
        Fits its witnesses.
    pieces : iterable of Tensor
        (B, context + horizon, c) standardized sequences.
    forced : bool
        Predict and witness along what really came, instead of what was generated.
    """
    scale = torch.from_numpy(fitter.scaling.scale)
    horizon = fitter.horizon
    distance = neighbor_distance(fitter.radius, horizon)
    totals, count, radii, changes = np.zeros(9), 0, [], []
    # Of held-out laws: sums of squares that they and constants miss, and at the centers that they miss.
    squares, missed, known = np.zeros((2, len(scale))), np.zeros(len(scale)), 0
    for z in pieces:
        batch = fitter.witness(network, z if forced else z[:, :-horizon], forced=forced)
        future = z[:, -horizon:].double()
        mean = batch.gaussian.mean.double()
        errors = (mean - future).square().mean((0, 1))  # (c,) in squared standard deviations
        gaps = fitter.gaps(batch.witnesses).square().mean(0)  # (c,) likewise
        laws = fitter.parameters(batch.witnesses)
        radii.append(spectral_radius(laws))
        changes.append(law_changes(batch.witnesses, *step_pairs(horizon, len(z), distance), fitter.units))
        held_out = fitter.held_out_laws(batch.witnesses)
        squares += np.array(held_out.squares())
        centers = held_out.at_centers() / fitter.units
        missed += np.asarray(centers.square().nansum(0).numpy())
        known += int(centers[:, 0].isfinite().sum())
        theta = laws.reshape(len(z), horizon, -1)
        gaussian, _ = network(z[:, :-1], last=horizon)
        means = (
            (errors * scale.square()).mean(),
            (gaps * scale.square()).mean(),
            np.abs(np.diff(theta, axis=1)).sum(2).mean(),
            gaussian.negative_log_likelihood(z[:, -horizon:]).mean() + scale.log().sum(),
            errors.mean(),
            future.square().mean(),
            gaps.mean(),
            mean.var(1, correction=0).mean(),
            (gaussian.mean.double() - future).square().mean(),
        )
        totals += len(z) * np.array([float(value) for value in means])
        count += len(z)
    error, deviation, variation, likelihood, relative, spread, gap, moves, ahead = (totals / count).tolist()
    every, steps = np.concatenate(radii), np.concatenate(changes)
    unseen = missed / known if known else np.full_like(missed, np.nan)
    return ForecastScores(
        error=error**0.5,
        held_out_variance_explained=_mean_of_known(share_explained(*squares)),
        held_out_deviation=float((unseen * fitter.scaling.scale**2).mean() ** 0.5),
        deviation=deviation**0.5,
        variation=variation,
        negative_log_likelihood=likelihood,
        relative_error=(relative / spread) ** 0.5,
        relative_held_out_deviation=float((unseen.mean() / moves) ** 0.5) if moves > 0 else float("nan"),
        relative_deviation=(gap / moves) ** 0.5 if moves > 0 else float("nan"),
        relative_error_one_step=(ahead / spread) ** 0.5,
        law_change=_median_of_known(steps),
        spectral_radius=float(np.median(every)),
        unstable=float((every > 1).mean()),
        sequences=count,
    )


def _mean_of_known(values: np.ndarray) -> float:
    """The mean of the finite values; NaN if there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _median_of_known(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")
