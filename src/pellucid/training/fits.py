"""One training, prepared: what the loop asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from torch import Tensor, nn

from pellucid.training.batches import Batches

Result = TypeVar("Result")
History: TypeAlias = list[dict[str, float]]
"""One record of losses per epoch."""
Stepper: TypeAlias = Callable[[Any], Any]
"""From the network's optimiser to one whose `step` takes a function that computes the loss, such as `MirrorProx`."""


class Fit(ABC, Generic[Result]):
    """An untrained network with the data that it will see, and what a batch costs.

    Attributes
    ----------
    network : Module
        Trained in place.
    batches : Batches
        What is learned from.
    validation : Batches, optional
        What is held out. Without it the last epoch is kept; with it the best one, and training stops early.
    companion : Module, optional
        What else changes during training, and must survive an interruption: multipliers, a bank.
    stepper : Stepper, optional
        Steps with an optimiser made around Adam, for games that are not plain descent.
    weight_decay : float
        By how much weights shrink in a step, as a multiple of the learning rate.
    is_divisible : bool
        Whether a batch can be divided among processes: `batches` and `validation` then take parts of their indices,
        and `loss` gives means over the parts of all processes; both by `pellucid._processes`.
    """

    is_divisible: ClassVar[bool] = False

    network: nn.Module
    batches: Batches
    validation: Batches | None = None
    companion: nn.Module | None = None
    stepper: Stepper | None = None
    weight_decay: float = 0.0

    @abstractmethod
    def loss(self, batch: Any) -> Mapping[str, Tensor]:
        """Named numbers: "loss" is minimised, the others are only recorded."""

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """What a resumed run must share with the interrupted one besides its settings, ready for JSON.

        The key "data" is a fingerprint of the data.
        """

    @abstractmethod
    def result(self, history: History) -> Result:
        """What the fit gives, once the network is trained."""
