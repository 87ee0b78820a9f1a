"""One linear law for everything beside the networks of a run, and whether a network is needed at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch

from pellucid.series import linear_law
from pellucid.series.data import Recordings
from pellucid.series.forecaster import Forecaster
from pellucid.series.linear_law import LinearLaw, Moments
from pellucid.series.scaling import Scaling
from pellucid.summaries import BaselineSummary

# Errors are level within this share of each other, and where they differ by fewer standard errors than that.
_TOLERANCE, _STANDARD_ERRORS = 0.005, 2.0
# Validation sequences that a decision needs.
_FEWEST = 20
# Rows that a law of the whole context is fitted to, at most, and sequences that pass through a network at once.
_ROWS, _BATCH = 200_000, 512


class Baseline(NamedTuple):
    """A linear law, and the units that it is in."""

    law: LinearLaw
    scaling: Scaling
    about: str

    @classmethod
    def of(cls, train: Recordings, context: int, horizon: int, *, lags: int = 0) -> Baseline:
        """Fitted by least squares to the training data, standardized.

        Parameters
        ----------
        train : Recordings
            The training data.
        context, horizon : int
            The number of rows that a forecast reads, and that it predicts.
        lags : int
            Number of past values of the law that the networks begin as, which is then the baseline; 0 if they begin as
            none, and the baseline reads the whole context.
        """
        scaling = Scaling.of(np.concatenate(train.values))
        if lags:
            tables = [scaling.standardize(table).numpy() for table in train.values]
            law = linear_law.choose(tables, context, horizon, lags=lags)
            more = ", with which the networks begin"
        else:
            # A little ridge: lags of one channel are nearly the same.
            moments = Moments.of(
                [(table - scaling.shift) / scaling.scale for table in train.values], context, most=_ROWS
            )
            law, more = moments.law(context, 1e-3), ""
        return cls(law, scaling, f"one linear law of the {law.reach} for everything, fitted by least squares{more}")

    def measured(self, test: Recordings, context: int, horizon: int) -> BaselineSummary:
        """Its errors on test sequences, over which it is rolled out as forecasts are."""
        z = self._sequences(test, context + horizon)
        errors = self.law.errors(z, horizon)
        missed = (self.law.forecast(z[:, :context], horizon) - z[:, context:]) * self.scaling.scale
        return BaselineSummary(
            title="linear",
            about=self.about,
            scores={
                "relative_error": errors.rolled_out,
                "relative_error_one_step": errors.one_step,
                "error": float(np.sqrt(np.square(missed).mean())),
            },
        )

    def sequence_errors(self, data: Recordings, context: int, horizon: int) -> np.ndarray:
        """(S, 2) mean squared errors of each sequence, standardized: over the horizon, and one step ahead."""
        z = self._sequences(data, context + horizon)
        future = z[:, context:]
        missed = (self.law.forecast(z[:, :context], horizon) - future, self.law.predict(z, horizon) - future)
        return np.stack([np.square(gap).mean((1, 2)) for gap in missed], axis=1)

    def spread(self, data: Recordings, context: int, horizon: int) -> float:
        """The mean squared error of always forecasting the training mean, standardized."""
        return float(np.square(self._sequences(data, context + horizon)[:, context:]).mean())

    def _sequences(self, data: Recordings, length: int) -> np.ndarray:
        return np.asarray((data.sequences(length) - self.scaling.shift) / self.scaling.scale)


@torch.no_grad()
def sequence_errors(model: Forecaster, data: Recordings) -> np.ndarray:
    """(S, 2) errors of a network; see `Baseline.sequence_errors`."""
    sequences = model.scaling_.standardize(data.sequences(model.context + model.horizon))
    parts = []
    for z in sequences.split(_BATCH):
        future = z[:, model.context :].double()
        rolled = model.network_.generate(z[:, : model.context], model.horizon).mean
        ahead = model.network_(z[:, :-1], last=model.horizon)[0].mean
        parts.append(torch.stack([(mean.double() - future).square().mean((1, 2)) for mean in (rolled, ahead)], dim=1))
    return np.asarray(torch.cat(parts).numpy())


def compare_with_baseline(models: Mapping[str, np.ndarray], linear: np.ndarray, spread: float) -> list[str]:
    """A sentence where no network is needed, or that cannot be decided.

    Errors of the same sequences are compared in pairs: a network is worse if, over the horizon or one step ahead, the
    mean of the differences is above two standard errors and the relative error half a per cent larger, and the other
    measure is not better by two standard errors.

    Parameters
    ----------
    models : mapping of str to ndarray
        (S, 2) squared errors of the networks on the validation sequences.
    linear : ndarray
        (S, 2) those of the linear law.
    spread : float
        The mean squared error of always forecasting the mean.
    """
    numbers = (
        "Relative error on the validation data over the horizon (and one step ahead): linear law "
        f"{_relative(linear, spread)}, " + ", ".join(f"{name} {_relative(e, spread)}" for name, e in models.items())
    )
    networks = "networks" if len(models) > 1 else "network"
    if len(linear) < _FEWEST:
        return [
            f"{len(linear)} validation sequences are too few to decide whether the {networks} or one linear law for "
            f"everything forecasts better. {numbers}."
        ]
    signs = {name: _signs(errors, linear) for name, errors in models.items()}
    worse = [name for name, pair in signs.items() if max(pair) > 0 and min(pair) >= 0]
    others = [name for name in models if name not in worse]
    if not others:
        return [f"Use the linear law: one for everything forecasts better than the {networks}. {numbers}."]
    if worse:
        weight = ", or a smaller weight" if worse == ["GAME"] else ""
        return [
            f"{worse[0]} forecasts worse than one linear law for everything; where only the forecast matters, use the "
            f"linear law or {others[0]}{weight}. {numbers}."
        ]
    if not any(sign < 0 for pair in signs.values() for sign in pair):
        return [
            f"One linear law for everything forecasts as well as the {networks}: use it where it is enough. {numbers}."
        ]
    return []


def _relative(errors: np.ndarray, spread: float) -> str:
    far, near = np.sqrt(errors.mean(0) / spread)
    return f"{far:.3g} ({near:.3g})"


def _signs(errors: np.ndarray, linear: np.ndarray) -> list[int]:
    """1 for each measure in which a network is worse, -1 where it is better, 0 where that is open or hardly matters."""
    gaps = errors - linear
    clear = np.abs(gaps.mean(0)) > _STANDARD_ERRORS * gaps.std(0, ddof=1) / np.sqrt(len(gaps))
    ratio = np.sqrt(errors.mean(0) / linear.mean(0))
    worse, better = clear & (ratio > 1 + _TOLERANCE), clear & (ratio < 1)
    # A clear gain of any size speaks for the network.
    return [int(up) - int(down) for up, down in zip(worse, better, strict=True)]
