"""How sure the prediction of a molecule is: what was measured of similar ones, intervals, and probabilities.

All of it is about prediction and measurement. How far witness and network are apart is another question, with another
number; see `pellucid.trust`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from pellucid.bounds import LEVEL, check_level
from pellucid.errors import InputError
from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.molecules._plain import plain
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.fitted import FittedProperties
from pellucid.molecules.table import Molecules
from pellucid.schemas import LARGEST, Share, Size, checked
from pellucid.stored_arrays import array_of

# Inner edges of the bins of similarity to the nearest training molecule, in which both are learned.
SIMILARITIES = (0.4, 0.6, 0.8)


class NearestMolecule(NamedTuple):
    """The training molecule that is most similar to another: whether that one is in the model's domain."""

    smiles: str
    """Empty if none has anything in common with it."""
    similarity: float
    """Tanimoto similarity."""
    measured: np.ndarray
    """(K,) measured values, NaN where there is none."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Certainty:
    """How sure the predictions of one molecule are; K targets, values in the units of the data."""

    nearest: NearestMolecule
    """The applicability domain: far from all training molecules, a model can only guess."""
    level: float = LEVEL
    """The confidence of the intervals."""
    interval: np.ndarray | None = None
    """(K, 2) for regression: between which values the measured one lies; NaN where that is not known."""
    counts: np.ndarray | None = None
    """(K,) the number of held-out molecules that the intervals were learned from."""
    probability: np.ndarray | None = None
    """(K,) for classification: the calibrated probability of the label 1."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON; None where a value is not known."""
        nearest = self.nearest
        return {
            "level": self.level,
            "prediction_interval": None if self.interval is None else [plain(pair) for pair in self.interval],
            "interval_learned_from": None if self.counts is None else self.counts.tolist(),
            "calibrated_probability": None if self.probability is None else plain(self.probability),
            "nearest_training_molecule": {
                "smiles": nearest.smiles or None,
                "similarity": nearest.similarity,
                "measured": plain(nearest.measured),
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, outputs: int) -> Certainty:
        """What `to_dict` gave, of this number of targets."""

        def optional(name: str, shape: Sequence[int], *, low: float = -LARGEST) -> np.ndarray | None:
            return None if content[name] is None else array_of(content[name], shape, name, low=low, blanks=True)

        nearest, counts = content["nearest_training_molecule"], content["interval_learned_from"]
        return cls(
            nearest=NearestMolecule(
                checked(str | None, nearest["smiles"], "nearest") or "",
                checked(Share, nearest["similarity"], "nearest.similarity"),
                array_of(nearest["measured"], [outputs], "nearest.measured", blanks=True),
            ),
            level=check_level(content["level"]),
            interval=optional("prediction_interval", [outputs, 2]),
            counts=None if counts is None else np.array(checked(tuple[Size, ...], counts, "counts")).reshape(outputs),
            probability=optional("calibrated_probability", [outputs], low=0.0),
        )


def nearest_molecules(
    smiles: Sequence[str], labeled: Sequence[str], y: np.ndarray, morgan: Morgan
) -> list[NearestMolecule]:
    """For each molecule the most similar labeled one, itself not counted.

    Parameters
    ----------
    smiles : sequence of str
        The molecules, as canonical SMILES.
    labeled : sequence of str
        Labeled molecules, as canonical SMILES.
    y : ndarray
        (N, K) their measured values.
    morgan : Morgan
        The fingerprints that similarity is computed from.
    """
    place = {text: i for i, text in enumerate(labeled)}
    itself = np.array([place.get(text, -1) for text in smiles])
    rows, similarity = morgan.many(labeled).nearest_to(morgan.many(smiles), but=itself)
    unknown = np.full(y.shape[1], np.nan)
    return [
        NearestMolecule(labeled[row] if row >= 0 else "", float(value), y[row] if row >= 0 else unknown)
        for row, value in zip(rows.tolist(), similarity, strict=True)
    ]


def nearest_training(
    fitted: FittedProperties, smiles: Sequence[str], morgan: Morgan, *, but: Sequence[str] = ()
) -> list[NearestMolecule]:
    """For each molecule the most similar one that a model was trained on, itself not counted.

    Parameters
    ----------
    fitted : FittedProperties
        The model's record: it keeps molecules that it held out among the labeled ones.
    smiles : sequence of str
        The molecules, as canonical SMILES.
    morgan : Morgan
        The fingerprints that similarity is computed from.
    but : sequence of str
        Further molecules that do not count.
    """
    unseen = {*fitted.held_out, *but}
    rows = [i for i, text in enumerate(fitted.smiles) if text not in unseen]
    return nearest_molecules(smiles, [fitted.smiles[i] for i in rows], fitted.y[rows], morgan)


def learn_certainty(
    fitted: FittedProperties, data: Molecules, predictions: np.ndarray, morgan: Morgan
) -> FittedProperties:
    """The record of a fit, with intervals or probabilities learned from molecules that the fit did not see.

    Parameters
    ----------
    fitted : FittedProperties
        The record of the fit.
    data : Molecules
        The molecules with their measured values.
    predictions : ndarray
        (N, K) what the model predicts of them.
    morgan : Morgan
        The fingerprints that similarity is computed from.
    """
    # Their similarity is that to molecules which the fit has seen, as it will be for the molecules of tomorrow.
    nearest = similarities(nearest_training(fitted, data.smiles, morgan, but=data.smiles))
    if fitted.task.kind == "classification":
        return replace(fitted, probabilities=ProbabilityCalibration.of(data.y, predictions, nearest, SIMILARITIES))
    return replace(fitted, intervals=PredictionIntervals.of(data.y, predictions, nearest, SIMILARITIES))


def similarities(nearest: Sequence[NearestMolecule]) -> np.ndarray:
    """(N,) how similar each nearest molecule is."""
    return np.array([molecule.similarity for molecule in nearest])


def certainties(
    fitted: FittedProperties, smiles: Sequence[str], predictions: np.ndarray, morgan: Morgan, *, level: float
) -> list[Certainty]:
    """How sure the predictions (N, K) of each molecule are.

    Parameters
    ----------
    fitted : FittedProperties
        The record of the fit.
    smiles : sequence of str
        The molecules, as canonical SMILES.
    predictions : ndarray
        (N, K) what the model predicts of them.
    morgan : Morgan
        The fingerprints that similarity is computed from.
    level : float
        The confidence of the intervals.
    """
    nearest = nearest_training(fitted, smiles, morgan)
    intervals = counts = probabilities = None
    if fitted.intervals is not None:
        widths = fitted.intervals.half_widths(similarities(nearest), check_level(level))
        widths[np.isinf(widths)] = np.nan
        intervals = np.stack([predictions - widths, predictions + widths], axis=2)
        counts = fitted.intervals.counts(similarities(nearest))
    if fitted.probabilities is not None:
        probabilities = fitted.probabilities(predictions, similarities(nearest))
    return [
        Certainty(
            nearest=molecule,
            level=level,
            interval=None if intervals is None else intervals[i],
            counts=None if counts is None else counts[i],
            probability=None if probabilities is None else probabilities[i],
        )
        for i, molecule in enumerate(nearest)
    ]


def require_certainty(known: object, task: str, needed: str) -> None:
    """Refuse what a model has not learned: intervals are known of a regression, probabilities of a classification."""
    if task == needed and known is not None:
        return
    regression = needed == "regression"
    raise InputError(
        "Intervals are learned from held-out measured values of a regression"
        if regression
        else "Probabilities are calibrated on held-out labels of a classification",
        got=f"a {task}" if task != needed else "no held-out molecules with measured values",
        cure="call `calibrate` with such molecules"
        if task == needed
        else f"use `{'predict_probability' if regression else 'predict_interval'}`",
    )
