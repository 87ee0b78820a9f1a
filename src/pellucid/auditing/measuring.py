"""What an audit measures at the members of all neighborhoods, in one pass that holds a part of them at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from pellucid._capacity import announce, require_memory
from pellucid.deviations import Deviation
from pellucid.errors import quietly
from pellucid.metrics import local_generalized_auc
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import HeldOutWitnesses, Witnesses, WitnessFamily
from pellucid.witnesses.refitted import ENTRIES, RefittedWitnesses, fits_of, parts

# Bytes, as measured for trees, which take most: of a member of the part that is in memory, and of an output of a
# neighborhood.
_MEMBER, _OUTPUT = 300, 80

Result = TypeVar("Result")


class Measures(NamedTuple):
    """What is measured where witnesses were fitted."""

    deviations: Tensor
    """(n,)."""
    local_auc: Tensor
    """(n, K)."""
    at_centers: Tensor
    """(n, K) the value of each witness at its center."""
    distances: Tensor
    """(n, K) mean of |predictor - witness| over the members."""
    squares: Tensor
    """(n, K) mean of |predictor - witness|^2 over the members."""
    explained: float
    """Share of the predictor's variance inside the neighborhoods that the witnesses account for."""
    held_out: Tensor | None = None
    """(n,) deviations at members that a witness was not fitted to, where they are known already."""
    saturated: Tensor | None = None
    """(n,) whether a witness goes through any values, where it is known already."""


class FitMeasures(NamedTuple):
    """The same of one range of neighborhoods, with two sums over all of their members."""

    deviations: Tensor
    local_auc: Tensor
    at_centers: Tensor
    distances: Tensor
    squares: Tensor
    total: float
    """Squared distances of the predictor from its mean in each neighborhood."""
    missed: float
    """Squared distances of the predictor from the witnesses."""


def memory(hoods: BaseNeighborhoods, outputs: int) -> int:
    """Bytes that an audit takes at its peak, beyond points and neighborhoods."""
    return _MEMBER * min(int(hoods.offsets[-1]), ENTRIES) + _OUTPUT * len(hoods) * outputs


def require_room(hoods: BaseNeighborhoods, outputs: int) -> None:
    """Refuse an audit that does not fit into memory."""
    require_memory(
        memory(hoods, outputs),
        f"The audit of {len(hoods):,} neighborhoods with {int(hoods.offsets[-1]):,} members",
        cure="audit a part of them, `hoods.select(...)`",
        parameter="hoods",
    )


def measure(witnesses: Witnesses, deviation: Deviation) -> Measures:
    """Measure witnesses where they were fitted, each of them fitted once."""
    return joined([measure_fit(fit, deviation) for fit in _announced(fits_of(witnesses), witnesses, "The audit")])


def measure_fit(fit: Witnesses, deviation: Deviation) -> FitMeasures:
    """Measure the witnesses of one range of neighborhoods."""
    f, hoods = fit.f, fit.hoods
    values = fit.at_members()
    at_members = f[hoods.members].double()
    spread = at_members - (hoods.sum(f.double()) / hoods.sizes[:, None])[hoods.rows]
    residual = at_members - values.double()
    sizes = hoods.sizes[:, None]
    return FitMeasures(
        fit.deviations(deviation).cpu(),
        local_generalized_auc(f, values, hoods),
        fit.at_centers(),
        hoods.sum_members(residual.abs()) / sizes,
        hoods.sum_members(residual.square()) / sizes,
        float(spread.square().sum()),
        float(residual.square().sum()),
    )


def joined(parts: Sequence[FitMeasures]) -> Measures:
    """The measures of all neighborhoods, from those of one range after the other."""
    total = missed = 0.0
    for part in parts:
        total += part.total
        missed += part.missed
    explained = 1 - missed / total if total > 0 else math.nan
    deviations, auc, at_centers, distances, squares = (
        torch.cat(column) for column in zip(*(part[:5] for part in parts), strict=True)
    )
    return Measures(deviations, auc, at_centers, distances, squares, explained)


def held_out_deviations(witnesses: Witnesses, family: WitnessFamily, deviation: Deviation) -> Tensor:
    """(n,) D_i of each neighborhood at members that its witness was not fitted to."""
    x, f, hoods = witnesses.x, witnesses.f, witnesses.hoods
    whole = not isinstance(witnesses, RefittedWitnesses)
    some = [hoods] if whole else map(hoods.select, parts(hoods))
    deviations = (held_out_part(x, f, part, family, deviation) for part in some)
    return torch.cat(list(_announced(deviations, witnesses, "The held-out part of the audit")))


def held_out_part(
    x: Tensor, f: Tensor, hoods: BaseNeighborhoods, family: WitnessFamily, deviation: Deviation
) -> Tensor:
    """The same of one range of neighborhoods.

    Parameters
    ----------
    x, f : Tensor
        Features and predictions at all points.
    hoods : BaseNeighborhoods
        The neighborhoods.
    family : WitnessFamily
        Where witnesses come from.
    deviation : Deviation
        The measure d(f, g) of the deviations.
    """
    with quietly():  # the neighborhoods are those of which a fit has warned already
        values = family.held_out_values(x, f, hoods)
    asked = RefittedWitnesses(x=x, f=f, hoods=hoods, family=family)
    return HeldOutWitnesses(witnesses=asked, values=values).deviations(deviation).cpu()


def _announced(results: Iterator[Result], witnesses: Witnesses, what: str) -> Iterator[Result]:
    """The same results of parts; after the second it says how long all take, where it is long."""
    hoods = witnesses.hoods
    before = perf_counter()
    for place, result in enumerate(results):
        now = perf_counter()
        if place == 1:  # the first may have waited for the compiler
            announce(
                (now - before) * int(hoods.offsets[-1]) / ENTRIES,
                memory(hoods, witnesses.f.shape[1]),
                f"{what} of {len(hoods):,} neighborhoods",
                cure="A part of the neighborhoods, `hoods.select(...)`, takes less",
            )
        before = now
        yield result
