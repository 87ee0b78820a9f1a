"""The result of fitting a property model, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.models import Fitted
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.table import Rejection
from pellucid.molecules.tasks import Task
from pellucid.storage import TEXTS, Entries, Entry, Form, optional, stored
from pellucid.trust import Calibration


def _measured_to_lists(y: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in y]


def _groups_to_dict(groups: RGroups) -> dict[str, Any]:
    by_kind = {kind: list(texts) for kind, texts in groups.by_kind.items()}
    return {"groups": by_kind, "largest_group": groups.largest}


def _groups_from_dict(content: Mapping[str, Any]) -> RGroups:
    return RGroups.from_lists(content["groups"], int(content["largest_group"]))


def _measured_from_lists(rows: list[list[float | None]]) -> np.ndarray:
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _witness_from_text(text: str) -> Literal["tree", "contributions"]:
    return "tree" if text == "tree" else "contributions"


MEASURED: Form[np.ndarray] = Entry(_measured_to_lists, _measured_from_lists)
"""A table of measured values, blanks where there are none."""
REJECTED: Form[tuple[Rejection, ...]] = Entry(
    lambda rows: [list(row) for row in rows], lambda rows: tuple(Rejection(*row) for row in rows)
)
GROUPS: Form[RGroups] = Entries(_groups_to_dict, _groups_from_dict)


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedProperties(Fitted):
    """The result of fitting a `PropertyModel`; see its attributes."""

    targets: tuple[str, ...] = stored(TEXTS)
    task: Task = stored(
        Entries(Task.to_dict, lambda content: Task.from_dict({**content, "kind": content["settings"]["task"]}))
    )
    own_network: bool = stored(Entry(bool, bool))
    """Whether the network is the user's: code, which is not saved."""
    groups: RGroups = stored(GROUPS)
    smiles: tuple[str, ...] = stored(TEXTS)
    y: np.ndarray = stored(MEASURED)
    rejected: tuple[Rejection, ...] = stored(REJECTED)
    pool: tuple[str, ...] = stored(TEXTS)
    calibration: Calibration | None = stored(optional(Calibration))
    witness: Literal["tree", "contributions"] = stored(Entry(str, _witness_from_text))
    """What predictions are explained by."""
    intervals: PredictionIntervals | None = stored(optional(PredictionIntervals))
    """Of measured values, for regression."""
    probabilities: ProbabilityCalibration | None = stored(optional(ProbabilityCalibration))
    """For classification."""
    held_out: tuple[str, ...] = stored(TEXTS)
    """Those of the labeled molecules that the network did not learn from."""

    @classmethod
    def upgraded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Models of earlier versions have trees with leaves of any size and no shrinkage, in the neighborhoods of
        their training, and do not tell which molecules were held out; the earliest have no measured values, and no
        calibration.
        """
        blank = [[None] * len(content["targets"])] * len(content["smiles"])
        plain_trees = {"shrinkage": 0.0, "min_leaf": 1}
        analogs = content["settings"]["similar"]["analogs"]
        settings = {"explain_with_analogs": analogs, **plain_trees, **content["settings"]}
        absent: dict[str, Any] = {
            "calibration": None,
            "witness": "tree",
            "intervals": None,
            "probabilities": None,
            "held_out": [],
        }
        return {"y": blank, **absent, **content, "settings": settings}
