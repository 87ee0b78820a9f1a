"""Measures of how well witnesses match the predictor."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_neighborhoods, check_points
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import Witnesses

# Of segments of at most so many points, to look at every pair takes less time than to sort.
_SHORT = 1024


def generalized_auc(reference: Any, prediction: Any) -> Tensor:
    """AUC for real-valued references: the share of ordered pairs that the prediction orders alike,

        sum_ij 1(y_i > y_j) 1(y'_i > y'_j) / sum_ij 1(y_i > y_j).

    For binary references without tied predictions it is the usual AUC (a tie counts as 0 here). Computed in
    O(N log N). NaN references are left out; where no pair is ordered the result is NaN.

    Parameters
    ----------
    reference, prediction : array_like
        (N,) or (N, K); predictions must be finite.

    Returns
    -------
    Tensor
        A scalar for vectors, (K,) for tables: one score per column.
    """
    y, g = _checks.tensor(reference, "reference"), _checks.tensor(prediction, "prediction")
    if y.shape != g.shape or y.ndim not in (1, 2) or y.shape[1:] == (0,):
        raise InputError(
            f"`reference` and {Parameter('prediction')} must be two vectors or two tables of one shape, (N,) or (N, K)",
            got=f"{tuple(y.shape)} and {tuple(g.shape)}",
            cure="pass one row per point and one column per output",
            parameter="reference",
        )
    vector = y.ndim == 1
    if vector:
        y, g = y[:, None], g[:, None]
    _checks.finite(g, "prediction")
    scores = _scores(y, g, np.array([0, len(y)]))[0]
    return scores[0] if vector else scores


def local_generalized_auc(reference: Any, prediction: Any, hoods: BaseNeighborhoods, *, gap: Any = None) -> Tensor:
    """`generalized_auc` inside every neighborhood at once: (n, K), NaN where no pair is ordered.

    With a gap b_i, such as the bound on how far a witness is from the predictor, closer pairs are ignored, whose
    order the witness does not claim to know:

        sum_jk 1(y_j - y_k > b_i) 1(y'_j > y'_k) / sum_jk 1(y_j - y_k > b_i).

    Parameters
    ----------
    reference : array_like
        (N, K) values at the points, usually the predictor's; NaN are left out.
    prediction : array_like
        (M, K) values at the members, usually `witnesses.at_members()`.
    hoods : BaseNeighborhoods
        The neighborhoods, whose members the predictions are of.
    gap : array_like, optional
        A number from 0 on, or (n, K) one for each neighborhood and output; None ignores no pair. Where it is NaN, so
        is the result.
    """
    check_neighborhoods(hoods)
    y, g = _checks.tensor(reference, "reference"), _checks.table(prediction, "prediction")
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or len(y) != hoods.n_points or len(g) != len(hoods.members) or y.shape[1] != g.shape[1]:
        raise InputError(
            f"`reference` must have a row for each of the {hoods.n_points} points and "
            f"{Parameter('prediction')} one for each of the {len(hoods.members)} members, with equally many "
            "columns",
            got=f"{tuple(y.shape)} and {tuple(g.shape)}",
            cure="for the latter pass `witnesses.at_members()`",
            parameter="reference",
        )
    gaps = None if gap is None else _gaps(gap, len(hoods), y.shape[1])
    return _scores(y[hoods.members], g, hoods.offsets.cpu().numpy(), gaps)


def _gaps(gap: Any, n: int, outputs: int) -> np.ndarray:
    """(n, outputs) what a user passed as one number or as a table."""
    values = np.asarray(_checks.tensor(gap, "gap").detach().cpu().double())
    if values.shape not in ((), (n, outputs)) or (values < 0).any():
        raise InputError(
            f"{Parameter('gap')} must be a number from 0 on, or ({n}, {outputs}) of them",
            got=f"{values:g}" if values.ndim == 0 else f"shape {values.shape}, the least being {np.nanmin(values):g}",
            cure="pass one for each neighborhood and output",
            parameter="gap",
        )
    return np.broadcast_to(values, (n, outputs))


def _scores(reference: Tensor, prediction: Tensor, offsets: np.ndarray, gaps: np.ndarray | None = None) -> Tensor:
    """The score of each segment of rows and each column, (n, K)."""
    y, g = (v.detach().cpu().double().numpy() for v in (reference, prediction))
    count = _counted_pairs if (np.diff(offsets) <= _SHORT).all() else _sorted_pairs
    scores = []
    for column in range(y.shape[1]):
        rows = np.flatnonzero(~np.isnan(y[:, column]))
        # No difference is above NaN: then there is no pair.
        gap = None if gaps is None else gaps[:, column].copy()
        alike, ordered = count(y[rows, column], g[rows, column], np.searchsorted(rows, offsets), gap)
        scores.append(np.where(ordered > 0, alike / np.maximum(ordered, 1), np.nan))
    return torch.from_numpy(np.stack(scores, axis=1))


def _counted_pairs(
    y: np.ndarray, g: np.ndarray, starts: np.ndarray, gap: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of each segment that both order alike, and that the reference orders: one by one."""
    from pellucid._auc_kernel import all_pairs

    result: tuple[np.ndarray, np.ndarray] = all_pairs(y, g, starts, np.zeros(len(starts) - 1) if gap is None else gap)
    return result


