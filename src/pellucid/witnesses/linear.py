"""Linear witnesses: constant, linear, ridge, and autoregressive by way of lagged features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid._threads import run_chunks
from pellucid.deviations import Deviation, squared_error
from pellucid.errors import InputError, warn_once
from pellucid.neighborhoods import BaseNeighborhoods, Windows
from pellucid.witnesses._arrays import numbers, rounding_unit
from pellucid.witnesses._buffer import held_out_apart
from pellucid.witnesses._freedom import freedom_left
from pellucid.witnesses._leverage import free_shares, held_out_from_fit
from pellucid.witnesses._ridge import RIDGES, fit_ridge
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.folds import FOLDS
from pellucid.witnesses.text import law_text
from pellucid.witnesses.witness import Witness

# Beyond so many features the normal equations of a neighborhood no longer fit the cache; LAPACK takes over.
_MANY_FEATURES = 64
# Numbers that one batch of LAPACK problems may hold: 32 MB.
_BATCH = 2**22


@final
@dataclass(frozen=True, kw_only=True)
class LinearFamily(WitnessFamily):
    """g(x) = theta' x + theta_0, fitted by least squares with an optional ridge:

        min_theta  sum_j S_ij |f_j - theta' x_j - theta_0|^2 + ridge |theta|^2.

    With ridge 0 it is the minimum-norm solution, also where a neighborhood is degenerate. The intercept
    theta_0 is never penalised.

    Without a ridge, nothing is read into rounding. A column of a neighborhood of m members counts as constant (its
    coefficient is 0) if what varies of it is no longer than

        tau |x_a|,     tau = sqrt(P) (max(m, P) 2^-52 + 8 u),

    and as dependent on other columns (theta is the shortest solution) if what these leave of it is no longer than that.
    Here |x_a| is the Euclidean length of the column before its mean is taken away, and u the rounding unit of the type
    that the features came in: 2^-53 for float64, 2^-24 for float32, 0 for whole numbers. So 0.3 and 0.1 + 0.2 are the
    same number, in whatever unit, and time stamps that differ by a second are not. Where digits beyond the seventh mean
    nothing, as in text with six decimals, pass `x.float()`, or use a ridge, which takes features at their word.

    With `ridge="auto"` every neighborhood has the ridge whose leave-one-out errors have the smallest sum of squares, of
    0.001, 0.003, 0.01, ..., 30, 100 times the mean over its members of |x_j - mean|^2, so that the unit of the features
    does not matter.

    A `PellucidWarning` says how many neighborhoods have fewer members than 2 P: there a ridge, or fewer columns, or
    larger neighborhoods make a law that holds beyond its members.

    Held-out values are exact, each member left out alone, and cost no further fit. With `ridge="auto"` a member is left
    out of the choice, too, which is then made by the errors at pairs of members that are left out.

    Where members are positions of a series, those beside each other share values. With a `buffer` of b, a member that
    is held out takes its block B along, the members at most b places before and after it (h-block cross-validation):

        e_B = (I - H_BB)^-1 (f - H f)_B     is what the fit without B misses f_B by, read at the member.

    This is exact, too, and where the members outside of B do not determine the fit by themselves it is the minimum-norm
    or ridge solution of those. Where fewer than `least_others` members are outside of B, the member keeps its
    prediction. For `lagged` features the buffer is their order.

    Parameters
    ----------
    ridge : float or {"auto"}
        The ridge.
    intercept : bool
        Whether there is one.
    buffer : int
        Members to either side of a member, in the order of the list, that are held out with it.
    least_others : int
        With a buffer, the members outside of a block that make its members worth asking.
    """

    ridge: float | Literal["auto"] = 0.0
    intercept: bool = True
    buffer: int = 0
    least_others: int = 1

    def __post_init__(self) -> None:
        if self.ridge != "auto":
            _checks.at_least(self.ridge, 0, "ridge", "LinearFamily", cure='"auto" chooses it')
        _checks.whole(self.least_others, 1, "least_others")
        if _checks.whole(self.buffer, 0, "buffer") and self.ridge == "auto":
            raise InputError(
                "`ridge` of a LinearFamily with a `buffer` must be a number",
                got="'auto', which is chosen by leaving out members alone",
                cure="set one of both",
                parameter="ridge",
            )

    def __repr__(self) -> str:
        buffer = f", buffer={self.buffer}, least_others={self.least_others}" if self.buffer else ""
        return f"LinearFamily(ridge={self.ridge!r}, intercept={self.intercept!r}{buffer})"

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> LinearWitnesses:
        x, f = check_points(x, f, hoods)
        if self.ridge == "auto" or (self.ridge > 0 and x.shape[1] > _MANY_FEATURES):
            return self._ridge_response(x, f.detach(), hoods)
        self.warn_of(hoods, x.shape[1])
        parameters, residuals = _least_squares(x, f.detach(), hoods, self.ridge, self.intercept)
        return LinearWitnesses(
            x=x,
            f=f.detach(),
            hoods=hoods,
            theta=parameters,
            residuals=residuals,
            penalty=self.ridge,
            intercept=self.intercept,
            buffer=self.buffer,
            least_others=self.least_others,
            family=self,
        )

    def warn_of(self, hoods: BaseNeighborhoods, n_features: int) -> None:
        if not self.ridge:
            _warn_of_small(hoods, n_features)

    def _ridge_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> LinearWitnesses:
        """A fit that also tells the values at members, and how free each is, for ridges above 0."""
        auto = self.ridge == "auto"
        ridge = 0.0 if self.ridge == "auto" else self.ridge
        ridges = RIDGES if auto else (ridge,)
        fit = fit_ridge(x, f, hoods, ridges, relative=auto, intercept=self.intercept)
        rest = np.flatnonzero(~fit.solved)
        if len(rest):
            part = hoods.select(torch.from_numpy(rest).to(hoods.device))
            fit.theta[part.selected] = _least_squares(x, f, part, ridge, self.intercept)[0]
        return LinearWitnesses(
            x=x,
            f=f,
            hoods=hoods,
            theta=fit.theta,
            penalty=ridge,
            intercept=self.intercept,
            buffer=self.buffer,
            least_others=self.least_others,
            ridges=fit.ridges if auto else None,
            values=None if len(rest) else fit.values,
            free=fit.free,
            family=self,
        )

    def held_out_values(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods, *, folds: int = FOLDS) -> Tensor:
        if self.ridge != "auto":
            return self.best_response(x, f, hoods).held_out_values(folds=folds)
        x, f = check_points(x, f, hoods)
        fit = fit_ridge(x, f.detach(), hoods, RIDGES, relative=True, intercept=self.intercept, nested=True)
        return fit.held_out.to(f)

    @property
    def is_linear(self) -> bool:
        return self.ridge != "auto"

    def effective_size(self, n_features: int) -> int:
        return _checks.whole(n_features, 0, "n_features") + int(self.intercept) + 1


@final
@dataclass(frozen=True)
class ConstantFamily(WitnessFamily):
    """g(x) = theta_0: the mean of the predictions. Features are not read."""

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> LinearWitnesses:
        x, f = check_points(x, f, hoods)
        values = f.detach().double()
        reference = values.mean(0)  # running sums of small numbers are more exact
        means = hoods.sum(values - reference) / hoods.sizes[:, None] + reference
        return LinearWitnesses(x=x, f=f.detach(), hoods=hoods, theta=means[:, None], family=self)

    def held_out_values(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods, *, folds: int = FOLDS) -> Tensor:
        return self.best_response(x, f, hoods).held_out_values(folds=folds)

    @property
    def is_linear(self) -> bool:
        return True

    def effective_size(self, n_features: int) -> int:
        return 2


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LinearWitnesses(Witnesses):
    """Fitted linear functions, in float64."""

    theta: Tensor = field(repr=False)
    """(n, 1 + P, K): the intercept, then a coefficient for each feature; for constants the intercept alone."""
    residuals: Tensor | None = field(default=None, repr=False)
    """(n,) mean squared residual on each neighborhood, where the fit gave it."""
    penalty: Tensor | float = field(default=0.0, repr=False)
    """(P,) of the square of each coefficient, or one for all: the ridge of the fit."""
    intercept: bool = field(default=True, repr=False)
    """Whether the fit was free to choose it."""
    buffer: int = field(default=0, repr=False)
    """Members to either side of a member that are held out with it."""
    least_others: int = field(default=1, repr=False)
    """Members that must be left for it to be asked."""
    ridges: Tensor | None = field(default=None, repr=False)
    """(n,) the ridge of each neighborhood, where they were chosen."""
    values: Tensor | None = field(default=None, repr=False)
    """(M, K) at the members, where the fit gave them."""
    free: Tensor | None = field(default=None, repr=False)
    """(M,) 1 - H_jj at each member, H the hat matrix, where the fit gave it; NaN where it did not."""

    @property
    def parameters(self) -> Tensor:
        """(n, 1 + P, K): the intercept, then a coefficient for each feature; for constants the intercept alone."""
        return self.theta

    @property
    def intercepts(self) -> Tensor:
        """(n, K)."""
        return self.theta[:, 0]

    @property
    def coefficients(self) -> Tensor:
        """(n, P, K)."""
        return self.theta[:, 1:]

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        which, x = self._asked(which, x)
        result, x = self.intercepts[which], self._read(x)
        step = max(1, _BATCH // self.theta[0].numel())
        for start in range(0, len(which), step):
            part = slice(start, start + step)
            result[part] += torch.bmm(x[part].double()[:, None], self.coefficients[which[part]])[:, 0]
        return result

    def _read(self, x: Tensor) -> Tensor:
        """The features that the witnesses read: all of them, or none for constants."""
        return x[:, : self.theta.shape[1] - 1]

    def at_centers(self) -> Tensor:
        # Each witness once and in order: no need to gather parameters, which is most of the work of `evaluate`.
        x = self._read(self.x)[self.hoods.centers].double()
        ones = torch.ones(len(x), 1, dtype=x.dtype, device=x.device)
        return torch.bmm(torch.cat([ones, x], dim=1)[:, None], self.theta)[:, 0].to(self.f)

    def at_members(self) -> Tensor:
        return self._member_values().to(self.f)

    def _member_values(self) -> Tensor:
        """(M, K) in float64: all members of a witness at once, so that parameters need not be gathered."""
        if self.values is not None:
            return self.values
        from pellucid.witnesses._leverage_kernel import members_range

        x, theta = numbers(self._read(self.x)), numbers(self.theta)
        members, offsets = self.hoods.members.cpu().numpy(), self.hoods.offsets.cpu().numpy()
        values = np.empty((len(members), theta.shape[2]))

        def evaluate(begin: int, end: int) -> None:
            members_range(x, members, offsets, theta, begin, end, values)

        run_chunks(evaluate, offsets, torch.get_num_threads())
        return torch.from_numpy(values).to(self.f.device)

    def held_out_values(self, *, folds: int = FOLDS) -> Tensor:
        if self.ridges is not None:  # the choice of the ridge is part of the fit
            return super().held_out_values(folds=folds)
        if self.buffer:
            return self._held_out_apart().to(self.f)
        # Exact, and the fit is not repeated: a witness without member j misses f_j by its residual / (1 - leverage).
        x = self._read(self.x)
        values = held_out_from_fit(
            x,
            self.f,
            self.hoods,
            self._member_values(),
            free_shares(x, self.hoods, self.penalty, self.intercept) if self.free is None else self.free,
            penalty=self.penalty,
            intercept=self.intercept,
        )
        return values.to(self.f)

    def _held_out_apart(self) -> Tensor:
        ridge, x = float(self.penalty), self._read(self.x)
        return held_out_apart(
            x,
            self.f,
            self.hoods,
            self._member_values(),
            buffer=self.buffer,
            least_others=self.least_others,
            ridge=ridge,
            intercept=self.intercept,
            fit=lambda others: _least_squares(x, self.f, others, ridge, self.intercept)[0],
        )

    def pull(self) -> Tensor:
        # sum_i S_ij (theta_i' x_j + theta_0i) / m_i = (S'(theta/m))_j' x_j + S'(theta_0/m)_j: so the symmetric
        # game costs what the asymmetric one costs.
        from pellucid.witnesses._linear_kernel import SHARING, pull_range

        x = numbers(self._read(self.x))
        parameters = numbers(self.theta.flatten(1))
        sizes, covers, starts = (v.cpu().numpy() for v in (self.hoods.sizes, *self.hoods.covers))
        result = np.empty((len(x), self.intercepts.shape[1]))

        def pull(begin: int, end: int) -> None:
            pull_range(x, parameters, sizes, covers, starts, begin, end, result)

        run_chunks(pull, starts, torch.get_num_threads(), grain=SHARING)
        return torch.from_numpy(result).to(self.f.device)

    def deviations(self, deviation: Deviation = squared_error, f: Tensor | None = None) -> Tensor:
        if f is None and deviation is squared_error and self.residuals is not None:
            return self.residuals.to(self.f)
        return super().deviations(deviation, f)

    def saturated(self, which: Tensor | None = None) -> Tensor:
        # Members that are no more than the coefficients leave less than one degree of freedom. Until there is one, the
        # error at a further point grows with every member, so that a fit of fewer cannot vouch for it.
        hoods = self.hoods if which is None else self.hoods.select(which)
        if self.free is not None and not self.free.isnan().any():  # the degrees of freedom are the trace of 1 - H
            freedom = self.hoods.sum_members(self.free)
            return (freedom if which is None else freedom[which]) < 1 - 1e-6
        return freedom_left(self._read(self.x), hoods, self.penalty, self.intercept) < 1 - 1e-6

    def witness(self, i: int, **common: Any) -> LinearWitness:
        return LinearWitness(coefficients=self.coefficients[i].cpu(), intercept=self.intercepts[i].cpu(), **common)


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinearWitness(Witness):
    """One linear function of named features."""

    coefficients: Tensor
    """(P, K), or (0, K) for a constant."""
    intercept: Tensor
    """(K,)."""
    digits: int = 4
    """Significant digits that it is printed with."""

    def predict(self, x: Tensor) -> Tensor:
        return x[:, : len(self.coefficients)].double() @ self.coefficients + self.intercept

    def text(self, *, digits: int | None = None) -> str:
        digits = self.digits if digits is None else digits
        return "\n".join(
            f"{name} = {law_text(self.terms(k), digits=digits)}" for k, name in enumerate(self.output_names)
        )

    def terms(self, k: int = 0) -> list[tuple[float, str]]:
        """The weights of output k and the names of what they weigh: the intercept, without a name, comes first."""
        weights = zip(self.coefficients[:, k].tolist(), self.feature_names, strict=False)
        return [(float(self.intercept[k]), ""), *weights]

    def parameters(self) -> dict[str, Any]:
        return {
            "kind": "linear",
            "intercept": self.intercept.tolist(),
            "coefficients": self.coefficients.tolist(),
        }


def lagged(series: Any, *, order: int) -> Tensor:
    """Features of an autoregressive witness of the given order.

    Position t of a series x_1..x_T with c channels gets [x_t, x_{t-1}, ..., x_{t-order+1}], so a linear
    witness on them is sum_k theta_{k+1} x_{t-k} + theta_0 with full c x c matrices. The first order - 1
    positions have no complete history and no row.

    Parameters
    ----------
    series : array_like
        (T, c), or (B, T, c) for B series of equal length.
    order : int
        The number K >= 1 of past values.

    Returns
    -------
    Tensor
        (T - order + 1, order * c), or (B, T - order + 1, order * c).
    """
    values = _checks.tensor(series, "series")
    if values.ndim not in (2, 3):
        raise InputError(
            "`series` must have shape (time, channels) or (batch, time, channels)",
            got=f"{tuple(values.shape)}",
            parameter="series",
        )
    length = values.shape[-2]
    order = _checks.whole(order, 1, "order", length)
    return torch.cat([values[..., order - 1 - k : length - k, :] for k in range(order)], dim=-1)


def lag_names(channels: Sequence[str], *, order: int) -> list[str]:
    """Names for the columns of `lagged`: each channel with how many steps ago it was.

    Examples
    --------
    >>> lag_names(["left", "right"], order=2)
    ['left[t]', 'right[t]', 'left[t-1]', 'right[t-1]']
    """
    return [f"{name}[t{-k if k else ''}]" for k in range(order) for name in channels]


def _warn_of_small(hoods: BaseNeighborhoods, p: int) -> None:
    """Warn where there are fewer than two members for each of P columns: without a ridge, laws follow noise there."""
    small = int((hoods.sizes < 2 * p).sum())
    if small:
        warn_once(
            f"{small} of {len(hoods)} neighborhoods have fewer members than twice the {p} columns that their linear "
            "witnesses read: laws fitted without a ridge follow noise there. Take more members, fewer columns, or "
            "LinearFamily(ridge=...).",
            f"{p} columns",
        )


def _least_squares(
    x: Tensor, f: Tensor, hoods: BaseNeighborhoods, ridge: float, intercept: bool
) -> tuple[Tensor, Tensor]:
    """Parameters (n, 1 + P, K) and mean squared residuals (n,), in float64."""
    from pellucid.witnesses._dependent_kernel import solve_listed
    from pellucid.witnesses._linear_kernel import REFRESH, solve_range

    n, p, k = len(hoods), x.shape[1], f.shape[1]
    features, values, ridge = numbers(x), numbers(f), float(ridge)
    members, offsets = hoods.members.cpu().numpy(), hoods.offsets.cpu().numpy()
    parameters, residuals = np.empty((n, 1 + p, k)), np.empty(n)
    solved = np.zeros(n, dtype=bool)
    # A ridge deals with noise in its own way; without one, what rounding left in the features is not to be explained.
    unit = 0.0 if ridge > 0 else rounding_unit(x.dtype)
    threads = torch.get_num_threads()
    if 0 < p <= _MANY_FEATURES:

        def solve(begin: int, end: int) -> None:
            solve_range(
                features, values, members, offsets, isinstance(hoods, Windows), unit, ridge, intercept,
                begin, end, parameters, residuals, solved,
            )  # fmt: skip

        run_chunks(solve, offsets, threads, grain=REFRESH)
    rest = np.flatnonzero(~solved)
    if len(rest):

        def solve_dependent(begin: int, end: int) -> None:
            solve_listed(
                features, values, members, offsets, rest, unit, ridge, intercept, begin, end, parameters, residuals
            )

        run_chunks(solve_dependent, np.append(0, np.diff(offsets)[rest].cumsum()), threads)
    return torch.from_numpy(parameters).to(f.device), torch.from_numpy(residuals).to(f.device)
