"""Held-out values by folds: what a witness says of members that it was not fitted to, for any family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pellucid import _checks
from pellucid.errors import quietly
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods

FOLDS = 5


def fold_of_entries(hoods: BaseNeighborhoods, folds: int) -> Tensor:
    """(M,) the fold of each member: its position in the neighborhood modulo the number of folds.

    Where the nearest members come first, as `nearest` arranges them, every fold holds near and far ones. A neighborhood
    of m < `folds` members has m folds of one member each.
    """
    position = torch.arange(len(hoods.members), device=hoods.device) - hoods.offsets[hoods.rows]
    return position % hoods.sizes.clamp(max=folds)[hoods.rows]


class Fold(NamedTuple):
    """One fold held out of the neighborhoods that have members in it, and others besides."""

    rest: Neighborhoods
    """Those neighborhoods with their other members only."""
    entries: Tensor
    """(L,) the entries held out, places in `members` of all neighborhoods."""
    which: Tensor
    """(L,) the neighborhood of each of them, counted in `rest`."""


def divide(hoods: BaseNeighborhoods, folds: int) -> Iterator[Fold]:
    """Hold out one fold after the other; members without others are never held out."""
    fold = fold_of_entries(hoods, folds)
    for k in range(min(folds, int(hoods.sizes.max()))):
        playing = (hoods.sizes > max(k, 1)).nonzero().flatten()
        if not len(playing):
            break
        number = torch.full((len(hoods),), -1, device=hoods.device)
        number[playing] = torch.arange(len(playing), device=hoods.device)
        held_out = (fold == k) & (number[hoods.rows] >= 0)
        fitted = ~held_out & (number[hoods.rows] >= 0)
        sizes = torch.bincount(number[hoods.rows[fitted]], minlength=len(playing))
        offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        rest = Neighborhoods.checked(hoods.members[fitted], offsets, hoods.centers[playing], hoods.n_points)
        entries = held_out.nonzero().flatten()
        yield Fold(rest, entries, number[hoods.rows[entries]])


def values_by_folds(
    best_response: Callable[[Tensor, Tensor, BaseNeighborhoods], Any],
    x: Tensor,
    f: Tensor,
    hoods: BaseNeighborhoods,
    *,
    folds: int,
) -> Tensor:
    """(M, K) at each member the value of the witness that was fitted without the member's fold.

    Parameters
    ----------
    best_response : callable
        The method of a family.
    x : Tensor
        (N, P) features.
    f : Tensor
        (N, K) predictions.
    hoods : BaseNeighborhoods
        The neighborhoods.
    folds : int
        The number of folds, at least 2. With as many folds as members each is held out alone.
    """
    folds = _checks.whole(folds, 2, "folds")
    f = f.detach()
    values = f[hoods.members].double()  # stays where a neighborhood has no other member to be fitted to
    for fold in divide(hoods, folds):
        with quietly():  # the whole neighborhoods are what a family may warn of
            witnesses = best_response(x, f, fold.rest)
        answers = witnesses.evaluate(fold.which, x[hoods.members[fold.entries]])
        values[fold.entries] = answers.to(values)
    return values.to(f)
