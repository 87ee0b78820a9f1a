import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge

import pellucid as pl
from pellucid import InputError
from pellucid.choosing import RIDGES, candidates_for, choose, prefix


def share(f, x, rows, fit, count, compared, counts):
    """By the definition: fit to all members but one, for each of the nearest, in a loop."""
    missed, total = 0.0, dict.fromkeys(counts, 0.0)
    for members in rows:
        for j in members[:compared]:
            others = [m for m in members[:count] if m != j]
            missed += (f[j] - fit(x[others], f[others]).predict(x[[j]])[0]) ** 2
            for k in counts:
                total[k] += (f[j] - np.mean([f[m] for m in members[:k] if m != j])) ** 2
    return 1 - missed / min(total.values())


class OneTree:
    """A tree of one neighborhood, fitted alone; scikit-learn's breaks ties at random."""

    def __init__(self, x, f):
        whole = pl.from_lists([list(range(len(x)))], [0], n_points=len(x))
        family = pl.TreeFamily(depth=1, criterion="squared")
        self.tree = family.best_response(torch.from_numpy(x), torch.from_numpy(f)[:, None], whole)[0]

    def predict(self, x):
        return self.tree(torch.from_numpy(x))[:, 0].numpy()


@pytest.mark.slow
def test_candidates_are_those_of_a_loop_over_scikit_learn():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(60, 3))
    f = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    hoods = pl.nearest(x, k=20)
    choice = choose(f, x, hoods, neighbors=(12, 20), ridges=(0.0, 2.0))
    rows = hoods.members.reshape(60, 20).numpy()[choice.used.numpy()].tolist()
    assert choice.compared == 10
    for candidate in choice.candidates:
        expected = share(f, x, rows, Ridge(candidate.ridge).fit, candidate.neighbors, 10, (12, 20))
        assert candidate.explained == pytest.approx(expected, rel=1e-6)
    trees = choose(f, x, hoods, neighbors=(8, 20), family=pl.TreeFamily(depth=1, criterion="squared"))
    assert trees.compared == 8
    assert [c.ridge for c in trees.candidates] == [None, None]
    for candidate in trees.candidates:
        expected = share(f, x, rows, OneTree, candidate.neighbors, 8, (8, 20))
        assert candidate.explained == pytest.approx(expected)


def test_neighborhoods_may_be_what_they_are():
    """Groups of different sizes: only the ridge is chosen, and all members count."""
    generator = np.random.default_rng(1)
    x, f = generator.normal(size=(50, 4)), generator.normal(size=50)
    groups = [list(range(6)), list(range(6, 20)), list(range(20, 50)), [49]]
    hoods = pl.from_lists(groups, [0, 6, 20, 49], n_points=50)
    choice = choose(f, x, hoods)
    assert choice.compared is None
    assert choice.others is None
    assert choice.used.tolist() == [0, 1, 2]  # one member cannot be left out
    missed = total = 0.0
    for group in groups[:3]:
        for j in group:
            rest = [m for m in group if m != j]
            missed += (f[j] - Ridge(3.0).fit(x[rest], f[rest]).predict(x[[j]])[0]) ** 2
            total += (f[j] - f[rest].mean()) ** 2
    assert choice.at(None, 3.0).explained == pytest.approx(1 - missed / total)
    assert choice.at(12, 3.0) is None


def test_outputs_count_alike_whatever_their_units():
    generator = np.random.default_rng(2)
    x = generator.normal(size=(80, 2))
    f = np.stack([np.sin(3 * x[:, 0]), x[:, 1] ** 2], axis=1)
    hoods = pl.nearest(x, k=30)
    both = choose(f * [1, 1e6], x, hoods, neighbors=(10, 30))
    first, second = (choose(f[:, k], x, hoods, neighbors=(10, 30)) for k in range(2))
    for i, candidate in enumerate(both.candidates):
        mean = (first.candidates[i].explained + second.candidates[i].explained) / 2
        assert candidate.explained == pytest.approx(mean, rel=1e-9)


def test_a_linear_predictor_needs_no_ridge_and_few_neighbors():
    x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    choice = choose(
        2 + x @ torch.tensor([3.0, -1, 0.5], dtype=torch.float64), x, pl.nearest(x, k=60), neighbors=(10, 60)
    )
    assert choice.best[:2] == (10, 0.0)
    assert choice.best.explained == pytest.approx(1.0)


def test_what_bends_wants_few_neighbors_and_what_is_noisy_many():
    generator = np.random.default_rng(3)
    x = generator.uniform(-3, 3, size=(600, 1))
    noise = generator.normal(size=600)
    hoods = pl.nearest(x, k=160)
    bent = choose(np.sin(4 * x[:, 0]), x, hoods, neighbors=(10, 25, 60, 160)).best
    noisy = choose(x[:, 0] + noise, x, hoods, neighbors=(10, 25, 60, 160)).best
    assert bent.neighbors == 10
    assert noisy.neighbors >= 60


