"""Held-out values: what a witness says of members that it was not fitted to, against fits without them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import pellucid as pl
from pellucid.witnesses.folds import fold_of_entries
from pellucid.witnesses.scaled import ScaledLinearFamily

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose


def points(n=40, p=3, k=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, p, generator=generator, dtype=torch.float64)
    return x, torch.randn(n, k, generator=generator, dtype=torch.float64)


def one_by_one(family, x, f, hoods):
    """By definition: for every member a fit of all others."""
    values = []
    for i in range(len(hoods)):
        members = hoods.members_of(i).tolist()
        for j in members:
            others = [member for member in members if member != j]
            if not others:
                values.append(f[j])
                continue
            witnesses = family.best_response(x, f, pl.from_lists([others], [j], len(x)))
            values.append(witnesses.evaluate(torch.tensor([0]), x[j][None])[0])
    return torch.stack(values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [
        pl.ConstantFamily(),
        pl.LinearFamily(),
        pl.LinearFamily(intercept=False),
        pl.LinearFamily(ridge=0.7),
        ScaledLinearFamily(step=np.array([1.0, 10.0, 0.1]), ridge=0.5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("members", [1, 2, 3, 4, 5, 9])
def test_linear_values_are_those_of_fits_without_each_member(family, members):
    x, f = points()
    hoods = pl.nearest(x, k=members)
    assert torch.allclose(family.held_out_values(x, f, hoods), one_by_one(family, x, f, hoods), atol=1e-7)
    witnesses = family.best_response(x, f, hoods)
    assert torch.equal(witnesses.held_out_values(), family.held_out_values(x, f, hoods))


@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("bits", [20, 90])
def test_linear_values_with_more_features_than_members(ridge, bits):
    generator = torch.Generator().manual_seed(1)
    x = (torch.rand(30, bits, generator=generator) < 0.3).to(torch.uint8)
    f = torch.randn(30, 1, generator=generator, dtype=torch.float64)
    hoods = pl.from_lists([list(range(0, 12)), list(range(8, 30)), [0, 1]], [0, 9, 1], 30)
    family = pl.LinearFamily(ridge=ridge)
    assert torch.allclose(family.held_out_values(x, f, hoods), one_by_one(family, x, f, hoods), atol=1e-7)


@pytest.mark.slow
def test_linear_values_in_windows():
    x, f = points(n=60, p=2)
    hoods = pl.windows([60], radius=5)
    family = pl.LinearFamily()
    assert torch.allclose(family.held_out_values(x, f, hoods), one_by_one(family, x, f, hoods), atol=1e-8)


@pytest.mark.slow
def test_features_that_changed_in_place_are_noticed():
    x, f = points()
    hoods = pl.nearest(x, k=9)
    family = pl.LinearFamily()
    before = family.held_out_values(x, f, hoods)
    array = x.numpy()
    array[:, 0] = array[:, 0] ** 2  # behind torch's back
    after = family.held_out_values(x, f, hoods)
    assert not torch.allclose(before, after)
    assert torch.allclose(after, one_by_one(family, x, f, hoods), atol=1e-8)


def test_folds_divide_every_neighborhood_by_position():
    hoods = pl.from_lists([[3, 1, 2, 0, 4], [2, 0], [1]], [3, 2, 1], 5)
    assert fold_of_entries(hoods, 3).tolist() == [0, 1, 2, 0, 1, 0, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("folds", [2, 3, 50])
def test_other_families_are_fitted_without_a_fold(folds):
    x, f = points(p=1, k=1)  # one feature: no two splits are alike
    hoods = pl.nearest(x, k=11)
    family = pl.TreeFamily(depth=2)
    values = family.held_out_values(x, f, hoods, folds=folds)
    for i in range(len(hoods)):
        members, rank = hoods.members_of(i).numpy(), np.arange(11) % min(folds, 11)
        for fold in range(min(folds, 11)):
            fitted, left = members[rank != fold], members[rank == fold]
            tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(x[fitted].numpy(), f[fitted, 0].numpy())
            expected = tree.predict(x[left].numpy())
            assert np.allclose(values[11 * i : 11 * i + 11][rank == fold][:, 0].numpy(), expected)


@pytest.mark.slow
def test_functions_are_fitted_again():
    x, f = points(k=1)
    hoods = pl.nearest(x, k=6)
    witnesses = pl.fit_each(lambda x, f: KNeighborsRegressor(n_neighbors=1).fit(x, f).predict, x, f, hoods)
    values = witnesses.held_out_values(folds=6)[:, 0]
    for i in range(len(hoods)):
        members = hoods.members_of(i)
        distance = torch.cdist(x[members], x[members]).fill_diagonal_(torch.inf)
        assert torch.equal(values[6 * i : 6 * i + 6], f[members[distance.argmin(1)], 0])


def test_deviations_consensus_and_centers_follow_their_definitions():
    x, f = points(n=25)
    hoods = pl.from_lists([[0, 1, 2, 3, 4, 5, 6], [5, 6, 7, 8, 9, 10], [20]], [0, 15, 20], 25)
    witnesses = pl.LinearFamily().best_response(x, f, hoods)
    values = witnesses.held_out_values()
    gaps = f[hoods.members] - values
    deviations = torch.stack([gaps[:7].square().sum() / 7, gaps[7:13].square().sum() / 6, torch.tensor(0.0)])
    assert torch.allclose(witnesses.held_out().deviations(), deviations)
    absolute = torch.stack([gaps[:7].abs().sum() / 7, gaps[7:13].abs().sum() / 6, torch.tensor(0.0)])
    assert torch.allclose(witnesses.held_out().deviations(pl.absolute_error), absolute)
    consensus = witnesses.held_out().consensus()
    assert torch.allclose(consensus[5], (values[5] / 7 + values[7] / 6) / (1 / 7 + 1 / 6))
    assert torch.equal(consensus[12], f[12])  # nobody covers it
    # The second center is no member: its witness has not seen it anyway.
    centers = witnesses.held_out().at_centers()
    assert torch.allclose(centers, torch.stack([values[0], witnesses.at_centers()[1], f[20]]))


def test_witnesses_without_a_family_say_so():
    x, f = points()
    hoods = pl.nearest(x, k=5)
    witnesses = replace(pl.TreeFamily().best_response(x, f, hoods), family=None)
    with pytest.raises(pl.InputError, match="must know their family"):
        witnesses.held_out_values()


@pytest.mark.parametrize("folds", [1, 0, 2.5])
def test_folds_must_be_at_least_two(folds):
    x, f = points()
    with pytest.raises(pl.InputError, match="`folds` must be a whole number >= 2"):
        pl.TreeFamily().held_out_values(x, f, pl.nearest(x, k=5), folds=folds)
