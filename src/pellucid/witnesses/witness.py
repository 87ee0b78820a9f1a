"""One fitted witness, to be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Witness(ABC):
    """One fitted witness: print it to read it, call it to predict."""

    center: int
    """The point that its neighborhood belongs to."""
    size: int
    """The number of members that it was fitted on."""
    rmse: float
    """Root mean squared error between witness and predictor over the members and outputs."""
    feature_names: list[str]
    output_names: list[str]
    place: str | None = None
    """What its center is called, where that is not its number."""
    bound: list[float | None] | None = None
    """(K,) what |predictor - witness| does not exceed, with confidence `level`, at a further point of the neighborhood;
    None if that is not known. See `Witnesses.trusted`."""
    level: float = 0.9
    why_not: str | None = None
    """Why there is no bound, where one was asked for."""

    @abstractmethod
    def predict(self, x: Tensor) -> Tensor:
        """Values (L, K) at new points x (L, P)."""

    @abstractmethod
    def text(self, *, digits: int = 4) -> str:
        """The function as a person would write it, with this number of significant digits."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What makes up the function, in plain lists and numbers."""

    def __call__(self, x: Any) -> Tensor:
        points = _checks.table(x, "x")
        if points.shape[1] != len(self.feature_names):
            raise InputError(
                f"The witness reads {len(self.feature_names)} features",
                got=f"{points.shape[1]} columns",
                cure=(
                    "pass the same features that it was fitted on, in the same order, and a single point as `x[None]`"
                ),
            )
        return self.predict(points)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        return {
            "center": self.center,
            "size": self.size,
            "rmse": self.rmse,
            "features": self.feature_names,
            "outputs": self.output_names,
            "bound": self.bound,
            "level": self.level,
            **self.parameters(),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.text()}\n{self.trust()}"

    def trust(self) -> str:
        """How well it follows the predictor, and how far it can be trusted nearby, in indented lines."""
        members = "1 member" if self.size == 1 else f"{self.size} members"
        place = f"point {self.center}" if self.place is None else self.place
        text = f"  around {place}: {members}, rmse {self.rmse:.3g} from the predictor where fitted"
        if self.bound is None:
            return text if self.why_not is None else f"{text}\n  {self.why_not}"
        named = list(zip(self.bound, self.output_names, strict=True))
        rest = ", ".join(name for value, name in named if value is None)
        values = ", ".join(
            f"{value:.3g}" + (f" ({name})" if rest else "") for value, name in named if value is not None
        )
        text += f"\n  with {100 * self.level:.4g} % confidence within {values} of it at a further point nearby"
        return f"{text}; not known for {rest}" if rest else text
