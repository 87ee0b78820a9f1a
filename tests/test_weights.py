"""The choice of a weight among trials."""

import pytest

from pellucid.summaries import Trial
from pellucid.weights import choose


@pytest.mark.parametrize(
    ("trials", "tolerance", "weight"),
    [
        ([(None, 1.0, 0.5), (1, 1.0, 0.4), (2, 1.04, 0.3)], 0.02, 1),
        ([(None, 1.0, 0.5), (1, 1.0, 0.4), (2, 1.04, 0.3)], 0.05, 2),
        ([(None, 1.0, 0.5), (1, 1.2, 0.4), (2, 1.1, 0.3)], 0.02, 2),  # none is good enough: the least costly
        ([(None, 1.0, 0.1), (1, 1.0, 0.4), (2, 1.0, 0.4)], 0.02, 1),  # equally transparent: the smaller one
    ],
)
def test_the_choice_of_a_weight(trials, tolerance, weight):
    assert choose([Trial(*trial) for trial in trials], tolerance).weight == weight
