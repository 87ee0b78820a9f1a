"""What all models share: settings that never change, and one record of what the latest fit gave.

A model of your own derives from `Model` and has three parts: a record (`Fitted`) whose fields say how they are saved;
a `Fit`, with the loss of a batch; and the methods `fit`, `new_network` and `calibrated` below. Saving, loading,
checkpoints, resuming and the order in which things are replaced are written here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, final, overload

import torch
from torch import nn

from pellucid import storage
from pellucid.errors import InputError
from pellucid.schemas import Measured, checked
from pellucid.storage import Saved, StoredRecord, as_saved, plain, stored
from pellucid.training.fits import Fit, History
from pellucid.training.hardware import Hardware
from pellucid.training.settings import TrainingSettings

T = TypeVar("T")
NetworkT = TypeVar("NetworkT", bound=nn.Module)


class NotFittedError(InputError, AttributeError):
    """A model that has not been trained is asked for what only a fit gives."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Fitted(StoredRecord):
    """What a fit gave. Models replace it as a whole, and never change it.

    Attributes
    ----------
    network : Module
        The trained predictor.
    history : list of dict of str to float
        One record of losses per epoch.
    """

    network: nn.Module
    history: History = stored(plain(list[dict[str, int | Measured]]))

    @classmethod
    def check(cls, record: Mapping[str, Any], model: Any) -> None:
        """Refuse fields, by name, that do not belong together, or not to the untrained model that has the settings."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epochs={len(self.history)})"


FittedT = TypeVar("FittedT", bound=Fitted)


@final
class FittedAttribute(Generic[T]):
    """An attribute of a model that reads from its record: `targets_ = FittedAttribute[tuple[str, ...]]()`.

    Parameters
    ----------
    path : str, optional
        Name of the field of the record; by default that of the attribute without its last underscore.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self.get = attrgetter(self.path or name.removesuffix("_"))

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...

    @overload
    def __get__(self, model: Model[Any], owner: type) -> T: ...

    def __get__(self, model: Model[Any] | None, owner: type) -> Self | T:
        return self if model is None else self.get(model.fitted_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Model(TrainingSettings, ABC, Generic[FittedT]):
    """Settings, and what the latest fit gave.

    A fit that is refused, fails or is interrupted leaves the record of the fit before; a second fit forgets the first.

    Attributes
    ----------
    fitted_ : Fitted
        The result of the latest fit. `dataclasses.replace(model.fitted_, ...)` makes another record, and
        `model.with_fitted(record)` a model that has it.
    history_ : list of dict of str to float
        One record of losses per epoch.
    """

    file: ClassVar[str]
    """The JSON file of a saved model, without its ending."""
    record_type: ClassVar[type[Fitted]]
    """The record that a fit gives."""

    _fitted: FittedT | None = field(default=None, init=False, repr=False)

    history_ = FittedAttribute[History]()

    # -- what a model says itself --------------------------------------------------------------------------------

    @abstractmethod
    def fit(self, *data: Any, **options: Any) -> Self:
        """Learn from data: prepare a `Fit`, and return `self._train(...)`."""

    @abstractmethod
    def new_network(self, *arguments: Any, **record: Any) -> nn.Module:
        """An untrained network, given the fields of the record by name; `load` fills in the weights."""

    @abstractmethod
    def calibrated(self, data: Any, *, progress: bool = False) -> FittedT:
        """The record, with what data that the fit did not see say of how far witnesses can be trusted."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The untrained model whose `settings` gave these."""
        return cls(**settings)

    # -- what all models do alike --------------------------------------------------------------------------------

    @property
    def fitted_(self) -> FittedT:
        """The result of the latest fit."""
        if self._fitted is None:
            raise NotFittedError(
                f"The {type(self).__name__} must be trained first",
                got="an untrained one",
                cure="call `fit`, or `load` one",
            )
        return self._fitted

    def with_fitted(self, record: FittedT) -> Self:
        """A fitted model with these settings and this record."""
        return copy(self)._keep(record)

    def _keep(self, record: FittedT) -> Self:
        # The only thing about a model that ever changes.
        object.__setattr__(self, "_fitted", record)
        return self

    def _train(
        self,
        fit: Fit[FittedT],
        held_out: Any,
        *,
        folder: str | Path | None,
        resume: bool,
        progress: bool,
        device: str = "auto",
        hardware: Hardware | None = None,
    ) -> Self:
        """Train, calibrate on what was held out, unless that is None, and only then forget the fit before.

        `hardware` says more than `device`: in how many processes; see `pellucid.training.Hardware`.
        """
        from pellucid.training import loop

        hardware = hardware or Hardware(device=device)
        record = loop.train(fit, self, folder=folder, resume=resume, progress=progress, hardware=hardware)
        if held_out is not None:
            record = self.with_fitted(record).calibrated(held_out, progress=progress)
        return self._keep(record)

    def calibrate(self, data: Any, *, progress: bool = False) -> Self:
        """Learn from data that the fit did not see how far witnesses can be trusted; see `pellucid.calibrate`.

        `fit` does so by itself with the data that it holds out.

        Parameters
        ----------
        data : object
            The data as in `fit`, without measured values.
        progress : bool
            Show progress bars.
        """
        return self._keep(self.calibrated(data, progress=progress))

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder of plain files: JSON, and the network's weights as safetensors."""
        saved = Saved(content={"settings": self.settings()}, tensors={"network": self.fitted_.network.state_dict()})
        self.fitted_.write(saved)
        storage.save(Path(folder), self.file, saved)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote. Nothing in the folder can run code."""
        return cls._load(Path(folder))

    @classmethod
    def _load(cls, folder: Path, make: Callable[[Self, Mapping[str, Any]], nn.Module] | None = None) -> Self:
        """Read what `save` wrote, the weights into the network that is made for this model and record, or a new one."""
        record_type = cls.record_type
        tensors = ["network", *record_type.tensor_files()]
        saved = storage.load(folder, cls.file, tensors=tensors, texts=record_type.text_files())
        with as_saved(folder):
            saved = replace(saved, content=cls.record_type.upgraded(saved.content))
            model = cls.from_settings(checked(dict[str, Any], saved.content["settings"], "settings"))
            record = cls.record_type.read(saved)
            cls.record_type.check(record, model)
        if make is not None:
            network = make(model, record)
        else:
            with torch.device("meta"):  # without memory, until it is clear that the weights are those of this network
                blank = model.new_network(**record)
            with as_saved(folder):
                blank.load_state_dict(saved.tensors["network"], assign=True)
            network = model.new_network(**record)
        with as_saved(folder):
            network.load_state_dict(saved.tensors["network"])
            return model._keep(cls.record_type(network=network.eval(), **record))  # type: ignore[arg-type]


def new_with_seed(seed: int, make: Callable[[], NetworkT]) -> NetworkT:
    """What `make` returns, with random numbers from this seed; those of the caller go on as before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def unsaved_network(cure: str) -> InputError:
    """The error for a model whose predictor was the user's."""
    return InputError(
        "This model was trained with a network of your own, which is code and was not saved", got="none", cure=cure
    )
