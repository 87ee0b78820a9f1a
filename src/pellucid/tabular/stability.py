"""Stability: how much of a law the laws of the nearest rows repeat."""

from __future__ import annotations

import numpy as np

from pellucid.tabular.bulk import LearnedRowLaws
from pellucid.tabular.neighborhoods import RowNeighborhoods

# The nearest rows whose laws are looked at.
_ROWS = 3
_STABLE, _CHANGING = 0.9, 0.5


def law_stability(
    neighborhoods: RowNeighborhoods, laws: np.ndarray, output: np.ndarray, learned: LearnedRowLaws
) -> np.ndarray:
    """(n,) the share of each law that those of its nearest other rows repeat, a mean over three of them:

        1 - sum |(g - mean g) - (g' - mean g')|^2 / sum |g - mean g|^2

    over the members of its neighborhood, with g the law of the row and g' that of the other one. 1 is the same law, 0
    or less another one. NaN where there are no other rows, or a law does not vary.

    Parameters
    ----------
    neighborhoods : RowNeighborhoods
        The neighborhoods of the rows.
    laws : ndarray
        (n, m, K) their laws at the members of these.
    output : ndarray
        (n,) the output that is looked at.
    learned : LearnedRowLaws
        The laws of the rows that were learned from.
    """
    nearest, n = neighborhoods.nearest, len(neighborhoods.hoods)
    if not nearest.shape[1]:
        return np.full(n, np.nan)
    # A row that was learned from is no other row.
    other = neighborhoods.distances > 1e-9
    rank = np.where(other, np.cumsum(other, axis=1) - 1, _ROWS)
    rows, columns = np.nonzero(rank < _ROWS)
    if not len(rows):
        return np.full(n, np.nan)
    # (pairs, m) both laws at the members of the first one's neighborhood.
    theirs = learned.at(nearest[rows, columns], neighborhoods.members[rows])
    pairs, k = np.arange(len(rows)), output[rows]
    g, h = laws[rows][pairs, :, k], theirs[pairs, :, k]
    g, h = g - g.mean(1, keepdims=True), h - h.mean(1, keepdims=True)
    total = np.square(g).sum(1)
    share = np.where(total > 1e-18, 1 - np.square(g - h).sum(1) / np.where(total > 1e-18, total, 1.0), np.nan)
    sums, counts = np.zeros(n), np.zeros(n)
    known = ~np.isnan(share)
    np.add.at(sums, rows[known], share[known])
    np.add.at(counts, rows[known], 1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def stability_word(share: float) -> str:
    """The stability in a word.

    Examples
    --------
    >>> [stability_word(share) for share in (0.95, 0.7, 0.1)]
    ['stable', 'changing', 'unstable']
    """
    if np.isnan(share):
        return "not known"
    return "stable" if share >= _STABLE else "changing" if share >= _CHANGING else "unstable"
