import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from pellucid.series import Gaussian, Network


@pytest.fixture(params=[0, 2, 6], ids=["paper", "short linear path", "long linear path"])
def network(request):
    torch.manual_seed(0)
    network = Network(3, width=16, kernel=4, lags=request.param).double()
    if request.param:
        network.law.normal_(std=0.2)
        torch.nn.init.normal_(network.linear.weight)
    return network


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


def test_the_linear_path_is_added_to_the_mean(network):
    x = sequences(9)
    mean = network(x)[0].mean
    if not network.lags:
        assert not hasattr(network, "linear")
        return
    plain = Network(3, width=16, kernel=4).double()
    plain.load_state_dict({k: v for k, v in network.state_dict().items() if k in plain.state_dict()})
    weight = network.law + network.linear.weight / (3 * network.lags) ** 0.5
    for t in range(network.lags - 1, 9):
        lags = torch.cat([x[:, t - k] for k in range(network.lags)], dim=1)
        expected = plain(x)[0].mean[:, t] + lags @ weight.T + network.linear.bias
        torch.testing.assert_close(mean[:, t], expected)


@pytest.mark.parametrize("lags", [1, 5])
def test_a_network_begins_as_the_law_that_it_is_told(lags):
    generator = torch.Generator().manual_seed(2)
    weights, offset = torch.randn(3 * lags, 3, generator=generator), torch.randn(3, generator=generator)
    root = torch.randn(3, 3, generator=generator)
    covariance = root @ root.T + 0.1 * torch.eye(3)
    network = Network(3, width=16, kernel=4, lags=lags)
    network.start_at(weights, offset, covariance)
    x = sequences(8).float()
    gaussian, _ = network(x)
    lagged = torch.cat([x[:, 7 - k] for k in range(lags)], dim=1)
    torch.testing.assert_close(gaussian.mean[:, 7], lagged @ weights + offset, rtol=1e-4, atol=1e-4)
    spread = gaussian.factor[1, 3] @ gaussian.factor[1, 3].T
    torch.testing.assert_close(spread, covariance, rtol=1e-4, atol=1e-4)


def test_mixed_precision_is_for_training_alone():
    torch.manual_seed(0)
    network = Network(3, width=32, mixed=True)
    x = sequences(20).float()
    trained, _ = network.train()(x)
    used, _ = network.eval()(x)
    network.mixed = False
    assert torch.equal(used.mean, network(x)[0].mean)
    assert trained.mean.dtype == torch.float32
    # bfloat16 has 8 bits, so that rounding shows, but no more than that.
    gap = (trained.mean - used.mean).abs().max()
    assert 0 < gap < 0.02 * used.mean.abs().max()


@pytest.mark.parametrize(("kernel", "lags"), [(9, 0), (3, 5), (5, 3)])
def test_the_product_is_the_convolution(kernel, lags):
    torch.manual_seed(0)
    network = Network(3, width=8, kernel=kernel, lags=lags).double()
    x = sequences(12)
    padded = torch.cat([x.new_zeros(2, kernel - 1, 3), x], dim=1)
    features = torch.relu(network.convolution(padded.mT)).mT
    features, _ = network.recurrence(features)
    expected = network.output(torch.relu(network.hidden(features)))[..., :3]
    if lags:
        expected = expected + network._linear(torch.cat([x.new_zeros(2, lags - 1, 3), x], dim=1), 12)
    assert torch.allclose(network(x)[0].mean, expected, atol=1e-12)
