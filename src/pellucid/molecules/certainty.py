"""How sure the prediction of a molecule is: what was measured of similar ones, intervals, and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pellucid.molecules.fingerprints import Morgan

# Inner edges of the bins of similarity to the nearest labeled molecule that intervals are learned in.
SIMILARITIES = (0.4, 0.6, 0.8)


class NearestMolecule(NamedTuple):
    """The labeled molecule that is most similar to another: whether that one is in the model's domain."""

    smiles: str
    """Empty if none has anything in common with it."""
    similarity: float
    """Tanimoto similarity."""
    measured: np.ndarray
    """(K,) measured values, NaN where there is none."""


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
