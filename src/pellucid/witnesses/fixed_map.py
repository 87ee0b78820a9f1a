"""Witnesses as a fixed linear map of the predictions, computed once where features and neighborhoods stay as they are.

Constants and linear functions with a fixed ridge are linear in the predictions that they are fitted to: at the members
of neighborhood i their values are H_i E_i f, with a hat matrix H_i that features and members alone determine, and held
out L_i E_i f. So is their consensus, c = C f.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from pellucid._threads import run_chunks
from pellucid.errors import quietly
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.witnesses.base import Witnesses, WitnessFamily

SparseMatrix: TypeAlias = Any
"""A `scipy.sparse.csr_array`; SciPy is imported where one is made."""

# Entries of all hat matrices, sum_i m_i^2, up to which they are kept: 160 MB, and as much again for the sparse matrix.
MOST_ENTRIES = 20_000_000
# Numbers that the witnesses of one batch may hold: 32 MB.
_BATCH = 2**22


def unit_responses(
    family: WitnessFamily, x: Tensor, hoods: BaseNeighborhoods
) -> Iterator[tuple[np.ndarray, Witnesses]]:
    """Witnesses of unit predictions, in batches of b neighborhoods of one size m: which these are (b,), and the
    witnesses, over points of their own.

    Output k of a witness is its answer to the prediction that is 1 at its k-th member and 0 at all others. Their values
    at members (b m, m) are the hat matrices, one below the other; held out, the matrices L_i.

    Parameters
    ----------
    family : WitnessFamily
        A family with `is_linear`.
    x : Tensor
        (N, P) features.
    hoods : BaseNeighborhoods
        The neighborhoods over the N points.
    """
    x, members, centers = x.detach().cpu(), hoods.members.cpu(), hoods.centers.cpu()
    offsets, sizes = hoods.offsets.cpu(), hoods.sizes.cpu().numpy()
    for m in np.unique(sizes).tolist():
        group = torch.from_numpy(np.flatnonzero(sizes == m))
        for part in group.split(max(1, _BATCH // (m * (1 + x.shape[1] + m)))):
            count = len(part)
            points = members[offsets[part][:, None] + torch.arange(m)]  # (b, m)
            at_center = points == centers[part][:, None]
            place = torch.arange(count) * m + at_center.int().argmax(1)
            # A center that is no member is a point of its own, which no witness is fitted to.
            outside = count * m + torch.arange(count)
            alone = Neighborhoods.checked(
                torch.arange(count * m),
                torch.arange(count + 1) * m,
                torch.where(at_center.any(1), place, outside),
                count * (m + 1),
            )
            units = torch.eye(m, dtype=torch.float64).repeat(count, 1)
            f = torch.cat([units, units.new_zeros(count, m)])
            with quietly():  # whoever asks warns of the neighborhoods as a whole
                witnesses = family.best_response(x[torch.cat([points.flatten(), centers[part]])], f, alone)
            yield part.numpy(), witnesses


def consensus_map(
    family: WitnessFamily, x: Tensor, hoods: BaseNeighborhoods, *, held_out: bool = False
) -> SparseMatrix | None:
    """The sparse matrix C (N x N) that gives the consensus of linear witnesses, c = C f:

        C = diag(1 / N-bar) sum_i E_i' H_i E_i / m_i,     N-bar = S'(1/m),

    with E_i the rows of the identity that belong to neighborhood i, and held out with L_i in the place of H_i. Where no
    neighborhood covers a point, C keeps its own prediction. None if the family is not linear in f, or if the hat
    matrices have more than 20 million entries in all.

    Parameters
    ----------
    family : WitnessFamily
        The family of the witnesses.
    x : Tensor
        (N, P) features.
    hoods : BaseNeighborhoods
        The neighborhoods over the N points.
    held_out : bool
        Whether a witness says of a member what it would say if it had not been fitted to it.

    Examples
    --------
    >>> import torch, pellucid as pl
    >>> from pellucid.witnesses.fixed_map import consensus_map
    >>> x = torch.arange(3.0)[:, None]
    >>> consensus_map(pl.ConstantFamily(), x, pl.from_lists([[0, 1]], [0], 3), held_out=True).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    """
    squares = hoods.sizes.cpu().numpy() ** 2
    if not family.is_linear or squares.sum() > MOST_ENTRIES:
        return None
    places = np.append(0, squares.cumsum())
    maps = np.empty(places[-1])
    for part, witnesses in unit_responses(family, x, hoods):
        values = witnesses.held_out_values() if held_out else witnesses.at_members()
        maps[places[part][:, None] + np.arange(squares[part[0]])] = values.reshape(len(part), -1).numpy()
    return _merged(maps, places, hoods)


def _merged(maps: np.ndarray, places: np.ndarray, hoods: BaseNeighborhoods) -> SparseMatrix:
    from scipy.sparse import csr_array

    from pellucid.witnesses._map_kernel import count_columns, merge_rows

    parts = (hoods.members, hoods.offsets, hoods.rows, *hoods.by_point)
    members, offsets, rows, order, starts = (part.cpu().numpy() for part in parts)
    points, threads = hoods.n_points, torch.get_num_threads()
    counts = np.empty(points, dtype=np.int64)

    def count(begin: int, end: int) -> None:
        count_columns(members, offsets, rows, order, starts, begin, end, counts)

    run_chunks(count, starts, threads)
    pointer = np.append(0, counts.cumsum())
    columns, values = np.empty(pointer[-1], dtype=np.int32), np.empty(pointer[-1])

    def merge(begin: int, end: int) -> None:
        merge_rows(members, offsets, rows, order, starts, maps, places, pointer, begin, end, columns, values)

    run_chunks(merge, starts, threads)
    return csr_array((values, columns, pointer), shape=(points, points))
