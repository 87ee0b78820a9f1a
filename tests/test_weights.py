"""The choice of a weight among trials."""

import pytest

from pellucid import InputError
from pellucid.summaries import Trial
from pellucid.weights import check_tolerance, choose, trade_off


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


def test_without_trials_there_is_nothing_to_trade_off():
    assert trade_off([], 0.02, loss="loss", deviation="deviation") is None
    trials = [Trial(None, 1.0, 0.5), Trial(0.3, 1.01, 0.4), Trial(1.0, 1.5, 0.1)]
    costs = trade_off(trials, 0.02, loss="validation loss", deviation="deviation")
    assert (costs.chosen, costs.tolerance, costs.trials) == (0.3, 0.02, tuple(trials))


@pytest.mark.parametrize("tolerance", [-0.1, 10, True, "0.02", float("nan")])
def test_a_tolerance_is_a_share(tolerance):
    with pytest.raises(InputError, match="`tolerance` must be a share of DEEP's validation loss, 0 or more. Got .*try"):
        check_tolerance(tolerance)
    assert check_tolerance(0) == 0.0
