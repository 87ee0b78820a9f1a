"""The result of fitting a property model, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, final

import numpy as np

from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.models import Fitted
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.table import Rejection
from pellucid.molecules.tasks import Task
from pellucid.schemas import Between, SchemaError, checked
from pellucid.storage import TEXTS, Entries, Entry, Form, optional, plain, stored
from pellucid.stored_arrays import array_of, check_array
from pellucid.trust import Calibration


def _measured_to_lists(y: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in y]


def _groups_to_dict(groups: RGroups) -> dict[str, Any]:
    by_kind = {kind: list(texts) for kind, texts in groups.by_kind.items()}
    return {"groups": by_kind, "largest_group": groups.largest}


def _groups_from_dict(content: Mapping[str, Any]) -> RGroups:
    return RGroups.from_lists(
        checked(dict[str, tuple[str, ...]], content["groups"], "groups"),
        checked(Annotated[int, Between(1, 1000)], content["largest_group"], "largest_group"),
    )


def _measured_from_lists(rows: Any) -> np.ndarray:
    return array_of(rows, [None, None], "y", blanks=True)


MEASURED: Form[np.ndarray] = Entry(_measured_to_lists, _measured_from_lists)
"""A table of measured values, blanks where there are none."""
REJECTED: Form[tuple[Rejection, ...]] = Entry(
    lambda rows: [list(row) for row in rows],
    lambda content: tuple(Rejection(*row) for row in checked(tuple[tuple[int, str, str], ...], content)),
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
    own_network: bool = stored(plain(bool))
    """Whether the network is the user's: code, which is not saved."""
    groups: RGroups = stored(GROUPS)
    smiles: tuple[str, ...] = stored(TEXTS)
    y: np.ndarray = stored(MEASURED)
    rejected: tuple[Rejection, ...] = stored(REJECTED)
    pool: tuple[str, ...] = stored(TEXTS)
    calibration: Calibration | None = stored(optional(Calibration))
    witness: Literal["tree", "contributions"] = stored(plain(Literal["tree", "contributions"]))
    """What predictions are explained by."""
    intervals: PredictionIntervals | None = stored(optional(PredictionIntervals))
    """Of measured values, for regression."""
    probabilities: ProbabilityCalibration | None = stored(optional(ProbabilityCalibration))
    """For classification."""
    held_out: tuple[str, ...] = stored(TEXTS)
    """Those of the labeled molecules that the network did not learn from."""

    @classmethod
    def check(cls, record: Mapping[str, Any], model: Any) -> None:
        """Targets and molecules in all parts."""
        targets, molecules = len(record["targets"]), len(record["smiles"])
        check_array(record["y"], [molecules, targets], "y", blanks=True)
        for name in ("shift", "scale"):
            check_array(getattr(record["task"], name), [targets], name)
        if not targets:
            raise SchemaError("there are no targets")
        for name in ("calibration", "intervals", "probabilities"):
            if record[name] is not None:
                record[name].require_outputs(targets, name)

    @classmethod
    def upgraded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Models of earlier versions have trees with leaves of any size and no shrinkage, in the neighborhoods of
        their training, and do not tell which molecules were held out; the earliest have no measured values, and no
        calibration.
        """
        blank = [[None] * len(content["targets"])] * len(content["smiles"])
        plain_trees = {"shrinkage": 0.0, "min_leaf": 1}
        rule = content["settings"]["similar"]
        explained = {
            "explain_with_analogs": rule["analogs"],
            "explained_groups": max([rule["groups_per_kind"], *map(len, content["groups"].values())]),
            "explained_members": rule["most"],
        }
        settings = {**explained, **plain_trees, **content["settings"]}
        absent: dict[str, Any] = {
            "calibration": None,
            "witness": "tree",
            "intervals": None,
            "probabilities": None,
            "held_out": [],
        }
        return {"y": blank, **absent, **content, "settings": settings}
