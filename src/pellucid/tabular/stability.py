"""Stability: how much of a law the laws of the nearest rows repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from pellucid.tabular.neighborhoods import RowNeighborhoods
from pellucid.witnesses import Witnesses

if TYPE_CHECKING:
    from pellucid.tabular.model import TableModel

# The nearest rows whose laws are looked at.
_ROWS = 3
_STABLE, _CHANGING = 0.9, 0.5


def law_stability(
    model: TableModel, neighborhoods: RowNeighborhoods, laws: Witnesses, output: np.ndarray
) -> np.ndarray:
    """(n,) the share of each law that those of its nearest other rows repeat, a mean over three of them:

        1 - sum |(g - mean g) - (g' - mean g')|^2 / sum |g - mean g|^2

    over the members of its neighborhood, with g the law of the row and g' that of the other one. 1 is the same law, 0
    or less another one. NaN where there are no other rows, or a law does not vary.

    Parameters
    ----------
    model : TableModel
        The model that the laws are of.
    neighborhoods : RowNeighborhoods
        The neighborhoods of the rows.
    laws : Witnesses
        Their laws.
    output : ndarray
        (n,) the output that is looked at.
    """
    nearest, n = neighborhoods.nearest, len(neighborhoods.hoods)
    if not nearest.shape[1]:
        return np.full(n, np.nan)
    # A row that was learned from is no other row.
    other = neighborhoods.distances > 1e-9
    rank = np.where(other, np.cumsum(other, axis=1) - 1, _ROWS)
    rows, columns = np.nonzero(rank < _ROWS)
    places, inverse = np.unique(nearest[rows, columns], return_inverse=True)
    if not len(places):
        return np.full(n, np.nan)
    around = model.neighborhoods(model.fitted_.scaled[torch.from_numpy(places)])
    others = model.witnesses(around)
    m = neighborhoods.size
    k = output[rows]
    mine = laws.at_members().double().numpy().reshape(n, m, -1)
    # (pairs, m) both laws at the members of the first one's neighborhood.
    members = neighborhoods.points.reshape(n, m, -1)[rows].flatten(0, 1)
    which = torch.from_numpy(inverse).repeat_interleave(m)
    theirs = others.evaluate(which, members).double().numpy().reshape(len(rows), m, -1)
    pairs = np.arange(len(rows))
    g, h = mine[rows][pairs, :, k], theirs[pairs, :, k]
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
