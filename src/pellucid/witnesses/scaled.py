"""Linear witnesses of features in different units."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, final

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import quietly
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import WitnessFamily
from pellucid.witnesses.folds import FOLDS
from pellucid.witnesses.linear import LinearFamily, LinearWitnesses


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ScaledLinearFamily(WitnessFamily):
    """Linear witnesses that are fitted in standardized features and read in the features' own units.

    Without a ridge this is `LinearFamily`, only more exact where units are far apart; a ridge treats all features
    alike.
    """

    step: np.ndarray = field(repr=False)
    """(P,) what counts as one step of each feature, such as its standard deviation."""
    ridge: float | Literal["auto"] = 0.0

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> LinearWitnesses:
        step = torch.from_numpy(self.step)
        # Nothing is subtracted, as the intercept is free: what is rounding is told by the size of the numbers.
        with quietly():  # whoever scales features speaks of few members in words of its own
            fitted = LinearFamily(ridge=self.ridge).best_response(x.double() / step, f, hoods)
        theta = torch.cat([fitted.intercepts[:, None], fitted.coefficients / step[:, None]], dim=1)
        penalty = step.square() * (0.0 if self.ridge == "auto" else self.ridge)
        return replace(fitted, x=x, theta=theta, penalty=penalty, family=self)

    def held_out_values(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods, *, folds: int = FOLDS) -> Tensor:
        if self.ridge == "auto":
            scaled = x.double() / torch.from_numpy(self.step)
            return LinearFamily(ridge="auto").held_out_values(scaled, f, hoods, folds=folds)
        return self.best_response(x, f, hoods).held_out_values(folds=folds)

    @property
    def is_linear(self) -> bool:
        return self.ridge != "auto"

    def effective_size(self, n_features: int) -> int:
        return LinearFamily(ridge=self.ridge).effective_size(n_features)
