"""The symmetric game played point by point, with a bank of predictions.

Playing by neighborhood means evaluating the predictor on every member of every neighborhood in the batch.
The bank keeps the latest prediction of every point instead; witnesses are fitted on the bank, and a batch
of points is pulled towards the witnesses that cover them: one evaluation per point and epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor

from pellucid import _checks
from pellucid.deviations import measure, squared_error
from pellucid.errors import InputError
from pellucid.games import SymmetricGame
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import Witnesses


@final
class Bank:
    """Plays a symmetric game on batches of points.

    With the witnesses g_i held fixed, the penalty of a batch J of |J| out of N points is

        weight/n N/|J| sum_{j in J} sum_i S_ij d(f_j, sg(g_i(x_j))) / m_i,

    an unbiased estimate of the full game's penalty for random batches: over the batches of an epoch, the
    average weighted by |J|/N has exactly the full game's gradient.

    >>> import pellucid as pl
    >>> x = torch.linspace(0, 1, 50)[:, None]
    >>> predictor = torch.nn.Linear(1, 1)
    >>> bank = pl.Bank(pl.SymmetricGame(pl.LinearFamily(), weight=1.0), x, pl.nearest(x, k=9))
    >>> with torch.no_grad():
    ...     bank.update(predictor(x))       # once, to fill the bank
    >>> for batch in torch.randperm(50).split(10):
    ...     witnesses = bank.refit()        # as often as you can afford
    ...     penalty = bank.penalty(predictor(x[batch]), batch)

    Parameters
    ----------
    game : a `SymmetricGame`.
    x : (N, P) features of all points.
    hoods : neighborhoods over the N points.
    """

    def __init__(self, game: SymmetricGame, x: Any, hoods: BaseNeighborhoods) -> None:
        if not isinstance(game, SymmetricGame):
            raise InputError(
                f"Only a SymmetricGame can be played point by point. Got {type(game).__name__}; call that game "
                "on whole neighborhoods instead."
            )
        _checks.neighborhoods(hoods)
        self.game, self.hoods = game, hoods
        self.x, _ = _checks.points(x, torch.zeros(hoods.n_points, 1, device=hoods.device), hoods)
        self.predictions: Tensor | None = None
        self._fitted: _Fitted | None = None

    def update(self, f: Tensor, index: Tensor | list[int] | None = None) -> None:
        """Put predictions f into the bank, for the points `index` or, without it, for all N."""
        if index is None:
            self.predictions = _checks.points(self.x, f, self.hoods)[1].detach().clone()
        elif self.predictions is None:
            raise InputError("The bank is empty: fill it once with the predictions of all points, `bank.update(f)`.")
        else:
            f, index = self._batch(f, index)
            self.predictions[index] = f.detach().to(self.predictions)

    def _batch(self, f: Any, index: Any) -> tuple[Tensor, Tensor]:
        """Predictions (B, K) and the points (B,) that they are for, checked against each other and the bank."""
        f, index = _checks.table(f, "f"), _checks.indices(index, "index").to(self.hoods.device)
        if len(index) != len(f) or not len(index):
            raise InputError(
                f"`index` must name the point of each of the {len(f)} rows of `f`. Got {len(index)} points."
            )
        _checks.in_range(index, self.hoods.n_points, "index", "points")
        if self.predictions is not None and f.shape[1] != self.predictions.shape[1]:
            raise InputError(
                f"`f` must have the {self.predictions.shape[1]} columns of the predictions in the bank. "
                f"Got {f.shape[1]}; pass all outputs."
            )
        return f, index

    def refit(self) -> Witnesses:
        """Fit all witnesses to the predictions in the bank, and return them."""
        if self.predictions is None:
            raise InputError("The bank is empty: fill it first with the predictions of all points, `bank.update(f)`.")
        self._fitted = _Fitted(self.game.family.best_response(self.x, self.predictions.clone(), self.hoods))
        return self._fitted.witnesses

    def __repr__(self) -> str:
        return f"Bank({self.game!r}, {self.hoods!r})"

    @property
    def witnesses(self) -> Witnesses:
        """The witnesses of the last `refit`."""
        return self._require_fitted().witnesses

    def penalty(self, f: Tensor, index: Tensor | list[int]) -> Tensor:
        """The penalty of a batch of points, differentiable in their predictions f (B x K).

        Also puts the predictions into the bank, for the next refit.
        """
        fitted = self._require_fitted()
        f, index = self._batch(f, index)
        self.update(f, index)
        if self.game.deviation is squared_error and self.game.form != "direct":
            terms = self.hoods.coverage[index].to(f) * squared_error(f, fitted.consensus[index])
        else:
            rows, entries = fitted.entries_of(index)
            distances = measure(self.game.deviation, f[rows], fitted.at_members[entries])
            shares = distances / self.hoods.sizes[self.hoods.rows[entries]]
            terms = f.new_zeros(len(f)).index_add(0, rows, shares.to(f))
        return self.game.weight * self.hoods.n_points / len(self.hoods) * terms.mean()

    def _require_fitted(self) -> _Fitted:
        if self._fitted is None:
            raise InputError(
                "There are no witnesses yet: call `bank.update(f)` with all predictions, then `bank.refit()`."
            )
        return self._fitted


@dataclass(frozen=True)
class _Fitted:
    """Witnesses, and what batches of points ask of them, computed once."""

    witnesses: Witnesses

    @cached_property
    def consensus(self) -> Tensor:
        return self.witnesses.consensus()

    @cached_property
    def at_members(self) -> Tensor:
        return self.witnesses.at_members()

    def entries_of(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """For each entry of the neighborhoods that is one of the points: the batch row, and the entry."""
        order, starts = self.witnesses.hoods.by_point
        counts = starts[index + 1] - starts[index]
        rows = torch.repeat_interleave(torch.arange(len(index), device=index.device), counts)
        first = counts.cumsum(0) - counts
        return rows, order[starts[index][rows] + torch.arange(len(rows), device=index.device) - first[rows]]
