"""What a property model learns: the loss of its outputs, and the values that people and witnesses read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pellucid import _processes
from pellucid.errors import InputError, Parameter
from pellucid.schemas import SMALLEST
from pellucid.stored_arrays import array_of

TASKS = ("classification", "regression")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """How outputs of the network become values.

    Classification: outputs are logits, values are probabilities. Regression: both are values, which inside have mean 0
    and standard deviation 1 over the training data.

    Witnesses and games see the inner values; whoever reads an explanation sees those of the data.
    """

    kind: Literal["classification", "regression"]
    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(
        cls, kind: Literal["classification", "regression"], y: np.ndarray, targets: tuple[str, ...], part: str = ""
    ) -> Task:
        """The task of learning y (N, K), NaN where nothing was measured; `part` is for messages."""
        if kind == "classification":
            cls.require_binary(y, targets)
        for name, column in zip(targets, y.T, strict=True):
            values = np.unique(column[~np.isnan(column)])
            if len(values) < 2:
                cure = "hold out fewer, or choose another seed" if part else "remove it"
                raise InputError(
                    f"Every target must have at least two different values to learn from{part}",
                    got=f"{len(values)} for {name!r}",
                    cure=f"{cure}",
                )
        if kind == "classification":
            return cls(kind=kind, shift=np.zeros(y.shape[1]), scale=np.ones(y.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            shift, scale = np.nanmean(y, axis=0), np.nanstd(y, axis=0)
        for name, deviation in zip(targets, scale, strict=True):
            if not 0 < deviation < np.inf:
                raise InputError(
                    f"Every target must have a standard deviation that can be computed{part}",
                    got=(
                        f"{deviation:g} for {name!r}, whose values are too "
                        f"{'close to each other' if deviation == 0 else 'large'}"
                    ),
                    cure="pass them in another unit",
                )
        return cls(kind=kind, shift=shift, scale=scale)

    @staticmethod
    def require_binary(y: np.ndarray, targets: tuple[str, ...]) -> None:
        """Refuse labels other than 0 and 1."""
        invalid = np.argwhere(~np.isnan(y) & (y != 0) & (y != 1))
        if len(invalid):
            value, name = y[tuple(invalid[0])], targets[invalid[0][1]]
            raise InputError(
                "Labels of a classification must be 0, 1 or blank",
                got=f"{value:g} for {name!r}",
                cure=f"for measured values use {Parameter('task', 'regression')}",
                parameter="task",
            )

    def inner(self, y: np.ndarray) -> Tensor:
        """Measured values (N, K) as the network learns them."""
        return torch.from_numpy(((y - self.shift) / self.scale).astype(np.float32))

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean over measured values of cross-entropy, or of squared error in standard deviations."""
        measured = ~y.isnan()
        error = functional.binary_cross_entropy_with_logits if self.kind == "classification" else functional.mse_loss
        return _processes.mean(error(outputs[measured], y[measured], reduction="none"))

    def loss_of_values(self, values: Tensor, y: Tensor) -> float:
        """The loss of values, as `values` returns them."""
        if self.kind == "regression":
            return float(self.loss(values.double(), y.double()))
        return float(self.loss(torch.logit(values.double(), eps=1e-7), y.double()))

    def values(self, outputs: Tensor) -> Tensor:
        """Outputs as witnesses see them: probabilities, or values in standard deviations."""
        return outputs.sigmoid() if self.kind == "classification" else outputs

    def natural(self, values: Any) -> np.ndarray:
        """The witnesses' values in the units of the data."""
        return np.asarray(np.asarray(values, dtype=np.float64) * self.scale + self.shift)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON; the kind is a setting of the model."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Task:
        """The task that `to_dict` was called on; its kind is added to the content."""
        shift = array_of(content["shift"], [None], "shift")
        scale = array_of(content["scale"], [len(shift)], "scale", low=SMALLEST)
        return cls(kind=content["kind"], shift=shift, scale=scale)


IDENTITY = Task(kind="regression", shift=np.zeros(1), scale=np.ones(1))
"""Outputs that are explained in their own units."""
