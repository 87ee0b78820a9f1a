"""The games that predictor and witnesses play.

In every game the witnesses answer first, with the family's best response g^ to the present predictions; the
predictor then pays for its deviation from them. The best response is a constant when the predictor is
differentiated, written sg(g^) for stop-gradient in the formulas below: this is part of each definition.

In a held-out game the predictor pays at each member for the witness that was fitted without it, g^_i-j in the place of
g^_i: a witness that merely remembers its members is of no help to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import torch
from torch import Tensor, nn

from pellucid import _checks, _processes
from pellucid._point_checks import check_points
from pellucid.deviations import Deviation, measure, squared_error
from pellucid.errors import InputError
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import WitnessFamily
from pellucid.witnesses.folds import FOLDS

_DRIFT = "its multipliers would ascend by themselves"


class Outcome(NamedTuple):
    """What one round of a game gives."""

    penalty: Tensor
    """The scalar to add to the task loss; differentiable in the predictions."""
    deviations: Tensor
    """(n,) the deviation D_i of each neighborhood, detached; in a held-out game the held-out one. One column per game
    in a sum of games."""
    witnesses: Any
    """The fitted `Witnesses`; in a sum of games a tuple of them."""


def _settings(family: Any, deviation: Any, folds: Any, owner: str) -> None:
    """Refuse settings of the wrong kind when the game is made, not when it is played."""
    if not isinstance(family, WitnessFamily):
        raise InputError(
            f"`family` of {owner} must be a witness family, such as LinearFamily()",
            got=f"{family!r}",
            cure="for several families use BestOf(...) or SumOfGames(...)",
            parameter="family",
        )
    if not callable(deviation):
        raise InputError(
            f"`deviation` of {owner} must be a function, such as squared_error",
            got=f"{deviation!r}",
            parameter="deviation",
        )
    _checks.whole(folds, 2, "folds")


def _outcome(penalty: Tensor, deviations: Tensor, witnesses: Any) -> Outcome:
    if not penalty.detach().isfinite():
        raise InputError(
            "The penalty must be finite",
            got="NaN or infinity: predictions, features or the deviation overflow",
            cure="scale them, or use float64",
        )
    return Outcome(penalty, deviations.detach(), witnesses)


class Game(ABC):
    """A game is called with predictions f (N x K), features x (N x P) and neighborhoods.

    Neighborhoods may be all that there are, or a minibatch of them: `hoods.select(index)`.

    """

    @abstractmethod
    def __call__(self, f: Tensor, x: Tensor, hoods: BaseNeighborhoods) -> Outcome: ...

    @property
    def pays_at(self) -> Literal["members", "centers"]:
        """Where the predictor pays; its predictions elsewhere need no gradient."""
        return "members"

    @property
    def has_multipliers(self) -> bool:
        """Whether there are multipliers, which ascend while the predictor descends: `MirrorProx` moves both."""
        return False

    def __repr__(self) -> str:
        settings = (f"{name}={getattr(value, '__name__', repr(value))}" for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(settings)})"


@final
@dataclass(frozen=True, repr=False)
class SymmetricGame(Game):
    """Predictor and witness share one objective: the deviation over the whole neighborhood.

        penalty = weight/n sum_i D_i,   D_i = 1/m_i sum_j S_ij d(f_j, sg(g^_i(x_j))),

    and with `held_out=True`, where the witness of a member has not seen it,

        D_i = 1/m_i sum_j S_ij d(f_j, sg(g^_i-j(x_j))).

    For squared error the gradient depends on the witnesses only through their consensus c_j at each point
    (the paper's Lemma 4, written with S' so that neighborhoods need not be symmetric):

        d penalty / d f_j = 2 weight/n N-bar_j (f_j - sg(c_j)),

    with the consensus of the held-out values in the held-out game.

    Parameters
    ----------
    family : WitnessFamily
        Where the witnesses come from.
    weight : float
        Lambda >= 0, against a task loss that is a mean over the centers.
    deviation : Deviation
        D(f, g), see `pellucid.deviations`.
    form : {"auto", "consensus", "direct"}
        "consensus" (squared error only) and "direct" give the same penalty and the same gradient; "auto" takes the
        cheaper one that applies.
    held_out : bool
        Whether the predictor pays at each member for the witness that was fitted without it.
    folds : int
        The number of folds of a held-out game, for families that have to be fitted again; see
        `WitnessFamily.held_out_values`.
    """

    family: WitnessFamily
    weight: float = 1.0
    deviation: Deviation = squared_error
    form: Literal["auto", "consensus", "direct"] = "auto"
    held_out: bool = False
    folds: int = FOLDS

    def __post_init__(self) -> None:
        _settings(self.family, self.deviation, self.folds, "SymmetricGame")
        _checks.at_least(self.weight, 0, "weight", "SymmetricGame")
        if self.form not in ("auto", "consensus", "direct"):
            raise InputError(
                '`form` of SymmetricGame must be "auto", "consensus" or "direct"',
                got=f"{self.form!r}",
                parameter="form",
            )
        if self.form == "consensus" and self.deviation is not squared_error:
            raise InputError("The consensus form holds for squared_error only", cure='use form="direct" or "auto"')

    def __call__(self, f: Tensor, x: Tensor, hoods: BaseNeighborhoods) -> Outcome:
        x, f = check_points(x, f, hoods)
        witnesses = self.family.best_response(x, f.detach(), hoods)
        answers = witnesses.held_out(folds=self.folds) if self.held_out else witnesses
        if self.form == "direct" or self.deviation is not squared_error:
            deviations = answers.deviations(self.deviation, f)
            return _outcome(self.weight * _processes.mean(deviations), deviations, witnesses)
        deviations = answers.deviations()
        # The consensus term lacks the spread of the witnesses around their consensus, a constant: the value
        # comes from the deviations, the gradient from the consensus.
        pull = hoods.coverage.to(f) @ (f - answers.consensus()).square().sum(1)
        mean_pull = _processes.mean_of_sum(pull, len(hoods))
        penalty = self.weight * (_processes.mean(deviations) + mean_pull - mean_pull.detach())
        return _outcome(penalty, deviations, witnesses)


@final
@dataclass(frozen=True, repr=False)
class AsymmetricGame(Game):
    """The witness sees the whole neighborhood, the predictor pays at the center only.

        penalty = weight/n sum_i d(f_c(i), sg(g^_i(x_c(i)))),

    and with `held_out=True` for the witness that was fitted to the neighborhood without its center, g^_i-c(i).

    Parameters are those of `SymmetricGame`. The outcome's deviations are still those over the neighborhoods.
    """

    family: WitnessFamily
    weight: float = 1.0
    deviation: Deviation = squared_error
    held_out: bool = False
    folds: int = FOLDS

    def __post_init__(self) -> None:
        _settings(self.family, self.deviation, self.folds, "AsymmetricGame")
        _checks.at_least(self.weight, 0, "weight", "AsymmetricGame")

    @property
    def pays_at(self) -> Literal["members", "centers"]:
        return "centers"

    def __call__(self, f: Tensor, x: Tensor, hoods: BaseNeighborhoods) -> Outcome:
        x, f = check_points(x, f, hoods)
        witnesses = self.family.best_response(x, f.detach(), hoods)
        answers = witnesses.held_out(folds=self.folds) if self.held_out else witnesses
        distances = measure(self.deviation, f.index_select(0, hoods.centers), answers.at_centers())
        return _outcome(self.weight * _processes.mean(distances), answers.deviations(self.deviation), witnesses)


@final
class UniformGame(nn.Module, Game):
    """Every neighborhood must deviate by at most the margin: D_i <= margin for all i.

    One multiplier xi_i >= 0 per neighborhood makes it a saddle point problem, solved by `MirrorProx`:

        penalty = 1/n sum_i xi_i (D_i - margin),   D_i = 1/m_i sum_j S_ij d(f_j, sg(g^_i(x_j))),

    or with the held-out D_i of `SymmetricGame`.

    The gradient that `backward` leaves on a multiplier is the violation of its constraint, D_i - margin,
    whatever the number of neighborhoods in the batch; multipliers ascend along it.

    Parameters
    ----------
    family : WitnessFamily
        Where the witnesses come from.
    margin : float
        Delta >= 0.
    n_neighborhoods : int
        The number of neighborhoods, over all batches: how many there are before any is selected.
    deviation : Deviation
        D(f, g), see `pellucid.deviations`.
    initial : float
        The multipliers' starting value; the entropic mirror map needs one above 0.
    held_out : bool
        Whether D_i is the held-out deviation, of witnesses fitted without the member.
    folds : int
        The number of folds of a held-out game; see `SymmetricGame`.
    """

    def __init__(
        self,
        family: WitnessFamily,
        *,
        margin: float,
        n_neighborhoods: int,
        deviation: Deviation = squared_error,
        initial: float = 0.0,
        held_out: bool = False,
        folds: int = FOLDS,
    ) -> None:
        super().__init__()
        _settings(family, deviation, folds, "UniformGame")
        _checks.at_least(margin, 0, "margin", "UniformGame")
        n_neighborhoods = _checks.whole(n_neighborhoods, 1, "n_neighborhoods")
        _checks.at_least(initial, 0, "initial", "UniformGame")
        _checks.one_process("UniformGame", _DRIFT)
        self.family, self.margin, self.deviation = family, margin, deviation
        self.held_out, self.folds = held_out, folds
        self.multipliers = nn.Parameter(torch.full((n_neighborhoods,), float(initial), dtype=torch.float64))

    @property
    def has_multipliers(self) -> bool:
        return True

    def extra_repr(self) -> str:
        played = ", held_out=True" if self.held_out else ""
        return f"{self.family!r}, margin={self.margin:g}, n_neighborhoods={len(self.multipliers)}{played}"

    def forward(self, f: Tensor, x: Tensor, hoods: BaseNeighborhoods) -> Outcome:
        """Play one round with all neighborhoods, or with a minibatch of them: `hoods.select(index)`."""
        _checks.one_process("UniformGame", _DRIFT)
        x, f = check_points(x, f, hoods)
        index = self._multiplier_index(hoods)
        witnesses = self.family.best_response(x, f.detach(), hoods)
        answers = witnesses.held_out(folds=self.folds) if self.held_out else witnesses
        deviations = answers.deviations(self.deviation, f)
        multipliers = self.multipliers[index]
        violations = deviations - self.margin
        dual = _processes.total(multipliers @ violations.detach().to(multipliers))
        penalty = _processes.mean(multipliers.detach().to(f) * violations) + (dual - dual.detach()).to(f)
        return _outcome(penalty, deviations, witnesses)

    def _multiplier_index(self, hoods: BaseNeighborhoods) -> Tensor:
        """(n,) the multiplier of each neighborhood."""
        total = len(self.multipliers)
        if hoods.selected is None:
            if len(hoods) != total:
                raise InputError(
                    f"There must be one multiplier for each of the {len(hoods)} neighborhoods",
                    got=f"{total}",
                    cure=(
                        "make a minibatch with `hoods.select(index)`, which remembers which neighborhoods it holds, "
                        f"or set `n_neighborhoods` of UniformGame (now {total}) to their number"
                    ),
                    parameter="n_neighborhoods",
                )
            return torch.arange(total, device=self.multipliers.device)
        if int(hoods.selected.max()) >= total:
            raise InputError(
                "There must be one multiplier for each neighborhood of those that `hoods` were selected from",
                got=f"neighborhood {int(hoods.selected.max())}, and {total} multipliers",
                cure=f"set `n_neighborhoods` of UniformGame (now {total}) to the number before any selection",
                parameter="n_neighborhoods",
            )
        return hoods.selected.to(self.multipliers.device)


@final
class SumOfGames(Game):
    """Several games played at once with the same predictions: their penalties add up.

    For the best of several families in each neighborhood, play one game with `BestOf(families)` instead.
    """

    def __init__(self, *games: Game | Sequence[Game]) -> None:
        self.games = _checks.flat(games, Game, "SumOfGames", "games")  # type: ignore[type-abstract]

    @property
    def pays_at(self) -> Literal["members", "centers"]:
        return "members" if any(game.pays_at == "members" for game in self.games) else "centers"

    @property
    def has_multipliers(self) -> bool:
        return any(game.has_multipliers for game in self.games)

    def __call__(self, f: Tensor, x: Tensor, hoods: BaseNeighborhoods) -> Outcome:
        """Play one round of each."""
        outcomes = [game(f, x, hoods) for game in self.games]
        return Outcome(
            torch.stack([outcome.penalty for outcome in outcomes]).sum(),
            torch.stack([outcome.deviations for outcome in outcomes], dim=1),
            tuple(outcome.witnesses for outcome in outcomes),
        )
