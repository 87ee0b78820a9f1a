import numpy as np
import pytest

from pellucid._ordering_kernel import ascend


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 40, 1000])
def test_whole_numbers_are_sorted(size):
    values = np.random.default_rng(size).integers(-50, 50, size)
    expected = np.sort(values)
    ascend(values)
    np.testing.assert_array_equal(values, expected)
