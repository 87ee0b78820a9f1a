"""Exact equilibria of the games for an unconstrained predictor.

Here the predictor is a free value f_j at every point, the task loss is sum_j (f_j - y_j)^2, the deviation is the
squared error and witnesses are linear in f, as constant and linear functions are (`WitnessFamily.is_linear`), so that
g^_i = P_i f on its neighborhood with a hat matrix P_i. The fixed points of the paper's theorems are then linear
systems, and a small complementarity problem for the uniform criterion. The systems are dense: meant for studying the
games and for checking trained predictors on up to a few thousand points.

In the held-out games the witness of a member has not seen it. What it says is still linear in f, with the leave-one-out
matrix in the place of the hat matrix:

    L_i = I - diag(1 / (1 - P_jj)) (I - P_i),        whose diagonal is zero.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.errors import ConvergenceError, InputError
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import WitnessFamily
from pellucid.witnesses.fixed_map import unit_responses

Array: TypeAlias = NDArray[Any]

_ACCURACY = 1e-6  # of the uniform equilibrium, relative to the margin


def symmetric(
    y: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, weight: float, held_out: bool = False
) -> Tensor:
    """The equilibrium (N x K) of the symmetric game:

        [I + weight sum_i E_i'(I - P_i)E_i / m_i] f = y,

    with E_i the rows of the identity that belong to neighborhood i. In the held-out game L_i takes the place of P_i; as
    sum_i E_i'E_i / m_i = N-bar, the equilibrium is [I + weight (N-bar - sum_i E_i'L_iE_i / m_i)] f = y.
    """
    _checks.at_least(weight, 0, "weight", "symmetric")
    features, targets = _inputs(y, x, hoods)
    matrix = np.eye(len(targets))
    for members, gap, _ in _gaps(features, hoods, family, held_out):
        matrix[np.ix_(members, members)] += weight * gap / len(members)
    return torch.from_numpy(np.linalg.solve(matrix, targets))


def asymmetric(
    y: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, weight: float, held_out: bool = False
) -> Tensor:
    """The equilibrium (N x K) of the asymmetric game:

        f_c + weight sum_{i: c(i) = c} (f_c - h_i' f) = y_c,

    with h_i the hat row that gives the witness's value at its center; in the held-out game the row of L_i, where the
    center is a member.
    """
    _checks.at_least(weight, 0, "weight", "asymmetric")
    features, targets = _inputs(y, x, hoods)
    matrix = np.eye(len(targets))
    for center, (members, _, row) in zip(hoods.centers.tolist(), _gaps(features, hoods, family, held_out), strict=True):
        matrix[center, center] += weight
        matrix[center, members] -= weight * row
    return torch.from_numpy(np.linalg.solve(matrix, targets))


def uniform(
    y: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, *, margin: float, held_out: bool = False
) -> Tensor:
    """The equilibrium (N x K) of the uniform criterion:

        min_f sum_j |f_j - y_j|^2   subject to   D_i = |(I - P_i) E_i f|^2 / m_i <= margin for all i.

    Its conditions, with the witnesses constant when f is differentiated, are

        [I + sum_i xi_i E_i'(I - P_i)E_i / m_i] f = y,   0 <= xi  _|_  margin - D >= 0.

    Without a ridge P_i is a projection and this is the optimum of the convex problem; with a ridge, and with L_i in the
    place of P_i in the held-out game, it is the alternating best response that the game plays.
    """
    _checks.at_least(margin, 0, "margin", "uniform")
    features, targets = _inputs(y, x, hoods)
    # In units in which y has size 1: the solvers' tolerances then mean the same for every problem.
    unit = float(np.sqrt(np.square(targets).mean())) or 1.0
    gaps = [(members, gap) for members, gap, _ in _gaps(features, hoods, family, held_out)]
    return torch.from_numpy(unit * _Uniform(targets / unit, gaps, margin / unit**2).solve())


def _inputs(y: Any, x: Any, hoods: BaseNeighborhoods) -> tuple[Tensor, Array]:
    x, y = check_points(x, y, hoods, name="y")
    return x, y.detach().cpu().double().numpy()


def _gaps(
    features: Tensor, hoods: BaseNeighborhoods, family: WitnessFamily, held_out: bool
) -> list[tuple[NDArray[np.int64], Array, Array]]:
    """For each neighborhood its members, I - P_i or I - L_i (m x m), and the row h_i (m,) that gives the value of the
    witness at its center.
    """
    if not family.is_linear:
        raise InputError(
            "Exact equilibria are known for families that are linear in the predictions, such as ConstantFamily and "
            "LinearFamily with a number as its ridge",
            got=f"{family!r}",
            cure="for other families train a predictor with the game",
        )
    parts: dict[int, tuple[NDArray[np.int64], Array, Array]] = {}
    for which, witnesses in unit_responses(family, features, hoods):
        answers = witnesses.held_out() if held_out else witnesses
        rows = answers.at_centers().numpy()
        m = rows.shape[1]
        maps = answers.at_members().reshape(-1, m, m).numpy()
        for i, matrix, row in zip(which.tolist(), maps, rows, strict=True):
            parts[i] = (hoods.members_of(i).cpu().numpy(), np.eye(m) - matrix, row)
    return [parts[i] for i in range(len(hoods))]


class _Uniform:
    """The complementarity problem of the uniform criterion in its multipliers xi (n,)."""

    def __init__(self, y: Array, gaps: list[tuple[NDArray[np.int64], Array]], margin: float) -> None:
        self.y, self.gaps, self.margin = y, gaps, margin
        self.sizes = np.array([len(members) for members, _ in gaps])

    def predictor(self, multipliers: Array) -> tuple[Array, Array]:
        """f(xi), and the inverse of its matrix."""
        matrix = np.eye(len(self.y))
        for share, (members, gap) in zip(multipliers / self.sizes, self.gaps, strict=True):
            matrix[np.ix_(members, members)] += share * gap
        inverse = np.linalg.inv(matrix)
        return inverse @ self.y, inverse

    def residuals(self, f: Array) -> list[Array]:
        """(I - P_i) E_i f for each neighborhood."""
        return [gap @ f[members] for members, gap in self.gaps]

    def slack(self, residuals: list[Array]) -> Array:
        """Margin - D_i."""
        deviations: Array = np.array([np.square(r).sum() for r in residuals]) / self.sizes
        return self.margin - deviations

    def solve(self) -> Array:
        if self.margin == 0:
            return self._exactly_in_family()
        multipliers = self._newton(self._dual_ascent())
        if self._gap(multipliers) > _ACCURACY:
            multipliers = self._from_wider_margins()
        gap = self._gap(multipliers)
        if gap > _ACCURACY:
            raise ConvergenceError(
                f"The uniform equilibrium was reached to {gap:.1e} of the margin only, not to {_ACCURACY:g}; "
                "raise the margin, or use margin=0 for a predictor exactly in the family."
            )
        return self.predictor(multipliers)[0]

    def _from_wider_margins(self) -> Array:
        """The multipliers by small steps from a margin that nothing exceeds, each starting where the last ended."""
        widest = self.margin - self.slack(self.residuals(self.y)).min()
        multipliers = np.zeros(len(self.gaps))
        for margin in np.geomspace(widest, self.margin, 60):
            multipliers = _Uniform(self.y, self.gaps, margin)._newton(multipliers)
        return multipliers

    def _gap(self, multipliers: Array) -> float:
        """How far the complementarity 0 <= xi _|_ slack >= 0 is missed, relative to the margin."""
        slack = self.slack(self.residuals(self.predictor(multipliers)[0]))
        return float(max(-slack.min(), np.abs(np.minimum(multipliers, slack)).max()) / self.margin)

    def _exactly_in_family(self) -> Array:
        """Margin 0: the point nearest to y where every residual vanishes."""
        stacked = np.zeros((len(self.y), len(self.y)))
        for members, gap in self.gaps:
            stacked[np.ix_(members, members)] += gap.T @ gap
        values, vectors = np.linalg.eigh(stacked)
        free = vectors[:, values <= 1e-10 * values.max(initial=1.0)]
        return np.asarray(free @ (free.T @ self.y))

    def _dual_ascent(self) -> Array:
        """Multipliers of the convex problem, up to the accuracy of a quasi-Newton method."""
        from scipy.optimize import minimize

        def negative_dual(multipliers: Array) -> tuple[float, Array]:
            f, _ = self.predictor(multipliers)
            slack = self.slack(self.residuals(f))
            value = np.square(f - self.y).sum() - multipliers @ slack
            return -value, slack

        n = len(self.gaps)
        optimum = minimize(negative_dual, np.zeros(n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * n)
        return np.asarray(optimum.x)

    def _newton(self, multipliers: Array) -> Array:
        """Levenberg-Marquardt steps on the Fischer-Burmeister equations phi(unit xi_i, slack_i) = 0, with
        phi(a, b) = sqrt(a^2 + b^2) - a - b, which vanishes exactly where a, b >= 0 and a b = 0.

        The unit makes multipliers as large as slacks, which keeps the steps balanced.
        """
        unit = self.margin / max(1.0, multipliers.max())
        multipliers = unit * multipliers
        damping = 1e-6
        value, jacobian = self._equations(multipliers, unit)
        for _ in range(200):
            if np.abs(value).max() < 1e-12 * self.margin:
                break
            normal = jacobian.T @ jacobian
            step = np.linalg.solve(
                normal + damping * np.trace(normal) / len(normal) * np.eye(len(normal)), -jacobian.T @ value
            )
            trial = multipliers + step
            trial_value, trial_jacobian = self._equations(trial, unit)
            if np.isfinite(trial_value).all() and np.square(trial_value).sum() < np.square(value).sum():
                multipliers, value, jacobian = trial, trial_value, trial_jacobian
                damping = max(damping / 10, 1e-15)
            elif damping > 1e10:
                break
            else:
                damping *= 10
        return np.asarray(np.maximum(multipliers, 0.0) / unit)

    def _equations(self, scaled: Array, unit: float) -> tuple[Array, Array]:
        """Phi (n,) and its Jacobian (n, n) by the scaled multipliers unit xi."""
        f, inverse = self.predictor(scaled / unit)
        residuals = self.residuals(f)
        slack = self.slack(residuals)
        # d f / d xi_k = -inverse E_k' r_k / m_k,   d slack_i / d f = -2 E_i'(I - P_i)' r_i / m_i.
        n, points, outputs = len(slack), *self.y.shape
        toward = np.zeros((n, points, outputs))
        slope = np.zeros((n, points, outputs))
        for i, ((members, gap), r) in enumerate(zip(self.gaps, residuals, strict=True)):
            toward[i, members] = r / self.sizes[i]
            slope[i, members] = -2 * gap.T @ r / self.sizes[i]
        f_jacobian = -np.einsum("ab,kbc->kac", inverse, toward)
        slack_jacobian = slope.reshape(n, -1) @ f_jacobian.reshape(n, -1).T / unit
        length = np.hypot(scaled, slack)
        safe = np.where(length > 0, length, 1.0)
        by_multiplier = np.where(length > 0, scaled / safe, 0.0) - 1
        by_slack = np.where(length > 0, slack / safe, 0.0) - 1
        return length - scaled - slack, np.diag(by_multiplier) + by_slack[:, None] * slack_jacobian
