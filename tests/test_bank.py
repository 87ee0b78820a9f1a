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
    bank.refit()
    before = bank.witnesses.parameters.clone()
    batch = torch.tensor([3, 4])
    bank.penalty(f[batch] + 1, batch)
    torch.testing.assert_close(bank.witnesses.parameters, before)
    torch.testing.assert_close(bank.witnesses.f, f.detach())
    moved = f.detach().clone()
    moved[batch] += 1
    torch.testing.assert_close(bank.predictions, moved)
    bank.refit()
    torch.testing.assert_close(bank.witnesses.parameters, pl.ConstantFamily().best_response(x, moved, hoods).parameters)


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


def fits(monkeypatch, family=pl.ConstantFamily):
    """The predictions that witnesses were fitted to, one after the other."""
    answered = []
    plain = family.best_response

    def best_response(self, x, f, hoods):
        answered.append(f.clone())
        return plain(self, x, f, hoods)

    monkeypatch.setattr(family, "best_response", best_response)
    return answered


@pytest.mark.parametrize(("every", "steps"), [(None, [0, 3, 6]), (1, list(range(8))), (20, [0, 2, 4, 6]), (60, [0, 6])])
def test_witnesses_are_fitted_by_themselves_once_an_epoch_or_as_often_as_asked(every, steps, generator, monkeypatch):
    x, f, hoods = problem(generator)
    bank = pl.Bank(pl.SymmetricGame(pl.ConstantFamily(), form="direct"), x, hoods, refit_every=every)
    bank.update(f)
    answered = fits(monkeypatch)
    when = []
    for step in range(8):  # three batches of ten are an epoch of 30 points
        batch = torch.arange(30).roll(-10 * step)[:10]
        before = bank.predictions.clone()
        bank.penalty(f[batch] + step, batch)
        if len(answered) > len(when):
            when.append(step)
            assert torch.equal(answered[-1], before)
    assert when == steps


def test_a_bank_that_is_left_to_refit_asks_for_it(generator):
    x, f, hoods = problem(generator)
    bank = pl.Bank(GAMES[0], x, hoods, refit_every=0)
    bank.update(f)
    with pytest.raises(pl.InputError, match="no witnesses yet.*`bank.refit"):
        bank.penalty(f[:2], [0, 1])
    bank.refit()
    first = bank.witnesses
    for _ in range(40):
        bank.penalty(f[:2], [0, 1])
    assert bank.witnesses is first
    with pytest.raises(pl.InputError, match="`refit_every` must be a whole number >= 0. Got -1"):
        pl.Bank(GAMES[0], x, hoods, refit_every=-1)


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("game", GAMES, ids=repr)
@pytest.mark.parametrize("stop", [0, 1, 4, 5])
def test_a_bank_goes_on_exactly_where_it_was_saved(game, stop, generator, tmp_path):
    x, f, hoods = problem(generator)
    steps = [(torch.randn(7, 2, generator=generator, dtype=torch.float64), torch.randperm(30)[:7]) for _ in range(9)]

    def new():
        return pl.Bank(game, x, hoods)

    straight, first, second = new(), new(), new()
    straight.update(f)
    paid = [straight.penalty(*step) for step in steps]
    first.update(f)
    for step in steps[:stop]:
        first.penalty(*step)
    torch.save(first.state_dict(), tmp_path / "bank.pt")
    second.load_state_dict(torch.load(tmp_path / "bank.pt", weights_only=True))
    assert torch.equal(second.predictions, first.predictions)
    assert int(second.steps) == stop
    for step, expected in zip(steps[stop:], paid[stop:], strict=True):
        assert second.penalty(*step).item() == expected.item()
    assert torch.equal(second.predictions, straight.predictions)


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_bank_that_is_refitted_by_steps_goes_on_inside_of_another_module(stop, generator, tmp_path):
    x, f, hoods = problem(generator)
    game = pl.SymmetricGame(pl.TreeFamily(depth=1))
    steps = [(torch.randn(7, 2, generator=generator, dtype=torch.float64), torch.randperm(30)[:7]) for _ in range(8)]

    def new():
        bank = pl.Bank(game, x, hoods, refit_every=0)
        bank.update(f)
        return torch.nn.ModuleDict({"bank": bank})

    def play(module, batches):
        paid = []
        for batch in batches:
            if int(module["bank"].steps) % 3 == 0:
                module["bank"].refit()
            paid.append(module["bank"].penalty(*batch).item())
        return paid

    paid = play(new(), steps)
    begun, resumed = new(), new()
    play(begun, steps[:stop])
    torch.save(begun.state_dict(), tmp_path / "state.pt")
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert int(resumed["bank"].steps) == stop
    assert play(resumed, steps[stop:]) == paid[stop:]


