"""One law for a recording as a whole, beside the local ones: is the network locally something else?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.builders import from_lists
from pellucid.series.network import Network
from pellucid.series.witness_fitter import WitnessFitter

SEQUENCES = 256
"""Sequences of a recording that its law is fitted to, at most; they are evenly spaced."""
_FOLDS = 5


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingLaw:
    """The autoregressive law that is closest to the network's one-step predictions along all of a recording.

    Both shares are held-out variance explained, 1 - sum |f - g|^2 / sum |f - mean|^2, of the one-step predictions f
    around one mean: by this law g, fitted to other parts of the recording, and by local laws, at steps that they were
    not fitted to. Where local laws explain no more, one law is enough.
    """

    parameters: np.ndarray = field(repr=False)
    """(1 + order c, c) in the units of the data: theta_0, then the lags; see `ForecastExplanation.parameters`."""
    explained: np.ndarray
    """(c,) by this law; NaN where nothing varies, or the recording is too short to hold parts out."""
    local: np.ndarray
    """(c,) by local laws."""
    positions: int
    """One-step predictions that it was fitted to."""

    def shares(self) -> tuple[float | None, float | None]:
        """Held-out variance explained by this law and by local ones, the mean over the channels; None if not known."""
        overall, local = (float(np.nanmean(v)) if np.isfinite(v).any() else None for v in (self.explained, self.local))
        return overall, local

    def sentence(self) -> str:
        """How far this law and the local ones account for what the network does."""
        overall, local = ("not known" if share is None else f"{share:.0%}" for share in self.shares())
        text = (
            f"one law for the whole recording; held-out variance explained over {self.positions} one-step predictions "
            f"of the whole recording: {overall} by this law, {local} by local laws"
        )
        verdict = self.verdict()
        return f"{text}; {verdict}" if verdict else text

    def verdict(self) -> str | None:
        """Whether this law is enough, as local ones explain no more; None if they do."""
        overall, local = self.shares()
        if overall is None or local is None or overall < local:
            return None
        return "one law for the whole recording is enough: a forecast has too few steps to determine local coefficients"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON, where nothing is NaN."""
        shares = {
            name: [float(v) if np.isfinite(v) else None for v in getattr(self, name)] for name in ("explained", "local")
        }
        return {"parameters": self.parameters.tolist(), **shares, "positions": self.positions}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RecordingLaw:
        """The law that `to_dict` was called on."""
        shares = {
            name: np.array([np.nan if v is None else v for v in content[name]]) for name in ("explained", "local")
        }
        return cls(parameters=np.array(content["parameters"]), positions=content["positions"], **shares)


@torch.no_grad()
def fit_recording_law(network: Network, fitter: WitnessFitter, pieces: Iterable[Tensor]) -> RecordingLaw:
    """Fit one law to a network along sequences of context + horizon values, standardized, in the order of time."""
    z = torch.cat(list(pieces))
    batch = fitter.witness(network, z, forced=True)
    f, x = batch.witnesses.f, batch.witnesses.x
    count = len(f)
    fit = fitter.family.best_response(x, f, from_lists([range(count)], centers=[0], n_points=count))
    channels = f.shape[1]
    explained, local = np.full(channels, np.nan), np.full(channels, np.nan)
    if len(z) >= 2:
        # Whole sequences are held out, in stretches of time, as steps beside each other are alike.
        fold = torch.arange(len(z)) * min(_FOLDS, len(z)) // len(z)
        of_point = fold.repeat_interleave(fitter.horizon)
        others = [(of_point != k).nonzero().flatten() for k in range(int(fold.max()) + 1)]
        hoods = from_lists(others, centers=[int(rows[0]) for rows in others], n_points=count)
        theta = fitter.family.best_response(x, f, hoods).theta.double()
        guess = theta[of_point, 0] + torch.einsum("np,npk->nk", x.double(), theta[of_point, 1:])
        means = torch.stack([f[rows].double().mean(0) for rows in others])[of_point]
        missed, total = ((f.double() - part).square().mean(0).numpy() for part in (guess, means))
        nearby = np.square(fitter.held_out(network, [z], forced=True, seed=0).gaps).mean((0, 1))
        unit = np.where(total > 0, total, np.nan)
        explained, local = 1 - missed / unit, 1 - nearby / unit
    parameters = fitter.parameters(fit)[0]
    return RecordingLaw(parameters=parameters, explained=explained, local=local, positions=count)
