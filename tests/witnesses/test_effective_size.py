import itertools

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid.witnesses.scaled import ScaledLinearFamily

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose

FAMILIES = [
    pl.ConstantFamily(),
    pl.LinearFamily(),
    pl.LinearFamily(intercept=False),
    pl.BestOf(pl.ConstantFamily(), pl.LinearFamily()),
]


def test_effective_sizes():
    assert pl.ConstantFamily().effective_size(7) == 2
    assert pl.LinearFamily().effective_size(8) == 10
    assert pl.LinearFamily(ridge=1.0, intercept=False).effective_size(9) == 10
    assert pl.TreeFamily(depth=3).effective_size(2048) == 9
    assert pl.TreeFamily().effective_size(5) == 3
    assert pl.TreeFamily(depth=20).effective_size(5) == 2**20 + 1
    assert pl.TreeFamily(depth=3, shrinkage=10).effective_size(5) == 9
    assert pl.TreeFamily(min_leaf=2).effective_size(5) == 2
    assert pl.TreeFamily(depth=lambda m: m, min_leaf=7).effective_size(5) == 2
    assert ScaledLinearFamily(step=np.ones(8)).effective_size(8) == 10
    assert pl.BestOf(pl.ConstantFamily(), pl.LinearFamily(), pl.TreeFamily(depth=2)).effective_size(2) == 5
    assert pl.BestOf(pl.ConstantFamily(), pl.LinearFamily(), pl.TreeFamily(depth=2)).effective_size(7) == 9
    with pytest.raises(pl.PellucidError, match="lower its depth"):
        pl.TreeFamily(depth=lambda m: m).effective_size(2)
    with pytest.raises(pl.PellucidError, match="`n_features` must be a whole number >= 0. Got -1"):
        pl.LinearFamily().effective_size(-1)


def test_a_family_of_ones_own_says_what_its_effective_size_is():
    class Own(pl.WitnessFamily):
        def best_response(self, x, f, hoods):
            raise NotImplementedError

    class Sized(Own):
        def effective_size(self, n_features):
            return 3 * n_features

    with pytest.raises(pl.InputError, match="must say what its effective size is.*Own.*define its method `effective"):
        Own().effective_size(3)
    assert pl.BestOf(Sized(), pl.LinearFamily()).effective_size(4) == 12


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("p", [1, 2, 5])
def test_effective_size_is_tight_for_points_in_general_position(family, p, generator):
    size = family.effective_size(p)

    def deviation(m):
        x = torch.randn(m, p, generator=generator, dtype=torch.float64)
        f = torch.randn(m, 1, generator=generator, dtype=torch.float64)
        return float(family.best_response(x, f, pl.from_lists([range(m)])).deviations()[0])

    for _ in range(10):
        assert deviation(size) > 1e-10
        assert deviation(size - 1) < 1e-18


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("criterion", ["squared", "absolute"])
def test_effective_size_is_tight_for_trees(depth, criterion, generator):
    family = pl.TreeFamily(depth=depth, criterion=criterion)
    corners = torch.tensor(list(itertools.product([0.0, 1.0], repeat=depth)), dtype=torch.float64)
    size = family.effective_size(depth)
    assert size == len(corners) + 1
    everyone = pl.from_lists([range(size)], n_points=size)
    for _ in range(10):
        # As many points as leaves, one in each corner of a cube: every function is a tree.
        f = torch.randn(size, 1, generator=generator, dtype=torch.float64)
        assert family.best_response(corners, f[:-1], pl.from_lists([range(size - 1)])).deviations()[0] < 1e-25
        # One more point, and distinct values cannot all be leaves: whatever the features, it deviates.
        x = torch.randn(size, 4, generator=generator, dtype=torch.float64)
        assert family.best_response(x, f, everyone).deviations()[0] > 1e-10


@pytest.mark.parametrize("min_leaf", [2, 3, 5])
@pytest.mark.parametrize("criterion", ["squared", "absolute"])
def test_leaves_of_two_members_follow_nothing_but_a_single_point(min_leaf, criterion, generator):
    family = pl.TreeFamily(depth=9, criterion=criterion, min_leaf=min_leaf)
    for m in (1, *range(family.effective_size(4), 30)):
        x = torch.randn(m, 4, generator=generator, dtype=torch.float64)
        f = torch.randn(m, 1, generator=generator, dtype=torch.float64)
        deviation = family.best_response(x, f, pl.from_lists([range(m)], n_points=m)).deviations()[0]
        assert (deviation == 0) if m == 1 else (deviation > 1e-10)
