"""Condition indicators: a few numbers for each channel of a machine, from one recording.

Three are plain statistics of the values, the others ask a forecaster that was trained on a healthy machine, or the law
of the recording itself:

    rms          sqrt(mean x^2)
    sd           standard deviation
    kurtosis     mean of ((x - mean) / sd)^4; 3 for a Gaussian, more where there are knocks
    likelihood   mean of -log N(x_k; mu_k, Sigma_kk) one step ahead, in nats: the channel's marginal of the network's
                 joint Gaussian, channels in standard deviations of the training data
    deviation    root mean square of network minus law at steps that the law was not fitted to, in the same units
    explained    held-out variance explained: the share of the network's variance that laws account for there
    law          1/2 log(E_healthy / E_own), in nats: what it costs to predict this recording one step ahead by the
                 healthy law instead of by its own

The last one compares autoregressive laws of the recording itself. Every channel is divided by its own standard
deviation in this recording, so that a change of loudness alone leaves it at 0; E is the mean squared error of a law
over the recording. All but `kurtosis`, `explained` and `law` rise with the loudness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from pellucid.series.data import Recordings

if TYPE_CHECKING:
    from pellucid.series.forecaster import Forecaster

ALL = "all channels"
"""The name of all channels together."""
INDICATORS = ("rms", "sd", "kurtosis", "likelihood", "deviation", "explained", "law")
# Added to variances of 1: an error of 0 is not exactly 0, and a law of equal channels is still determined.
_ROUNDING = 1e-6


class LagMoments(NamedTuple):
    """Second moments of a recording, from which the error of any autoregressive law follows; P = order c lags."""

    lags: np.ndarray
    """(P, P) mean of lags times lags."""
    next: np.ndarray
    """(P, c) mean of lags times next values."""
    power: np.ndarray
    """(c,) mean square of the next values."""

    @classmethod
    def of(cls, values: np.ndarray, order: int) -> LagMoments:
        """Of a recording (T, c), each of its channels with mean 0 and standard deviation 1."""
        x = values.astype(np.float64) - values.mean(0, dtype=np.float64)
        spread = x.std(0)
        z = x / np.where(spread > 0, spread, 1.0)  # a silent channel stays silent
        count = len(z) - order
        # The newest lag first; products of pairs of lags need no table of all of them.
        past = [z[order - 1 - i : order - 1 - i + count] for i in range(order)]
        after = z[order:]
        return cls(
            np.block([[a.T @ b for b in past] for a in past]) / count,
            np.concatenate([a.T @ after for a in past]) / count,
            np.square(after).mean(0),
        )

    @classmethod
    def mean(cls, parts: Sequence[LagMoments]) -> LagMoments:
        """Of several recordings together, each with the same weight."""
        return cls(*(np.mean(part, axis=0) for part in zip(*parts, strict=True)))

    def without(self, part: LagMoments, count: int) -> LagMoments:
        """A mean of `count` recordings without one of them."""
        return LagMoments(*((count * mean - one) / (count - 1) for mean, one in zip(self, part, strict=True)))

    def law(self) -> np.ndarray:
        """(P, c) coefficients of the autoregressive law with the least squared error."""
        return np.asarray(np.linalg.solve(self.lags + _ROUNDING * np.eye(len(self.lags)), self.next))

    def error(self, law: np.ndarray) -> np.ndarray:
        """(c,) mean squared error of a law one step ahead."""
        missed = self.power - 2 * (law * self.next).sum(0) + (law * (self.lags @ law)).sum(0)
        return np.asarray(np.maximum(missed, 0.0) + _ROUNDING)

    def change(self, law: np.ndarray) -> np.ndarray:
        """(c,) 1/2 log(E of this law / E of the recording's own)."""
        return np.asarray(0.5 * np.log(self.error(law) / self.error(self.law())))


class RecordingIndicators(NamedTuple):
    """The indicators of one recording, but for `law`, which needs the healthy recordings."""

    values: np.ndarray
    """(M - 1, c)."""
    joint: float
    """The likelihood of all channels together."""
    moments: LagMoments


def indicators_of(model: Forecaster, recording: Recordings, sequences: int, order: int) -> RecordingIndicators:
    """The indicators of one recording.

    Parameters
    ----------
    model : Forecaster
        Trained on a healthy machine.
    recording : Recordings
        A single recording.
    sequences : int
        The number of sequences that the network reads, evenly spaced over the recording; at most all of them. The plain
        statistics and the law use every row.
    order : int
        Order of the recording's own law.
    """
    length = model.context + model.horizon
    starts = [row for _, row in recording.starts(length)]
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(sequences, len(starts))).round().astype(int))
    (table,) = recording.values
    parts = np.stack([table[starts[i] : starts[i] + length] for i in chosen])
    likelihood, joint = _likelihood(model, parts)
    held_out = model.held_out(parts, forced=True)
    gaps = model.in_units(held_out.gaps) / model.scaling_.scale
    x = table.astype(np.float64)
    centered = x - x.mean(0)
    sd = centered.std(0)
    values = np.stack(
        [
            np.sqrt(np.square(x).mean(0)),
            sd,
            ((centered / np.where(sd > 0, sd, 1.0)) ** 4).mean(0),
            likelihood,
            np.sqrt(np.square(gaps).mean((0, 1))),
            held_out.explained(),
        ]
    )
    return RecordingIndicators(values, joint, LagMoments.of(table, order))


@torch.no_grad()
def _likelihood(model: Forecaster, sequences: np.ndarray) -> tuple[np.ndarray, float]:
    """(c,) of each channel by itself, and of all together: mean of -log p one step ahead, over all horizons."""
    z = model.scaling_.standardize(sequences)
    gaussian, _ = model.network_(z[:, :-1], last=model.horizon)
    after = z[:, model.context :]
    variance = gaussian.factor.square().sum(-1)  # the diagonal of factor factor'
    marginal = 0.5 * ((after - gaussian.mean).square() / variance + variance.log() + math.log(2 * math.pi))
    return marginal.double().mean((0, 1)).numpy(), float(gaussian.negative_log_likelihood(after).double().mean())
