"""What must hold for every family, on whatever comes."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsRegressor

import pellucid as pl
from pellucid.testing import check_family, check_response

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose


@dataclass(frozen=True)
class NeighborFamily(pl.WitnessFamily):
    def best_response(self, x, f, hoods):
        return pl.fit_each(lambda x, f: KNeighborsRegressor(n_neighbors=1).fit(x, f).predict, x, f, hoods)


FAMILIES = [
    pl.ConstantFamily(),
    pl.LinearFamily(),
    pl.LinearFamily(intercept=False),
    pl.LinearFamily(ridge=1.0),
    pl.SparseLinearFamily(),
    pl.SparseLinearFamily(terms=2, ridge=0.0),
    pl.SparseLinearFamily(terms=3, ridge=0.5),
    pl.TreeFamily(),
    pl.TreeFamily(depth=2),
    pl.TreeFamily(depth=3, criterion="absolute"),
    pl.TreeFamily(min_leaf=2, shrinkage=3.0),
    pl.TreeFamily(shrinkage="auto"),
    pl.BestOf(pl.ConstantFamily(), pl.TreeFamily(depth=1)),
    pl.BestOf(pl.ConstantFamily(), pl.TreeFamily(depth=1), by="held_out"),
    NeighborFamily(),
]


@st.composite
def problems(draw):
    """Random shapes; few distinct values, so that points coincide, features are constant and splits tie."""
    n_points, p, k = draw(st.integers(1, 12)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    number = st.one_of(st.integers(-2, 2), st.floats(-1e3, 1e3, width=32))
    x = draw(st.lists(st.lists(number, min_size=p, max_size=p), min_size=n_points, max_size=n_points))
    f = draw(st.lists(st.lists(number, min_size=k, max_size=k), min_size=n_points, max_size=n_points))
    point = st.integers(0, n_points - 1)
    members = draw(st.lists(st.lists(point, min_size=1, unique=True), min_size=1, max_size=6))
    centers = draw(st.lists(point, min_size=len(members), max_size=len(members)))
    hoods = pl.from_lists(members, centers, n_points)
    if draw(st.booleans()):
        hoods = pl.windows([n_points], radius=draw(st.integers(0, 4)))
    return torch.tensor(x, dtype=torch.float64), torch.tensor(f, dtype=torch.float64), hoods


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@given(problem=problems())
def test_the_contract_holds_on_random_problems(family, problem):
    check_response(family, *problem)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_the_contract_holds_on_awkward_problems(family):
    check_family(family)


@pytest.mark.slow
@pytest.mark.parametrize("family", [pl.LinearFamily(), pl.TreeFamily(depth=2)], ids=repr)
@given(problem=problems())
def test_a_best_response_is_no_worse_than_a_constant(family, problem):
    x, f, hoods = problem
    constant = pl.ConstantFamily().best_response(x, f, hoods).deviations()
    assert (family.best_response(x, f, hoods).deviations() <= constant + 1e-8 * (1 + constant)).all()


def test_outputs_without_a_bound_are_named():
    class Half:
        def bound(self, deviations, level=0.9, sizes=None):
            return np.array([0.25, np.inf])

        def why_not(self, level, *, size, saturated):
            return f"not known: {size} members"

    f = torch.stack([torch.arange(6.0), torch.arange(6.0) ** 2], 1)
    hoods = pl.from_lists([range(4), [4, 5]])
    witnesses = pl.ConstantFamily().best_response(torch.zeros(6, 1), f, hoods).named(outputs=["a", "b"])
    one, small = witnesses.trusted(Half())
    assert one.bound == [0.25, None]
    assert str(one).endswith("with 90 % confidence within 0.25 (a) of it at a further point nearby; not known for b")
    assert small.bound is None
    assert str(small).endswith("  not known: 2 members")


@pytest.mark.parametrize(
    "family",
    [
        pl.TreeFamily(depth=2),
        pl.SparseLinearFamily(terms=2),
        pl.LinearFamily(),
        pl.ConstantFamily(),
        pl.BestOf(pl.ConstantFamily(), pl.TreeFamily(depth=1)),
    ],
    ids=repr,
)
def test_witnesses_and_features_that_there_are_not_are_refused(family, generator):
    x = torch.randn(20, 3, generator=generator)
    witnesses = family.best_response(x, x[:, :1].sin(), pl.nearest(x, k=6))
    for which in (-1, 20, 10**12):
        with pytest.raises(pl.InputError, match=f"Every witness must lie between 0 and 19.*Got {which} at position 1"):
            witnesses.evaluate(torch.tensor([0, which]), x[:2])
    for wrong in (x[:2, :1], x[:2, :0], x[:3], torch.cat([x, x], dim=1)[:2], x[0]):
        with pytest.raises(pl.InputError, match="`x` must hold one point with 3 features for each of 2 witnesses. Got"):
            witnesses.evaluate(torch.tensor([0, 1]), wrong)
    expected = torch.stack([witnesses[i](x[i : i + 1])[0] for i in (4, 2)]).double()
    torch.testing.assert_close(witnesses.evaluate([4, 2], x[[4, 2]]).double(), expected)


def test_what_an_outlier_leaves_behind_does_not_blur_the_next_windows():
    x = torch.zeros(10, 4, dtype=torch.float64)
    x[4, 2] = 725.0
    x[5, 2:] = x[8, 2:] = torch.tensor([1.3, 1.0])
    x[6, 1:3], x[9, 1:3] = torch.tensor([2.0, -1.5]), torch.tensor([1.0, -1.0])
    f = torch.zeros(10, 1, dtype=torch.float64)
    f[8], f[9] = 1.0, 6.0
    with pytest.warns(pl.PellucidWarning, match="fewer members"):
        check_response(pl.LinearFamily(ridge=0.0, intercept=False), x, f, pl.windows([10], radius=2))
