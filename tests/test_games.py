import pytest
import torch
from helpers import random_hoods

import pellucid as pl

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose


def problem(generator, k=2, n_points=30, p=3):
    x = torch.randn(n_points, p, generator=generator, dtype=torch.float64)
    f = torch.randn(n_points, k, generator=generator, dtype=torch.float64, requires_grad=True)
    return x, f, random_hoods(20, n_points, generator, 12)


FAMILIES = [
    pl.ConstantFamily(),
    pl.LinearFamily(),
    pl.LinearFamily(ridge=0.7, intercept=False),
    pl.TreeFamily(depth=2),
    pl.TreeFamily(depth=2, criterion="absolute"),
    pl.BestOf(pl.LinearFamily(), pl.TreeFamily(depth=1)),
]
DEVIATIONS = [pl.squared_error, pl.absolute_error, pl.gaussian_kl, lambda f, g: (f - g).abs().pow(1.5).sum(-1)]


def definition(kind, f, fixed, x, hoods, deviation):
    """The mean over neighborhoods, written as two loops; `fixed` are witnesses that do not move with f."""
    total = 0.0
    for i in range(len(hoods)):
        points = hoods.members_of(i) if kind == "symmetric" else hoods.centers[i : i + 1]
        g = fixed.evaluate(torch.full_like(points, i), x[points])
        total = total + deviation(f[points], g).mean()
    return total / len(hoods)


def finite_difference(function, f, step=1e-6):
    gradient = torch.zeros_like(f)
    for index in torch.cartesian_prod(*(torch.arange(s) for s in f.shape)):
        shift = torch.zeros_like(f)
        shift[tuple(index)] = step
        gradient[tuple(index)] = (function(f + shift) - function(f - shift)) / (2 * step)
    return gradient


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("kind", ["symmetric", "asymmetric"])
def test_value_and_gradient_are_those_of_the_definition_with_the_witnesses_held_fixed(
    kind, family, deviation, generator
):
    x, f, hoods = problem(generator)
    play = {"symmetric": pl.SymmetricGame, "asymmetric": pl.AsymmetricGame}[kind]
    outcome = play(family, weight=0.3, deviation=deviation)(f, x, hoods)
    fixed = family.best_response(x, f.detach(), hoods)

    def objective(values):
        return 0.3 * definition(kind, values, fixed, x, hoods, deviation)

    torch.testing.assert_close(outcome.penalty, objective(f.detach()), rtol=1e-10, atol=1e-12)
    (gradient,) = torch.autograd.grad(outcome.penalty, f)
    # Where a witness fits up to rounding, an absolute value has a kink and rounding picks a side.
    points, values = (hoods.members, fixed.at_members()) if kind == "symmetric" else (hoods.centers, fixed.at_centers())
    gaps = (f.detach()[points] - values).abs()
    smooth = torch.ones(len(f), dtype=torch.bool)
    smooth[points[((gaps > 0) & (gaps < 1e-9)).any(1)]] = deviation is not pl.absolute_error
    assert smooth.sum() >= 10
    torch.testing.assert_close(gradient[smooth], finite_difference(objective, f.detach())[smooth], rtol=1e-5, atol=1e-7)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        expected = deviation(f[own], fixed.evaluate(torch.full_like(own, i), x[own])).mean()
        torch.testing.assert_close(outcome.deviations[i], expected.detach())
    assert not outcome.deviations.requires_grad


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("windows", [True, False])
def test_consensus_has_the_gradient_of_the_direct_sum(family, windows, generator):
    x, f, hoods = problem(generator)
    if windows:
        hoods = pl.windows([12, 1, 17], radius=4).select([0, 3, 4, 12, 15, 29])  # not symmetric
    direct = pl.SymmetricGame(family, weight=2.0, form="direct")(f, x, hoods)
    consensus = pl.SymmetricGame(family, weight=2.0, form="consensus")(f, x, hoods)
    torch.testing.assert_close(consensus.penalty, direct.penalty, rtol=1e-12, atol=1e-12)
    by_direct, by_consensus = (torch.autograd.grad(o.penalty, f)[0] for o in (direct, consensus))
    assert (by_direct - by_consensus).abs().max() < 1e-10
    assert by_direct.abs().max() > 1e-3


