import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

import pellucid as pl


def test_errors_sum_over_outputs_and_not_over_points():
    f, g = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[0.0, 4.0], [0.0, 0.0]])
    assert pl.squared_error(f, g).tolist() == [5.0, 0.0]
    assert pl.absolute_error(f, g).tolist() == [3.0, 0.0]


def test_gaussian_kl_is_that_of_the_witness_from_the_predictor(generator):
    f = torch.randn(20, 6, generator=generator, dtype=torch.float64)
    g = torch.randn(20, 6, generator=generator, dtype=torch.float64)

    def normal(v):
        return Independent(Normal(v[:, :3], (v[:, 3:] / 2).exp()), 1)

    torch.testing.assert_close(pl.gaussian_kl(f, g), kl_divergence(normal(g), normal(f)))
    torch.testing.assert_close(pl.gaussian_kl(f, f), torch.zeros(20, dtype=torch.float64))


def test_gaussian_kl_needs_pairs():
    with pytest.raises(pl.PellucidError, match="even number of columns. Got 3"):
        pl.gaussian_kl(torch.zeros(2, 3), torch.zeros(2, 3))
