"""How sure a prediction is: intervals that hold the measured value, and probabilities that mean what they say.

Both are about the predictor and the truth, and are learned from points that the fit did not see. They are not to be
mixed up with the bound between witness and predictor; see `pellucid.trust`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

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


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ProbabilityCalibration:
    """Probabilities that mean what they say (Platt 1999): sigmoid(slope logit(p) + offset) for each of K targets.

    Slope and offset minimise the cross-entropy at held-out points, whose labels count as (n_1 + 1) / (n_1 + 2) and
    1 / (n_0 + 2), which keeps a few points from promising certainty. Probabilities beyond those of the held-out points
    count as the last of them, for the same reason. Where there are fewer than ten of either label, probabilities stay
    as they are.
    """

    slope: np.ndarray
    """(K,)."""
    offset: np.ndarray
    """(K,)."""
    lowest: np.ndarray
    """(K,) the least logit of the held-out points."""
    highest: np.ndarray
    """(K,) the largest one."""

    @classmethod
    def of(cls, y: np.ndarray, probabilities: np.ndarray) -> ProbabilityCalibration:
        """Learn from labels (N, K), NaN where there is none, and the probabilities predicted there."""
        parts = [_platt(*pair) for pair in zip(y.T, probabilities.T, strict=True)]
        slope, offset, lowest, highest = (np.array(values) for values in zip(*parts, strict=True))
        return cls(slope=slope, offset=offset, lowest=lowest, highest=highest)

    def __call__(self, probabilities: Any) -> np.ndarray:
        """(N, K) calibrated probabilities."""
        logits = np.clip(_logit(np.asarray(probabilities)), self.lowest, self.highest)
        return np.asarray(1 / (1 + np.exp(-(self.slope * logits + self.offset))))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {name: getattr(self, name).tolist() for name in ("slope", "offset", "lowest", "highest")}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ProbabilityCalibration:
        """What `to_dict` gave."""
        slope = array_of(content["slope"], [None], "slope")
        count = len(slope)
        lowest, highest = (
            np.full(count, unknown) if content.get(name) is None else array_of(content[name], [count], name)
            for name, unknown in (("lowest", -np.inf), ("highest", np.inf))
        )
        offset = array_of(content["offset"], [count], "offset")
        return cls(slope=slope, offset=offset, lowest=lowest, highest=highest)

    def require_outputs(self, count: int, where: str) -> None:
        """Refuse a calibration of another number of targets."""
        if len(self.slope) != count:
            raise SchemaError(f"{where} are those of {len(self.slope)} targets, not {count}")


def _logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(p / (1 - p)))


def _platt(labels: np.ndarray, probabilities: np.ndarray) -> tuple[float, float, float, float]:
    """Slope, offset, and the range of logits that they are known for."""
    from scipy.optimize import minimize

    measured = ~np.isnan(labels)
    positive = labels[measured] == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if min(ones, zeros) < _FEWEST_LABELS:
        return 1.0, 0.0, *_logit(np.array([0.0, 1.0])).tolist()
    targets = np.where(positive, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    scores = _logit(probabilities[measured])

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        values = parameters[0] * scores + parameters[1]
        gap = 1 / (1 + np.exp(-values)) - targets
        return float(np.logaddexp(0, values).sum() - targets @ values), np.array([gap @ scores, gap.sum()])

    slope, offset = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return float(slope), float(offset), float(scores.min()), float(scores.max())
