"""What a model of tables learns: numbers or classes, the loss of its outputs, and the values that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, final

import numpy as np
import torch
from scipy.special import expit, logit
from torch import Tensor
from torch.nn import functional

from pellucid import _processes
from pellucid.errors import InputError
from pellucid.schemas import LARGEST, SMALLEST, Between, SchemaError, checked

TASKS = ("regression", "classification")
_SMALLEST = 1e-7
# Standard deviations beyond which a number to learn is a mistake: its square is still a number in float32.
_FARTHEST = 1e15
_QUARTERS = 4.0


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TableTask:
    """How outputs of the network become values, of which there are K.

    Regression: one value, which inside has mean 0 and standard deviation 1. Classes: log-odds, in which what columns do
    adds up,

        log p_k / (1 - p_k) = z_k - log sum over other classes j of exp(z_j),

    of the second of two classes, or of each of more; the logits z are the mean of those of the networks in one,
    (B, E, K). They are not bounded: where log-odds level off, however late, no law of the columns could follow them.
    Inside, log-odds count as quarters: near one half they are as large as probabilities.

    Attributes
    ----------
    kind : str
        "regression" or "classification".
    target : str
        Name of the column that is predicted.
    classes : tuple
        The classes in their order.
    shift, scale : float
        A number y is learned as (y - shift) / scale; for classes 0 and 4.
    """

    kind: Literal["regression", "classification"]
    target: str = "y"
    classes: tuple[Any, ...] = ()
    shift: float = 0.0
    scale: Annotated[float, Between(SMALLEST, LARGEST)] = 1.0

    @classmethod
    def of(
        cls,
        kind: Literal["regression", "classification"],
        y: np.ndarray,
        target: str,
        *,
        weights: np.ndarray | None = None,
    ) -> TableTask:
        """The task of learning y (N,), whose rows may have weights."""
        if kind == "classification":
            return cls(kind=kind, target=target, classes=tuple(np.unique(y).tolist()), scale=_QUARTERS)
        values = _numbers(y)
        shift = float(np.average(values, weights=weights))
        scale = float(np.sqrt(np.average(np.square(values - shift), weights=weights)))
        return cls(kind=kind, target=target, shift=shift, scale=scale if scale >= SMALLEST else 1.0)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the K values."""
        if self.kind == "regression":
            return (self.target,)
        classes = self.classes[1:] if len(self.classes) == 2 else self.classes
        return tuple(f"log-odds of ({self.target} = {name})" for name in classes)

    def inner(self, y: np.ndarray) -> Tensor:
        """(N,) what is learned: numbers in standard deviations, or the positions of classes."""
        if self.kind == "regression":
            return torch.from_numpy(self._standardized(y).astype(np.float32))
        places = {name: i for i, name in enumerate(self.classes)}
        unknown = [name for name in y.tolist() if name not in places]
        if unknown:
            raise InputError(
                f"The classes must be those that were learned, {', '.join(map(str, self.classes[:8]))}",
                got=f"{unknown[0]!r}",
                cure="leave such rows out",
                parameter="y",
            )
        return torch.tensor([places[name] for name in y.tolist()], dtype=torch.int64)

    def _standardized(self, y: np.ndarray) -> np.ndarray:
        values = _numbers(y)
        inner = np.asarray((values - self.shift) / self.scale)
        far = np.abs(inner) > _FARTHEST
        if far.any():
            raise InputError(
                f"The target must hold numbers such as were learned from, about {self.shift:.4g}",
                got=f"{values[far][0]:g}",
                cure="correct it, or leave that row out",
                parameter="y",
            )
        return inner

    def loss(self, outputs: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
        """The mean of squared errors or cross-entropies, over rows and networks; rows may have weights."""
        several = outputs if outputs.ndim == 3 else outputs[:, None]
        rows, networks, _ = several.shape
        if self.kind == "regression":
            errors = (several[..., 0] - y[:, None].to(several)).square()
        elif len(self.classes) == 2:
            labels = y[:, None].to(several).expand(rows, networks)
            errors = functional.binary_cross_entropy_with_logits(several[..., 0], labels, reduction="none")
        else:
            labels = y[:, None].expand(rows, networks)
            errors = functional.cross_entropy(several.flatten(0, 1), labels.flatten(), reduction="none")
            errors = errors.reshape(rows, networks)
        each = errors.mean(1)
        return _processes.mean(each if weights is None else each * weights.to(each))

    def loss_of_values(self, values: np.ndarray, y: np.ndarray) -> float:
        """The loss of values (N, K), as `values` returns them."""
        inner = self.inner(y).numpy()
        if self.kind == "regression":
            return float(np.square(values[:, 0] - inner).mean())
        probabilities = np.clip(self.probabilities(self.natural(values)), _SMALLEST, 1)
        return float(-np.log(probabilities[np.arange(len(inner)), inner]).mean())

    def values(self, outputs: Tensor) -> Tensor:
        """(B, K) as witnesses see them: log-odds in quarters, or numbers in standard deviations."""
        if self.kind == "regression":
            return outputs.mean(1) if outputs.ndim == 3 else outputs
        logits = outputs.mean(1) if outputs.ndim == 3 else outputs
        if len(self.classes) < 3:
            return logits / _QUARTERS
        itself = torch.eye(logits.shape[1], dtype=torch.bool, device=logits.device)
        others = logits[:, None].expand(-1, logits.shape[1], -1).masked_fill(itself, -torch.inf)
        return (logits - others.logsumexp(2)) / _QUARTERS

    @property
    def width(self) -> int:
        """The number of outputs of a network."""
        return len(self.outputs)

    def natural(self, values: Any) -> np.ndarray:
        """The witnesses' values in the units of the data."""
        return np.asarray(values, dtype=np.float64) * self.scale + self.shift

    def probabilities(self, log_odds: np.ndarray) -> np.ndarray:
        """(N, classes) from log-odds (N, K)."""
        p = expit(log_odds)
        if len(self.classes) == 2:
            return np.concatenate([1 - p, p], axis=1)
        return np.asarray(p / p.sum(1, keepdims=True))

    def log_odds(self, probabilities: np.ndarray) -> np.ndarray:
        """(N, K) from (N, classes)."""
        p = probabilities[:, 1:] if len(self.classes) == 2 else probabilities
        return np.asarray(logit(np.clip(p, _SMALLEST, 1 - _SMALLEST)))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {
            "kind": self.kind, "target": self.target, "classes": list(self.classes), "shift": self.shift,
            "scale": self.scale,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TableTask:
        """What `to_dict` gave."""
        task = checked(cls, {**content, "classes": None})
        classes = checked(tuple[str | bool | int | float, ...], content["classes"], "classes")
        if len({*classes}) < len(classes) or bool(classes) != (task.kind == "classification"):
            raise SchemaError("the classes are not those of the task, or one is there twice")
        return replace(task, classes=classes)


def _numbers(y: np.ndarray) -> np.ndarray:
    """(N,) numbers to learn, or to compare predictions with."""
    values = y.astype(np.float64)
    large = ~(np.abs(values) <= LARGEST)
    if large.any():
        raise InputError(
            f"The target must hold finite numbers up to {LARGEST:g}",
            got=f"{values[large][0]:g}",
            cure="correct it, or pass them in another unit",
            parameter="y",
        )
    return values
