"""Ways to make neighborhoods: windows of a sequence, nearest points, balls, lists, pairs, fresh samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._capacity import require_memory
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import Neighborhoods, Windows

# Powers of smaller and of larger numbers underflow and overflow.
_SMALLEST, _LARGEST = 1e-100, 1e100

Sampler: TypeAlias = Callable[[Tensor, int, torch.Generator | None], Tensor]


def windows(lengths: Sequence[int] | Tensor, *, radius: int) -> Windows:
    """For each position of each sequence the positions at most `radius` away, within the same sequence.

    The points are the positions of all sequences, one sequence after the other: N = sum(lengths), and every
    position is the center of one neighborhood. At the ends of a sequence windows are cut short.

    Examples
    --------
    >>> windows([4, 3], radius=1).sizes.tolist()
    [2, 3, 3, 2, 2, 3, 2]
    """
    sizes = _checks.indices(lengths, "lengths")
    if not len(sizes) or (sizes < 1).any():
        raise InputError(
            "`lengths` must hold at least one sequence, each of length >= 1",
            got=f"{sizes.tolist()[:20]}",
            parameter="lengths",
        )
    radius = _checks.whole(radius, 0, "radius")
    ends = torch.repeat_interleave(sizes.cumsum(0), sizes)
    starts = ends - torch.repeat_interleave(sizes, sizes)
    centers = torch.arange(int(sizes.sum()))
    return Windows(
        torch.maximum(centers - radius, starts), torch.minimum(centers + radius + 1, ends), centers, len(ends)
    )


def nearest(
    x: Any, *, k: int, query: Any = None, standardize: bool = False, approximate: bool = False
) -> Neighborhoods:
    """For each point (a row of x, N x P) the k points nearest to it in Euclidean distance, itself first.

    Members come nearest first; among equally near points the lowest index wins. The search is exact, runs on as many
    threads as torch does (`torch.set_num_threads`), and needs memory for about 32 P + 32 k + 56 bytes a point; one that
    does not fit is refused, and one that takes minutes says so before it starts (docs/scale.md).

    Parameters
    ----------
    x : array_like
        (N, P) features. Tables of pandas, booleans and whole numbers do as well.
    k : int
        The number of members.
    query : array_like
        (Q, P) new points. Each is the center of a neighborhood of the k points of x nearest to it, and a member of
        none: witnesses are fitted to points of x, and what they say at the new point can be held against the
        predictor. Neighborhoods are then over the N + Q points x, then query: witnesses and predictor read
        `torch.cat([x, query])`. For neighborhoods that hold new points, too, search among all of them.
    standardize : bool
        Whether columns count in units of their standard deviation over x; those that are constant, up to rounding,
        then do not count.
    approximate : bool
        Whether most of the nearest will do, found by an index of pynndescent (the extra `pellucid[approximate]`): for
        many points with tens of features or more, where the exact search compares nearly all pairs. How many it has
        found is judged by a sample, and fewer than 90 % are warned of. Among fewer than 5,000 points it is exact.

    Examples
    --------
    >>> points = torch.tensor([[0.0], [1.0], [5.0], [6.0]])
    >>> nearest(points, k=2).members.tolist()
    [0, 1, 1, 0, 2, 3, 3, 2]
    >>> new = torch.tensor([[4.0]])
    >>> hoods = nearest(points, k=2, query=new)
    >>> hoods.centers.tolist(), hoods.members.tolist(), hoods.n_points
    ([4], [2, 3], 5)
    """
    from pellucid._near_approximate import ApproximateIndex, require_index
    from pellucid._nearest import memory, nearest_rows

    if approximate:
        require_index()
    features, new = _features(x, query, standardize=standardize)
    n, p = features.shape
    k = _checks.whole(k, 1, "k", n)
    require_memory(
        memory(n, p, k, None if new is None else len(new)),
        f"The search for the {k} nearest of {n:,} points with {p} features",
        cure=f"lower {Parameter('k')}, or pass parts of the points one after the other as {Parameter('query'):=}",
        parameter="k",
    )
    index = ApproximateIndex if approximate else None
    members = torch.from_numpy(nearest_rows(features, k, new, torch.get_num_threads(), index)).flatten()
    if new is None:
        return Neighborhoods.checked(members, torch.arange(n + 1) * k, torch.arange(n), n)
    q = len(new)
    return Neighborhoods.checked(members, torch.arange(q + 1) * k, torch.arange(n, n + q), n + q)


def within(x: Any, *, radius: float, p: float = 2, standardize: bool = False) -> Neighborhoods:
    """For each point (a row of x, N x P) all points at most `radius` away in the p-norm, itself included.

    Parameters
    ----------
    x : array_like
        (N, P) features, as in `nearest`.
    radius, p : float
        How far members may be, in which norm.
    standardize : bool
        As in `nearest`; the radius is then in standard deviations.
    """
    features, _ = _features(x, standardize=standardize)
    _checks.at_least(radius, 0, "radius", "within")
    if p != float("inf"):
        _checks.at_least(p, 1, "p", "within")
    rows, columns = _ball(features, float(radius), p)
    return from_pairs(rows, columns, n_points=len(features))


def from_lists(
    members: Sequence[Sequence[int] | Tensor],
    centers: Sequence[int] | Tensor | None = None,
    n_points: int | None = None,
) -> Neighborhoods:
    """Neighborhoods written out as lists of members.

    Parameters
    ----------
    members : sequence of sequence of int or Tensor
        Indices of the points of each neighborhood.
    centers : sequence of int or Tensor, optional
        The point that each belongs to; by default neighborhood i belongs to point i.
    n_points : int, optional
        The number of points; by default just enough for all members and centers.
    """
    lists = [_checks.indices(m, "members") for m in members]
    sizes = torch.tensor([len(m) for m in lists])
    if not len(lists):
        raise InputError("`members` must hold at least one neighborhood", got="none", parameter="members")
    flat = torch.cat(lists)
    middle = torch.arange(len(lists)) if centers is None else _checks.indices(centers, "centers")
    if len(middle) != len(lists):
        raise InputError(f"There must be one center for each of the {len(lists)} neighborhoods", got=f"{len(middle)}")
    if n_points is None:
        n_points = int(torch.cat([flat, middle]).max()) + 1
    return Neighborhoods(flat, torch.cat([sizes.new_zeros(1), sizes.cumsum(0)]), middle, n_points)


def from_pairs(rows: Any, columns: Any, *, n_points: int) -> Neighborhoods:
    """Neighborhoods from pairs: point columns[e] is a member of the neighborhood of point rows[e].

    Every point must be the center of a neighborhood, so each index must occur among the rows; members are
    put in rising order.
    """
    center, member = _checks.indices(rows, "rows"), _checks.indices(columns, "columns")
    n_points = _checks.whole(n_points, 1, "n_points")
    if len(center) != len(member):
        raise InputError(
            "`rows` and `columns` must be equally long", got=f"{len(center)} and {len(member)}", parameter="rows"
        )
    for name, values in (("rows", center), ("columns", member)):
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < n_points:
            raise InputError(
                f"{Parameter(name)} must lie between 0 and {n_points - 1}, since there are {n_points} points",
                got=f"values from {int(values.min())} to {int(values.max())}",
                parameter=name,
            )
    order = torch.argsort(center * n_points + member)
    sizes = torch.bincount(center, minlength=n_points)
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return Neighborhoods(member[order], offsets, torch.arange(n_points), n_points)


def sampled(
    x: Any, sampler: Sampler, *, size: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Neighborhoods]:
    """Continuous neighborhoods by sampling: each center with `size` fresh points around it.

    Parameters
    ----------
    x : array_like
        (n, P) the centers.
    sampler : Sampler
        Called as `sampler(x, size, generator)`, gives an (n, size, P) tensor of points around each center.
    size : int
        Number of fresh points per center.
    generator : Generator, optional
        Source of randomness handed to the sampler, for repeatable neighborhoods.

    Returns
    -------
    points : (n + n * size, P) the centers, then the samples of center 0, of center 1, ...; the predictor
        must be evaluated on all of them.
    hoods : neighborhood i holds center i and its samples.

    Examples
    --------
    >>> def gaussian(x, size, generator):
    ...     noise = torch.randn(len(x), size, x.shape[1], generator=generator)
    ...     return x[:, None] + 0.1 * noise
    >>> points, hoods = sampled(torch.zeros(5, 2), gaussian, size=20)
    >>> points.shape, hoods
    (torch.Size([105, 2]), Neighborhoods(5 neighborhoods over 105 points; sizes 21 to 21, median 21))
    """
    centers = _checks.table(x, "x")
    size = _checks.whole(size, 1, "size")
    n, p = centers.shape
    samples = _checks.tensor(sampler(centers, size, generator), "the samples")
    if samples.shape != (n, size, p):
        raise InputError(
            f"The sampler must return a tensor of shape (centers, size, features) = {(n, size, p)}",
            got=f"{tuple(samples.shape)}",
        )
    points = torch.cat([centers, samples.reshape(n * size, p)])
    _checks.finite(points, "the samples")
    fresh = torch.arange(n, n + n * size).reshape(n, size)
    members = torch.cat([torch.arange(n)[:, None], fresh], dim=1)
    hoods = Neighborhoods(members.flatten(), torch.arange(n + 1) * (size + 1), torch.arange(n), len(points))
    return points, hoods.to(points.device)


def _features(x: Any, query: Any = None, *, standardize: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Features of points and of new points, in float64."""
    table = _checks.table(x, "x")
    features = table.detach().cpu().double().numpy()
    if not features.size:
        raise InputError(
            "`x` must hold at least one point and one feature", got=f"shape {features.shape}", parameter="x"
        )
    new = None
    if query is not None:
        new = _checks.table(query, "query").detach().cpu().double().numpy()
        if new.shape[1] != features.shape[1] or not len(new):
            raise InputError(
                f"`query` must hold new points with the {features.shape[1]} features of `x`",
                got=f"shape {new.shape}",
                cure="pass the same columns, in the same order, and a single point as `query[None]`",
                parameter="query",
            )
    if not standardize:
        return features, new
    # Relative to the largest number of a column, so that no square overflows.
    largest = np.abs(features).max(axis=0)
    largest[largest == 0] = 1.0
    mean, deviation = (features / largest).mean(axis=0), (features / largest).std(axis=0)
    rounding = torch.finfo(table.dtype if table.is_floating_point() else torch.float64).eps
    varies = deviation > 4 * rounding
    scale = np.where(varies, deviation, np.inf)
    return (features / largest - mean) / scale, None if new is None else (new / largest - mean) / scale


def _ball(features: np.ndarray, radius: float, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (center, member) of all points within the radius of each."""
    from scipy.spatial import KDTree

    largest = np.abs(features).max()
    if largest > _LARGEST or 0 < largest < _SMALLEST:
        unit = 2.0 ** math.frexp(largest)[1]  # a power of two, so that nothing is rounded
        features, radius = features / unit, radius / unit
    tree = KDTree(features)
    lists = tree.query_ball_point(features, radius, p=p, workers=torch.get_num_threads())
    sizes = np.fromiter((len(m) for m in lists), dtype=np.int64, count=len(lists))
    return np.repeat(np.arange(len(lists)), sizes), np.concatenate([np.asarray(m, dtype=np.int64) for m in lists])
