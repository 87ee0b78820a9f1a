"""The theorems of the paper, and that the games reach what the theorems say."""

import cooper
import cvxpy
import numpy as np
import pytest
import torch
from helpers import best_linear, dense, random_hoods

import pellucid as pl
from pellucid import equilibrium

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose

FAMILIES = [
    pl.ConstantFamily(),
    pl.LinearFamily(),
    pl.LinearFamily(intercept=False),
    pl.LinearFamily(ridge=0.5),
]
SEEDS = [0, 1, 2]


def instance(seed, n_points=18, k=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_points, 2, generator=generator, dtype=torch.float64)
    y = torch.randn(n_points, k, generator=generator, dtype=torch.float64)
    hoods = [
        pl.windows([n_points - 5, 5], radius=3),
        pl.nearest(x, k=6),
        pl.from_lists(
            [sorted({i, *random_hoods(1, n_points, generator, 9).members.tolist()}) for i in range(n_points)]
        ),
    ][seed % 3]
    return x, y, hoods


def circle(n_points=20, radius=2):
    """Neighborhoods that fulfil the paper's assumptions A3 to A5: equal sizes, symmetric, covering."""
    return pl.from_lists([[(i + s) % n_points for s in range(-radius, radius + 1)] for i in range(n_points)])


def witness_values(family, x, f, members, points):
    """The best response of one neighborhood, by NumPy, at any points."""
    if isinstance(family, pl.ConstantFamily):
        return f[members].mean(0).expand(len(points), -1)
    theta, offset = best_linear(x[members], f[members], family.ridge, family.intercept)
    return x[points] @ torch.from_numpy(theta) + torch.from_numpy(offset)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
def test_symmetric_solution_is_the_fixed_point_of_theorem_2(seed, family):
    x, y, hoods = instance(seed, k=2)
    weight = 1.7
    f = equilibrium.symmetric(y, x, hoods, family, weight=weight)
    pull, share = torch.zeros_like(f), torch.zeros(len(f), 1, dtype=torch.float64)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        pull[own] += witness_values(family, x, f, own, own) / len(own)
        share[own] += 1 / len(own)
    # With A3 to A5 every share is 1 and this is the theorem's equation to the letter.
    torch.testing.assert_close(f, (y + weight * pull) / (1 + weight * share))


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
def test_asymmetric_solution_is_the_fixed_point_of_theorem_2(seed, family):
    x, y, hoods = instance(seed, k=2)
    weight = 1.7
    f = equilibrium.asymmetric(y, x, hoods, family, weight=weight)
    at_centers = torch.cat([witness_values(family, x, f, hoods.members_of(i), [i]) for i in range(len(f))])
    torch.testing.assert_close(f, (y + weight * at_centers) / (1 + weight))


def test_theorem_2_to_the_letter_where_its_assumptions_hold():
    x, y, _ = instance(0, n_points=20)
    hoods, weight, m = circle(), 0.8, 5
    f = equilibrium.symmetric(y, x, hoods, pl.LinearFamily(intercept=False), weight=weight)
    pinv = [np.linalg.pinv(x[hoods.members_of(j)].numpy()) @ f[hoods.members_of(j)].numpy() for j in range(20)]
    for i in range(20):
        total = sum(pinv[j] for j in hoods.members_of(i).tolist())
        np.testing.assert_allclose(f[i], (y[i].numpy() + weight / m * total.T @ x[i].numpy()) / (1 + weight))


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_solution_is_the_fixed_point_of_theorem_3_in_all_three_branches(seed, family):
    x, y, hoods = instance(seed)
    margin = 0.15
    f = equilibrium.uniform(y, x, hoods, family, margin=margin)
    lower, upper = torch.full((len(f),), -np.inf), torch.full((len(f),), np.inf)
    lower, upper = lower.double(), upper.double()
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        values = witness_values(family, x, f, own, own)[:, 0]
        squares = (f[own, 0] - values).square()
        room = (margin * len(own) - squares.sum() + squares).clamp(min=0).sqrt()
        lower[own] = torch.maximum(lower[own], values - room)
        upper[own] = torch.minimum(upper[own], values + room)
    y, f = y[:, 0], f[:, 0]
    raised, lowered = lower > y + 1e-6, upper < y - 1e-6
    kept = ~raised & ~lowered
    torch.testing.assert_close(f[raised], lower[raised], atol=1e-5, rtol=0)
    torch.testing.assert_close(f[lowered], upper[lowered], atol=1e-5, rtol=0)
    torch.testing.assert_close(f[kept], y[kept], atol=1e-5, rtol=0)
    assert raised.any()
    assert lowered.any()


