"""What a fit of a forecaster produces, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, final

from pellucid.models import Fitted
from pellucid.schemas import Between, SchemaError, checked
from pellucid.series.network import Network
from pellucid.series.scaling import Scaling
from pellucid.storage import TEXTS, WHOLE, Entries, Entry, by_name, stored
from pellucid.trust import Calibration


class ChosenSettings(NamedTuple):
    """Settings that are chosen by the data where the user leaves them open."""

    order: Annotated[int, Between(1, 2**20)]
    radius: Annotated[int, Between(1, 2**31)]
    ridge: Annotated[float, Between(0)]
    linear: Annotated[int, Between(0, 2**20)]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ChosenSettings:
        """The choices that `_asdict` was called on."""
        return checked(cls, content)


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedForecaster(Fitted):
    """What a fit of a `Forecaster` produced; see its attributes."""

    network: Network
    channels: tuple[str, ...] = stored(TEXTS)
    scaling: Scaling = stored(
        Entries(Scaling.to_dict, lambda content: Scaling.from_dict(content, len(content["channels"])))
    )
    choices: ChosenSettings = stored(Entry(ChosenSettings._asdict, ChosenSettings.from_dict, key="chosen"))
    kept: int = stored(WHOLE)
    calibrations: dict[str, Calibration] = stored(by_name(Calibration))

    @classmethod
    def check(cls, record: Mapping[str, Any], model: Any) -> None:
        """Channels in all parts, and no more lags than there is context."""
        channels, choices = len(record["channels"]), record["choices"]
        if not channels or max(choices.order, choices.linear) > model.context:
            raise SchemaError(f"there are no channels, or the context of {model.context} is shorter than the lags")
        for name, calibration in record["calibrations"].items():
            calibration.require_outputs(channels, f"the calibration {name!r}")

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
