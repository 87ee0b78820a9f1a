"""How sure a prediction is: intervals that hold the measured value, and probabilities that mean what they say.

Both are about the predictor and the truth, and are learned from points that the fit did not see. They are not to be
mixed up with the bound between witness and predictor; see `pellucid.trust`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from pellucid import _checks
from pellucid.bins import join_bins
from pellucid.errors import InputError
from pellucid.schemas import SchemaError, checked
from pellucid.stored_arrays import array_of

# A bin with fewer measured values joins the next: intervals of 95 % need 19.
_FEWEST = 20
# Probabilities are calibrated from at least so many of each label.
_FEWEST_LABELS = 10
# No probability is nearer to 0 or 1.
_LEAST = 1e-7


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictionIntervals:
    """Split-conformal intervals f +- q of the measured value, for K targets, in bins of how familiar a point is.

    Of n held-out points in the same bin, with errors |y - f|, q is the error of rank ceil((n + 1) level): at a further
    point of the bin the interval holds with probability >= level, if points are exchangeable (Vovk et al. 2005). Bins
    (a Mondrian taxonomy) make that true of unfamiliar points, too, whose errors are larger. A bin with fewer than 20
    measured values joins the one next to it.
    """

    edges: tuple[tuple[float, ...], ...] = field(repr=False)
    """For each target the inner edges of its bins, ascending; a point on an edge belongs to the bin above."""
    errors: tuple[tuple[np.ndarray, ...], ...] = field(repr=False)
    """For each target and bin the errors |y - f|, ascending."""

    @classmethod
    def of(
        cls, y: np.ndarray, predictions: np.ndarray, familiarity: np.ndarray, edges: Sequence[float]
    ) -> PredictionIntervals:
        """Learn from points that the fit did not see.

        Parameters
        ----------
        y : ndarray
            (N, K) measured values, NaN where there is none.
        predictions : ndarray
            (N, K) predictions.
        familiarity : ndarray
            (N,) how familiar each point is, such as its similarity to the nearest point of the training data.
        edges : sequence of float
            Inner edges of the bins of familiarity, ascending.
        """
        if not len(y) == len(predictions) == len(familiarity) or y.shape != predictions.shape:
            raise InputError(
                "There must be a measured value for each prediction, and a familiarity for each point",
                got=f"shapes {y.shape}, {predictions.shape} and {np.shape(familiarity)}",
            )
        all_edges, all_errors = [], []
        for column, predicted in zip(y.T, predictions.T, strict=True):
            measured = ~np.isnan(column)
            errors, bins = np.abs(column - predicted)[measured], np.searchsorted(edges, familiarity[measured], "right")
            kept = join_bins(np.bincount(bins, minlength=len(edges) + 1).tolist(), [float(e) for e in edges], _FEWEST)
            bins = np.searchsorted(kept, familiarity[measured], "right")
            all_edges.append(kept)
            all_errors.append(tuple(np.sort(errors[bins == b]) for b in range(len(kept) + 1)))
        return cls(edges=tuple(all_edges), errors=tuple(all_errors))

    def half_widths(self, familiarity: Any, level: float = 0.9) -> np.ndarray:
        """(N, K) q for points of this familiarity (N,); infinity where there are too few errors for the level."""
        familiarity = np.atleast_1d(np.asarray(familiarity, dtype=np.float64))
        if not 0 < _checks.at_least(level, 0, "level", "half_widths") < 1:
            raise InputError(
                "`level` must be between 0 and 1", got=f"{level!r}", cure="0.9 is usual", parameter="level"
            )
        columns = []
        for edges, errors in zip(self.edges, self.errors, strict=True):
            widths = np.array([_quantile(part, level) for part in errors])
            columns.append(widths[np.searchsorted(edges, familiarity, "right")])
        return np.stack(columns, axis=1)

    def counts(self, familiarity: Any) -> np.ndarray:
        """(N, K) the number of held-out points that the intervals of such points were learned from."""
        familiarity = np.atleast_1d(np.asarray(familiarity, dtype=np.float64))
        columns = [
            np.array([len(part) for part in errors])[np.searchsorted(edges, familiarity, "right")]
            for edges, errors in zip(self.edges, self.errors, strict=True)
        ]
        return np.stack(columns, axis=1)

    def __repr__(self) -> str:
        bins = ", ".join(str(len(edges) + 1) for edges in self.edges)
        return f"PredictionIntervals({len(self.errors)} targets with {bins} bins)"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {
            "edges": [list(edges) for edges in self.edges],
            "errors": [[part.tolist() for part in errors] for errors in self.errors],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PredictionIntervals:
        """What `to_dict` gave."""
        edges = checked(tuple[tuple[float, ...], ...], content["edges"], "edges")
        errors = tuple(
            tuple(np.sort(array_of(part, [None], "errors", low=0.0)) for part in parts)
            for parts in checked(tuple[tuple[list[Any], ...], ...], content["errors"], "errors")
        )
        if [len(inner) + 1 for inner in edges] != [len(parts) for parts in errors]:
            raise SchemaError("errors are not those of the bins between the edges")
        if any(list(inner) != sorted(set(inner)) for inner in edges):
            raise SchemaError("edges are not ascending")
        return cls(edges=edges, errors=errors)

    def require_outputs(self, count: int, where: str) -> None:
        """Refuse intervals of another number of targets."""
        if len(self.edges) != count:
            raise SchemaError(f"{where} are those of {len(self.edges)} targets, not {count}")


def _quantile(errors: np.ndarray, level: float) -> float:
    rank = math.ceil((len(errors) + 1) * level - 1e-9)
    return float(errors[rank - 1]) if rank <= len(errors) else math.inf


class Platt(NamedTuple):
    """The scaling of the points of one bin: sigmoid(slope logit(p) + offset), p within the range it is known for."""

    slope: float
    offset: float
    lowest: float
    """The least logit of the held-out points."""
    highest: float
    """The largest one."""

    def __call__(self, logits: np.ndarray) -> np.ndarray:
        """Calibrated probabilities."""
        return np.asarray(1 / (1 + np.exp(-(self.slope * np.clip(logits, self.lowest, self.highest) + self.offset))))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ProbabilityCalibration:
    """Probabilities that mean what they say (Platt 1999): sigmoid(slope logit(p) + offset) for each of K targets.

    Slope and offset minimise the cross-entropy at held-out points, whose labels count as (n_1 + 1) / (n_1 + 2) and
    1 / (n_0 + 2), which keeps a few points from promising certainty. Probabilities beyond those of the held-out points
    count as the last of them, for the same reason. Bins of how familiar a point is, if there are any, are calibrated
    each for itself, as networks are too sure of what they do not know; one with fewer than ten of either label joins
    the one next to it. Where there are fewer than ten in all, probabilities stay as they are.
    """

    edges: tuple[tuple[float, ...], ...]
    """For each target the inner edges of its bins, ascending; a point on an edge belongs to the bin above."""
    scalings: tuple[tuple[Platt, ...], ...]
    """For each target and bin how its probabilities are scaled."""

    @classmethod
    def of(
        cls,
        y: np.ndarray,
        probabilities: np.ndarray,
        familiarity: np.ndarray | None = None,
        edges: Sequence[float] = (),
    ) -> ProbabilityCalibration:
        """Learn from points that the fit did not see.

        Parameters
        ----------
        y : ndarray
            (N, K) labels, NaN where there is none.
        probabilities : ndarray
            (N, K) the probabilities predicted there.
        familiarity : ndarray, optional
            (N,) how familiar each point is; without it there is one bin.
        edges : sequence of float
            Inner edges of the bins of familiarity, ascending.
        """
        if familiarity is None:
            familiarity, edges = np.zeros(len(y)), ()
        all_edges, all_scalings = [], []
        for labels, predicted in zip(y.T, probabilities.T, strict=True):
            bins = np.searchsorted(edges, familiarity, "right")
            counts = [min(int((labels[bins == b] == label).sum()) for label in (0, 1)) for b in range(len(edges) + 1)]
            kept = join_bins(counts, [float(edge) for edge in edges], _FEWEST_LABELS)
            bins = np.searchsorted(kept, familiarity, "right")
            all_edges.append(kept)
            all_scalings.append(tuple(_platt(labels[bins == b], predicted[bins == b]) for b in range(len(kept) + 1)))
        return cls(edges=tuple(all_edges), scalings=tuple(all_scalings))

    def __call__(self, probabilities: Any, familiarity: Any = None) -> np.ndarray:
        """(N, K) calibrated probabilities, of points of this familiarity (N,)."""
        logits = _logit(np.asarray(probabilities))
        known = np.zeros(len(logits)) if familiarity is None else np.asarray(familiarity, dtype=np.float64)
        result = np.empty_like(logits)
        for k, (edges, scalings) in enumerate(zip(self.edges, self.scalings, strict=True)):
            bins = np.searchsorted(edges, known, "right")
            for b, scaling in enumerate(scalings):
                result[bins == b, k] = scaling(logits[bins == b, k])
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {
            "edges": [list(edges) for edges in self.edges],
            "scalings": [[list(scaling) for scaling in scalings] for scalings in self.scalings],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ProbabilityCalibration:
        """What `to_dict` gave."""
        if "scalings" not in content:
            return cls._of_one_bin(content)
        edges = checked(tuple[tuple[float, ...], ...], content["edges"], "edges")
        scalings = tuple(
            tuple(Platt(*array_of(part, [4], "scalings").tolist()) for part in parts)
            for parts in checked(tuple[tuple[list[Any], ...], ...], content["scalings"], "scalings")
        )
        if [len(inner) + 1 for inner in edges] != [len(parts) for parts in scalings]:
            raise SchemaError("scalings are not those of the bins between the edges")
        if any(list(inner) != sorted(set(inner)) for inner in edges):
            raise SchemaError("edges are not ascending")
        return cls(edges=edges, scalings=scalings)

    @classmethod
    def _of_one_bin(cls, content: Mapping[str, Any]) -> ProbabilityCalibration:
        """As earlier versions wrote it: a list of each number over the targets, at first without ranges."""
        slope = array_of(content["slope"], [None], "slope")
        count = len(slope)
        offset = array_of(content["offset"], [count], "offset")
        lowest, highest = (
            np.full(count, unknown) if content.get(name) is None else array_of(content[name], [count], name)
            for name, unknown in zip(("lowest", "highest"), _logit(np.array([0.0, 1.0])), strict=True)
        )
        parts = zip(slope.tolist(), offset.tolist(), lowest.tolist(), highest.tolist(), strict=True)
        return cls(edges=((),) * count, scalings=tuple((Platt(*part),) for part in parts))

    def require_outputs(self, count: int, where: str) -> None:
        """Refuse a calibration of another number of targets."""
        if len(self.edges) != count:
            raise SchemaError(f"{where} are those of {len(self.edges)} targets, not {count}")


def _logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(p / (1 - p)))


def _platt(labels: np.ndarray, probabilities: np.ndarray) -> Platt:
    from scipy.optimize import minimize

    measured = ~np.isnan(labels)
    positive = labels[measured] == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if min(ones, zeros) < _FEWEST_LABELS:
        return Platt(1.0, 0.0, *_logit(np.array([0.0, 1.0])).tolist())
    targets = np.where(positive, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    scores = _logit(probabilities[measured])

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        values = parameters[0] * scores + parameters[1]
        gap = 1 / (1 + np.exp(-values)) - targets
        return float(np.logaddexp(0, values).sum() - targets @ values), np.array([gap @ scores, gap.sum()])

    slope, offset = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return Platt(float(slope), float(offset), float(scores.min()), float(scores.max()))
