"""The symmetric game played point by point, with a bank of predictions.

Playing by neighborhood means evaluating the predictor on every member of every neighborhood in the batch.
The bank keeps the latest prediction of every point instead; witnesses are fitted on the bank, and a batch
of points is pulled towards the witnesses that cover them: one evaluation per point and epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import torch
from torch import Tensor, nn

from pellucid import _checks, _processes
from pellucid._point_checks import check_neighborhoods, check_points
from pellucid.deviations import measure, squared_error
from pellucid.errors import InputError
from pellucid.games import Game, SymmetricGame
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses._arrays import numbers
from pellucid.witnesses.base import HeldOutWitnesses, Witnesses
from pellucid.witnesses.fixed_map import SparseMatrix, consensus_map

_STALE = "predictions of the other processes would never reach its own"


@final
class Bank(nn.Module):
    """Plays a symmetric game on batches of points.

    With the witnesses g_i held fixed, the penalty of a batch J of |J| out of N points is

        weight/n N/|J| sum_{j in J} sum_i S_ij d(f_j, sg(g_i(x_j))) / m_i,

    an unbiased estimate of the full game's penalty for random batches: over the batches of an epoch, the
    average weighted by |J|/N has exactly the full game's gradient. A held-out game has g_i-j in the place of g_i.

    Examples
    --------
    >>> import pellucid as pl
    >>> x = torch.linspace(0, 1, 50)[:, None]
    >>> predictor = torch.nn.Linear(1, 1)
    >>> bank = pl.Bank(pl.SymmetricGame(pl.LinearFamily(), weight=1.0), x, pl.nearest(x, k=9))
    >>> with torch.no_grad():
    ...     bank.update(predictor(x))       # once, to fill the bank
    >>> for batch in torch.randperm(50).split(10):
    ...     penalty = bank.penalty(predictor(x[batch]), batch)

    Witnesses are fitted to the bank by the first `penalty`, and anew by the first that comes after `refit_every`
    points: once an epoch by default. More often costs more and hardly helps, since between two fits the predictor
    moves little; `refit` fits them at once.

    Witnesses that are linear in the predictions, `WitnessFamily.is_linear`, are not fitted every time: what features
    and neighborhoods determine is computed once (which takes as long as a few fits), and for squared error a refit is
    one product with a sparse matrix, `pellucid.witnesses.fixed_map`.

    A bank is a module, and its `state_dict` holds all that is needed to go on: the predictions, those that the
    witnesses were fitted to, and the counts of points and steps. The witnesses themselves are fitted again after a
    state was loaded, as fits are repeatable.

    Parameters
    ----------
    game : SymmetricGame
        The only game that can be played point by point.
    x : array_like
        (N, P) features of all points.
    hoods : BaseNeighborhoods
        Neighborhoods over the N points.
    refit_every : int, optional
        How many points pay their penalty from one fit of the witnesses to the next; N by default, once an epoch. 1 is
        a fit for every batch; 0 leaves it to `refit` alone.

    Attributes
    ----------
    predictions : Tensor or None
        (N, K) the latest prediction of every point; None until `update` has filled the bank.
    fitted_to : Tensor or None
        (N, K) the predictions that the witnesses were fitted to; None until they are.
    steps : Tensor
        The number of batches that have paid a penalty.
    points_since_fit : Tensor
        The number of points that have paid since the witnesses were fitted.
    """

    x: Tensor
    predictions: Tensor | None
    fitted_to: Tensor | None
    steps: Tensor
    points_since_fit: Tensor

    def __init__(self, game: Game, x: Any, hoods: BaseNeighborhoods, *, refit_every: int | None = None) -> None:
        super().__init__()
        if not isinstance(game, SymmetricGame):
            raise InputError(
                "Only a SymmetricGame can be played point by point",
                got=f"{type(game).__name__}",
                cure="call that game on whole neighborhoods instead",
                parameter="game",
            )
        check_neighborhoods(hoods)
        _checks.one_process("Bank", _STALE)
        self.game, self.hoods = game, hoods
        features, _ = check_points(x, torch.zeros(hoods.n_points, 1, device=hoods.device), hoods)
        self.refit_every = hoods.n_points if refit_every is None else _checks.whole(refit_every, 0, "refit_every")
        self.register_buffer("x", features, persistent=False)
        self.register_buffer("predictions", None)
        self.register_buffer("fitted_to", None)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("points_since_fit", torch.zeros((), dtype=torch.int64))
        self._current: _Response | None = None
        self._map: _Map | None = None

    def update(self, f: Tensor, index: Tensor | list[int] | None = None) -> None:
        """Put predictions f into the bank, for the points `index` or, without it, for all N."""
        if index is None:
            self.predictions = check_points(self.x, f, self.hoods)[1].detach().clone()
        else:
            self._put(*self._batch(f, index))

    def _put(self, f: Tensor, index: Tensor) -> None:
        if self.predictions is None:
            raise InputError("The bank is empty: fill it once with the predictions of all points, `bank.update(f)`")
        self.predictions[index] = f.detach().to(self.predictions)

    def _batch(self, f: Any, index: Any) -> tuple[Tensor, Tensor]:
        """Predictions (B, K) and the points (B,) that they are for, checked against each other and the bank."""
        f, index = (v.to(self.x.device) for v in (_checks.table(f, "f"), _checks.indices(index, "index")))
        if len(index) != len(f) or not len(index):
            raise InputError(
                f"`index` must name the point of each of the {len(f)} rows of `f`",
                got=f"{len(index)} points",
                parameter="index",
            )
        _checks.in_range(index, self.hoods.n_points, "index", "points")
        if self.predictions is not None and f.shape[1] != self.predictions.shape[1]:
            raise InputError(
                f"`f` must have the {self.predictions.shape[1]} columns of the predictions in the bank",
                got=f"{f.shape[1]}",
                cure="pass all outputs",
                parameter="f",
            )
        return f, index

    def refit(self) -> None:
        """Fit all witnesses to the predictions in the bank; `witnesses` are these."""
        _checks.one_process("Bank", _STALE)
        if self.predictions is None:
            raise InputError("The bank is empty: fill it first with the predictions of all points, `bank.update(f)`")
        self.fitted_to = self.predictions.clone()
        self.points_since_fit.zero_()
        self._current = None
        response = self._respond()
        _ = response.consensus if self._pays_by_consensus else response.answers

    @property
    def witnesses(self) -> Witnesses:
        """The witnesses of the last `refit`."""
        return self._respond().witnesses

    @property
    def _pays_by_consensus(self) -> bool:
        return self.game.deviation is squared_error and self.game.form != "direct"

    def _respond(self) -> _Response:
        """The present witnesses; fitted here where they have to be: after `refit`, and after a state was loaded."""
        if self.fitted_to is None:
            raise InputError(
                "There are no witnesses yet: call `bank.update(f)` with all predictions, then `bank.refit()`"
            )
        if self._current is None:
            first = self._map is None
            if self._map is None:
                self._map = _Map(
                    consensus_map(self.game.family, self.x, self.hoods, held_out=self.game.held_out)
                    if self._pays_by_consensus
                    else None
                )
            self._current = _Response(self.game, self.x, self.fitted_to, self.hoods, self._map.matrix)
            if first:  # also fitted as usual: a family may have something to warn of
                _ = self._current.witnesses
        return self._current

    def penalty(self, f: Tensor, index: Tensor | list[int]) -> Tensor:
        """The penalty of a batch of points, differentiable in their predictions f (B x K).

        Also fits the witnesses where it is time to, and puts the predictions into the bank, for the next fit.
        """
        _checks.one_process("Bank", _STALE)
        due = self.fitted_to is None or int(self.points_since_fit) >= self.refit_every
        if self.predictions is not None and self.refit_every and due:
            self.refit()
        response = self._respond()
        device = f.device
        f, index = self._batch(f, index)
        everywhere = _processes.gathered(index)
        self._put(_processes.gathered(f), everywhere)
        self.steps.add_(1)
        self.points_since_fit.add_(len(everywhere))
        if self._pays_by_consensus:
            terms = self.hoods.coverage[index].to(f) * squared_error(f, response.consensus[index])
        else:
            rows, entries = response.entries_of(index)
            distances = measure(self.game.deviation, f[rows], response.at_members[entries])
            shares = distances / self.hoods.sizes[self.hoods.rows[entries]]
            terms = f.new_zeros(len(f)).index_add(0, rows, shares.to(f))
        return (self.game.weight * self.hoods.n_points / len(self.hoods) * _processes.mean(terms)).to(device)

    def extra_repr(self) -> str:
        return f"{self.game!r}, {self.hoods!r}"

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        # As `to` and its like do it: neighborhoods go where the buffers go.
        before = self.x
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.x is not before:
            self.hoods, self._current, self._map = self.hoods.to(self.x.device), None, None
        return self

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *arguments: Any) -> None:
        # Buffers that may still be empty take the shape of what is loaded; the witnesses follow from them.
        for name in ("predictions", "fitted_to"):
            values = state.get(prefix + name)
            if values is not None and len(values) != self.hoods.n_points:
                raise InputError(
                    f"The saved state is of a bank of {len(values)} points. This one has {self.hoods.n_points}",
                    cure="make it with the same points and neighborhoods",
                )
            setattr(self, name, None if values is None else torch.empty_like(values, device=self.x.device))
        super()._load_from_state_dict(state, prefix, *arguments)
        self._current = None


@dataclass(frozen=True)
class _Map:
    """What features and neighborhoods alone determine."""

    matrix: SparseMatrix | None
    """(N, N) from predictions to the consensus; None where that is no fixed map."""


@dataclass(frozen=True)
class _Response:
    """The witnesses of the predictions f, and what batches of points ask of them, each computed when asked for."""

    game: SymmetricGame
    x: Tensor
    f: Tensor
    hoods: BaseNeighborhoods
    matrix: SparseMatrix | None

    @cached_property
    def witnesses(self) -> Witnesses:
        return self.game.family.best_response(self.x, self.f, self.hoods)

    @cached_property
    def answers(self) -> Witnesses | HeldOutWitnesses:
        """The same, or in a held-out game what they say of members that they were not fitted to."""
        return self.witnesses.held_out(folds=self.game.folds) if self.game.held_out else self.witnesses

    @cached_property
    def consensus(self) -> Tensor:
        if self.matrix is None:
            return self.answers.consensus()
        return torch.from_numpy(self.matrix @ numbers(self.f)).to(self.f)

    @cached_property
    def at_members(self) -> Tensor:
        return self.answers.at_members()

    def entries_of(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """For each entry of the neighborhoods that is one of the points: the batch row, and the entry."""
        order, starts = self.hoods.by_point
        counts = starts[index + 1] - starts[index]
        rows = torch.repeat_interleave(torch.arange(len(index), device=index.device), counts)
        first = counts.cumsum(0) - counts
        return rows, order[starts[index][rows] + torch.arange(len(rows), device=index.device) - first[rows]]
