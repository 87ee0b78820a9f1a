import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from pellucid.series import Gaussian, Network


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Network(3, width=16, kernel=4).double()


def sequences(length, count=2):
    return torch.randn(count, length, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_the_output_at_a_position_sees_nothing_after_it(network):
    x = sequences(12)
    changed = x.clone()
    changed[:, 7:] += 1
    before, after = network(x)[0], network(changed)[0]
    for whole, other in zip(before, after, strict=True):
        assert torch.equal(whole[:, :7], other[:, :7])
        assert not torch.isclose(whole[:, 7:], other[:, 7:]).all(-1).any()


def test_the_output_at_a_position_sees_everything_before_it(network):
    x = sequences(12).requires_grad_()
    network(x)[0].mean[0, -1].sum().backward()
    assert (x.grad[0] != 0).all()
    assert (x.grad[1] == 0).all()


def test_there_are_as_many_outputs_as_the_paper_says(network):
    assert network.output.out_features == 3 + 3 * 4 // 2


def test_factors_are_lower_triangular_with_a_positive_diagonal(network):
    factor = network(sequences(6))[0].factor
    assert torch.equal(factor, factor.tril())
    assert (factor.diagonal(dim1=-2, dim2=-1) > 0).all()
    assert (factor[..., 2, 0] != 0).all()


def test_the_likelihood_is_that_of_a_multivariate_normal(network):
    gaussian, _ = network(sequences(5))
    value = torch.randn(2, 5, 3, dtype=torch.float64)
    found = gaussian.negative_log_likelihood(value).detach()
    assert found.shape == (2, 5)
    for i in np.ndindex(2, 5):
        mean, factor = gaussian.mean[i].detach().numpy(), gaussian.factor[i].detach().numpy()
        expected = -multivariate_normal(mean, factor @ factor.T).logpdf(value[i].numpy())
        assert float(found[i]) == pytest.approx(expected, rel=1e-10)


def test_going_on_from_a_state_is_the_same_as_one_long_sequence(network):
    x = sequences(11)
    whole, _ = network(x)
    _, state = network(x[:, :2])  # shorter than the convolution sees
    middle, state = network(x[:, 2:7], state=state)
    end, _ = network(x[:, 7:], state=state)
    torch.testing.assert_close(middle.mean, whole.mean[:, 2:7])
    torch.testing.assert_close(end.factor, whole.factor[:, 7:])


def test_the_last_positions_alone_are_those_of_the_whole(network):
    x = sequences(9)
    torch.testing.assert_close(network(x, last=4)[0].mean, network(x)[0].mean[:, -4:])


def test_generation_feeds_every_mean_back(network):
    context = sequences(6)
    generated = network.generate(context, 5)
    path = context
    for step in range(5):
        gaussian = Gaussian(*(part[:, -1:] for part in network(path)[0]))
        torch.testing.assert_close(generated.mean[:, step : step + 1], gaussian.mean)
        torch.testing.assert_close(generated.factor[:, step : step + 1], gaussian.factor)
        path = torch.cat([path, gaussian.mean], dim=1)