def _sorted_pairs(
    y: np.ndarray, g: np.ndarray, starts: np.ndarray, gap: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The same of sorted segments, which takes less time where they are long."""
    from pellucid._auc_kernel import ordered_pairs, separated_pairs

    segments = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((g, y if gap is not None else -y, segments))
    values = y[order], g[order], starts
    result: tuple[np.ndarray, np.ndarray] = ordered_pairs(*values) if gap is None else separated_pairs(*values, gap)
    return result


def deviation_rmse(f: Any, witnesses: Witnesses) -> float:
    """Root mean squared error between the predictor and each witness at its own center:

    sqrt( 1/(n K) sum_i |f_c(i) - g_i(x_c(i))|^2 ).
    """
    values = check_points(witnesses.x, f, witnesses.hoods)[1].detach().double()
    if values.shape[1] != witnesses.f.shape[1]:
        raise InputError(
            f"`f` must have the {witnesses.f.shape[1]} outputs of the witnesses",
            got=f"{values.shape[1]}",
            cure="pass the predictions that they respond to, or others of the same outputs",
            parameter="f",
        )
    gap = values[witnesses.hoods.centers] - witnesses.at_centers().double()
    return float(gap.square().mean().sqrt())


def parameter_variation(parameters: Any, lengths: Any = None) -> float:
    """Mean total variation of the witnesses' parameters between consecutive points:

        1/T sum_t |theta_{t+1} - theta_t|_1,   over the T pairs of neighbors in a sequence.

    Parameters
    ----------
    parameters : array_like
        (n, ...) the parameters of each witness, in the order of the points.
    lengths : object
        The lengths of the sequences that the points belong to; by default one sequence.
    """
    theta = _checks.tensor(parameters, "parameters").detach().double()
    if theta.ndim < 2:
        raise InputError(
            "`parameters` must have a row for each witness, such as `witnesses.parameters` of linear ones",
            got=f"shape {tuple(theta.shape)}",
            cure="the parameters of trees cannot be compared from point to point",
            parameter="parameters",
        )
    steps = theta.diff(dim=0).abs().flatten(1).sum(1)
    if lengths is not None:
        sizes = _checks.indices(lengths, "lengths")
        if int(sizes.sum()) != len(theta) or (sizes < 1).any():
            raise InputError(
                f"`lengths` must be at least 1 each and sum to the {len(theta)} witnesses",
                got=f"a sum of {int(sizes.sum())} and a least length of {int(sizes.min())}",
                cure="pass those of the windows",
                parameter="lengths",
            )
        within = torch.ones(len(steps), dtype=torch.bool)
        within[sizes.cumsum(0)[:-1] - 1] = False
        steps = steps[within.to(steps.device)]
    if not len(steps):
        raise InputError("The variation needs at least two consecutive points in a sequence", got="none")
    return float(steps.mean())
