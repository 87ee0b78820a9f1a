"""Held-out games: the predictor pays at each member for the witness that was fitted without it."""

import numpy as np
import pytest
import torch
from helpers import random_hoods

import pellucid as pl
from pellucid import equilibrium

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose

STABLE = [pl.ConstantFamily(), pl.LinearFamily(ridge=0.5), pl.LinearFamily(ridge=0.5, intercept=False)]
FAMILIES = [*STABLE, pl.LinearFamily(), pl.TreeFamily(depth=2), pl.TreeFamily(depth=2, criterion="absolute")]


def problem(seed=0, n_points=24, k=2):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_points, 2, generator=generator, dtype=torch.float64)
    f = torch.randn(n_points, k, generator=generator, dtype=torch.float64, requires_grad=True)
    return x, f, random_hoods(16, n_points, generator, 9)


def definition(kind, f, values, x, hoods, fixed, deviation):
    """The mean over neighborhoods, written as loops; `values` do not move with f."""
    total = 0.0
    for i in range(len(hoods)):
        own, answers = hoods.members_of(i), values[hoods.offsets[i] : hoods.offsets[i + 1]]
        if kind == "symmetric":
            total = total + deviation(f[own], answers).mean()
            continue
        center = int(hoods.centers[i])
        place = (own == center).nonzero().flatten()
        # A center that is no member was not seen by the witness of all members.
        answer = answers[place] if len(place) else fixed.evaluate(torch.tensor([i]), x[center][None])
        total = total + deviation(f[center][None], answer).mean()
    return total / len(hoods)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("deviation", [pl.squared_error, pl.absolute_error])
@pytest.mark.parametrize("kind", ["symmetric", "asymmetric"])
def test_value_and_gradient_are_those_of_the_definition_with_the_held_out_values_fixed(kind, family, deviation):
    x, f, hoods = problem()
    play = {"symmetric": pl.SymmetricGame, "asymmetric": pl.AsymmetricGame}[kind]
    outcome = play(family, weight=0.3, deviation=deviation, held_out=True, folds=3)(f, x, hoods)
    fixed = family.best_response(x, f.detach(), hoods)
    values = family.held_out_values(x, f.detach(), hoods, folds=3)

    def objective(predictions):
        return 0.3 * definition(kind, predictions, values, x, hoods, fixed, deviation)

    torch.testing.assert_close(outcome.penalty, objective(f.detach()))
    (gradient,) = torch.autograd.grad(outcome.penalty, f)
    numeric, step = torch.zeros_like(f), 1e-6
    for j, k in np.ndindex(*f.shape):
        shift = torch.zeros_like(f)
        shift[j, k] = step
        numeric[j, k] = (objective(f.detach() + shift) - objective(f.detach() - shift)) / (2 * step)
    torch.testing.assert_close(gradient, numeric, rtol=1e-5, atol=1e-7)
    distances = deviation(f[hoods.members], values).detach()
    torch.testing.assert_close(outcome.deviations, hoods.sum_members(distances) / hoods.sizes)
    assert not outcome.deviations.requires_grad


def test_both_forms_of_the_symmetric_game_are_the_same():
    x, f, hoods = problem()
    outcomes = [pl.SymmetricGame(STABLE[1], held_out=True, form=form)(f, x, hoods) for form in ("direct", "consensus")]
    torch.testing.assert_close(outcomes[0].penalty, outcomes[1].penalty)
    gradients = [torch.autograd.grad(outcome.penalty, f)[0] for outcome in outcomes]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_bank_adds_up_to_the_full_game(family):
    x, f, hoods = problem()
    game = pl.SymmetricGame(family, weight=0.7, held_out=True)
    (expected,) = torch.autograd.grad(game(f, x, hoods).penalty, f)
    bank = pl.Bank(game, x, hoods)
    bank.update(f)
    total = torch.zeros_like(f)
    for batch in torch.randperm(24, generator=torch.Generator().manual_seed(0)).split([1, 7, 12, 4]):
        total += torch.autograd.grad(bank.penalty(f[batch], batch) * len(batch) / 24, f)[0]
    torch.testing.assert_close(total, expected)


def test_the_uniform_game_constrains_held_out_deviations():
    x, f, hoods = problem(k=1)
    family = pl.LinearFamily(ridge=0.5)
    game = pl.UniformGame(family, margin=0.2, n_neighborhoods=len(hoods), initial=2.0, held_out=True)
    outcome = game(f, x, hoods)
    held_out = family.best_response(x, f.detach(), hoods).held_out().deviations()
    torch.testing.assert_close(outcome.deviations, held_out)
    torch.testing.assert_close(outcome.penalty.detach(), 2 * (held_out - 0.2).mean())
    outcome.penalty.backward()
    torch.testing.assert_close(game.multipliers.grad, held_out - 0.2)


# -- equilibria ------------------------------------------------------------------------------------------------


def instance(seed, n_points=18, k=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_points, 2, generator=generator, dtype=torch.float64)
    y = torch.randn(n_points, k, generator=generator, dtype=torch.float64)
    return x, y, [pl.windows([n_points - 5, 5], radius=3), pl.nearest(x, k=6), pl.nearest(x, k=9)][seed % 3]