@pytest.mark.slow
def test_as_good_is_within_two_per_cent_and_then_fewest_neighbors_and_largest_ridge():
    generator = np.random.default_rng(4)
    for _ in range(20):
        x = generator.normal(size=(90, 4))
        f = np.tanh(x @ generator.normal(size=4)) + 0.3 * generator.normal(size=90)
        choice = choose(f, x, pl.nearest(x, k=40), neighbors=(10, 15, 25, 40))
        errors = {c[:2]: 1 - c.explained for c in choice.candidates}
        least = {k: min(e for (count, _), e in errors.items() if count == k) for k in (10, 15, 25, 40)}
        fewest = min(k for k, e in least.items() if e <= 1.02 * min(least.values()))
        ridge = max(r for r in RIDGES if errors[fewest, r] <= 1.02 * least[fewest])
        assert choice.best[:2] == (fewest, ridge)


def test_those_that_choose_do_not_judge():
    x = torch.randn(300, 2, generator=torch.Generator().manual_seed(0))
    hoods = pl.nearest(x, k=15)
    choice = choose(x[:, 0] ** 2, x, hoods, neighbors=(10, 15))
    assert len(choice.used) == 150
    assert sorted([*choice.used.tolist(), *choice.others.tolist()]) == list(range(300))
    again, other = (choose(x[:, 0] ** 2, x, hoods, neighbors=(10, 15), seed=seed) for seed in (0, 1))
    assert again.used.tolist() == choice.used.tolist() != other.used.tolist()
    many = torch.randn(1500, 2, generator=torch.Generator().manual_seed(0))
    assert len(choose(many[:, 0], many, pl.nearest(many, k=10), neighbors=(10,)).used) == 500
    few = choose(x[:19, 0], x[:19], pl.nearest(x[:19], k=10), neighbors=(10,))
    assert (len(few.used), few.others) == (19, None)


@pytest.mark.slow
def test_noise_is_not_explained_by_choosing():
    """Eight tables of pure noise: what is chosen explains nothing in the neighborhoods that did not choose."""
    shares = []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        x, f = generator.normal(size=(200, 6)), generator.normal(size=200)
        hoods = pl.nearest(x, k=100)
        choice = choose(f, x, hoods, neighbors=candidates_for(200))
        near = prefix(hoods, choice.best.neighbors)
        found = pl.audit(f, x, near, pl.LinearFamily(ridge=choice.best.ridge), judges=choice.others)
        shares.append(float(found.held_out.explained()[0]))
        assert choice.best.explained < 0.03  # nor where it was chosen, beside the best constant
        assert "do not read witnesses" in str(found)
    assert np.mean(shares) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_diabetes, load_wine])
def test_choosing_explains_more_than_least_squares_on_few_members(load):
    """The tables of the report that led to this: no ridge, and twice as many members as coefficients."""
    x, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    half = len(x) // 2
    f = GradientBoostingRegressor(random_state=0).fit(x[order[:half]], y[order[:half]]).predict(x)
    x = (x - x.mean(0)) / x.std(0)
    hoods = pl.nearest(x, k=100 if len(x) > 200 else 80)
    choice = choose(f, x, hoods, neighbors=(10, 15, 25, 40, 60, 80))
    near, family = prefix(hoods, choice.best.neighbors), pl.LinearFamily(ridge=choice.best.ridge)
    chosen = pl.audit(f, x, near, family, judges=choice.others)
    plain = pl.audit(f, x, prefix(hoods, 2 * (x.shape[1] + 1)), pl.LinearFamily(), judges=choice.others)
    assert chosen.held_out.explained()[0] > plain.held_out.explained()[0] + 0.1
    assert chosen.held_out.explained()[0] > 0.4


def test_predictions_that_do_not_vary_have_nothing_to_choose_by():
    x = np.random.default_rng(0).normal(size=(40, 2))
    choice = choose(np.ones(40), x, pl.nearest(x, k=20), neighbors=(10, 20))
    assert choice.best.neighbors == 10
    assert math.isnan(choice.best.explained)
    assert choice.to_dict()["candidates"][0]["explained"] is None


def test_numbers_of_neighbors_leave_neighborhoods_different():
    assert candidates_for(8) == (8,)
    assert candidates_for(19) == (10,)
    assert candidates_for(100) == (10, 15, 25, 40)
    assert candidates_for(10**6)[-1] == 160


def test_wrong_arguments_are_refused():
    x = np.random.default_rng(0).normal(size=(30, 2))
    hoods = pl.nearest(x, k=10)
    with pytest.raises(InputError, match="`neighbors` must be a whole number between 2 and 10. Got 12"):
        choose(x[:, 0], x, hoods, neighbors=(12,))
    with pytest.raises(InputError, match="`neighbors` must hold at least one number. Got none"):
        choose(x[:, 0], x, hoods, neighbors=())
    with pytest.raises(InputError, match="at least 2 members to leave one out"):
        choose(x[:, 0], x, pl.nearest(x, k=1))
    with pytest.raises(InputError, match="`ridges` must hold at least one ridge"):
        choose(x[:, 0], x, hoods, ridges=())
    with pytest.raises(InputError, match="Every `judges` must lie between 0 and 29.*Got 30"):
        pl.audit(x[:, 0], x, hoods, pl.LinearFamily(), judges=[30])
