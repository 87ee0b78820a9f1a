"""Batches in a reproducible order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

import torch
from torch import Tensor


@final
class Batches:
    """Shuffled batches whose order depends on the seed and the epoch alone, and which can resume in mid-epoch.

    Parameters
    ----------
    take : callable
        From the indices of a batch, and a source of random numbers of its own, to the batch. Every batch comes with
        the number of its items.
    count : int
        The number of items.
    size : int
        Items in a batch; the last one of an epoch may be smaller.
    seed : int, optional
        Seed of the order; None keeps the items in order.
    arrange : callable, optional
        A random order of all items; by default each is as likely as any other.
    """

    def __init__(
        self,
        take: Callable[[Tensor, torch.Generator], Any],
        count: int,
        *,
        size: int,
        seed: int | None,
        arrange: Callable[[torch.Generator], Tensor] | None = None,
    ) -> None:
        self.take, self.count, self.size, self.seed = take, count, size, seed
        self.arrange = arrange or (lambda generator: torch.randperm(count, generator=generator))
        self.epoch = 0
        self.position = 0

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.epoch, self.position = state["epoch"], state["position"]

    def __len__(self) -> int:
        return (self.count + self.size - 1) // self.size

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        if self.position == len(self):  # the epoch before has come to its end
            self.epoch, self.position = self.epoch + 1, 0
        # Batches in order are the same in every epoch, random numbers included.
        fresh = 0 if self.seed is None else self.seed * 1_000_003 + self.epoch
        generator = torch.Generator().manual_seed(fresh)
        order = torch.arange(self.count) if self.seed is None else self.arrange(generator)
        first = int(torch.randint(2**40, (), generator=generator))
        for batch in order.split(self.size)[self.position :]:
            source = torch.Generator().manual_seed(first + self.position)
            # Counted before it is handed out: a checkpoint is written after the batch has been learned from.
            self.position += 1
            yield self.take(batch, source), len(batch)
