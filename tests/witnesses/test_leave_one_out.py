"""Leave-one-out in closed form, compared with fitting again without each member."""

import numpy as np
import pytest
import torch
from helpers import best_linear, random_hoods

import pellucid as pl
from pellucid.errors import InputError
from pellucid.witnesses.leave_one_out import leave_one_out


def refitted(x, f, hoods, ridge, intercept):
    """The definition: a new fit without each member, one after the other."""
    values = []
    for i in range(len(hoods)):
        members = hoods.members_of(i).tolist()
        for j in members:
            others = [k for k in members if k != j]
            theta, offset = best_linear(x[others], f[others], ridge, intercept)
            values.append(x[j].numpy() @ theta + offset)
    return torch.tensor(np.array(values))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.3, 100.0])
@pytest.mark.parametrize("features", [1, 3, 12])  # fewer and more than there are members
def test_equals_fitting_again(generator, features, ridge, intercept):
    x = torch.randn(40, features, generator=generator, dtype=torch.float64) + 2
    f = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    hoods = random_hoods(25, 40, generator, largest=12)
    hoods = hoods.select(hoods.sizes > 1)
    expected = refitted(x, f, hoods, ridge, intercept)
    torch.testing.assert_close(
        leave_one_out(x, f, hoods, ridges=[7.0, ridge], intercept=intercept)[1], expected, rtol=1e-7, atol=1e-7
    )


def test_equals_fitting_again_on_bits_with_constant_and_equal_columns(generator):
    x = torch.randint(2, (30, 6), generator=generator).double()
    x = torch.cat([x, x[:, :2], torch.ones(30, 1)], dim=1)
    f = torch.randn(30, 1, generator=generator, dtype=torch.float64)
    hoods = pl.nearest(x, k=9)
    for ridge in (0.0, 1.0):
        expected = refitted(x, f, hoods, ridge, True)
        torch.testing.assert_close(leave_one_out(x, f, hoods, ridges=[ridge])[0], expected, rtol=1e-7, atol=1e-7)


def test_a_column_that_varies_by_rounding_alone_is_constant(generator):
    coin = torch.rand(60, generator=generator) < 0.5
    x = torch.randn(60, 1, generator=generator, dtype=torch.float64)
    rounding = torch.where(coin, torch.tensor(0.3, dtype=torch.float64), torch.tensor(0.1, dtype=torch.float64) + 0.2)
    noisy = torch.cat([x, rounding[:, None]], dim=1)
    f = x + 0.1 * torch.randn(60, 1, generator=generator, dtype=torch.float64)
    hoods = pl.nearest(x, k=12)
    assert noisy[:, 1].unique().numel() == 2
    torch.testing.assert_close(leave_one_out(noisy, f, hoods), leave_one_out(x, f, hoods))


def test_without_features_the_mean_of_the_others_is_left():
    f = torch.tensor([[1.0], [2.0], [6.0]], dtype=torch.float64)
    hoods = pl.from_lists([[0, 1, 2], [1]], [0, 1])
    values = leave_one_out(torch.zeros(3, 1), f, hoods, ridges=[0.0, 1.0])
    torch.testing.assert_close(values[:, :3, 0], torch.tensor([[4.0, 3.5, 1.5]] * 2, dtype=torch.float64))
    assert values[:, 3].isnan().all()  # a single member has no others


def test_at_least_one_ridge():
    hoods = pl.from_lists([[0, 1]], [0])
    with pytest.raises(InputError, match="`ridges` must hold at least one ridge"):
        leave_one_out(torch.zeros(2, 1), torch.zeros(2), hoods, ridges=[])
    with pytest.raises(InputError, match="ridges"):
        leave_one_out(torch.zeros(2, 1), torch.zeros(2), hoods, ridges=[-1.0])