def test_the_third_branch_keeps_labels_where_the_constraints_are_slack():
    x, y, hoods = instance(0)
    y = 0.1 * y
    y[8] = 5.0
    f = equilibrium.uniform(y, x, hoods, pl.ConstantFamily(), margin=0.3)
    touched = dense(hoods)[dense(hoods)[:, 8] > 0].sum(0) > 0
    assert (~touched).sum() >= 5
    torch.testing.assert_close(f[~touched], y[~touched])
    assert f[8] < 4.9


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("family", FAMILIES[:3], ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_solution_is_the_optimum_of_the_convex_program(seed, family, margin):
    x, y, hoods = instance(seed, k=2)
    torch.testing.assert_close(
        equilibrium.uniform(y, x, hoods, family, margin=margin), qcqp(x, y, hoods, family, margin), atol=1e-3, rtol=0
    )


def qcqp(x, y, hoods, family, margin):
    """min |f - y|^2 s.t. D_i <= margin, with the witnesses as explicit variables, by cvxpy."""
    f = cvxpy.Variable(y.shape)
    constraints = []
    for i in range(len(hoods)):
        own = hoods.members_of(i).numpy()
        columns = [np.ones((len(own), 1))] if getattr(family, "intercept", True) else []
        if isinstance(family, pl.LinearFamily):
            columns.append(x[own].numpy())
        theta = cvxpy.Variable((sum(c.shape[1] for c in columns), y.shape[1]))
        gap = f[own] - np.hstack(columns) @ theta
        constraints.append(cvxpy.sum_squares(gap) <= margin * len(own) if margin else gap == 0)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(f - y.numpy())), constraints)
    problem.solve(solver=cvxpy.CLARABEL)
    return torch.from_numpy(f.value)


def train_table(y, penalty, steps=300, rate=0.6):
    """Free values, one per point, by gradient descent on mean squared error + penalty."""
    f = torch.zeros_like(y, requires_grad=True)
    for _ in range(steps):
        loss = (f - y).square().sum(1).mean() + penalty(f)
        (gradient,) = torch.autograd.grad(loss, f)
        with torch.no_grad():
            f -= rate * len(y) / 2 * gradient
    return f.detach()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("play", ["direct", "consensus", "banked", "asymmetric"])
