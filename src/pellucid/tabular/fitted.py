"""The result of fitting a model of tables, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from torch import Tensor, nn

from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.models import Fitted
from pellucid.schemas import SchemaError
from pellucid.storage import Entry, TensorFile, optional, plain, stored
from pellucid.stored_arrays import check_array
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.neighborhoods import nearest_places
from pellucid.tabular.tasks import TableTask
from pellucid.trust import Calibration


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedTable(Fitted):
    """The result of fitting a `TableModel`; see its attributes."""

    encoding: Encoding = stored(Entry(Encoding.to_dict, Encoding.from_dict))
    task: TableTask = stored(Entry(TableTask.to_dict, TableTask.from_dict))
    own_network: bool = stored(plain(bool))
    """Whether the network is the user's: code, which is not saved."""
    rows: Mapping[str, Tensor] = stored(TensorFile("rows"))
    """The rows that were learned from: "codes" (N, C); "y" (N,), numbers or positions of classes; and "number" (N,),
    where each stands in its table."""
    witness: str = stored(plain(Literal["linear", "sparse", "tree"]))
    """What predictions are explained by: "linear", "sparse" or "tree"."""
    calibration: Calibration | None = stored(optional(Calibration))
    intervals: PredictionIntervals | None = stored(optional(PredictionIntervals))
    probabilities: ProbabilityCalibration | None = stored(optional(ProbabilityCalibration))

    @classmethod
    def check(cls, record: Mapping[str, Any], model: Any) -> None:
        """Rows that the encoding and the task can read, and their outputs in all parts."""
        encoding, task, rows = record["encoding"], record["task"], record["rows"]
        if task.kind != model.task:
            raise SchemaError(f"it is a {task.kind}, and its settings are of a {model.task}")
        codes, y, numbers = (rows[name].numpy() for name in ("codes", "y", "number"))
        check_array(codes, [None, len(encoding.used)], "codes", blanks=True)
        check_array(numbers, [len(codes)], "number", kinds="iu", low=-(2**62), high=2**62)
        if not len(codes):
            raise SchemaError("there are no rows")
        for column, values in zip(encoding.used, codes.T, strict=True):
            if column.has_levels:
                check_array(values, [None], f"codes of {column.name!r}", low=-1, high=len(column.levels) - 1)
                _require_whole(values, f"codes of {column.name!r}")
        if task.kind == "regression":
            check_array(y, [len(codes)], "y")
        else:
            check_array(y, [len(codes)], "y", low=0, high=len(task.classes) - 1)
            _require_whole(y, "y")
        counts = {"calibration": task.width, "intervals": 1, "probabilities": task.width}
        for name, count in counts.items():
            if record[name] is not None:
                record[name].require_outputs(count, name)
        if record["intervals" if task.classes else "probabilities"] is not None:
            raise SchemaError(f"a {task.kind} has either intervals or probabilities")

    @cached_property
    def codes(self) -> np.ndarray:
        """(N, C) the rows as `Encoding.codes` has them."""
        return np.asarray(self.rows["codes"].numpy())

    @cached_property
    def y(self) -> np.ndarray:
        """(N,) what was measured, in the units of the data."""
        values = self.rows["y"].numpy()
        if self.task.kind == "regression":
            return np.asarray(values)
        return np.array(self.task.classes)[values.astype(np.int64)]

    @cached_property
    def scaled(self) -> Tensor:
        """(N, P) scaled features of the rows."""
        return self.encoding.scaled(self.codes)

    @cached_property
    def near(self) -> np.ndarray:
        """(N, P) where the rows lie when neighbors are looked for."""
        return self.encoding.near(self.scaled)

    @cached_property
    def exact_network(self) -> nn.Module:
        """The network in float64: its predictions do not depend on which rows are predicted together."""
        return deepcopy(self.network).double().eval()

    def nearest(self, scaled: Tensor, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) the rows nearest to others (n, P), nearest first, and their distances."""
        return nearest_places(self.near, k, self.encoding.near(scaled))

    def familiarity(self, scaled: Tensor) -> np.ndarray:
        """(n,) minus the distance to the nearest row that was learned from, by which intervals are told apart."""
        return np.asarray(-self.nearest(scaled, 1)[1][:, 0])

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the rest."""
        derived = ("codes", "y", "scaled", "near", "exact_network")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _require_whole(values: np.ndarray, where: str) -> None:
    if not (values == np.round(values)).all():
        raise SchemaError(f"{where} are not whole numbers")
