"""What a run on molecules compares: its measures, and the numbers of each model."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.scores import PropertyScores
from pellucid.molecules.table import Molecules
from pellucid.runs import mean_of, measure
from pellucid.trust import HeldOut

# Targets whose accuracy is told one by one.
_TARGETS = 20


def scores_of(scores: PropertyScores, model: PropertyModel, test: Molecules, left_out: HeldOut) -> dict[str, Any]:
    """What was measured, in plain numbers; nothing of trees where no neighborhood holds them to account."""
    found = scores.to_dict()
    if scores.measure == "RMSE":
        misses = np.square(test.y - model.task_.shift)
        means = np.sqrt([np.mean(column[np.isfinite(column)]) if np.isfinite(column).any() else np.nan
                         for column in misses.T])  # fmt: skip
        found["relative_error"] = mean_of(scores.accuracy / np.where(means > 0, means, np.nan))
    found |= {f"accuracy of {name}": value for name, value in zip(test.targets, found["each"]["accuracy"], strict=True)}
    found["explained_left_out"] = mean_of(left_out.explained())
    if found["deviation"] is None:
        found |= dict.fromkeys(("witness_accuracy", "explained", "local_auc", "global_auc"))
    return found


def measures(name: str, test: Molecules | None = None) -> list[dict[str, str]]:
    """What is compared, by the name of the accuracy: "AUC" or "RMSE"; with several targets for each of them, too."""
    better, against = "higher" if name == "AUC" else "lower", f"{name} against the measured values"
    targets = () if test is None or len(test.targets) == 1 else test.targets[:_TARGETS]
    found = []
    if name == "RMSE":
        about = "RMSE divided by that of always predicting the mean, which is 1"
        found.append(measure("relative_error", "relative error", "lower", about))
    if name == "AUC" or not targets:  # errors in different units have no mean
        about = f"each tree at its own molecule: {against}"
        found.append(measure("accuracy", f"{name} of the network", better, against))
        found.append(measure("witness_accuracy", f"{name} of its trees", better, about))
    for k, target in enumerate(targets):
        known = np.array([]) if test is None else test.y[:, k][~np.isnan(test.y[:, k])]
        about = f"{len(known)} measured" + (f", {int(known.sum())} of them positive" if name == "AUC" else "")
        found.append(measure(f"accuracy of {target}", f"{name}: {target}", better, about))
    unit = "" if name == "AUC" else ", in standard deviations"
    account = "share of the network's variance in the neighborhoods that trees account for"
    return [
        *found,
        measure("explained_left_out", "held-out variance explained", "higher",
                f"{account}, at a member that the tree was not fitted to: 0 is no better than a constant"),
        measure("explained", "variance explained where fitted", "higher",
                f"{account}, at the members that they were fitted to: high for noise, too"),
        measure("deviation", "deviation", "lower",
                f"total variation between tree and network{unit}, over the neighborhoods of more than 2 members"),
        measure("local_auc", "AUC_B, locally", "higher",
                "share of pairs in a neighborhood that tree and network put into the same order; ties are wrong"),
        measure("global_auc", "AUC_D, globally", "higher",
                "the same over all test molecules, each with its own tree"),
    ]  # fmt: skip
