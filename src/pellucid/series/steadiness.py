"""How steady a law is: what changes if a neighbor's law takes its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.schemas import checked
from pellucid.series.steadiness_words import steadiness_word
from pellucid.stored_arrays import array_of
from pellucid.witnesses.linear import LinearWitnesses


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Steadiness:
    """How much laws change from one window to its neighbor.

    Laws g_i and g_k take each other's place in their windows W_i and W_k, and

        change^2 = sum_t |g_i(x_t) - g_k(x_t)|^2 / sum_t |f_t - mean of f in its window|^2,   t in W_i, then in W_k,

    channels in units of their standard deviations: 0 is the same law, and at 1 the choice between both matters as much
    as all that moves the predictions f. The word for the median change is "steady" below 0.1, "drifting" below 0.5,
    otherwise "changing".
    """

    changes: np.ndarray = field(repr=False)
    """(L,) of L pairs of neighbors, in the order of time; NaN where nothing moves."""
    places: tuple[str, ...] = field(repr=False)
    """Where each pair is, in words."""

    @property
    def change(self) -> float | None:
        """The median change; None if not known."""
        known = self.changes[np.isfinite(self.changes)]
        return float(np.median(known)) if len(known) else None

    @property
    def word(self) -> str | None:
        """The word for the median change; None if not known."""
        return None if self.change is None else steadiness_word(self.change)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self._sentence("change of the law") or "change of the law not known"

    def text(self, along: str) -> str:
        """The change with its word and its largest value, in one line; empty if not known.

        Parameters
        ----------
        along : str
            What the laws follow each other along: "the forecast".
        """
        return self._sentence(f"change of the law along {along}")

    def _sentence(self, what: str) -> str:
        """What changes, how much and where; empty if not known."""
        if self.change is None:
            return ""
        sentence = f"{what} {self.change:.2g} ({self.word})"
        if len(self.changes) == 1:
            return f"{sentence}, {self.places[0]}"
        most = int(np.nanargmax(self.changes))
        pairs = f"median of {len(self.changes)} pairs of neighbors"
        return f"{sentence}, {pairs}; largest {self.changes[most]:.2g} {self.places[most]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON, where nothing is NaN."""
        changes = [float(value) if np.isfinite(value) else None for value in self.changes]
        return {"change": self.change, "word": self.word, "changes": changes, "places": list(self.places)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Steadiness:
        """The steadiness that `to_dict` was called on."""
        places = checked(tuple[str, ...], content["places"], "places")
        return cls(changes=array_of(content["changes"], [len(places)], "changes", low=0.0, blanks=True), places=places)


def law_changes(witnesses: LinearWitnesses, first: Tensor, second: Tensor, units: Tensor) -> np.ndarray:
    """(L,) the change between pairs of laws; see `Steadiness`. NaN where nothing moves.

    Parameters
    ----------
    witnesses : LinearWitnesses
        Fitted laws.
    first, second : Tensor
        (L,) the laws of each pair.
    units : Tensor
        (c,) one standard deviation of each channel.
    """
    change, moves = (torch.zeros(len(first), dtype=torch.float64) for _ in range(2))
    for own, other in ((first, second), (second, first)):
        hoods = witnesses.hoods.select(own)
        x, f = witnesses.x[hoods.members], witnesses.f[hoods.members].double() / units
        gaps = (witnesses.evaluate(own[hoods.rows], x) - witnesses.evaluate(other[hoods.rows], x)) / units
        means = (hoods.sum_members(f) / hoods.sizes[:, None])[hoods.rows]
        change += hoods.sum_members(gaps.square().sum(1))
        moves += hoods.sum_members((f - means).square().sum(1))
    return np.asarray((change / torch.where(moves > 0, moves, torch.nan)).sqrt().numpy())


def neighbor_distance(radius: int, horizon: int) -> int:
    """Steps between laws of one forecast that are neighbors: their windows are the nearest that share no step; in a
    forecast too short for that, the first and the last law.
    """
    return min(2 * radius + 1, horizon - 1)


def step_pairs(horizon: int, sequences: int, distance: int) -> tuple[Tensor, Tensor]:
    """All pairs of steps of one sequence that are so far apart, sequence by sequence."""
    first = torch.arange(horizon - distance) + horizon * torch.arange(sequences)[:, None]
    return first.flatten(), first.flatten() + distance


def forecast_steadiness(witnesses: LinearWitnesses, radius: int, units: Tensor) -> Steadiness:
    """Of the laws along one forecast."""
    horizon = len(witnesses)
    distance = neighbor_distance(radius, horizon)
    pairs = step_pairs(horizon, 1, distance)
    places = tuple(f"between steps {i + 1} and {i + 1 + distance}" for i in pairs[0].tolist())
    return Steadiness(changes=law_changes(witnesses, *pairs, units), places=places)


def recording_steadiness(laws: LinearWitnesses, units: Tensor, pairs: Sequence[tuple[int, int, str]]) -> Steadiness:
    """Of laws along recordings.

    Parameters
    ----------
    laws : LinearWitnesses
        One law for each of several sequences.
    units : Tensor
        (c,) one standard deviation of each channel.
    pairs : sequence of (int, int, str)
        Sequences that follow each other, and where that is.
    """
    if not pairs:
        return Steadiness(changes=np.empty(0), places=())
    first, second = (torch.tensor([pair[k] for pair in pairs]) for k in (0, 1))
    return Steadiness(changes=law_changes(laws, first, second, units), places=tuple(pair[2] for pair in pairs))
