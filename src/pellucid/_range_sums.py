"""Sums over ranges of consecutive rows, and the types that hold them."""

from __future__ import annotations

import torch
from torch import Tensor


def summable(values: Tensor) -> Tensor:
    """Values in a type that holds their sums: whole numbers as int64, floats of less than 32 bits as float32."""
    if not values.is_floating_point():
        return values.long()
    return values.float() if values.dtype.itemsize < 4 else values


def range_sums(v: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """Sums of v (L x ...) over the ranges lower .. upper - 1, by running sums in float64 (int64 for whole numbers).

    Running sums start anew, forwards and backwards, in every block as long as the longest range. A range that
    reaches into two blocks is then a tail plus a head: nothing is subtracted, so one huge value spoils only
    the ranges that hold it. Only short ranges inside a block are differences.
    """
    v = summable(v)
    width = max(int((upper - lower).max()), 1)
    blocks = -(-len(v) // width)
    exact = torch.float64 if v.is_floating_point() else torch.int64
    values = torch.zeros(blocks * width, *v.shape[1:], dtype=exact, device=v.device)
    values[: len(v)] = v
    grid = values.reshape(blocks, width, *v.shape[1:])
    heads = grid.cumsum(1).flatten(0, 1)
    tails = grid.flip(1).cumsum(1).flip(1).flatten(0, 1)
    last = (upper - 1).clamp(min=0)
    inside = lower // width == last // width
    # A range that starts a block is a head by itself; an empty one is nothing.
    result = heads[last] + torch.where(_column(inside, v), 0, tails[lower.clamp(max=len(values) - 1)])
    short = (inside & (lower % width > 0)).nonzero().flatten()
    result = result.index_add(0, short, -heads[lower[short] - 1])
    return torch.where(_column(upper > lower, v), result, 0).to(v.dtype)


def _column(mask: Tensor, like: Tensor) -> Tensor:
    """A mask (L,) that broadcasts against a tensor (L x ...)."""
    return mask.reshape(-1, *[1] * (like.ndim - 1))
