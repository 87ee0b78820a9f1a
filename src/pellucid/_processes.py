"""Sums and means over the parts of a batch that several processes hold.

A batch is divided among the processes of a training, and every process computes the terms of its part. A mean here has
the value of the whole batch in every process, and in process r the gradient

    world * d (sum of its part) / count of the whole batch,

so that the mean of the processes' gradients, which is what DDP takes, is the gradient of the whole batch, however
unequal the parts are. Outside of `together` there is one process, and all of this is plain `mean` and `sum`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, distributed


@final
@dataclass(frozen=True)
class Group:
    """The processes that train together, as one of them sees it."""

    rank: int = 0
    world: int = 1
    items: int | None = None
    """The items of the whole batch; see `counting`."""

    @property
    def is_idle(self) -> bool:
        """Whether this process has no item of the batch: what it computes is of a stand-in, and counts for nothing."""
        return self.world > 1 and self.items is not None and self.rank >= self.items


_ALONE = Group()
_group: ContextVar[Group] = ContextVar("_group", default=_ALONE)


def current() -> Group:
    """The processes that train together; by default this one alone."""
    return _group.get()


@contextmanager
def together(rank: int, world: int) -> Iterator[None]:
    """Compute as one of several processes of the default group of `torch.distributed`."""
    with _as(Group(rank, world)):
        yield


@contextmanager
def counting(items: int) -> Iterator[None]:
    """Compute terms of a batch that has so many items in all processes."""
    with _as(replace(current(), items=items)):
        yield


@contextmanager
def counting_share(share: float) -> Iterator[None]:
    """Compute terms of the first share of the batch, but at least of one item."""
    items = current().items
    with _as(replace(current(), items=None if items is None else max(round(share * items), 1))):
        yield


@contextmanager
def _as(group: Group) -> Iterator[None]:
    token = _group.set(group)
    try:
        yield
    finally:
        _group.reset(token)


def part(values: Tensor) -> Tensor:
    """The rows of this process, of what a batch has for each item; the first row, a stand-in, where there are none."""
    group = current()
    own = values[group.rank :: group.world]
    return own if len(own) or not len(values) else values[:1]


def part_size(count: int) -> int:
    """The number of rows of `part`."""
    group = current()
    return max(len(range(group.rank, count, group.world)), min(count, 1))


def mean(values: Tensor) -> Tensor:
    """The mean of all entries; of none it is 0."""
    if current().world == 1:
        return values.mean() if values.numel() else values.sum()
    return mean_of_sum(values.sum(), values.numel())


def means(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of each of several (B,) terms."""
    if current().world == 1:
        return {name: each.mean() for name, each in values.items()}
    rows = torch.stack(list(values.values()), dim=1)
    return dict(zip(values, mean_of_sum(rows.sum(0), len(rows)), strict=True))


def mean_of_sum(total: Tensor, count: int) -> Tensor:
    """The mean of so many values, from their sum; or several means at once."""
    group = current()
    if group.world == 1:
        return total / max(count, 1)
    counts = 0 if group.is_idle else 1
    total = total * counts
    sums = torch.cat([total.detach().double().flatten(), total.new_tensor([count * counts], dtype=torch.float64)])
    distributed.all_reduce(sums)
    whole = max(float(sums[-1]), 1.0)
    return _with_gradient_of((sums[:-1] / whole).reshape(total.shape).to(total), group.world / whole * total)


def total(value: Tensor) -> Tensor:
    """The sum of a number over the processes."""
    group = current()
    if group.world == 1:
        return value
    value = value * (0 if group.is_idle else 1)
    whole = value.detach().clone()
    distributed.all_reduce(whole)
    return _with_gradient_of(whole, group.world * value)


def _with_gradient_of(value: Tensor, source: Tensor) -> Tensor:
    return value + (source - source.detach())


def gathered(values: Tensor) -> Tensor:
    """The rows that all processes have, without gradients, in the order of the ranks."""
    group = current()
    if group.world == 1:
        return values
    values = values.detach()[: 0 if group.is_idle else None].contiguous()
    sizes = torch.zeros(group.world, dtype=torch.int64, device=values.device)
    sizes[group.rank] = len(values)
    distributed.all_reduce(sizes)
    most = int(sizes.max())
    padded = values.new_zeros((most, *values.shape[1:]))
    padded[: len(values)] = values
    parts = [torch.empty_like(padded) for _ in range(group.world)]
    distributed.all_gather(parts, padded)
    return torch.cat([rows[:size] for rows, size in zip(parts, sizes.tolist(), strict=True)])


def decision_of_first(decision: bool) -> bool:
    """What the first process decided."""
    if current().world == 1:
        return decision
    answer = torch.tensor(int(decision))
    distributed.broadcast(answer, 0)
    return bool(answer)


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Replace gradients by their means over the processes, in one exchange; those that no process has stay away."""
    world = current().world
    if world == 1:
        return
    by_kind: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
    for parameter in parameters:
        by_kind.setdefault((parameter.dtype, parameter.device), []).append(parameter)
    for alike in by_kind.values():
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in alike]
        used = gradients[0].new_tensor([p.grad is not None for p in alike])
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), used])
        distributed.all_reduce(flat)
        *means, used = (flat / world).split([*(p.numel() for p in alike), len(alike)])
        for parameter, mean_gradient, share in zip(alike, means, used.tolist(), strict=True):
            parameter.grad = mean_gradient.view_as(parameter) if share else None