@pytest.mark.parametrize("family", [*STABLE, pl.LinearFamily()], ids=repr)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equilibria_are_fixed_points_of_alternating_best_responses(seed, family):
    x, y, hoods = instance(seed, k=2)
    weight = 1.7
    f = equilibrium.symmetric(y, x, hoods, family, weight=weight, held_out=True)
    consensus = family.best_response(x, f, hoods).held_out().consensus()
    share = weight * hoods.coverage[:, None]
    torch.testing.assert_close(f, (y + share * consensus) / (1 + share), atol=1e-7, rtol=1e-7)
    f = equilibrium.asymmetric(y, x, hoods, family, weight=weight, held_out=True)
    answers = family.best_response(x, f, hoods).held_out().at_centers()
    torch.testing.assert_close(f, (y + weight * answers) / (1 + weight), atol=1e-7, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("family", STABLE, ids=repr)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("play", ["direct", "banked", "asymmetric"])
def test_a_trained_table_reaches_the_equilibrium(play, seed, family):
    x, y, hoods = instance(seed, k=2)
    kind = pl.AsymmetricGame if play == "asymmetric" else pl.SymmetricGame
    game = kind(family, weight=0.5, held_out=True)
    solve = equilibrium.asymmetric if play == "asymmetric" else equilibrium.symmetric
    expected = solve(y, x, hoods, family, weight=0.5, held_out=True)
    bank = pl.Bank(game, x, hoods) if play == "banked" else None
    f = torch.zeros_like(y, requires_grad=True)
    for _ in range(400):
        if bank is None:
            penalty = game(f, x, hoods).penalty
        else:
            bank.update(f)
            bank.refit()
            penalty = bank.penalty(f, torch.arange(len(y)))
        (gradient,) = torch.autograd.grad((f - y).square().sum(1).mean() + penalty, f)
        with torch.no_grad():
            f -= 0.4 * len(y) / 2 * gradient
    torch.testing.assert_close(f.detach(), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", STABLE, ids=repr)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_uniform_equilibrium_keeps_its_margin_at_held_out_members(seed, family):
    x, y, hoods = instance(seed)
    free = family.best_response(x, y, hoods).held_out().deviations()
    margin = float(free.median())
    f = equilibrium.uniform(y, x, hoods, family, margin=margin, held_out=True)
    deviations = family.best_response(x, f, hoods).held_out().deviations()
    assert deviations.max() <= margin * (1 + 1e-5)
    # Where it binds the margin is met: nobody moves further than asked.
    assert deviations.max() >= margin * (1 - 1e-5)
    near = equilibrium.uniform(y, x, hoods, family, margin=1e3, held_out=True)
    torch.testing.assert_close(near, y)


# -- effective sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [1, 2, 5])
def test_neighborhoods_too_small_to_hold_a_family_to_account_do_so_held_out(features):
    """With m <= P + 1 members in general position, in-sample deviations are 0 for every predictor.

    Held out, I - L = diag(1/W_jj) W with W the pseudo-inverse of the centered Gram matrix, whose only null vectors are
    the constants: the deviation is 0 for a constant predictor and for no other.
    """
    generator = torch.Generator().manual_seed(features)
    family = pl.LinearFamily()
    for m in range(2, features + 2):
        x = torch.randn(m, features, generator=generator, dtype=torch.float64)
        hoods = pl.from_lists([list(range(m))], [0], m)
        everything = torch.eye(m, dtype=torch.float64)  # a basis of all predictors
        assert family.best_response(x, everything, hoods).deviations() < 1e-20
        left_out = everything - family.held_out_values(x, everything, hoods)  # I - L
        assert int(torch.linalg.matrix_rank(left_out, atol=1e-9)) == m - 1
        constant = torch.full((m, 1), 3.0, dtype=torch.float64)
        assert family.best_response(x, constant, hoods).held_out().deviations() < 1e-20


@pytest.mark.parametrize("features", [1, 2, 5])
def test_from_the_effective_size_on_linear_predictors_alone_pay_nothing_held_out(features):
    generator = torch.Generator().manual_seed(features)
    m = pl.LinearFamily().effective_size(features) + 1
    x = torch.randn(m, features, generator=generator, dtype=torch.float64)
    hoods = pl.from_lists([list(range(m))], [0], m)
    everything = torch.eye(m, dtype=torch.float64)
    left_out = everything - pl.LinearFamily().held_out_values(x, everything, hoods)
    assert int(torch.linalg.matrix_rank(left_out, atol=1e-9)) == m - features - 1
    linear = x @ torch.randn(features, 1, generator=generator, dtype=torch.float64) + 1
    assert pl.LinearFamily().best_response(x, linear, hoods).held_out().deviations() < 1e-20


def test_held_out_play_without_a_ridge_can_be_unstable_and_a_ridge_steadies_it():
    """Gradient play moves f by -(I + weight A) f: it settles where the spectrum of A has no negative real part."""
    x = torch.randn(32, 3, generator=torch.Generator().manual_seed(258), dtype=torch.float64)
    hoods = pl.nearest(x, k=5)  # P + 2 members, the fewest from which a law can be wrong

    def lowest(ridge):
        identity = torch.eye(32, dtype=torch.float64)
        witnesses = pl.LinearFamily(ridge=ridge).best_response(x, identity, hoods)
        coverage = hoods.coverage[:, None]
        matrix = coverage * (identity - witnesses.held_out().consensus())
        return float(torch.linalg.eigvals(matrix).real.min())

    assert lowest(0.0) < -0.1
    assert lowest(1.0) > -1e-9
