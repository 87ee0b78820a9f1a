"""One law for a recording as a whole, beside the local ones: is the network locally something else?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid.builders import from_lists
from pellucid.numbers import percent
from pellucid.schemas import Size, checked
from pellucid.series.data import Recordings
from pellucid.series.network import Network
from pellucid.series.steadiness import Steadiness
from pellucid.series.witness_fitter import WitnessFitter
from pellucid.stored_arrays import array_of

SEQUENCES = 256
"""Sequences of a recording that its law is fitted to, at most; they are evenly spaced."""
PAIRS = 1024
"""Pairs of neighboring sequences that tell how steady the local laws of a recording are, at most."""
_FOLDS = 5


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingLaw:
    """The autoregressive law that is closest to the network's one-step predictions along all of a recording.

    Both shares are held-out variance explained, 1 - sum |f - g|^2 / sum |f - mean|^2, of the one-step predictions f
    around one mean: by this law g, fitted to other parts of the recording, and by local laws, at steps whose values
    they have not seen (see `HeldOutLaws`). Where local laws explain no more, one law is enough.
    """

    parameters: np.ndarray = field(repr=False)
    """(1 + order c, c) in the units of the data: theta_0, then the lags; see `ForecastExplanation.parameters`."""
    explained: np.ndarray
    """(c,) by this law; NaN where nothing varies, or the recording is too short to hold parts out."""
    local: np.ndarray
    """(c,) by local laws."""
    positions: int
    """One-step predictions that it was fitted to."""
    steadiness: Steadiness | None = None
    """How much local laws change along the recording: those in the middle of stretches as long as the horizon, from
    each stretch to the next; None if not known."""

    def shares(self) -> tuple[float | None, float | None]:
        """Held-out variance explained by this law and by local ones, the mean over the channels; None if not known."""
        overall, local = (float(np.nanmean(v)) if np.isfinite(v).any() else None for v in (self.explained, self.local))
        return overall, local

    def sentence(self) -> str:
        """How far this law and the local ones account for what the network does."""
        overall, local = ("not known" if share is None else percent(share, 0) for share in self.shares())
        text = (
            f"one law for the whole recording; held-out variance explained over {self.positions} one-step predictions "
            f"of the whole recording: {overall} by this law, {local} by local laws"
        )
        return "; ".join(filter(None, [text, self.verdict(), self.steadiness_text()]))

    def steadiness_text(self) -> str:
        """How much local laws change along the recording, in one line; empty if not known."""
        return "" if self.steadiness is None else self.steadiness.text("the recording")

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
        steadiness = None if self.steadiness is None else self.steadiness.to_dict()
        return {
            "parameters": self.parameters.tolist(),
            **shares,
            "positions": self.positions,
            "steadiness": steadiness,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, order: int, channels: int) -> RecordingLaw:
        """The law that `to_dict` was called on, of this order and number of channels."""
        explained, local = (array_of(content[name], [channels], name, blanks=True) for name in ("explained", "local"))
        steadiness = content.get("steadiness")
        return cls(
            parameters=array_of(content["parameters"], [1 + order * channels, channels], "overall.parameters"),
            explained=explained,
            local=local,
            positions=checked(Size, content["positions"], "overall.positions"),
            steadiness=None if steadiness is None else Steadiness.from_dict(steadiness),
        )


class NeighborPairs(NamedTuple):
    """Sequences of recordings that follow each other."""

    sequences: list[tuple[int, int]]
    """The recording and the first row of each sequence."""
    pairs: list[tuple[int, int, str]]
    """The places of two of them in that list, and where the second begins to be forecast, in words."""

    @classmethod
    def of(cls, source: Recordings, context: int, horizon: int) -> NeighborPairs:
        """Pairs at a distance of the horizon, evenly spaced where there are more than `PAIRS`."""
        starts = source.starts(context + horizon, stride=horizon)
        first = [k for k in range(len(starts) - 1) if starts[k][0] == starts[k + 1][0]]
        chosen = [
            first[k] for k in np.unique(np.linspace(0, len(first) - 1, min(len(first), PAIRS)).round().astype(int))
        ]
        needed = sorted({*chosen, *(k + 1 for k in chosen)})
        place = {k: position for position, k in enumerate(needed)}
        several = len(set(source.labels())) > 1
        pairs = []
        for k in chosen:
            origin = source.origins[starts[k][0]]
            of = f" of {origin.label}" if several else ""
            where = f"after row {origin.row + starts[k][1] + context + horizon}{of}"
            pairs.append((place[k], place[k + 1], where))
        return cls([starts[k] for k in needed], pairs)


@torch.no_grad()
def fit_recording_law(
    network: Network, fitter: WitnessFitter, pieces: Iterable[Tensor], steadiness: Steadiness | None = None
) -> RecordingLaw:
    """Fit one law to a network along sequences of context + horizon values, standardized, in the order of time.

    Parameters
    ----------
    network : Network
        The predictor.
    fitter : WitnessFitter
        Fits the laws.
    pieces : iterable of Tensor
        (B, context + horizon, c) the sequences.
    steadiness : Steadiness, optional
        How much local laws change along the recording.
    """
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
        laws = fitter.held_out_laws(batch.witnesses)
        nearby = laws.squares()[0] / max(1, int(laws.known.sum())) if laws.known.any() else np.nan
        unit = np.where(total > 0, total, np.nan)
        explained, local = 1 - missed / unit, 1 - nearby / unit
    parameters = fitter.parameters(fit)[0]
    return RecordingLaw(parameters=parameters, explained=explained, local=local, positions=count, steadiness=steadiness)
