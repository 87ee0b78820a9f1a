"""Settings of a `PropertyModel` that suit a table of molecules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pellucid.molecules.neighborhoods import SimilarityRule

# Share of molecules with more than two similar ones above which a table needs no analogs.
_DENSE = 0.7


def task_of(y: np.ndarray) -> Literal["classification", "regression"]:
    """The task that suits measured values: classification where all of them are 0 or 1."""
    measured = y[~np.isnan(y)]
    return "classification" if np.isin(measured, (0.0, 1.0)).all() else "regression"


def density(smiles: Sequence[str]) -> float:
    """The share of molecules with more than two members in their neighborhoods, analogs not counted."""
    rule = SimilarityRule(analogs=False)
    neighborhoods = rule.neighborhoods(smiles, smiles, rule.groups(smiles), progress=False)
    return float((neighborhoods.hoods.sizes > 2).double().mean())


def settings_for(smiles: Sequence[str], game: str | None, *, analogs: bool | None = None) -> dict[str, Any]:
    """Settings of a `PropertyModel` that suit a table: a dense series needs no analogs, which makes training cheap.

    Parameters
    ----------
    smiles : sequence of str
        The molecules of the table, as canonical SMILES.
    game : str, optional
        The game that is to be played.
    analogs : bool, optional
        Whether neighborhoods hold analogs; by default they do where too few molecules have similar ones.
    """
    if analogs is None:
        analogs = density(smiles) < _DENSE
    if analogs:
        return {"similar": SimilarityRule()}
    return {
        "similar": SimilarityRule(analogs=False),
        "play": "banked" if game in (None, "symmetric") else "fresh",
        "criterion": "squared",
        "delta": -1,
        "weight": 1.0,
        "width": 200,
        "epochs": 60,
        "batch_size": 32,
        "learning_rate": 3e-3,
    }
