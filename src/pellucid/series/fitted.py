"""What a fit of a forecaster produces, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from pellucid.models import Fitted
from pellucid.series.network import Network
from pellucid.series.scaling import Scaling
from pellucid.storage import TEXTS, WHOLE, Entries, Entry, by_name, stored
from pellucid.trust import Calibration


class Choices(NamedTuple):
    """Settings that are chosen by the data where the user leaves them open."""

    order: int
    radius: int
    ridge: float
    linear: int

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Choices:
        """The choices that `_asdict` was called on."""
        return cls(*(content[name] for name in cls._fields))


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedForecaster(Fitted):
    """What a fit of a `Forecaster` produced; see its attributes."""

    network: Network
    channels: tuple[str, ...] = stored(TEXTS)
    scaling: Scaling = stored(
        Entries(Scaling.to_dict, lambda content: Scaling.from_dict(content, len(content["channels"])))
    )
    choices: Choices = stored(Entry(Choices._asdict, Choices.from_dict, key="chosen"))
    kept: int = stored(WHOLE)
    calibrations: dict[str, Calibration] = stored(by_name(Calibration))

    @classmethod
    def upgraded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Models of earlier versions have the network of the paper, and made no choices; the first, no calibrations."""
        settings = {"linear": 0, **content["settings"]}
        return {
            "chosen": settings,
            "kept": len(content["history"]),
            "calibrations": {},
            **content,
            "settings": settings,
        }