def test_the_state_is_that_of_a_module(generator):
    x, f, hoods = problem(generator)
    bank = pl.Bank(GAMES[0], x, hoods)
    assert set(bank.state_dict()) == {"steps", "points_since_fit"}  # features are no state
    bank.update(f)
    bank.penalty(f[:7] + 1, torch.arange(7))
    bank.penalty(f[7:10], torch.arange(7, 10))
    state = {name: value.clone() for name, value in bank.state_dict().items()}
    assert set(state) == {"predictions", "fitted_to", "steps", "points_since_fit"}
    assert (int(state["steps"]), int(state["points_since_fit"])) == (2, 10)
    assert torch.equal(state["fitted_to"], f.detach())
    assert torch.equal(state["predictions"][:7], f.detach()[:7] + 1)
    assert not list(bank.parameters())
    assert repr(bank).startswith("Bank(SymmetricGame(")


def test_a_state_replaces_all_that_a_bank_held(generator):
    x, f, hoods = problem(generator)
    used, empty = pl.Bank(GAMES[0], x, hoods), pl.Bank(GAMES[0], x, hoods)
    used.update(f)
    used.penalty(f[:7], torch.arange(7))
    used.load_state_dict(empty.state_dict())
    assert used.predictions is None
    with pytest.raises(pl.InputError, match="no witnesses yet"):
        _ = used.witnesses


def test_a_bank_moves_with_its_neighborhoods(generator):
    x, f, hoods = problem(generator)
    bank = pl.Bank(GAMES[0], x, hoods)
    bank.update(f)
    bank.refit()
    before = bank.witnesses
    assert bank.to("cpu").witnesses is before  # nothing has moved
    single = bank.to(torch.float32)
    assert single.x.dtype == single.predictions.dtype == torch.float32
    assert single.witnesses.x.dtype == torch.float32
    elsewhere = pl.Bank(GAMES[0], x, hoods).to("meta")
    assert elsewhere.hoods.device == elsewhere.x.device == torch.device("meta")


def test_the_state_of_another_bank_is_refused(generator):
    x, f, hoods = problem(generator)
    bank = pl.Bank(GAMES[0], x, hoods)
    with pytest.raises(RuntimeError, match='Missing key.*"steps", "points_since_fit"'):
        bank.load_state_dict({"predictions": f.detach()})
    counts = {"steps": torch.tensor(0), "points_since_fit": torch.tensor(0)}
    with pytest.raises(pl.InputError, match="of a bank of 29 points. This one has 30"):
        bank.load_state_dict({"predictions": f[:29], **counts})
    bank.load_state_dict({"predictions": f.detach(), **counts})
    assert torch.equal(bank.predictions, f.detach())


LINEAR = [pl.ConstantFamily(), pl.LinearFamily(), pl.LinearFamily(ridge=0.5)]


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("family", LINEAR, ids=repr)
def test_linear_witnesses_are_fitted_once_and_answers_are_those_of_fits(family, held_out, generator, monkeypatch):
    x, f, hoods = problem(generator)
    bank = pl.Bank(pl.SymmetricGame(family, held_out=held_out), x, hoods, refit_every=1)
    bank.update(f)
    bank.refit()
    answered = fits(monkeypatch, type(family))
    for step in range(3):
        batch = torch.arange(30).roll(-10 * step)[:10]
        bank.penalty(f[batch] + step, batch)
    assert not answered  # the map was made by the first fit
    monkeypatch.undo()
    by_hand = family.best_response(x, bank.fitted_to, hoods)
    torch.testing.assert_close(bank.witnesses.parameters, by_hand.parameters)
    consensus = (by_hand.held_out() if held_out else by_hand).consensus()
    moved = bank.predictions[batch] + 1
    expected = 30 / 20 * (hoods.coverage[batch] * (moved - consensus[batch]).square().sum(1)).mean()
    bank.refit_every = 0
    torch.testing.assert_close(bank.penalty(moved, batch), expected, rtol=1e-10, atol=1e-10)


def test_the_map_follows_the_features_of_a_bank_that_moves(generator):
    x, f, hoods = problem(generator)
    game = pl.SymmetricGame(pl.LinearFamily(ridge=0.1))
    bank = pl.Bank(game, x, hoods)
    bank.update(f)
    bank.refit()
    single, fresh = bank.to(torch.float32), pl.Bank(game, x.float(), hoods)
    fresh.update(f.float())
    batch = torch.arange(30)
    assert single.penalty(f.float(), batch).item() == fresh.penalty(f.float(), batch).item()


def test_a_bank_warns_of_small_neighborhoods_although_it_fits_them_once(generator):
    x, f, _ = problem(generator)
    bank = pl.Bank(pl.SymmetricGame(pl.LinearFamily()), x, pl.nearest(x, k=5))
    bank.update(f)
    with pytest.warns(pl.PellucidWarning, match="fewer members than twice the 3 columns") as warned:
        bank.refit()
    assert warned[0].filename == __file__
