"""The contract of witnesses: a family responds to the predictor with one fitted witness per neighborhood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.deviations import Deviation, measure, squared_error
from pellucid.errors import InputError
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.folds import FOLDS, values_by_folds
from pellucid.witnesses.witness import Witness


class Bounds(Protocol):
    """What is known of how far witnesses can be trusted; see `pellucid.Calibration`."""

    def bound(self, deviations: Any, level: float = ..., sizes: Any = ...) -> np.ndarray:
        """(..., K) bounds for neighborhoods with these mean distances, of these sizes; infinity where none is known."""

    def why_not(self, level: float, *, size: int, saturated: bool) -> str:
        """Why there is no bound for a witness of `size` members, in one sentence."""


class WitnessFamily(ABC):
    """A set of simple functions that witnesses are chosen from.

    A family holds settings only. Its one duty is the best response: for every neighborhood the member of
    the family that is closest to the predictor there. Nothing needs to be differentiable. A family of your
    own takes any fitting routine, and may say from which size on a neighborhood holds it to account,
    `effective_size`:

    Examples
    --------
    >>> import pellucid as pl
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> class NeighborFamily(pl.WitnessFamily):
    ...     def best_response(self, x, f, hoods):
    ...         def fit(x, f):
    ...             return KNeighborsRegressor(n_neighbors=1).fit(x, f).predict
    ...         return pl.fit_each(fit, x, f, hoods)
    """

    @abstractmethod
    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> Witnesses:
        """Fit a witness on every neighborhood.

        Parameters
        ----------
        x : Tensor
            (N, P) features that the witnesses read.
        f : Tensor
            (N, K) predictions to be witnessed, a constant: no gradient flows through a best response.
        hoods : BaseNeighborhoods
            The n neighborhoods over the N points.
        """

    def held_out_values(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods, *, folds: int = FOLDS) -> Tensor:
        """(M, K) at each member j of each neighborhood i the value g^_i-j(x_j) of a witness fitted without j.

        By default the members of a neighborhood are divided into folds, each of which is left out in turn, and the
        family is fitted again. The division is fixed: position in the neighborhood modulo `folds`. Families that know
        the values without another fit return them exactly, each member left out alone; they need no folds. A member
        without others keeps its own prediction.

        Parameters
        ----------
        x : Tensor
            (N, P) features that the witnesses read.
        f : Tensor
            (N, K) predictions to be witnessed, a constant.
        hoods : BaseNeighborhoods
            The n neighborhoods over the N points, with M members in all.
        folds : int
            The number of folds, at least 2.
        """
        x, f = check_points(x, f, hoods)
        return values_by_folds(self.best_response, x, f, hoods, folds=folds)

    def warn_of(self, hoods: BaseNeighborhoods, n_features: int) -> None:  # noqa: B027 - most have nothing to say
        """Warn of neighborhoods that are too small for the family, as `best_response` does; by default of none.

        Parameters
        ----------
        hoods : BaseNeighborhoods
            The neighborhoods.
        n_features : int
            The number of features P that witnesses read.
        """

    @property
    def is_linear(self) -> bool:
        """Whether the witnesses' values are linear in f, for given features and neighborhoods: sums and multiples of
        predictions get sums and multiples of witnesses.

        Then they are a fixed map of the predictions, which a `Bank` computes once, and equilibria are exact. A family
        of your own says so where it is; by default it is not.
        """
        return False

    def effective_size(self, n_features: int) -> int:
        """The smallest effective neighborhood size: with fewer members a witness can follow any predictor.

        A size m is effective if not every predictor can be followed exactly on m points: 2 for constants, d + 1 for
        linear functions of d columns (the intercept counts as one), 2^k + 1 for trees of depth k, the largest of all
        for the best of several families. This speaks of the family, for points in general position that the features
        separate: a ridge or the greedy growth of trees may hold a witness back on fewer points already. And it speaks
        of witnesses at the members that they were fitted to: held out, two members are enough (docs/held_out.md).

        A family of your own says what its size is; by default it is not known, which is an `InputError`.

        Parameters
        ----------
        n_features : int
            The number of features P that witnesses read.

        Examples
        --------
        >>> import pellucid as pl
        >>> pl.LinearFamily().effective_size(8), pl.TreeFamily(depth=3).effective_size(2048)
        (10, 9)
        """
        raise InputError(
            "A family must say what its effective size is",
            got=f"{self!r}, which does not",
            cure="define its method `effective_size(n_features)`",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Witnesses(ABC):
    """The fitted witnesses of all neighborhoods, and the predictions that they respond to.

    Indexing gives one readable `Witness`. All values are constants: no gradient flows through them.
    """

    x: Tensor = field(repr=False)
    """(N, P) features."""
    f: Tensor = field(repr=False)
    """(N, K) predictions that the witnesses respond to."""
    hoods: BaseNeighborhoods
    feature_names: list[str] | None = None
    output_names: list[str] | None = None
    calibration: Bounds | None = None
    level: float = 0.9
    family: WitnessFamily | None = field(default=None, repr=False)
    """The family that they were chosen from, which fits them again without a member; see `held_out_values`."""

    @property
    @abstractmethod
    def parameters(self) -> Any:
        """The fitted numbers of all witnesses."""

    @abstractmethod
    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        """Value (L, K) of witness which[l] at x[l], for which (L,) and x (L, P).

        Start with `which, x = self._asked(which, x)`, which refuses witnesses and features that there are not.
        """

    def _asked(self, which: Any, x: Any) -> tuple[Tensor, Tensor]:
        """Witnesses (L,) and points (L, P) to evaluate them at, checked against each other."""
        which, x = _checks.indices(which, "which").to(self.f.device), _checks.tensor(x, "x").to(self.f.device)
        _checks.in_range(which, len(self), "witness", "neighborhoods")
        if x.shape != (len(which), self.x.shape[1]):
            raise InputError(
                f"`x` must hold one point with {self.x.shape[1]} features for each of {len(which)} witnesses",
                got=f"shape {tuple(x.shape)}",
                cure="pass the features that they were fitted on, in the same order",
                parameter="x",
            )
        return which, x

    @abstractmethod
    def witness(self, i: int, **common: Any) -> Witness:
        """Witness i alone; `common` are the fields that every `Witness` has."""

    def at_centers(self) -> Tensor:
        """(n, K) the value of each witness at the center of its own neighborhood."""
        which = torch.arange(len(self), device=self.f.device)
        return self.evaluate(which, self.x[self.hoods.centers]).to(self.f)

    def at_members(self) -> Tensor:
        """(M, K) the value of each witness at each of its members, in the order of `hoods.members`."""
        return self.evaluate(self.hoods.rows, self.x[self.hoods.members]).to(self.f)

    def held_out_values(self, *, folds: int = FOLDS) -> Tensor:
        """(M, K) at each member the value of the witness fitted without it; see `WitnessFamily.held_out_values`."""
        if self.family is None:
            raise InputError(
                "Witnesses must know their family to be fitted again without a member",
                got=f"{type(self).__name__} without one",
                cure="set their field `family` in `best_response`, or call `family.held_out_values(x, f, hoods)`",
                parameter="family",
            )
        return self.family.held_out_values(self.x, self.f, self.hoods, folds=folds)

    def held_out(self, *, folds: int = FOLDS) -> HeldOutWitnesses:
        """The same witnesses at members that they were not fitted to."""
        return HeldOutWitnesses(witnesses=self, values=self.held_out_values(folds=folds))

    def consensus(self) -> Tensor:
        """(N, K) what the witnesses that cover a point say of it on average, weighted by 1/m_i:

            c_j = [sum_i S_ij g_i(x_j) / m_i] / N-bar_j,   N-bar = S'(1/m);

        where no neighborhood covers a point, its own prediction.
        """
        return _consensus(self.pull(), self.f, self.hoods)

    def pull(self) -> Tensor:
        """(N, K) the numerator of the consensus: sum_i S_ij g_i(x_j) / m_i, in float64."""
        return _pull(self.at_members(), self.hoods)

    def deviations(self, deviation: Deviation = squared_error, f: Tensor | None = None) -> Tensor:
        """(n,) D_i = 1/m_i sum_j S_ij d(f_j, g_i(x_j)), where the witnesses were fitted; differentiable in f.

        Parameters
        ----------
        deviation : Deviation
            The measure d.
        f : Tensor, optional
            (N, K) predictions; by default, and without gradients, those that the witnesses respond to.
        """
        return _deviations(self.at_members(), deviation, self.f if f is None else f, self.hoods)

    def saturated(self, which: Tensor | None = None) -> Tensor:
        """(n,) whether the members of a neighborhood leave its witness no freedom to be wrong: it goes through any
        values that they have, or nearly so, and following them says nothing of a further point.

        Parameters
        ----------
        which : Tensor, optional
            (L,) the neighborhoods that are asked about; by default all n.
        """
        return torch.zeros(len(self) if which is None else len(which), dtype=torch.bool, device=self.hoods.device)

    def named(self, features: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> Self:
        """The same witnesses with names to print: one for each feature and each output."""
        return replace(
            self,
            feature_names=_checks.names(features, self._feature_names(), "features"),
            output_names=_checks.names(outputs, self._output_names(), "outputs"),
        )

    def trusted(self, calibration: Bounds, level: float = 0.9) -> Self:
        """The same witnesses, each with a bound of this confidence, from what `pellucid.calibrate` found."""
        return replace(self, calibration=calibration, level=level)

    def __len__(self) -> int:
        return len(self.hoods)

    def __getitem__(self, i: int) -> Witness:
        i = range(len(self))[i]
        members = self.hoods.members_of(i)
        values = self.evaluate(torch.full_like(members, i), self.x[members]).double()
        bound, why_not = None, None
        if self.calibration is not None:
            saturated = bool(self.saturated(torch.tensor([i], device=self.hoods.device))[0])
            deviations = (values - self.f[members].double()).abs().mean(0).cpu().numpy()
            bounds = self.calibration.bound(deviations, self.level, len(members))
            if len(members) >= 3 and not saturated and np.isfinite(bounds).any():
                bound = [float(value) if np.isfinite(value) else None for value in bounds]
            else:
                why_not = self.calibration.why_not(self.level, size=len(members), saturated=saturated)
        return self.witness(
            i,
            center=int(self.hoods.centers[i]),
            size=len(members),
            rmse=float((values - self.f[members].double()).square().mean().sqrt()),
            feature_names=self._feature_names(),
            output_names=self._output_names(),
            bound=bound,
            level=self.level,
            why_not=why_not,
        )

    def __iter__(self) -> Iterator[Witness]:
        return (self[i] for i in range(len(self)))

    def _feature_names(self) -> list[str]:
        return self.feature_names or [f"x{a}" for a in range(self.x.shape[1])]

    def _output_names(self) -> list[str]:
        count = self.f.shape[1]
        return self.output_names or (["f"] if count == 1 else [f"f{k}" for k in range(count)])


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutWitnesses:
    """Witnesses at members that they were not fitted to: at member j of neighborhood i stands g_i-j, fitted without it.

    Games ask it what they ask `Witnesses`.
    """

    witnesses: Witnesses
    values: Tensor = field(repr=False)
    """(M, K) g_i-j(x_j), in the order of `hoods.members`."""

    def at_members(self) -> Tensor:
        """(M, K) at each member the value of the witness fitted without it."""
        return self.values

    def at_centers(self) -> Tensor:
        """(n, K) at each center the value of the witness fitted without it; a center need not be a member."""
        values, hoods = self.witnesses.at_centers().clone(), self.witnesses.hoods
        entries = (hoods.members == hoods.centers[hoods.rows]).nonzero().flatten()
        values[hoods.rows[entries]] = self.values[entries]
        return values

    def consensus(self) -> Tensor:
        """(N, K) what witnesses that were not fitted to a point say of it on average; see `Witnesses.consensus`."""
        hoods = self.witnesses.hoods
        return _consensus(_pull(self.values, hoods), self.witnesses.f, hoods)

    def deviations(self, deviation: Deviation = squared_error, f: Tensor | None = None) -> Tensor:
        """(n,) D_i = 1/m_i sum_j S_ij d(f_j, g_i-j(x_j)), differentiable in f.

        Parameters
        ----------
        deviation : Deviation
            The measure d.
        f : Tensor, optional
            (N, K) predictions; by default, and without gradients, those that the witnesses respond to.
        """
        return _deviations(self.values, deviation, self.witnesses.f if f is None else f, self.witnesses.hoods)


def _pull(values: Tensor, hoods: BaseNeighborhoods) -> Tensor:
    """(N, K) the values (M, K) at members, summed over the neighborhoods of each point with the weights 1/m_i."""
    return hoods.spread_members(values.double() / hoods.sizes[hoods.rows, None])


def _consensus(pull: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> Tensor:
    coverage = hoods.coverage[:, None]
    return torch.where(coverage > 0, pull / coverage, f.double()).to(f)


def _deviations(values: Tensor, deviation: Deviation, f: Tensor, hoods: BaseNeighborhoods) -> Tensor:
    """(n,) mean over the members of d(f_j, values_j)."""
    distances = measure(deviation, f.index_select(0, hoods.members), values)
    return hoods.sum_members(distances) / hoods.sizes
