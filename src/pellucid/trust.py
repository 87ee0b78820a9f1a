"""How far a witness can be trusted: a split-conformal bound on its distance from the predictor, near its center.

What a witness says of its own members is known, and how far it is off there is no more than a report of the past. The
question that matters is about the next point: somebody changes the molecule a little, or the forecast moves on by a
step. From each of n held-out neighborhoods one member z is held out at random. A copy of another member takes its
place, so that the witness g is fitted to as many members as the one that is shown, and is the same kind of fit: a tree
of the same depth, a mean over the same number of values. The distance at z, in units of what the fit itself leads one
to expect, is a score of the neighborhood:

    s_i = |f(z) - g(z)| / (D_i + floor),     D_i = mean over the members that g was fitted to of |f - g|.

The bound of a new neighborhood with deviation D is q (D + floor), where q is the quantile of the scores at
ceil((n + 1) level) / n. With one score per neighborhood it holds with probability >= level at another member that is
held out in this way, as neighborhoods are exchangeable (Vovk et al. 2005; Lei et al. 2018); at a further point of a
witness that is fitted to all of its members, which knows one member more, it holds no less often, as simulations show
for all families (docs/trust.md). Several draws of z are pooled, which makes the bound steadier and, for few
neighborhoods, a little too wide rather than too narrow (Dunn, Wasserman and Ramdas 2022).

Small neighborhoods determine their witness less than large ones. So that the promise is kept in both, q is learned in
bins by the number of members (a Mondrian taxonomy), wherever there are neighborhoods enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from pellucid.bins import FEWEST_IN_BIN, SIZE_EDGES, SizeBin, join_bins
from pellucid.bounds import LEVEL, check_level, known_bounds, median_bounds, no_bound_reason, rank
from pellucid.held_out import DRAWS, FEWEST, MOST, HeldOut, held_out
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.schemas import SMALLEST, SchemaError, Size, checked
from pellucid.stored_arrays import array_of
from pellucid.witnesses.base import WitnessFamily

__all__ = [
    "DRAWS", "FEWEST", "LEVEL", "MOST", "Calibration", "HeldOut", "calibrate", "check_level", "held_out",
    "known_bounds", "median_bounds", "no_bound_reason",
]  # fmt: skip

# Bounds are wider by this share: gaps that are equal but for rounding, as those of 0/1 predictions are, stay within.
_ROUNDING = 1e-6
# The share of the held-out neighborhoods whose bounds may be as wide as the predictions range. The others, which have
# one, then miss it no more than a ninth more often than is promised.
_WIDE = 0.1


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Calibration:
    """Scores of n held-out neighborhoods, from which bounds for others follow; K outputs. See `calibrate`.

    The floor is the median of the gaps of the same neighborhoods, rounding aside, and no less than a quarter of their
    mean: it keeps a witness that happens to fit its few members exactly from promising the same of all others.
    Neighborhoods whose witness is saturated, so that it would go through any values, do not count.
    """

    scores: np.ndarray = field(repr=False)
    """(n, R, K) s_i of each output, in R draws; NaN in draws that do not count."""
    floor: np.ndarray
    """(K,) in the units of the predictions."""
    extent: np.ndarray | None = None
    """(K,) largest minus smallest prediction: no bound is as wide. Calibrations of earlier versions have none."""
    usual: np.ndarray | None = field(default=None, repr=False)
    """(101, K) percentiles of the deviations of these neighborhoods."""
    sizes: np.ndarray | None = field(default=None, repr=False)
    """(n, R) the number of members of each neighborhood. Calibrations of earlier versions have none."""
    edges: tuple[int, ...] = ()
    """Inner edges of the bins by the number of members; a neighborhood on an edge belongs to the bin above."""
    usual_in_bins: np.ndarray | None = field(default=None, repr=False)
    """(bins, 101, K) the same percentiles in each bin."""

    @classmethod
    def of(cls, held_out: HeldOut) -> Calibration:
        """Scores from distances at members held out."""
        telling = held_out.telling
        counting = telling.any(1)
        gaps, deviations, telling = (part[counting] for part in (held_out.gaps, held_out.deviations, telling))
        floor = _floor(gaps[telling], held_out.spread, held_out.extent)
        scores = np.where(telling[..., None], gaps / (deviations + floor), np.nan)
        usual = _percentiles(deviations[telling]) if len(gaps) else None
        calibration = cls(scores=scores, floor=floor, extent=held_out.extent, usual=usual)
        return calibration if held_out.sizes is None else calibration._binned(held_out.sizes[counting], deviations)

    def _binned(self, sizes: np.ndarray, deviations: np.ndarray) -> Calibration:
        """The same with bins by these sizes (n, R), where there are neighborhoods enough for two or more."""
        counting = ~np.isnan(self.scores).any(2)
        bins = np.digitize(sizes, SIZE_EDGES)
        counts = [int(np.any(counting & (bins == b), axis=1).sum()) for b in range(len(SIZE_EDGES) + 1)]
        edges = join_bins(counts, SIZE_EDGES, FEWEST_IN_BIN)
        if not edges:
            return self
        bins = np.digitize(sizes, edges)
        usual = [_percentiles(deviations[counting & (bins == b)]) for b in range(len(edges) + 1)]
        return replace(self, sizes=sizes, edges=edges, usual_in_bins=np.stack(usual))

    @cached_property
    def _bins(self) -> list[Calibration]:
        """A calibration for each bin."""
        if self.sizes is None or self.usual_in_bins is None:
            return []
        bins = np.digitize(self.sizes, self.edges)
        result = []
        for b, usual in enumerate(self.usual_in_bins):
            scores = np.where((bins == b)[..., None], self.scores, np.nan)
            counting = ~np.isnan(scores).any(2)
            result.append(
                Calibration(scores=scores[np.any(counting, axis=1)], floor=self.floor, extent=self.extent, usual=usual)
            )
        return result

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        outputs = "1 output" if len(self.floor) == 1 else f"{len(self.floor)} outputs"
        return f"Calibration({len(self)} held-out neighborhoods, {outputs})"

    def bound(self, deviations: Any, level: float = LEVEL, sizes: Any = None) -> np.ndarray:
        """What |f - g| does not exceed, with confidence `level`, at a further point of a neighborhood.

        Infinity stands for what is not known. A level needs enough scores: 90 % need 9, 99 % 99. A bound that is not
        narrower than the range of the predictions says nothing; and where this is so in more than a tenth of the
        held-out neighborhoods, there is none for the others either: they would owe it to the luck of a small deviation.

        Parameters
        ----------
        deviations : array_like
            (..., K) mean of |f - g| over the members of the neighborhood, for each output.
        level : float
            The confidence.
        sizes : array_like, optional
            (...) the number of members. The bound then comes from held-out neighborhoods in the same bin of sizes, and
            its promise is kept in each of them, not only on average over all; a bin that has too few scores for the
            level leaves it to those of all sizes. Without it, all sizes count alike.
        """
        deviations = np.asarray(deviations, dtype=np.float64)
        worst = self._worst(level) * (1 + _ROUNDING)
        bounds = worst * (deviations + self.floor)
        nothing = self._says_nothing(bounds)
        if self.usual is not None:
            nothing = nothing | (self._says_nothing(worst * (self.usual + self.floor)).mean(0) > _WIDE)
        result = np.asarray(np.where(nothing, np.inf, bounds))
        if sizes is None:
            return result
        bins = np.searchsorted(self.edges, np.broadcast_to(sizes, deviations.shape[:-1]), "right")
        for b, part in enumerate(self._bins):
            if part.knows(level):
                result[bins == b] = part.bound(deviations[bins == b], level)
        return result

    def size_bin(self, size: int, level: float = LEVEL) -> SizeBin:
        """The held-out neighborhoods that the bound of a neighborhood of this size is learned from."""
        b = int(np.searchsorted(self.edges, size, "right"))
        if not self._bins or not self._bins[b].knows(level):
            return SizeBin(len(self))
        return SizeBin(
            len(self._bins[b]),
            self.edges[b - 1] if b else None,
            self.edges[b] - 1 if b < len(self.edges) else None,
        )

    def _worst(self, level: float) -> np.ndarray:
        """(K,) the quantile q of the scores; infinity if there are too few of them."""
        outputs = len(self.floor)
        if not self.knows(level):
            return np.full(outputs, np.inf)
        scores = self.scores.reshape(-1, outputs)
        scores = scores[~np.isnan(scores).any(1)]
        place = math.ceil(rank(len(self), level) * len(scores) / len(self) - 1e-9)
        return np.asarray(np.sort(scores, axis=0)[place - 1])

    def _says_nothing(self, bounds: np.ndarray) -> np.ndarray:
        """Whether bounds are as wide as the predictions range; where all predictions are equal, none is."""
        extent = np.full(len(self.floor), np.inf) if self.extent is None else self.extent
        return np.asarray((bounds >= extent) & (extent > 0))

    def knows(self, level: float) -> bool:
        """Whether there are enough scores for bounds of this confidence."""
        return rank(len(self), level) <= len(self)

    def why_not(self, level: float, *, size: int = FEWEST, saturated: bool = False) -> str:
        """Why there is no bound for a witness of `size` members, in one sentence."""
        return no_bound_reason(level, len(self), enough=size >= FEWEST, saturated=saturated)

    def coverage(self, held_out: HeldOut, level: float = LEVEL) -> np.ndarray:
        """(K,) how often the bound held at members held out of other neighborhoods; NaN where none is known.

        These witnesses are fitted as those that the bound was learned from: to as many members as the one that is
        shown, of which one is a copy. What is left of chance is which neighborhoods were held out, and which members.
        Neighborhoods for which no bound is known do not count.
        """
        bounds = self.bound(held_out.deviations, level, held_out.sizes)
        bounded = np.isfinite(bounds) & held_out.telling[..., None]
        counts = bounded.sum((0, 1))
        within = (bounded & (held_out.gaps <= bounds)).sum((0, 1))
        return np.asarray(np.where(counts > 0, within / np.maximum(counts, 1), np.nan))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        scores = self.scores.astype(object)
        scores[np.isnan(self.scores)] = None
        return {
            "scores": scores.tolist(),
            "floor": self.floor.tolist(),
            "extent": None if self.extent is None else self.extent.tolist(),
            "usual": None if self.usual is None else self.usual.tolist(),
            "sizes": None if self.sizes is None else self.sizes.tolist(),
            "edges": list(self.edges),
            "usual_in_bins": None if self.usual_in_bins is None else self.usual_in_bins.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Calibration:
        """What `to_dict` gave, also that of earlier versions, which knew no range of the predictions and no bins."""
        floor = array_of(content["floor"], [None], "floor", low=SMALLEST)
        edges = checked(tuple[Size, ...], content.get("edges", ()), "edges")
        outputs, bins = len(floor), len(edges) + 1
        scores = content["scores"]
        if scores == [] or not isinstance(scores, list):
            scores = array_of(scores, [0], "scores").reshape(0, 1, outputs)
        else:
            flat = isinstance(scores[0], list) and not isinstance(scores[0][0], list)  # one draw, in earlier versions
            scores = array_of([[row] for row in scores] if flat else scores, [None, None, outputs], "scores", low=0.0,
                              blanks=True)  # fmt: skip
            if np.isnan(scores).any(2).all(1).any():
                raise SchemaError("scores of a neighborhood are all blank")
        arrays = {
            name: None if content.get(name) is None else array_of(content[name], shape, name, low=0.0)
            for name, shape in (
                ("extent", [outputs]),
                ("usual", [101, outputs]),
                ("sizes", list(scores.shape[:2])),
                ("usual_in_bins", [bins, 101, outputs]),
            )
        }
        sizes = arrays.pop("sizes")
        together = {bool(edges), sizes is not None, arrays["usual_in_bins"] is not None}
        if list(edges) != sorted(set(edges)) or len(together) > 1:
            raise SchemaError("edges are not ascending, or there are no bins between them")
        sizes = None if sizes is None else sizes.astype(np.int64)
        return cls(scores=scores, floor=floor, sizes=sizes, edges=edges, **arrays)

    def require_outputs(self, count: int, where: str) -> None:
        """Refuse a calibration of another number of outputs."""
        if len(self.floor) != count:
            raise SchemaError(f"{where} has {len(self.floor)} outputs, not {count}")


def _percentiles(deviations: np.ndarray) -> np.ndarray:
    """(101, K) percentiles of deviations (c, K)."""
    return np.asarray(np.percentile(deviations, range(101), axis=0))


def _floor(gaps: np.ndarray, spread: np.ndarray, extent: np.ndarray | None) -> np.ndarray:
    """(K,) what is added to deviations, from gaps (c, K); in the units of the predictions."""
    # Where witnesses are exact, rounding is all that is left: it must not be divided by nothing.
    rounding = np.maximum(1e-6 * spread, np.finfo(np.float32).tiny)
    medians = [np.median(column[column > least]) if (column > least).any() else least
               for column, least in zip(gaps.T, rounding, strict=True)]  # fmt: skip
    if not len(gaps):
        return rounding
    # Where few gaps are large and the others tiny, the median alone would make bounds of the large ones absurd; and a
    # few that are larger than the predictions range would drown all others.
    mean = (gaps if extent is None else np.minimum(gaps, extent)).mean(0)
    return np.asarray(np.maximum(medians, mean / 4))


def calibrate(
    f: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, draws: int = DRAWS, seed: int = 0
) -> Calibration:
    """Learn from held-out neighborhoods how far witnesses can be trusted near their centers.

    The neighborhoods must not have been looked at when the predictor was trained or chosen, and must be like those
    that will be asked about. Those of fewer than three members are ignored; of very many, a thousand are chosen.

    Parameters
    ----------
    f : array_like
        (N,) or (N, K) predictions at all points.
    x : array_like
        (N, P) features that the witnesses read.
    hoods : BaseNeighborhoods
        The held-out neighborhoods, over the N points.
    family : WitnessFamily
        Where the witnesses come from.
    draws : int
        Number of members held out of each neighborhood, one at a time; 1 is split-conformal to the letter.
    seed : int
        Seed of the choice of the members to leave out.

    Examples
    --------
    >>> import torch, pellucid as pl
    >>> x = torch.rand(400, 2, generator=torch.Generator().manual_seed(0))
    >>> f = torch.sin(6 * x[:, 0]) + x[:, 1]
    >>> calibration = pl.calibrate(f, x, pl.nearest(x, k=12), pl.LinearFamily())
    >>> print(f"{calibration.bound([0.01])[0]:.3f}")  # at a point whose witness is off by 0.01 on average
    0.046
    """
    return Calibration.of(held_out(f, x, hoods, family, draws=draws, seed=seed))
