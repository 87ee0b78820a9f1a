"""Which family of witnesses holds best at members that it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.choosing import choosing_half
from pellucid.errors import InputError
from pellucid.held_out import FEWEST
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.numbers import counted, percent
from pellucid.text_tables import aligned
from pellucid.witnesses import ConstantFamily, LinearFamily, SparseLinearFamily, TreeFamily, WitnessFamily
from pellucid.witnesses.folds import FOLDS, values_by_folds
from pellucid.witnesses.leave_one_out import distances_from_others

CANDIDATES: Mapping[str, WitnessFamily] = MappingProxyType(
    {
        "constant": ConstantFamily(),
        "linear": LinearFamily(ridge="auto"),
        "sparse linear": SparseLinearFamily(terms=8),
        "tree": TreeFamily(),
        "shrunken tree": TreeFamily(min_leaf=3, shrinkage="auto"),
    }
)
"""The families that `pellucid.audit(..., family="auto")` compares, by their names; the simplest first."""

# Neighborhoods that choose.
_MOST = 500


class FamilyScore(NamedTuple):
    """How well a family's witnesses account for the predictor, in the neighborhoods that choose."""

    name: str
    held_out: float
    """Held-out variance explained: 0 is no better than a constant; NaN where nothing varies."""
    where_fitted: float
    """Variance explained at the members that the witnesses were fitted to: high even for noise."""
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """In plain numbers, ready for JSON."""
        return {
            "family": self.name,
            "held_out_variance_explained": None if math.isnan(self.held_out) else self.held_out,
            "explained_where_fitted": None if math.isnan(self.where_fitted) else self.where_fitted,
            "chosen": self.chosen,
        }


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class FamilyComparison:
    """What each family explains, and which neighborhoods had no part in the choice; see `compare_families`."""

    scores: tuple[FamilyScore, ...]
    family: WitnessFamily
    """The one that holds best."""
    used: Tensor = field(repr=False)
    """The neighborhoods that chose."""
    others: Tensor | None = field(repr=False)
    """The neighborhoods to judge by. None where there were too few to set some aside."""

    @property
    def best(self) -> FamilyScore:
        return next(score for score in self.scores if score.chosen)

    def text(self) -> str:
        """What each family explains, as a table."""
        rows = [
            [
                f"{score.name} (chosen)" if score.chosen else score.name,
                _percent(score.held_out),
                _percent(score.where_fitted),
            ]
            for score in self.scores
        ]
        table = aligned([f"families, in {counted(len(self.used), 'neighborhood')}", "held out", "where fitted"], rows)
        if self.others is not None:
            return table
        return f"{table}\nthe same neighborhoods choose and judge: too few to set some aside"


def compare_families(
    f: Any,
    x: Any,
    hoods: BaseNeighborhoods,
    families: Mapping[str, WitnessFamily] = CANDIDATES,
    *,
    judges: Sequence[int] | Tensor | None = None,
    seed: int = 0,
) -> FamilyComparison:
    """Compare families by held-out variance explained, a mean over the outputs:

        1 - sum |f_j - g_i-j(x_j)|^2 / sum |f_j - mean of the other members|^2,

    over all members of the neighborhoods that choose. g_i-j is exact for families that are linear in f; others are
    fitted again without each of five folds, and whatever they choose by themselves, such as a ridge, is chosen again.
    The best is the one with the largest share, the first if equal.

    A random half of the neighborhoods chooses, at most 500; the rest, `FamilyComparison.others`, has had no part in it
    and is there to judge the choice by. Of fewer than 20 all choose, and `others` is None. Neighborhoods of fewer than
    three members do not count, for any witness follows them.

    Parameters
    ----------
    f : array_like
        (N,) or (N, K) predictions at all points.
    x : array_like
        (N, P) features that the witnesses read.
    hoods : BaseNeighborhoods
        The n neighborhoods over the N points.
    families : mapping of str to WitnessFamily
        The families by their names, the simplest first.
    judges : sequence of int or Tensor, optional
        Neighborhoods that are set aside already: of the others, at most 500 choose.
    seed : int
        Seed of the choice of the neighborhoods that choose.

    Examples
    --------
    >>> import torch, pellucid as pl
    >>> from pellucid.comparing import compare_families
    >>> x = torch.rand(200, 2, generator=torch.Generator().manual_seed(0))
    >>> compare_families(torch.sin(3 * x[:, 0]), x, pl.nearest(x, k=12)).best.name
    'sparse linear'
    """
    x, f = check_points(x, f, hoods)
    f = f.detach()
    if not families or not all(isinstance(family, WitnessFamily) for family in families.values()):
        raise InputError(
            "`families` must be witness families by their names",
            got=f"{families!r}",
            cure='such as {"linear": LinearFamily()}',
            parameter="families",
        )
    large = (hoods.sizes >= FEWEST).nonzero().flatten().cpu()
    if not len(large):
        raise InputError(
            f"Families are compared in neighborhoods of at least {FEWEST} members",
            got="smaller ones",
            cure="take larger neighborhoods, or name the family",
        )
    if judges is None:
        used, others = choosing_half(large, most=_MOST, seed=seed)
    else:
        others = _checks.indices(judges, "judges")
        _checks.in_range(others, len(hoods), "`judges`", "neighborhoods")
        rest = large[~torch.isin(large, others.cpu())]
        generator = torch.Generator().manual_seed(_checks.seed(seed))
        used = torch.sort(rest[torch.randperm(len(rest), generator=generator)[:_MOST]]).values
        if not len(used):
            raise InputError(
                "`judges` must leave some neighborhoods to compare families in", got="all", parameter="judges"
            )
    part = hoods.select(used.to(hoods.device))
    shares = {name: _explained(family, x, f, part) for name, family in families.items()}
    ranks = np.nan_to_num([held_out for held_out, _ in shares.values()], nan=0.0)
    # Where several are exact, rounding is all that tells them apart.
    best = int(np.flatnonzero(ranks >= ranks.max() - 1e-12)[0])
    scores = tuple(FamilyScore(name, *pair, i == best) for i, (name, pair) in enumerate(shares.items()))
    return FamilyComparison(scores=scores, family=list(families.values())[best], used=used, others=others)


def _explained(family: WitnessFamily, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> tuple[float, float]:
    """Variance explained at held-out members, and at those that the witnesses were fitted to."""
    values = f[hoods.members].double()
    witnesses = family.best_response(x, f, hoods)
    # Settings that a family chooses by itself, such as a ridge, must be chosen without the member, too.
    held_out = (
        family.held_out_values(x, f, hoods)
        if family.is_linear
        else values_by_folds(family.best_response, x, f, hoods, folds=FOLDS)
    ).double()
    average = (hoods.sum(f.double()) / hoods.sizes[:, None])[hoods.rows]
    return (
        _share(values - held_out, distances_from_others(f, hoods)),
        _share(values - witnesses.at_members().double(), values - average),
    )


def _percent(value: float) -> str:
    return "undefined" if math.isnan(value) else percent(value, 1)


def _share(missed: Tensor, alone: Tensor) -> float:
    """1 - sum missed^2 / sum alone^2, a mean over the outputs that vary; NaN where none does."""
    total = alone.square().sum(0)
    return 1 - float((missed.square().sum(0) / total)[total > 0].mean())
