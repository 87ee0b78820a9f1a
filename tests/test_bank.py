import pytest
import torch
from helpers import random_hoods

import pellucid as pl

GAMES = [
    pl.SymmetricGame(pl.LinearFamily(ridge=0.1), weight=0.7),
    pl.SymmetricGame(pl.LinearFamily(), weight=0.7, form="direct"),
    pl.SymmetricGame(pl.TreeFamily(depth=2, criterion="absolute"), weight=0.7, deviation=pl.absolute_error),
]


def problem(generator):
    x = torch.randn(30, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(30, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    return x, f, random_hoods(20, 30, generator, 12)


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_batches_of_points_add_up_to_the_full_game(game, generator):
    x, f, hoods = problem(generator)
    (expected,) = torch.autograd.grad(game(f, x, hoods).penalty, f)
    bank = pl.Bank(game, x, hoods)
    bank.update(f)
    bank.refit()
    total = torch.zeros_like(f)
    for batch in torch.randperm(30, generator=generator).split([1, 7, 12, 10]):
        penalty = bank.penalty(f[batch], batch)
        total += torch.autograd.grad(penalty * len(batch) / 30, f)[0]
    torch.testing.assert_close(total, expected, rtol=1e-10, atol=1e-12)
    if game.form == "direct" or game.deviation is pl.absolute_error:
        torch.testing.assert_close(bank.penalty(f, torch.arange(30)), game(f, x, hoods).penalty)


def test_a_batch_is_remembered_for_the_next_refit_and_witnesses_stay_until_then(generator):
    x, f, hoods = problem(generator)
    bank = pl.Bank(pl.SymmetricGame(pl.ConstantFamily()), x, hoods)
    bank.update(f)
    before = bank.refit().parameters.clone()
    batch = torch.tensor([3, 4])
    bank.penalty(f[batch] + 1, batch)
    torch.testing.assert_close(bank.witnesses.parameters, before)
    torch.testing.assert_close(bank.witnesses.f, f.detach())
    moved = f.detach().clone()
    moved[batch] += 1
    torch.testing.assert_close(bank.predictions, moved)
    torch.testing.assert_close(bank.refit().parameters, pl.ConstantFamily().best_response(x, moved, hoods).parameters)


def test_the_order_of_calls_is_checked(generator):
    x, f, hoods = problem(generator)
    with pytest.raises(pl.PellucidError, match="Only a SymmetricGame.*Got AsymmetricGame"):
        pl.Bank(pl.AsymmetricGame(pl.ConstantFamily()), x, hoods)
    bank = pl.Bank(GAMES[0], x, hoods)
    with pytest.raises(pl.PellucidError, match="fill it first"):
        bank.refit()
    with pytest.raises(pl.PellucidError, match="fill it once"):
        bank.update(f[:2], torch.tensor([0, 1]))
    with pytest.raises(pl.PellucidError, match="no witnesses yet"):
        bank.penalty(f[:2], torch.tensor([0, 1]))
    with pytest.raises(pl.PellucidError, match="one row for each of the 30 points"):
        bank.update(f[:29])
    bank.update(f)
    bank.refit()
    with pytest.raises(pl.PellucidError, match="name the point of each of the 2 rows"):
        bank.penalty(f[:2], torch.tensor([0]))
    with pytest.raises(pl.PellucidError, match="between 0 and 29"):
        bank.penalty(f[:2], torch.tensor([0, 30]))
    with pytest.raises(pl.PellucidError, match="between 0 and 29.*Got -1"):
        bank.update(f[:2], [0, -1])
    with pytest.raises(pl.PellucidError, match="the 2 columns of the predictions in the bank. Got 1"):
        bank.penalty(f[:2, :1], [0, 1])
    with pytest.raises(pl.PellucidError, match="each of the 1 rows"):
        bank.update(f[:1], [0, 1])
    with pytest.raises(pl.PellucidError, match="`x` must have one row for each of the 30 points"):
        pl.Bank(GAMES[0], x[:5], hoods)
    with pytest.raises(pl.PellucidError, match="`hoods` must be neighborhoods. Got list"):
        pl.Bank(GAMES[0], x, [[0]])