def test_with_an_exact_best_response_the_gradient_is_the_true_one(generator):
    """Envelope theorem: holding the witnesses fixed changes nothing where they are optimal."""
    x, f, hoods = problem(generator, n_points=12)
    game = pl.SymmetricGame(pl.LinearFamily())
    (gradient,) = torch.autograd.grad(game(f, x, hoods).penalty, f)
    plugged_in = finite_difference(lambda v: game(v, x, hoods).penalty, f.detach())
    torch.testing.assert_close(gradient, plugged_in, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_uniform_penalty_is_the_lagrangian_and_multipliers_get_the_violations(generator):
    x, f, _ = problem(generator)
    family = pl.LinearFamily()
    game = pl.UniformGame(family, margin=0.2, n_neighborhoods=50, initial=1.0)
    with torch.no_grad():
        game.multipliers.copy_(torch.rand(50, generator=generator))
    everything = random_hoods(50, len(x), generator, 12)
    index = torch.randperm(50, generator=generator)[:20]
    hoods = everything.select(index)
    outcome = game(f, x, hoods)
    multipliers = game.multipliers.detach()[index]
    fixed = family.best_response(x, f.detach(), hoods)

    def lagrangian(values):
        deviations = torch.stack(
            [
                pl.squared_error(values[own], fixed.evaluate(torch.full_like(own, i), x[own])).mean()
                for i, own in ((i, hoods.members_of(i)) for i in range(len(hoods)))
            ]
        )
        return (multipliers * (deviations - 0.2)).mean()

    torch.testing.assert_close(outcome.penalty, lagrangian(f.detach()))
    outcome.penalty.backward()
    torch.testing.assert_close(f.grad, finite_difference(lagrangian, f.detach()), rtol=1e-5, atol=1e-7)
    expected = torch.zeros(50, dtype=torch.float64)
    expected[index] = outcome.deviations - 0.2
    torch.testing.assert_close(game.multipliers.grad, expected)


def test_games_played_at_once_add_up(generator):
    x, f, hoods = problem(generator)
    games = [
        pl.SymmetricGame(pl.LinearFamily(), weight=0.5),
        pl.AsymmetricGame(pl.TreeFamily(depth=1), weight=2.0, deviation=pl.absolute_error),
    ]
    together = pl.SumOfGames(games)(f, x, hoods)
    apart = [game(f, x, hoods) for game in games]
    torch.testing.assert_close(together.penalty, apart[0].penalty + apart[1].penalty)
    (gradient,) = torch.autograd.grad(together.penalty, f)
    torch.testing.assert_close(gradient, sum(torch.autograd.grad(o.penalty, f)[0] for o in apart))
    torch.testing.assert_close(together.deviations, torch.stack([o.deviations for o in apart], dim=1))
    assert len(together.witnesses) == 2


def test_the_best_of_two_families_deviates_as_little_as_the_better_one(generator):
    x, f, hoods = problem(generator)
    families = [pl.LinearFamily(), pl.TreeFamily(depth=1)]
    best = pl.BestOf(*families).best_response(x, f.detach(), hoods)
    each = torch.stack([family.best_response(x, f.detach(), hoods).deviations() for family in families])
    torch.testing.assert_close(best.deviations(), each.min(0).values)
    assert set(best.choice.tolist()) == {0, 1}
    for i in range(len(hoods)):
        assert best[i].to_dict()["kind"] == ["linear", "tree"][int(best.choice[i])]


def test_a_vector_of_predictions_counts_as_one_output(generator):
    x, f, hoods = problem(generator, k=1)
    game = pl.SymmetricGame(pl.LinearFamily())
    torch.testing.assert_close(game(f[:, 0], x, hoods).penalty, game(f, x, hoods).penalty)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f": torch.zeros(29, 2)}, "`f` must have one row for each of the 30 points.*Got 29 rows"),
        ({"x": torch.zeros(31, 2)}, "`x` must have one row for each of the 30 points.*Got 31 rows"),
        ({"f": torch.zeros(3, 10, 2)}, "`f` must have one row per point.*flatten"),
        ({"f": torch.full((30, 1), float("nan"))}, "`f` must be finite.*30 of 30 rows, first in row 0"),
        ({"f": torch.cat([torch.zeros(29), torch.tensor([float("inf")])])}, "`f` must be finite.*first in row 29"),
        ({"x": torch.full((30, 1), float("-inf"))}, "`x` must be finite"),
        ({"f": torch.zeros(30, 0)}, "at least one column"),
        ({"x": torch.zeros(30, 1, device="meta")}, "holds no numbers"),
        ({"x": torch.zeros(30, 1, dtype=torch.complex64)}, "real numbers"),
        ({"x": None}, "`x` must be a tensor, an array or nested lists of numbers. Got NoneType"),
        ({"f": ["a"] * 30}, "`f` must be a tensor, an array or nested lists of numbers. Got list"),
        ({"hoods": [[0, 1]]}, "`hoods` must be neighborhoods. Got list.*order of arguments"),
        ({"f": torch.linspace(-1e200, 1e200, 30, dtype=torch.float64)}, "The penalty must be finite.*overflow"),
    ],
)
@pytest.mark.parametrize("play", [pl.SymmetricGame, pl.AsymmetricGame])
def test_bad_input_is_refused(play, change, message, generator):
    x, f, hoods = problem(generator)
    arguments = {"f": f, "x": x, "hoods": hoods} | change
    with pytest.raises(pl.PellucidError, match=message):
        play(pl.LinearFamily())(**arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.SymmetricGame(pl.ConstantFamily(), weight=-1), "`weight` of SymmetricGame.*>= 0. Got -1"),
        (lambda: pl.AsymmetricGame(pl.ConstantFamily(), weight=float("nan")), "`weight` of AsymmetricGame.*Got nan"),
        (lambda: pl.SymmetricGame(pl.ConstantFamily(), form="fast"), "`form` of SymmetricGame must be"),
        (
            lambda: pl.SymmetricGame(pl.ConstantFamily(), deviation=pl.absolute_error, form="consensus"),
            "holds for squared_error only",
        ),
        (lambda: pl.UniformGame(pl.ConstantFamily(), margin=-0.1, n_neighborhoods=3), "`margin` of UniformGame.*-0.1"),
        (
            lambda: pl.UniformGame(pl.ConstantFamily(), margin=1, n_neighborhoods=0),
            "`n_neighborhoods` must be a whole number >= 1. Got 0",
        ),
        (lambda: pl.SumOfGames([]), "one or more games"),
        (lambda: pl.SumOfGames(pl.ConstantFamily()), "one or more games"),
        (lambda: pl.SymmetricGame(pl.LinearFamily), "`family` of SymmetricGame must be a witness family"),
        (lambda: pl.AsymmetricGame([pl.LinearFamily()]), "for several families use BestOf"),
        (lambda: pl.SymmetricGame(pl.LinearFamily(), deviation=2), "`deviation` of SymmetricGame must be a function"),
        (lambda: pl.SymmetricGame(pl.LinearFamily(), weight=True), "`weight` of SymmetricGame.*Got True"),
        (lambda: pl.UniformGame(pl.LinearFamily(), margin=1, n_neighborhoods=2.5), "whole number >= 1. Got 2.5"),
        (pl.BestOf, "one or more witness families"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(pl.PellucidError, match=message):
        make()


def test_uniform_game_counts_its_neighborhoods(generator):
    x, f, hoods = problem(generator)
    game = pl.UniformGame(pl.ConstantFamily(), margin=1.0, n_neighborhoods=5)
    with pytest.raises(pl.PellucidError, match="one multiplier for each of the 20 neighborhoods. Got 5"):
        game(f, x, hoods)
    with pytest.raises(pl.PellucidError, match="selected from. Got neighborhood 7, and 5 multipliers; set `n_neigh"):
        game(f, x, hoods.select([0, 7]))
    assert len(game(f, x, hoods.select([4, 0])).deviations) == 2


def test_a_selection_of_all_neighborhoods_in_another_order_keeps_each_its_multiplier(generator):
    x, f, hoods = problem(generator)
    game = pl.UniformGame(pl.LinearFamily(), margin=0.2, n_neighborhoods=20)
    with torch.no_grad():
        game.multipliers.copy_(torch.rand(20, generator=generator))
    order = torch.randperm(20, generator=generator)
    plain, shuffled = game(f, x, hoods).penalty, game(f, x, hoods.select(order)).penalty
    torch.testing.assert_close(shuffled, plain)
    one, two = (torch.autograd.grad(penalty, game.multipliers)[0] for penalty in (plain, shuffled))
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize(
    ("game", "pays_at", "has_multipliers"),
    [
        (pl.SymmetricGame(pl.LinearFamily()), "members", False),
        (pl.AsymmetricGame(pl.LinearFamily()), "centers", False),
        (pl.UniformGame(pl.LinearFamily(), margin=1, n_neighborhoods=20), "members", True),
        (pl.SumOfGames(pl.AsymmetricGame(pl.LinearFamily()), pl.AsymmetricGame(pl.ConstantFamily())), "centers", False),
        (pl.SumOfGames(pl.AsymmetricGame(pl.LinearFamily()), pl.SymmetricGame(pl.LinearFamily())), "members", False),
        (
            pl.SumOfGames(
                pl.AsymmetricGame(pl.LinearFamily()),
                pl.UniformGame(pl.LinearFamily(), margin=0.1, n_neighborhoods=20, initial=1.0),
            ),
            "members",
            True,
        ),
    ],
    ids=repr,
)
def test_a_game_says_where_the_predictor_pays_and_whether_it_has_multipliers(game, pays_at, has_multipliers, generator):
    assert (game.pays_at, game.has_multipliers) == (pays_at, has_multipliers)
    x, f, hoods = problem(generator)
    if has_multipliers:
        with torch.no_grad():
            getattr(game, "games", [game])[-1].multipliers.fill_(1.0)
    (gradient,) = torch.autograd.grad(game(f, x, hoods).penalty, f)
    paying = set(hoods.centers.tolist()) if pays_at == "centers" else set(hoods.members.tolist())
    assert set((gradient != 0).any(1).nonzero().flatten().tolist()) <= paying
    if pays_at == "members":
        assert set((gradient != 0).any(1).nonzero().flatten().tolist()) - set(hoods.centers.tolist())


@pytest.mark.parametrize("play", [pl.SymmetricGame, pl.AsymmetricGame])
def test_a_deviation_that_reduces_too_much_or_too_little_is_refused(play, generator):
    x, f, hoods = problem(generator)
    for wrong in (lambda f, g: (f - g).square(), lambda f, g: (f - g).square().mean(), lambda f, g: 0.0):
        with pytest.raises(pl.PellucidError, match=r"one number for each of the \d+ rows"):
            play(pl.ConstantFamily(), deviation=wrong)(f, x, hoods)


@pytest.mark.parametrize("form", ["consensus", "direct"])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_no_gradient_reaches_the_features_or_leaves_through_the_deviations(family, form, generator):
    x, f, hoods = problem(generator)
    x.requires_grad_()
    for game in (pl.SymmetricGame(family, form=form), pl.AsymmetricGame(family)):
        outcome = game(f, x, hoods)
        outcome.penalty.backward()
        assert x.grad is None
        assert not outcome.deviations.requires_grad
        assert not outcome.witnesses.consensus().requires_grad


def test_half_precision_does_not_overflow(generator):
    x, f, hoods = problem(generator)
    half = (300 * f).half()
    penalty = pl.SymmetricGame(pl.ConstantFamily())(half, x, hoods).penalty
    expected = pl.SymmetricGame(pl.ConstantFamily())(half.double(), x, hoods).penalty
    torch.testing.assert_close(penalty.double(), expected, rtol=1e-4, atol=0)


def test_a_sum_plays_minibatches_of_a_uniform_game(generator):
    x, f, _ = problem(generator)
    uniform = pl.UniformGame(pl.LinearFamily(), margin=0.1, n_neighborhoods=50, initial=2.0)
    symmetric = pl.SymmetricGame(pl.ConstantFamily())
    part = random_hoods(50, len(x), generator, 12).select([49, 3, 20])
    together = pl.SumOfGames(uniform, symmetric)(f, x, part)
    expected = uniform(f, x, part).penalty + symmetric(f, x, part).penalty
    torch.testing.assert_close(together.penalty, expected)
