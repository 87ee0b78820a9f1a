"""Laws of many rows: computed in pieces that fit into memory, of which only numbers are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.tabular.laws import contributions, held_out_shares, is_linear, linear_coefficients
from pellucid.tabular.neighborhoods import RowNeighborhoods
from pellucid.witnesses import Witnesses

if TYPE_CHECKING:
    from pellucid.tabular.model import TableModel

# Rows whose neighborhoods are fitted at once, and pieces that are kept for what else is asked of them.
_PIECE, _KEPT = 2048, 2


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LawNumbers:
    """Numbers of the laws of n rows, in standard deviations or quarter log-odds."""

    at_rows: np.ndarray
    """(n, K) what each law says of its own row."""
    contributions: np.ndarray
    """(n, C, K)."""
    held_out_explained: np.ndarray
    """(n, K)."""
    held_out_deviation: np.ndarray
    """(n, K)."""
    deviation: np.ndarray
    """(n, K) mean distance between law and network at the members that it was fitted to."""
    coefficients: np.ndarray | None
    """(n, P, K) of scaled features; None for trees."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class PiecewiseLaws:
    """The laws around rows (n, P), piece by piece."""

    model: TableModel
    scaled: Tensor
    _kept: dict[int, tuple[RowNeighborhoods, Witnesses]] = field(default_factory=dict)

    @property
    def starts(self) -> range:
        """The first row of each piece."""
        return range(0, len(self.scaled), _PIECE)

    def rows(self, start: int) -> slice:
        """The rows of a piece."""
        return slice(start, min(start + _PIECE, len(self.scaled)))

    def piece(self, start: int) -> tuple[RowNeighborhoods, Witnesses]:
        """The neighborhoods and laws of the rows from `start` on."""
        if start not in self._kept:
            neighborhoods = self.model.neighborhoods(self.scaled[self.rows(start)])
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[start] = neighborhoods, self.model.witnesses(neighborhoods)
        return self._kept[start]

    def of_row(self, i: int) -> tuple[int, RowNeighborhoods, Witnesses]:
        """The piece that a row is in, and its place there."""
        return i % _PIECE, *self.piece(i - i % _PIECE)

    def numbers(self) -> LawNumbers:
        """The numbers of all laws."""
        parts = [_numbers(self.model, *self.piece(start)) for start in self.starts]
        arrays: dict[str, Any] = {}
        for name in LawNumbers.__dataclass_fields__:
            values = [getattr(part, name) for part in parts]
            arrays[name] = None if values[0] is None else np.concatenate(values)
        return LawNumbers(**arrays)

    def at_members(self, coefficients: np.ndarray | None) -> Iterator[tuple[slice, RowNeighborhoods, np.ndarray]]:
        """Piece by piece its rows, their neighborhoods, and (b, m, K) the laws at the members of these.

        Parameters
        ----------
        coefficients : ndarray, optional
            (n, P, K) those of the laws, which then need not be fitted again; laws may be off by a constant.
        """
        for start in self.starts:
            rows = self.rows(start)
            if coefficients is None or start in self._kept:
                neighborhoods, laws = self.piece(start)
                count = len(neighborhoods.hoods)
                yield rows, neighborhoods, laws.at_members().double().numpy().reshape(count, neighborhoods.size, -1)
            else:
                neighborhoods = self.model.neighborhoods(self.scaled[rows])
                yield rows, neighborhoods, np.matmul(neighborhoods.members.numpy(), coefficients[rows])


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedRowLaws:
    """The laws around rows that were learned from, where linear each of them fitted once."""

    model: TableModel
    _coefficients: dict[int, np.ndarray] = field(default_factory=dict)

    def at(self, places: np.ndarray, members: Tensor) -> np.ndarray:
        """(q, m, K) laws of q rows, each at points (q, m, P) of its own; they may be off by a constant."""
        different, inverse = np.unique(places, return_inverse=True)
        if self.model.witness_ == "tree":
            laws = self._laws(different)
            which = torch.from_numpy(inverse).repeat_interleave(members.shape[1])
            return laws.evaluate(which, members.flatten(0, 1)).double().numpy().reshape(*members.shape[:2], -1)
        unknown = np.array([place for place in different.tolist() if place not in self._coefficients], dtype=np.int64)
        for start in range(0, len(unknown), _PIECE):
            some = unknown[start : start + _PIECE]
            self._coefficients.update(zip(some.tolist(), linear_coefficients(self._laws(some)), strict=True))
        slopes = np.stack([self._coefficients[place] for place in different.tolist()])
        return np.asarray(np.matmul(members.numpy(), slopes[inverse]))

    def _laws(self, places: np.ndarray) -> Witnesses:
        return self.model.witnesses(self.model.neighborhoods(self.model.fitted_.scaled[torch.from_numpy(places)]))


def _numbers(model: TableModel, neighborhoods: RowNeighborhoods, laws: Witnesses) -> LawNumbers:
    k, members = neighborhoods.nearest.shape[1], neighborhoods.members
    misses = (laws.f - laws.at_members()).abs().double().numpy()
    share, distance = held_out_shares(laws, neighborhoods.size)
    return LawNumbers(
        at_rows=laws.at_centers().double().numpy(),
        contributions=contributions(laws, members[:, 0], members[:, 1 : 1 + k], model.encoding_),
        held_out_explained=share,
        held_out_deviation=distance,
        deviation=misses.reshape(len(neighborhoods.hoods), neighborhoods.size, -1).mean(1),
        coefficients=linear_coefficients(laws) if is_linear(laws) else None,
    )