def test_a_trained_table_reaches_the_equilibrium(play, seed, family):
    x, y, hoods = instance(seed, k=2)
    weight = 0.5
    if play == "asymmetric":
        game = pl.AsymmetricGame(family, weight=weight)
        expected = equilibrium.asymmetric(y, x, hoods, family, weight=weight)
    else:
        form = "direct" if play == "direct" else "consensus"
        game = pl.SymmetricGame(family, weight=weight, form=form)
        expected = equilibrium.symmetric(y, x, hoods, family, weight=weight)
    if play == "banked":
        bank = pl.Bank(game, x, hoods)
        bank.update(torch.zeros_like(y))
        index = torch.arange(len(y))

        def penalty(f):
            bank.refit()  # on what the bank holds: the predictions of the step before
            return bank.penalty(f, index)
    else:

        def penalty(f):
            return game(f, x, hoods).penalty

    torch.testing.assert_close(train_table(y, penalty), expected, atol=1e-6, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("mirror_map", ["euclidean", "entropic"])
@pytest.mark.parametrize("family", FAMILIES[:3], ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
def test_mirror_prox_reaches_the_optimum_of_the_uniform_criterion(seed, family, mirror_map):
    x, y, hoods = instance(seed)
    margin = 0.15
    f = torch.nn.Parameter(torch.zeros_like(y))
    game = pl.UniformGame(family, margin=margin, n_neighborhoods=len(hoods), initial=1.0)
    optimizer = torch.optim.SGD([f], lr=0.02 * len(y))
    prox = pl.MirrorProx(optimizer, game, multiplier_lr=10.0, mirror_map=mirror_map)
    for _ in range(900):
        prox.step(lambda: (f - y).square().mean() + game(f, x, hoods).penalty)
    torch.testing.assert_close(f.detach(), qcqp(x, y, hoods, family, margin), atol=1e-3, rtol=0)
    assert game(f, x, hoods).deviations.max() <= margin + 1e-3


@pytest.mark.slow
def test_mirror_prox_reaches_the_played_equilibrium_with_a_ridge():
    x, y, hoods = instance(1)
    family, margin = pl.LinearFamily(ridge=0.5), 0.15
    f = torch.nn.Parameter(torch.zeros_like(y))
    game = pl.UniformGame(family, margin=margin, n_neighborhoods=len(hoods))
    prox = pl.MirrorProx(torch.optim.SGD([f], lr=0.02 * len(y)), game, multiplier_lr=10.0)
    for _ in range(900):
        prox.step(lambda: (f - y).square().mean() + game(f, x, hoods).penalty)
    torch.testing.assert_close(f.detach(), equilibrium.uniform(y, x, hoods, family, margin=margin), atol=1e-3, rtol=0)


@pytest.mark.slow
def test_the_same_uniform_problem_solved_by_cooper_agrees():
    x, y, hoods = instance(1)
    family, margin = pl.LinearFamily(), 0.15
    f = torch.nn.Parameter(torch.zeros_like(y))

    class Problem(cooper.ConstrainedMinimizationProblem):
        def __init__(self):
            super().__init__()
            self.margins = cooper.Constraint(
                constraint_type=cooper.ConstraintType.INEQUALITY,
                formulation_type=cooper.formulations.Lagrangian,
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=len(hoods), dtype=torch.float64),
            )

        def compute_cmp_state(self):
            witnesses = family.best_response(x, f.detach(), hoods)
            deviations = witnesses.deviations(pl.squared_error, f)
            state = cooper.ConstraintState(violation=deviations - margin)
            return cooper.CMPState(loss=(f - y).square().sum(), observed_constraints={self.margins: state})

    problem = Problem()
    extra = cooper.optim.torch_optimizers.ExtraSGD
    optimizer = cooper.optim.ExtrapolationConstrainedOptimizer(
        cmp=problem,
        primal_optimizers=extra([f], lr=0.02),
        dual_optimizers=extra(problem.dual_parameters(), lr=10.0, maximize=True),
    )
    for _ in range(900):
        optimizer.roll()
    expected = equilibrium.uniform(y, x, hoods, family, margin=margin)
    torch.testing.assert_close(f.detach(), expected, atol=1e-3, rtol=0)


def test_constant_witnesses_average_recursively_twice_as_fast_in_the_symmetric_game():
    """f = 1/(1+w) sum_t (w/(1+w))^t A^(t or 2t) y with A the average over a neighborhood."""
    _, y, _ = instance(0, n_points=20)
    hoods, weight = circle(), 1.3
    average = dense(hoods) / 5
    for play, kernel in ((equilibrium.asymmetric, average), (equilibrium.symmetric, average @ average)):
        expected, term = torch.zeros_like(y), y / (1 + weight)
        for _ in range(200):
            expected += term
            term = weight / (1 + weight) * kernel @ term
        torch.testing.assert_close(play(y, y, hoods, pl.ConstantFamily(), weight=weight), expected)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_extreme_weights_and_margins(family):
    x, y, hoods = instance(0)
    for play in (equilibrium.symmetric, equilibrium.asymmetric):
        torch.testing.assert_close(play(y, x, hoods, family, weight=0), y)
    torch.testing.assert_close(equilibrium.uniform(y, x, hoods, family, margin=1e3), y)
    if getattr(family, "ridge", 0) == 0:
        exact = equilibrium.uniform(y, x, hoods, family, margin=0)
        assert family.best_response(x, exact, hoods).deviations().max() < 1e-20
        near = equilibrium.symmetric(y, x, hoods, family, weight=1e7)
        torch.testing.assert_close(near, exact, atol=1e-4, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("margin", [1e-2, 1e-4, 1e-6])
def test_the_uniform_solution_scales_with_its_units_and_bears_small_margins(margin, seed, family):
    x, y, hoods = instance(seed)
    f = equilibrium.uniform(y, x, hoods, family, margin=margin)
    assert family.best_response(x, f, hoods).deviations().max() <= margin * (1 + 1e-5)
    for unit in (1e-6, 1e6):
        scaled = equilibrium.uniform(unit * y, x, hoods, family, margin=unit**2 * margin)
        torch.testing.assert_close(scaled / unit, f, atol=1e-6, rtol=0)


def test_a_solver_that_does_not_arrive_says_so(monkeypatch):
    x, y, hoods = instance(0)
    monkeypatch.setattr(equilibrium._Uniform, "_newton", lambda self, multipliers: multipliers + 1)
    with pytest.raises(pl.ConvergenceError, match="of the margin only.*raise the margin"):
        equilibrium.uniform(y, x, hoods, pl.ConstantFamily(), margin=0.1)


def test_families_without_a_known_equilibrium_are_refused():
    x, y, hoods = instance(0)
    with pytest.raises(pl.PellucidError, match="linear in the predictions, such as ConstantFamily"):
        equilibrium.symmetric(y, x, hoods, pl.TreeFamily(), weight=1)
    with pytest.raises(pl.PellucidError, match="`margin` of uniform must be a finite number >= 0"):
        equilibrium.uniform(y, x, hoods, pl.ConstantFamily(), margin=-1)
    with pytest.raises(pl.PellucidError, match="`y` must be finite"):
        equilibrium.symmetric(y * torch.nan, x, hoods, pl.ConstantFamily(), weight=1)
    with pytest.raises(pl.PellucidError, match="`weight` of symmetric must be"):
        equilibrium.symmetric(y, x, hoods, pl.ConstantFamily(), weight=-1)
