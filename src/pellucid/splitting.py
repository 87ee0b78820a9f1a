"""The training, validation and test parts: at random, by groups, or in order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from pellucid.errors import InputError

Data = TypeVar("Data")
SHARES = (0.8, 0.1, 0.1)
"""Of what is learned from, validated on and tested on."""


class Parts(NamedTuple, Generic[Data]):
    """The training, validation and test parts."""

    train: Data
    validation: Data
    test: Data


def split(
    count: int,
    *,
    seed: int | None = 0,
    groups: Sequence[Hashable] | None = None,
    shares: tuple[float, float, float] = SHARES,
) -> Parts[np.ndarray]:
    """The places of N items in three parts, each item in one of them.

    Parameters
    ----------
    count : int
        N.
    seed : int, optional
        Seed of the choice at random; None takes them in their order, so that the last ones are tested on.
    groups : sequence of hashable, optional
        (N,) the group that each item belongs to: groups stay together, the largest are learned from, and equally large
        ones are taken at random. A part may be smaller than its share then, or empty.
    shares : tuple of float
        Shares of the three parts; they sum to 1.

    Examples
    --------
    >>> split(10, seed=None).test, split(4, groups="aabc", shares=(0.5, 0.25, 0.25)).train
    (array([9]), array([0, 1]))
    """
    order = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
    ends = np.round(np.cumsum(shares[:2]) * count).astype(int)
    parts = Parts(*np.split(order, ends))
    for name, places in parts._asdict().items():
        if not len(places):
            raise InputError(
                "There must be something to learn from, to validate on and to test on",
                got=f"{count} in all, none of which is left for {name}",
                cure="add more",
            )
    return parts if groups is None else _grouped(groups, seed, [len(part) for part in parts])


def _grouped(groups: Sequence[Hashable], seed: int | None, sizes: Sequence[int]) -> Parts[np.ndarray]:
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    rank = range(len(members)) if seed is None else np.random.default_rng(seed).permutation(len(members))
    # The largest first, so that the last parts hold rare groups.
    ranked = sorted(zip(rank, members.values(), strict=True), key=lambda pair: (-len(pair[1]), pair[0]))
    parts: list[list[int]] = [[], [], []]
    for _, places in ranked:
        room = next((k for k, part in enumerate(parts) if len(part) + len(places) <= sizes[k]), 0)
        parts[room] += places
    return Parts(*(np.array(part, dtype=np.int64) for part in parts))


def hold_out(count: int, share: float, *, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The places of what is learned from and of what is held out, each in order.

    Parameters
    ----------
    count : int
        Number of items. Whoever calls this looks whether any are left to learn from.
    share : float
        Share of the items to hold out; at least one is, unless the share is 0.
    seed : int, optional
        Seed of the choice at random; None holds out the last ones.

    Examples
    --------
    >>> hold_out(6, 0.3, seed=None)
    (array([0, 1, 2, 3]), array([4, 5]))
    """
    held = max(round(share * count), 1) if share else 0
    if seed is None:
        return np.arange(max(count - held, 0)), np.arange(max(count - held, 0), count)
    order = np.random.default_rng(seed).permutation(count)
    return np.sort(order[held:]), np.sort(order[:held])
