import pytest
import torch

import pellucid as pl
from pellucid.named_games import GAMES, named_game, stepper_of

FAMILY = pl.ConstantFamily()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("symmetric", pl.SymmetricGame), ("asymmetric", pl.AsymmetricGame), ("uniform", pl.UniformGame)],
)
def test_a_name_is_a_game_with_its_settings(name, kind):
    assert name in GAMES
    game = named_game(name, FAMILY, weight=0.3, deviation=pl.absolute_error, margin=0.2, neighborhoods=7)
    assert type(game) is kind
    assert game.family is FAMILY
    assert game.deviation is pl.absolute_error
    if name == "uniform":
        assert (game.margin, len(game.multipliers)) == (0.2, 7)
    else:
        assert game.weight == 0.3


def test_none_is_no_game():
    assert named_game(None, FAMILY, weight=1.0) is None


def test_only_the_uniform_game_needs_mirror_prox():
    network = torch.nn.Linear(1, 1)
    for name in (None, "symmetric", "asymmetric"):
        assert stepper_of(named_game(name, FAMILY, weight=1.0), multiplier_rate=2.0) is None
    game = named_game("uniform", FAMILY, weight=1.0, neighborhoods=3)
    stepper = stepper_of(game, multiplier_rate=2.0)(torch.optim.Adam(network.parameters()))
    assert isinstance(stepper, pl.MirrorProx)
