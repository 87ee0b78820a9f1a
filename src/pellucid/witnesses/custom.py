"""Witnesses from anybody's fitting routine, and the best of several families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.deviations import Deviation, squared_error
from pellucid.errors import InputError
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.folds import FOLDS
from pellucid.witnesses.witness import Witness

Predict: TypeAlias = Callable[[Any], Any]
Fit: TypeAlias = Callable[[Any, Any], Predict]


def fit_each(fit: Fit, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> Witnesses:
    """Fit a function on each neighborhood in turn.

    `fit(x_i, f_i)` gets the members' features (m, P) and predictions (m, K) as NumPy arrays, which is what
    scikit-learn takes, and returns a function that predicts (L, K) or, for one output, (L,) at new features
    (L, P). Whatever has a `__str__` of its own prints as that.
    """
    x, f = check_points(x, f, hoods)
    features, values = _array(x), _array(f)
    functions = []
    for members in hoods.members.cpu().split(hoods.sizes.tolist()):
        rows = members.numpy()
        function = fit(features[rows], values[rows])
        if not callable(function):
            raise InputError(
                "`fit` must return a function that predicts",
                got=f"{type(function).__name__}",
                cure="return its method, as in `model.fit(x, f).predict`",
                parameter="fit",
            )
        functions.append(function)
    return FunctionWitnesses(x=x, f=f.detach(), hoods=hoods, functions=functions, family=_FunctionFamily(fit))


@final
@dataclass(frozen=True)
class _FunctionFamily(WitnessFamily):
    """What `fit_each` fits, to be fitted again without some members."""

    fit: Fit

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> Witnesses:
        return fit_each(self.fit, x, f, hoods)


def _array(values: Tensor) -> np.ndarray:
    values = values.detach().cpu()
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy()  # NumPy has no bfloat16


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionWitnesses(Witnesses):
    """Witnesses that are arbitrary Python functions."""

    functions: list[Predict] = field(repr=False)

    @property
    def parameters(self) -> list[Predict]:
        """The functions themselves."""
        return self.functions

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        which, x = self._asked(which, x)
        result = torch.empty(len(which), self.f.shape[1], dtype=torch.float64, device=self.f.device)
        order = torch.argsort(which, stable=True)
        values, counts = torch.unique_consecutive(which[order], return_counts=True)
        for i, rows in zip(values.tolist(), order.split(counts.tolist()), strict=True):
            result[rows] = _call(self.functions[i], x[rows], self.f.shape[1]).to(result)
        return result

    def witness(self, i: int, **common: Any) -> FunctionWitness:
        return FunctionWitness(function=self.functions[i], **common)


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FunctionWitness(Witness):
    """One arbitrary function."""

    function: Predict

    def predict(self, x: Tensor) -> Tensor:
        return _call(self.function, x, len(self.output_names))

    def text(self, *, digits: int = 4) -> str:
        # A bound method (scikit-learn's `predict`) speaks through the object that it belongs to.
        return f"{', '.join(self.output_names)} = {getattr(self.function, '__self__', self.function)}"

    def parameters(self) -> dict[str, Any]:
        return {"kind": "function", "function": str(getattr(self.function, "__self__", self.function))}


def _call(function: Predict, x: Tensor, outputs: int) -> Tensor:
    values = _checks.tensor(function(_array(x)), "the witness's prediction").detach().double()
    if values.ndim == 1 and outputs == 1:
        values = values[:, None]
    if values.shape != (len(x), outputs):
        raise InputError(
            f"A witness must predict one row per point and one column per output, {(len(x), outputs)}",
            got=f"{tuple(values.shape)} from {function!r}",
        )
    _checks.finite(values, "the witness's prediction")
    return values


@final
class BestOf(WitnessFamily):
    """Several families, and for each neighborhood the witness that deviates least (the first, if equal).

    The union of the families is a family itself, so every game can be played with it. With `by="members"` deviations
    are those at the members that witnesses are fitted to, which favors whatever can follow them; with `by="held_out"`
    those at members that they were not fitted to, which favors what holds at the next point.

    Held-out values are those of families that were fitted without the member. With `by="members"` the choice is made
    again without it, too. With `by="held_out"` they are those of the witness that was chosen: the choice has seen all
    members, so that the smallest of several held-out deviations is a little too small.

    Parameters
    ----------
    families : WitnessFamily or sequence of WitnessFamily
        The families to choose from.
    deviation : Deviation
        The measure of the choice; pass the deviation of the game.
    by : {"members", "held_out"}
        The deviations that choose.
    folds : int
        The number of folds by which held-out deviations choose, for families that have to be fitted again; see
        `WitnessFamily.held_out_values`.
    """

    def __init__(
        self,
        *families: WitnessFamily | Sequence[WitnessFamily],
        deviation: Deviation = squared_error,
        by: Literal["members", "held_out"] = "members",
        folds: int = FOLDS,
    ) -> None:
        self.families = _checks.flat(families, WitnessFamily, "BestOf", "witness families")  # type: ignore[type-abstract]
        if by not in ("members", "held_out"):
            raise InputError(
                '`by` of BestOf must be "members" or "held_out"',
                got=f"{by!r}",
                cure='"held_out" chooses what holds at the next point',
                parameter="by",
            )
        self.deviation, self.by, self.folds = deviation, by, _checks.whole(folds, 2, "folds")

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> ChosenWitnesses:
        candidates = [family.best_response(x, f, hoods) for family in self.families]
        first = candidates[0]
        if self.by == "members":
            deviations = torch.stack([candidate.deviations(self.deviation) for candidate in candidates])
            choice, held_out = deviations.argmin(0), None
        else:
            left_out = [candidate.held_out(folds=self.folds) for candidate in candidates]
            choice = torch.stack([answers.deviations(self.deviation) for answers in left_out]).argmin(0)
            held_out = _of_choice([answers.values for answers in left_out], choice[hoods.rows])
        return ChosenWitnesses(
            x=first.x,
            f=first.f,
            hoods=hoods,
            candidates=candidates,
            choice=choice,
            held_out_choice=held_out,
            folds=self.folds,
            family=self,
        )

    def held_out_values(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods, *, folds: int = FOLDS) -> Tensor:
        if self.by == "members":
            return super().held_out_values(x, f, hoods, folds=folds)
        return self.best_response(x, f, hoods).held_out_values(folds=folds)

    def warn_of(self, hoods: BaseNeighborhoods, n_features: int) -> None:
        for family in self.families:
            family.warn_of(hoods, n_features)

    def effective_size(self, n_features: int) -> int:
        # Each family can follow only predictors in sets of measure 0 from its own size on, and so can their union.
        return max(family.effective_size(n_features) for family in self.families)

    def __repr__(self) -> str:
        name = getattr(self.deviation, "__name__", self.deviation)
        chosen = "" if self.by == "members" else f", by={self.by!r}, folds={self.folds}"
        return f"BestOf({', '.join(map(repr, self.families))}, deviation={name}{chosen})"


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenWitnesses(Witnesses):
    """For each neighborhood one of several fitted witnesses."""

    candidates: list[Witnesses] = field(repr=False)
    choice: Tensor = field(repr=False)
    """(n,) which candidate each neighborhood chose."""
    held_out_choice: Tensor | None = field(default=None, repr=False)
    """(M, K) held-out values of the chosen ones, where these chose."""
    folds: int = field(default=FOLDS, repr=False)
    """The number of folds that these come from."""

    @property
    def parameters(self) -> list[Any]:
        """The parameters of each candidate; `choice` tells which apply."""
        return [candidate.parameters for candidate in self.candidates]

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        which, x = self._asked(which, x)
        result = torch.empty(len(which), self.f.shape[1], dtype=torch.float64, device=self.f.device)
        for k, candidate in enumerate(self.candidates):
            rows = self.choice[which] == k
            if rows.any():
                result[rows] = candidate.evaluate(which[rows], x[rows]).double()
        return result

    def held_out_values(self, *, folds: int = FOLDS) -> Tensor:
        if self.held_out_choice is None:
            return super().held_out_values(folds=folds)
        if folds == self.folds:
            return self.held_out_choice
        values = [candidate.held_out_values(folds=folds) for candidate in self.candidates]
        return _of_choice(values, self.choice[self.hoods.rows])

    def saturated(self, which: Tensor | None = None) -> Tensor:
        choice = self.choice if which is None else self.choice[which]
        every = torch.stack([candidate.saturated(which) for candidate in self.candidates])
        return every.gather(0, choice[None])[0]

    def witness(self, i: int, **common: Any) -> Witness:
        return self.candidates[int(self.choice[i])].witness(i, **common)


def _of_choice(values: Sequence[Tensor], choice: Tensor) -> Tensor:
    """(M, K) of several tables of values in each row that of the choice (M,)."""
    return torch.stack(list(values))[choice, torch.arange(len(choice), device=choice.device)]
