"""Witnesses that are fitted again whenever they are asked: of so many neighborhoods that memory would not hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.deviations import Deviation, squared_error
from pellucid.errors import InputError, quietly
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.folds import FOLDS
from pellucid.witnesses.witness import Witness

ENTRIES = 2**21
"""Members of the neighborhoods that are fitted at the same time: with these, memory stays below some hundred MB."""


KEPT = 2**22
"""Members of all neighborhoods up to which fitted witnesses are kept."""


def respond(family: WitnessFamily, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> Witnesses:
    """The best response of a family: fitted once, or, over very many neighborhoods, whenever it is asked.

    The parameters are those of `WitnessFamily.best_response`.
    """
    if int(hoods.offsets[-1]) <= KEPT:
        return family.best_response(x, f, hoods)
    family.warn_of(hoods, x.shape[1])
    return RefittedWitnesses(x=x, f=f.detach(), hoods=hoods, family=family)


def fits_of(witnesses: Witnesses) -> Iterator[Witnesses]:
    """The witnesses of one range of neighborhoods after the other, as they fit into memory: all, or parts."""
    return witnesses.fits() if isinstance(witnesses, RefittedWitnesses) else iter([witnesses])


def parts(hoods: BaseNeighborhoods, entries: int | None = None) -> Iterator[slice]:
    """Ranges of consecutive neighborhoods with so many members, or one neighborhood with more.

    Parameters
    ----------
    hoods : BaseNeighborhoods
        The neighborhoods.
    entries : int, optional
        The most members; by default `ENTRIES`.
    """
    offsets, most = hoods.offsets.cpu().numpy(), ENTRIES if entries is None else entries
    begin = 0
    while begin < len(hoods):
        end = int(np.searchsorted(offsets, offsets[begin] + most, side="right")) - 1
        end = max(end, begin + 1)
        yield slice(begin, end)
        begin = end


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RefittedWitnesses(Witnesses):
    """The best response of `family`, of which nothing is kept but features, predictions and neighborhoods.

    Each neighborhood has its own fit, so that those of a range are the same as those of all; over `Windows`, whose sums
    run from one to the next, they are the same up to rounding.
    """

    def _fit(self, index: slice | Tensor) -> Witnesses:
        """The witnesses of some neighborhoods."""
        with quietly():  # whoever made these has warned of all neighborhoods
            return self._family.best_response(self.x, self.f, self.hoods.select(index))

    @property
    def _family(self) -> WitnessFamily:
        if self.family is None:
            raise InputError("Witnesses that are fitted again must know their family", got="none", parameter="family")
        return self.family

    def fits(self) -> Iterator[Witnesses]:
        """The witnesses of one range of neighborhoods after the other."""
        return (self._fit(part) for part in parts(self.hoods))

    @property
    def parameters(self) -> Any:
        return self._fit(slice(None)).parameters

    def evaluate(self, which: Tensor, x: Tensor) -> Tensor:
        which, x = self._asked(which, x)
        result = torch.empty(len(which), self.f.shape[1], dtype=torch.float64, device=self.f.device)
        order = torch.argsort(which, stable=True)
        asked = which[order]
        for part in parts(self.hoods):
            begin, end = torch.searchsorted(asked, torch.tensor([part.start, part.stop], device=asked.device)).tolist()
            if begin == end:
                continue
            names, places = torch.unique(asked[begin:end], return_inverse=True)
            rows = order[begin:end]
            result[rows] = self._fit(names).evaluate(places, x[rows]).to(result)
        return result

    def at_centers(self) -> Tensor:
        return torch.cat([fit.at_centers() for fit in self.fits()])

    def at_members(self) -> Tensor:
        return torch.cat([fit.at_members() for fit in self.fits()])

    def held_out_values(self, *, folds: int = FOLDS) -> Tensor:
        with quietly():
            values = [
                self._family.held_out_values(self.x, self.f, self.hoods.select(part), folds=folds)
                for part in parts(self.hoods)
            ]
        return torch.cat(values)

    def deviations(self, deviation: Deviation = squared_error, f: Tensor | None = None) -> Tensor:
        return torch.cat([fit.deviations(deviation, f) for fit in self.fits()])

    def saturated(self, which: Tensor | None = None) -> Tensor:
        if which is not None:
            return self._fit(which).saturated()
        return torch.cat([fit.saturated() for fit in self.fits()])

    def __iter__(self) -> Iterator[Witness]:
        for fit in self.fits():
            yield from replace(
                fit,
                feature_names=self.feature_names,
                output_names=self.output_names,
                calibration=self.calibration,
                level=self.level,
            )

    def witness(self, i: int, **common: Any) -> Witness:
        return self._fit(slice(i, i + 1)).witness(0, **common)
