import numpy as np
import pytest

from pellucid.series.stability import spectral_radius


def test_the_spectral_radius_of_small_laws():
    # One channel of order 1: the coefficient. The offset does not matter.
    np.testing.assert_allclose(spectral_radius(np.array([[[5.0], [-0.7]], [[0.0], [1.2]]])), [0.7, 1.2])
    # Of order 2: the larger root of s^2 - a s - b.
    a, b = 1.6, -0.9
    law = np.array([0.0, a, b]).reshape(1, 3, 1)
    np.testing.assert_allclose(spectral_radius(law), np.abs(np.roots([1, -a, -b])).max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_law_grows_or_decays_by_its_spectral_radius(order):
    parameters = np.random.default_rng(order).normal(size=(1, 1 + 3 * order, 3)) / order
    radius = spectral_radius(parameters)[0]
    path = [np.ones(3) for _ in range(order)]
    sizes = []
    for _ in range(4000):
        lags = np.concatenate(path[::-1])
        path = [*path[1:], lags @ parameters[0, 1:]]
        size = np.linalg.norm(np.concatenate(path))
        sizes.append(np.log(size))
        path = [value / size for value in path]
    assert np.mean(sizes[1000:]) == pytest.approx(np.log(radius), abs=5e-3)


def test_the_units_of_channels_do_not_matter():
    parameters = np.random.default_rng(0).normal(size=(4, 5, 2))
    unit = np.array([1e3, 1e-2])
    other = parameters * unit
    other[:, 1:] /= np.tile(unit, 2)[:, None]
    np.testing.assert_allclose(spectral_radius(other), spectral_radius(parameters))
