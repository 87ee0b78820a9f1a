"""The measures that a run on molecules compares, and their values for each model."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.scores import PropertyScores
from pellucid.molecules.table import Molecules
from pellucid.runs import finite_mean
from pellucid.summaries import BOUND, HELD_OUT, Measure

# The most targets whose accuracy is a measure of its own.
_MAX_TARGETS = 20


def scores_of(scores: PropertyScores, model: PropertyModel, test: Molecules) -> dict[str, Any]:
    """The scores as plain numbers; those of witnesses are None where no neighborhood has more than 2 members."""
    numbers = scores.to_dict()
    if scores.measure == "RMSE":
        squares = np.square(test.y - model.task_.shift)
        means = np.sqrt([np.mean(column[np.isfinite(column)]) if np.isfinite(column).any() else np.nan
                         for column in squares.T])  # fmt: skip
        numbers["relative_error"] = finite_mean(scores.accuracy / np.where(means > 0, means, np.nan))
    each = zip(test.targets, numbers["each"]["accuracy"], strict=True)
    numbers |= {f"accuracy of {name}": value for name, value in each}
    if numbers["deviation"] is None:
        numbers |= dict.fromkeys(("witness_accuracy", "explained", "local_auc", "global_auc"))
    return numbers


def measures(name: str, test: Molecules | None = None, *, noun: str = "tree") -> list[Measure]:
    """The measures of a run.

    Parameters
    ----------
    name : str
        The accuracy, "AUC" or "RMSE".
    test : Molecules, optional
        The test molecules: where they have several targets, the accuracy of each is a measure.
    noun : str
        What the witness is called; see `PropertyModel.witness_noun`.
    """
    better: Literal["lower", "higher"] = "higher" if name == "AUC" else "lower"
    against = f"{name} against the measured values"
    targets = () if test is None or len(test.targets) == 1 else test.targets[:_MAX_TARGETS]
    rows: list[Measure] = []
    if name == "RMSE":
        about = "RMSE divided by that of always predicting the mean, which is 1"
        rows.append(Measure(key="relative_error", title="relative error", better="lower", about=about))
    witness_rows: list[Measure] = []
    if name == "AUC" or not targets:  # errors in different units have no mean
        about = f"each {noun} at its own molecule: {against}"
        rows.append(Measure(key="accuracy", title=f"{name} of the network", better=better, about=against))
        about_bound = (
            f"how far the {noun} is from the network at a further molecule, at most, with the confidence of the run; "
            "median over the test molecules"
        )
        witness_rows = [
            Measure(key=BOUND, title=f"bound between {noun} and network", better="lower", about=about_bound),
            Measure(key="witness_accuracy", title=f"{name} of its {noun}s", better=better, about=about),
        ]
    for k, target in enumerate(targets):
        measured = np.array([]) if test is None else test.y[:, k][~np.isnan(test.y[:, k])]
        about = f"{len(measured)} measured" + (f", {int(measured.sum())} of them positive" if name == "AUC" else "")
        rows.append(Measure(key=f"accuracy of {target}", title=f"{name}: {target}", better=better, about=about))
    unit = "" if name == "AUC" else ", in standard deviations"
    account = f"share of the network's variance in the neighborhoods that {noun}s account for"
    return [
        *rows,
        Measure(key=HELD_OUT, title="held-out variance explained", better="higher",
                about=f"{account}, at a member that the {noun} was not fitted to: 0 is no better than a constant"),
        *witness_rows,
        Measure(key="explained", title="variance explained where fitted", better="higher",
                about=f"{account}, at the members that they were fitted to: high for noise, too"),
        Measure(key="deviation", title="deviation where fitted", better="lower",
                about=f"total variation between {noun} and network{unit}, over neighborhoods of more than 2 members"),
        Measure(key="local_auc", title="local AUC (AUC_B)", better="higher",
                about=f"share of pairs in a neighborhood that {noun} and network order alike; ties are wrong"),
        Measure(key="global_auc", title="global AUC (AUC_D)", better="higher",
                about=f"the same over all test molecules, each with its own {noun}"),
    ]  # fmt: skip
