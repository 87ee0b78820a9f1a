"""What ExpO measures of a network's explanations, and the share of its local variance that they account for.

LIME is the tabular explainer of the package `lime`, as ExpO calls it: without discretization, `num_samples` rows drawn
from independent Gaussians with the means and deviations of the training rows (not around the row that is explained),
weights exp(-|z - x|^2 / 2 w^2) with w = 0.75 sqrt(P), and a ridge of 1. Here all rows are explained at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Generator, Tensor

NEAR = 0.1
"""Standard deviation of the neighbors that explanations are measured at: x' ~ N(x, 0.1^2)."""
FRESH = 5
"""Fresh neighbors of a row, for the fidelity in its neighborhood."""
AROUND = 20
"""Fresh neighbors of a row, for the variance of the network around it."""


class Laws(NamedTuple):
    """Linear functions, one for each of n rows: g_i(x) = intercept_i + <coefficients_i, x>."""

    intercepts: Tensor
    """(n,)."""
    coefficients: Tensor
    """(n, P)."""

    def at(self, x: Tensor) -> Tensor:
        """(n, m) the values at points (n, m, P), those of each row by its own law."""
        return self.intercepts[:, None] + (x.double() * self.coefficients[:, None]).sum(-1)


def weighted_ridge(x: Tensor, f: Tensor, weights: Tensor, ridge: float) -> Laws:
    """The ridge regression of each row's points: x (n, m, P), f (n, m), weights (n, m); the intercept is free."""
    import torch

    x, f, weights = x.double(), f.double(), weights.double()
    total = weights.sum(1, keepdim=True)
    means = (weights[..., None] * x).sum(1) / total
    level = (weights * f).sum(1, keepdim=True) / total
    root = weights.sqrt()
    centered = (x - means[:, None]) * root[..., None]
    gram = centered.transpose(1, 2) @ centered + ridge * torch.eye(x.shape[2], dtype=torch.float64)
    moments = (centered * ((f - level) * root)[..., None]).sum(1)
    coefficients = torch.linalg.solve(gram, moments)
    return Laws(level[:, 0] - (coefficients * means).sum(1), coefficients)


def lime_laws(
    f: Callable[[Tensor], Tensor], train: Tensor, rows: Tensor, *, samples: int, generator: Generator
) -> Laws:
    """LIME's explanations of the rows, in the units of the columns.

    Parameters
    ----------
    f : callable
        From points (N, P) to values (N,).
    train : Tensor
        (N, P) the training rows, of which LIME knows means and deviations.
    rows : Tensor
        (n, P) what is explained.
    samples : int
        Rows drawn for one explanation, the explained row among them.
    generator : Generator
        Where the draws come from; each row has its own.
    """
    import torch

    deviations, means = train.std(0, correction=0), train.mean(0)
    parts = []
    for part in rows.split(32):
        draws = torch.randn(len(part), samples, rows.shape[1], generator=generator, dtype=rows.dtype)
        parts.append(lime_laws_of(f, means, deviations, part, draws))
    return Laws(*(torch.cat(values) for values in zip(*parts, strict=True)))


def lime_laws_of(f: Callable[[Tensor], Tensor], means: Tensor, deviations: Tensor, rows: Tensor, draws: Tensor) -> Laws:
    """LIME's explanations from standard normal draws (n, m, P)."""
    p = rows.shape[1]
    scaled = draws.clone()
    scaled[:, 0] = (rows - means) / deviations
    squares = (scaled - scaled[:, :1]).square().sum(-1)
    weights = (-squares / (2 * 0.75**2 * p)).exp()
    values = f((scaled * deviations + means).flatten(0, 1)).reshape(len(rows), -1)
    intercepts, coefficients = weighted_ridge(scaled, values, weights, 1.0)
    coefficients = coefficients / deviations
    return Laws(intercepts - coefficients @ means.double(), coefficients)


def neighbors(rows: Tensor, count: int, scale: float, generator: Generator) -> Tensor:
    """(n, count, P) points x' ~ N(x, scale^2) of each row."""
    import torch

    return rows[:, None] + scale * torch.randn(len(rows), count, rows.shape[1], generator=generator, dtype=rows.dtype)


def values_at(f: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    """(n, m) values at points (n, m, P)."""
    return f(points.flatten(0, 1)).double().reshape(points.shape[:2])


def fidelities(
    f: Callable[[Tensor], Tensor], train: Tensor, rows: Tensor, *, samples: int, generator: Generator
) -> dict[str, float]:
    """ExpO's measures of LIME, means over the rows, and the share of the local variance that LIME accounts for.

        point         (g_x(x) - f(x))^2
        neighborhood  (g_x(x') - f(x'))^2 at five fresh x' ~ N(x, 0.1^2)
        stability     |coefficients at x' - coefficients at x|^2, the intercepts included as in their code, at one x'
        variance      of f at twenty fresh x'
        explained     1 - neighborhood / variance

    The parameters are those of `lime_laws`.
    """
    laws = lime_laws(f, train, rows, samples=samples, generator=generator)
    fresh = neighbors(rows, FRESH, NEAR, generator)
    around = values_at(f, neighbors(rows, AROUND, NEAR, generator))
    moved = lime_laws(f, train, fresh[:, 0], samples=samples, generator=generator)
    change = (moved.coefficients - laws.coefficients).square().sum(1) + (moved.intercepts - laws.intercepts).square()
    missed = float((laws.at(fresh) - values_at(f, fresh)).square().mean())
    variance = float(around.var(1, correction=0).mean())
    return {
        "point": float((laws.at(rows[:, None]) - values_at(f, rows[:, None])).square().mean()),
        "neighborhood": missed,
        "stability": float(change.mean()),
        "variance": variance,
        "explained": 1 - missed / variance,
    }


def witnessed(f: Callable[[Tensor], Tensor], rows: Tensor, *, scale: float, generator: Generator) -> dict[str, float]:
    """Of linear witnesses of Gaussian neighborhoods, the share of the network's variance there that they account for

        1 - sum (g_x(x') - f(x'))^2 / sum (f(x') - mean of f around x)^2

    at twenty fresh points x' of each neighborhood, to which they were not fitted.
    """
    import torch

    from pellucid import LinearFamily, Neighborhoods

    n, p = rows.shape
    inside, outside = (neighbors(rows, count, scale, generator) for count in (2 * p + 20, AROUND))
    size = inside.shape[1]
    hoods = Neighborhoods(torch.arange(n * size), torch.arange(n + 1) * size, torch.arange(n) * size, n * size)
    points = inside.flatten(0, 1).double()
    witnesses = LinearFamily(ridge=1e-6).best_response(points, f(points.to(rows.dtype)).double()[:, None], hoods)
    index = torch.arange(n).repeat_interleave(AROUND)
    answers = witnesses.evaluate(index, outside.flatten(0, 1).double()).reshape(n, AROUND)
    values = values_at(f, outside)
    missed = (answers - values).square()
    spread = (values - values_at(f, inside).mean(1, keepdim=True)).square()
    return {"explained": float(1 - missed.sum() / spread.sum()), "missed": float(missed.mean())}
