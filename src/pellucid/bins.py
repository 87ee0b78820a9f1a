"""Bins of points that are alike, each with points enough to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, final

Edge = TypeVar("Edge", int, float)

# Inner edges of the bins of neighborhoods by their number of members that bounds are learned in.
SIZE_EDGES = (10, 20, 50, 100, 200)
# A bin with fewer neighborhoods joins the next: its bound of 90 % would be that of one or two unlucky ones.
FEWEST_IN_BIN = 30


@final
@dataclass(frozen=True)
class SizeBin:
    """The held-out neighborhoods that a bound was learned from."""

    count: int
    """Number of neighborhoods."""
    least: int | None = None
    """Fewest members of a neighborhood in the bin; None: any number."""
    most: int | None = None
    """Most members of a neighborhood in the bin; None: any number."""

    @property
    def text(self) -> str:
        """Which sizes they have, to be written after the number of neighborhoods; empty if they have all sizes."""
        if self.least is None and self.most is None:
            return ""
        if self.most is None:
            return f" of {self.least} members or more"
        return f" of up to {self.most} members" if self.least is None else f" of {self.least} to {self.most} members"


def join_bins(counts: Sequence[int], edges: Sequence[Edge], fewest: int) -> tuple[Edge, ...]:
    """The inner edges that are left when bins of fewer than `fewest` points join the one next to them.

    Parameters
    ----------
    counts : sequence of int
        The number of points in each bin.
    edges : sequence of int or float
        The inner edges of the bins, one fewer than there are bins.
    fewest : int
        The least number of points of a bin.

    Examples
    --------
    >>> join_bins([3, 9, 30, 40, 2], edges=[10, 20, 50, 100], fewest=20)
    (50,)
    """
    kept, total = [], counts[0]
    for count, edge in zip(counts[1:], edges, strict=True):
        if total < fewest or count < fewest:
            total += count
        else:
            kept.append(edge)
            total = count
    return tuple(kept)
