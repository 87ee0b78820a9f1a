"""Sparse linear witnesses: laws of a few terms, chosen in each neighborhood among many columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid._threads import run_chunks
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._arrays import features, numbers, rounding_unit
from pellucid.witnesses._ridge import RIDGES
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.text import law_text
from pellucid.witnesses.witness import Witness

# So many columns of a term are named before the rest is counted.
_NAMED = 4


@final
@dataclass(frozen=True, kw_only=True)
class SparseLinearFamily(WitnessFamily):
    """Linear laws of a few terms, which are chosen in each neighborhood among all columns:

        g(x) = theta_0 + sum_{t <= T} theta_t z_t(x),     T <= min(terms, m - 2),

        min_theta  sum_j S_ij |f_j - g(x_j)|^2 + ridge sum_t |theta_t|^2.

    A term z_t is a column of the features, or several: columns that are equal at all members of a neighborhood, as
    bits of substructures that always occur together, cannot be told apart there. They make one term, the mean of these
    columns, and are named together. That is the minimum-norm reading: at a further point where they differ, each of c
    columns counts theta_t / c. Columns that are constant in a neighborhood say nothing and are never chosen.

    Terms are chosen by orthogonal matching pursuit: one after the other, each the one that reduces the sum of squares
    of all outputs most when the law is fitted again by least squares; ties within rounding go to the lowest column. A
    neighborhood of m members gets at most m - 2 terms, so that no law can go through all of its members whatever their
    values are, and none after what is left is rounding. As in `LinearFamily`, what varies of a column, or what the
    terms before it leave of it, is rounding up to the share tau = sqrt(terms) (max(m, terms) 2^-52 + 8 u) of its
    length, but here with a ridge, too.

    Features are read in the units that they come in: a ridge is kinder to columns of large numbers, while the choice of
    terms does not depend on units. Held-out values are those of folds, in each of which terms and ridge are chosen
    again without the members that are left out.

    Parameters
    ----------
    terms : int
        The largest number of terms of a law, at least 1.
    ridge : float or {"auto"}
        A number is used as it is, with as many terms as `terms` allows; 0 is least squares. By default the number of
        terms T (none is possible) and the ridge of a law are those of the least leave-one-out error

            sum_j |(f_j - g(x_j)) / (1 - H_jj)|^2,

        H the hat matrix of the T terms, among all T on the path of the choice and the ridges of `LinearFamily`: 0.001,
        0.003, ..., 100 times the mean over the members of |z(x_j) - mean|^2. That is exact for these terms; it does
        not count that they were chosen by the same members, as held-out values do.

    Examples
    --------
    Bits 0 and 2 always occur together here:

    >>> import torch, pellucid as pl
    >>> x = torch.tensor([[1, 0, 1, 0], [1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 1], [0, 1, 0, 1]])
    >>> f = 1.5 + 2.0 * x[:, 0] - 0.5 * x[:, 3]
    >>> family = pl.SparseLinearFamily(terms=2, ridge=0.0)
    >>> witnesses = family.best_response(x, f, pl.from_lists([range(6)])).named(["A", "B", "C", "D"])
    >>> print(witnesses[0].text())
    f = 1.5 + 2 (A = C) - 0.5 D
    """

    terms: int = 8
    ridge: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        _checks.whole(self.terms, 1, "terms")
        if self.ridge != "auto":
            _checks.at_least(self.ridge, 0, "ridge", "SparseLinearFamily", cure='"auto" chooses it')

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> SparseLinearWitnesses:
        from pellucid.witnesses._sparse_kernel import fit_range

        x, f = check_points(x, f, hoods)
        n, k = len(hoods), f.shape[1]
        table, values = features(x), numbers(f)
        members, offsets = hoods.members.cpu().numpy(), hoods.offsets.cpu().numpy()
        room = max(0, min(self.terms, x.shape[1], int(hoods.sizes.max()) - 2))
        intercepts, weights = np.empty((n, k)), np.empty((n, room, k))
        columns, counts = np.empty((n, room), np.int64), np.empty((n, room), np.int64)
        ridges, freedom = np.empty(n), np.empty(n)
        automatic = self.ridge == "auto"
        grid = np.array(RIDGES if automatic else (self.ridge,), dtype=np.float64)
        keys, merged = _keys(table), {}
        # Means are taken in float64, whatever the features are.
        units = max(rounding_unit(x.dtype), rounding_unit(torch.float64)), rounding_unit(f.dtype)

        def fit(begin: int, end: int) -> None:
            merged[begin] = fit_range(
                table, keys, values, members, offsets, self.terms, grid, automatic, *units,
                begin, end, intercepts, columns, weights, counts, ridges, freedom,
            )  # fmt: skip

        run_chunks(fit, offsets, torch.get_num_threads())
        ends = np.append(0, counts.cumsum())
        starts = ends[np.arange(n)[:, None] * room + np.arange(room + 1)]
        arrays = (intercepts, columns, weights, np.concatenate([merged[begin] for begin in sorted(merged)]), starts)
        laws = SparseLaws(*(torch.from_numpy(array).to(f.device) for array in arrays))
        return SparseLinearWitnesses(
            x=x,
            f=f.detach(),
            hoods=hoods,
            laws=laws,
            ridges=torch.from_numpy(ridges).to(f.device),
            freedom=torch.from_numpy(freedom).to(f.device),
            family=self,
        )

    def effective_size(self, n_features: int) -> int:
        """min(terms, P) + 2: a law of k terms and an intercept can follow k + 1 points and no more.

        That is the family; a fit is held back earlier, since m members get no more than m - 2 terms.

        Parameters
        ----------
        n_features : int
            The number of features P that witnesses read.
        """
        return min(self.terms, _checks.whole(n_features, 0, "n_features")) + 2


@final
@dataclass(frozen=True, eq=False)
class SparseLaws:
    """n laws of at most T terms on flat arrays: all that is needed to evaluate them."""

    intercepts: Tensor
    """(n, K)."""
    columns: Tensor
    """(n, T) the lowest column of each term, in the order in which they were chosen; -1 where there are fewer."""
    weights: Tensor
    """(n, T, K) weights of the terms, each the mean of its columns; 0 where there are fewer."""
    merged: Tensor
    """(L,) the columns of all terms, one term after the other, ascending within each."""
    starts: Tensor
    """(n, T + 1) the columns of term t of law i are merged[starts[i, t] : starts[i, t + 1]]."""

    def columns_of(self, i: int) -> list[tuple[int, ...]]:
        """The columns of each term of law i."""
        starts, count = self.starts[i].tolist(), int((self.columns[i] >= 0).sum())
        return [tuple(self.merged[starts[t] : starts[t + 1]].tolist()) for t in range(count)]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SparseLinearWitnesses(Witnesses):
    """Fitted sparse laws, in float64."""

    laws: SparseLaws = field(repr=False)
    ridges: Tensor = field(repr=False)
    """(n,) the ridge that each law was fitted with."""
    freedom: Tensor = field(repr=False)
    """(n,) degrees of freedom left to the members, m - 1 - trace of Z (Z'Z + ridge I)^-1 Z', Z the terms that were
    chosen, less their means. That they were chosen is not counted."""

    @property
    def parameters(self) -> Tensor:
        """(n, 1 + P, K): the intercept, then a coefficient for each feature; mostly zeros, see `laws`."""
        return torch.cat([self.intercepts[:, None], self.coefficients], dim=1)

    @property
    def intercepts(self) -> Tensor:
        """(n, K)."""
        return self.laws.intercepts

    @property
    def coefficients(self) -> Tensor:
        """(n, P, K) in which the columns of a term have equal shares of its weight; mostly zeros, see `laws`."""
        laws = self.laws
        result = laws.weights.new_zeros(len(self), self.x.shape[1], self.f.shape[1])
        counts = laws.starts.diff(dim=1)
        shares = laws.weights / counts.clamp(min=1)[..., None]
        rows = torch.arange(len(self), device=result.device).repeat_interleave(counts.sum(1))
        result[rows, laws.merged] = shares.flatten(0, 1).repeat_interleave(counts.flatten(), dim=0)
        return result

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        which, x = self._asked(which, x)
        return self._values(which, x, torch.arange(len(x)))

    def at_centers(self) -> Tensor:
        return self._values(torch.arange(len(self)), self.x, self.hoods.centers).to(self.f)

    def at_members(self) -> Tensor:
        return self._values(self.hoods.rows, self.x, self.hoods.members).to(self.f)

    def _values(self, which: Tensor, x: Tensor, points: Tensor) -> Tensor:
        """(L, K) values of the laws which (L,) at x[points] (L,): rows of x are read where they are."""
        from pellucid.witnesses._sparse_kernel import values_range

        laws = self.laws
        table, asked, rows = features(x), which.cpu().numpy(), points.cpu().numpy()
        intercepts, weights = numbers(laws.intercepts), numbers(laws.weights)
        merged, starts = laws.merged.cpu().numpy(), laws.starts.cpu().numpy()
        values = np.empty((len(asked), intercepts.shape[1]))

        def evaluate(begin: int, end: int) -> None:
            values_range(table, rows, asked, intercepts, weights, merged, starts, begin, end, values)

        run_chunks(evaluate, np.arange(len(asked) + 1), torch.get_num_threads())
        return torch.from_numpy(values).to(self.f.device)

    def saturated(self, which: Tensor | None = None) -> Tensor:
        return (self.freedom if which is None else self.freedom[which]) < 1 - 1e-6

    def witness(self, i: int, **common: Any) -> SparseLinearWitness:
        columns = self.laws.columns_of(i)
        return SparseLinearWitness(
            columns=columns,
            weights=self.laws.weights[i, : len(columns)].cpu(),
            intercept=self.intercepts[i].cpu(),
            ridge=float(self.ridges[i]),
            **common,
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SparseLinearWitness(Witness):
    """One linear function of a few terms, each a named feature or several that are equal at all members."""

    columns: list[tuple[int, ...]]
    """The columns of each of T terms, in the order in which the terms were chosen."""
    weights: Tensor
    """(T, K)."""
    intercept: Tensor
    """(K,)."""
    ridge: float
    """The ridge that it was fitted with."""

    @property
    def coefficients(self) -> Tensor:
        """(P, K), in which the columns of a term have equal shares of its weight."""
        result = self.weights.new_zeros(len(self.feature_names), self.weights.shape[1])
        for columns, weights in zip(self.columns, self.weights, strict=True):
            result[list(columns)] = weights / len(columns)
        return result

    def predict(self, x: Tensor) -> Tensor:
        result = self.intercept.expand(len(x), -1).clone()
        for columns, weights in zip(self.columns, self.weights, strict=True):
            result += x[:, list(columns)].double().mean(1, keepdim=True) * weights
        return result

    def text(self, *, digits: int = 4) -> str:
        """The law as a sum; columns that are one term stand in brackets, at most four of them by name.

        Parameters
        ----------
        digits : int
            Significant digits of the weights.
        """
        return "\n".join(
            f"{name} = {law_text(self.terms(k), digits=digits)}" for k, name in enumerate(self.output_names)
        )

    def terms(self, k: int = 0) -> list[tuple[float, str]]:
        """The weights of output k and the names of what they weigh: the intercept, without a name, comes first."""
        names = (term_name(self.feature_names[column] for column in columns) for columns in self.columns)
        return [(float(self.intercept[k]), ""), *zip(self.weights[:, k].tolist(), names, strict=True)]

    def parameters(self) -> dict[str, Any]:
        return {
            "kind": "sparse linear",
            "intercept": self.intercept.tolist(),
            "ridge": self.ridge,
            "terms": [
                {"columns": list(columns), "weights": weights.tolist()}
                for columns, weights in zip(self.columns, self.weights, strict=True)
            ],
        }


def term_name(names: Iterable[str]) -> str:
    """What a term is called: columns that cannot be told apart are named together, the first few of them.

    Examples
    --------
    >>> term_name(["age"]), term_name(["bit 3", "bit 77"]), term_name("abcdefg")
    ('age', '(bit 3 = bit 77)', '(a = b = c = d = 3 more)')
    """
    first, *others = names
    if not others:
        return first
    rest = [] if len(others) < _NAMED else [f"{len(others) + 1 - _NAMED} more"]
    return f"({' = '.join([first, *others[: _NAMED - 1], *rest])})"


def _keys(table: np.ndarray) -> np.ndarray:
    """Whole numbers that are equal exactly where the features are."""
    if table.dtype == np.uint8:
        return table
    return (table + 0).view(f"u{table.dtype.itemsize}")  # -0.0 is 0.0
