"""Deviations d(f, g): how far the witness's value is from the predictor's at a point.

Plain functions of two (M x K) tensors, the predictor's values first, that return one number >= 0 for each
of the M rows: outputs are summed, points are not. Any function of this form can be a game's deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from pellucid.errors import InputError

Deviation: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def squared_error(f: Tensor, g: Tensor) -> Tensor:
    """d(f, g) = sum_k (f_k - g_k)^2."""
    return (f - g).square().sum(-1)


def absolute_error(f: Tensor, g: Tensor) -> Tensor:
    """d(f, g) = sum_k |f_k - g_k|: the total variation of the paper's tree objective."""
    return (f - g).abs().sum(-1)


def gaussian_kl(f: Tensor, g: Tensor) -> Tensor:
    """KL(witness || predictor) of diagonal Gaussians.

    The K columns are L means followed by L log-variances, K = 2 L:

        d(f, g) = 1/2 sum_l [ lf - lg + (exp(lg) + (mg - mf)^2) / exp(lf) - 1 ]

    where m are the means and l the log-variances of the predictor (f) and of the witness (g).
    """
    if f.shape[-1] % 2:
        raise InputError(
            "`gaussian_kl` takes means followed by as many log-variances, an even number of columns",
            got=f"{f.shape[-1]}",
            cure="concatenate them as `torch.cat([mean, log_variance], dim=-1)`",
            parameter="gaussian_kl",
        )
    f_mean, f_log = f.chunk(2, dim=-1)
    g_mean, g_log = g.chunk(2, dim=-1)
    # exp(lg - lf) and exp(-lf) rather than a quotient: neither overflows before the result does.
    terms = f_log - g_log + torch.exp(g_log - f_log) + (g_mean - f_mean).square() * torch.exp(-f_log) - 1
    return 0.5 * terms.sum(-1)


def measure(deviation: Deviation, f: Tensor, g: Tensor) -> Tensor:
    """d(f, g) for each row (M,), refusing a deviation that returns anything else."""
    distances = deviation(f, g)
    if not isinstance(distances, Tensor) or distances.shape != f.shape[:1]:
        got = tuple(distances.shape) if isinstance(distances, Tensor) else type(distances).__name__
        raise InputError(
            f"A deviation must return one number for each of the {len(f)} rows",
            got=f"{got} from {getattr(deviation, '__name__', deviation)!r}",
            cure="sum over the outputs, `.sum(-1)`, and not over the points",
        )
    return distances
