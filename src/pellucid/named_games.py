"""Games by the names that models give them: the one place that knows which needs what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pellucid.deviations import Deviation, squared_error
from pellucid.errors import InputError
from pellucid.games import AsymmetricGame, Game, SymmetricGame, UniformGame
from pellucid.mirror_prox import MirrorProx
from pellucid.witnesses.base import WitnessFamily

GameName: TypeAlias = Literal["symmetric", "asymmetric", "uniform"]
GAMES = ("symmetric", "asymmetric", "uniform")


def check_play(play: str, game: GameName | None) -> None:
    """Refuse to play a game with a bank that cannot be."""
    if play == "banked" and game not in (None, "symmetric"):
        raise InputError(
            "Only the symmetric game can be played with a bank", got=f"game={game!r}", cure='use play="fresh"'
        )


def named_game(
    name: GameName | None,
    family: WitnessFamily,
    *,
    weight: float,
    deviation: Deviation = squared_error,
    margin: float = 0.0,
    neighborhoods: int = 0,
    held_out: bool = False,
) -> Game | None:
    """The game of this name; None plays none.

    Parameters
    ----------
    name : {"symmetric", "asymmetric", "uniform"}, optional
        Which game.
    family : WitnessFamily
        Where the witnesses come from.
    weight : float
        Weight of the symmetric or asymmetric game.
    deviation : Deviation
        Between predictor and witness.
    margin : float
        Margin of the uniform game.
    neighborhoods : int
        The number of all neighborhoods, for the uniform game.
    held_out : bool
        Whether the predictor pays at each member for the witness that was fitted without it.
    """
    if name is None:
        return None
    if name == "uniform":
        return UniformGame(family, margin=margin, n_neighborhoods=neighborhoods, deviation=deviation, held_out=held_out)
    kind = SymmetricGame if name == "symmetric" else AsymmetricGame
    return kind(family, weight=weight, deviation=deviation, held_out=held_out)


def stepper_of(game: Game | None, *, multiplier_rate: float) -> Callable[[Any], MirrorProx] | None:
    """Who takes the steps of a training: mirror-prox where multipliers ascend, otherwise None, plain descent."""
    if game is None or not game.has_multipliers:
        return None
    return lambda optimizer: MirrorProx(optimizer, game, multiplier_lr=multiplier_rate)
