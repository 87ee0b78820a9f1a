import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from pellucid import InputError
from pellucid.builders import windows
from pellucid.series import Forecaster
from pellucid.series.law_settings import LawSettings, choose, require_room, saturated, settings_for
from pellucid.series.linear_law import LinearLaw
from pellucid.witnesses.leave_one_out import held_out_explained


def law_of(*matrices):
    """x_{t+1} = x_t A_1 + x_{t-1} A_2 + ..., with unit noise."""
    channels = len(matrices[0])
    return LinearLaw(
        lags=len(matrices), ridge=0.0, weights=np.concatenate(matrices), offset=np.zeros(channels),
        covariance=np.eye(channels),
    )  # fmt: skip


def noise(count, length, channels, seed=0):
    return np.random.default_rng(seed).normal(size=(count, length, channels))


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_held_out_variance_explained_is_that_of_a_loop_of_fits(ridge):
    generator = np.random.default_rng(0)
    x, f = generator.normal(size=(12, 2)), generator.normal(size=(12, 2))
    hoods = windows([6, 6], radius=2)
    missed, alone = np.zeros(2), np.zeros(2)
    for start in (0, 6):
        for i in range(6):
            members = [start + j for j in range(6) if abs(i - j) <= 2]
            for left in members:
                others = [j for j in members if j != left]
                fitted = Ridge(alpha=ridge).fit(x[others], f[others])
                missed += np.square(f[left] - fitted.predict(x[[left]])[0])
                alone += np.square(f[left] - f[others].mean(0))
    shares = held_out_explained(torch.from_numpy(x), torch.from_numpy(f), hoods, [ridge])
    np.testing.assert_allclose(shares[0], 1 - missed / alone, rtol=1e-9)


def test_a_constant_has_nothing_to_explain():
    shares = held_out_explained(torch.randn(6, 1), torch.ones(6, 1), windows([6], radius=2), [0.1])
    assert shares.isnan().all()


@pytest.mark.slow
def test_the_order_of_a_planted_law_is_chosen():
    first = choose(law_of(np.array([[0.9, 0.3], [-0.3, 0.9]])), noise(40, 60, 2), 20)
    assert first.order == 1
    assert first.explained > 0.9
    later = choose(law_of(np.zeros((2, 2)), np.zeros((2, 2)), 0.95 * np.eye(2)), noise(40, 60, 2), 20)
    assert later.order == 3
    assert later.explained > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("channels", "most"), [(1, 4), (2, 4), (4, 3), (8, 1), (30, 2)])
def test_laws_have_room_whatever_the_number_of_channels(channels, most):
    # A law of many lags: more order would always follow more of it.
    matrices = [0.5 * np.eye(channels)] + [0.1 * np.eye(channels)] * 5
    laws = choose(law_of(*matrices), noise(20, 60, channels), 20)
    assert laws.order <= most
    require_room(*laws[:3], 20, channels)
    tight = saturated(laws.order, laws.radius, 20, channels)
    assert tight or channels < 30
    assert laws.ridge >= 0.1 or not tight


@pytest.mark.slow
def test_a_saturated_order_is_chosen_where_it_explains_more():
    # Eight channels, each of which follows from the value before the present one: order 1 says little, and order 2
    # has 17 coefficients on 20 steps.
    law = law_of(np.zeros((8, 8)), 0.95 * np.eye(8))
    laws, first = choose(law, noise(40, 60, 8), 20), choose(law, noise(40, 60, 8), 20, order=1)
    assert laws.order == 2
    assert laws.ridge >= 0.1
    assert laws.explained > first.explained + 0.05
    # With a ridge that does not bear them they are not tried.
    assert choose(law, noise(40, 60, 8), 20, ridge=0.01).order == 1
    # Four channels have room for more lags without that.
    few = choose(law_of(np.zeros((4, 4)), 0.95 * np.eye(4)), noise(40, 60, 4), 20)
    assert few.order == 2
    assert few.ridge <= 0.1
    assert not saturated(few.order, few.radius, 20, 4)
    # Where order 1 is enough it stays.
    assert choose(law_of(0.9 * np.eye(8)), noise(40, 60, 8), 20).order == 1


def test_what_was_chosen_is_told_from_what_was_decided():
    laws = LawSettings(2, 9, 1e-6, 0.5)
    assert laws.describe(20, 4).startswith("laws: order 2, radius 9, ridge 1e-06 (chosen by leave-one-out): 9 coeff")
    told = laws.describe(20, 4, ["order", "radius"])
    assert told.startswith("laws: order 2, radius 9, ridge 1e-06 (order and radius chosen by leave-one-out, ridge as ")
    table = noise(1, 400, 2)[0]
    _, (laws, _) = Forecaster(context=30, horizon=10, order=1, ridge=1e-6).settled(table)
    assert "(radius chosen by leave-one-out, order and ridge as set): " in laws
    _, (network,) = Forecaster(context=30, horizon=10, order=1, radius=4, ridge=0.1, linear=1).settled(table)
    assert network == "network: begins as one linear law of the last value (as set)"


def test_what_is_decided_stays():
    law, z = law_of(0.5 * np.eye(2)), noise(10, 60, 2)
    assert choose(law, z, 20, order=3, radius=7, ridge=0.2)[:3] == (3, 7, 0.2)
    assert choose(law, z, 20, radius=4).radius == 4
    # Too many coefficients for the window that is wanted: the ridge must bear a part.
    assert choose(law_of(0.5 * np.eye(8)), noise(10, 60, 8), 20, order=2, radius=9).ridge >= 0.1
    table = noise(1, 400, 2)[0]
    start, laws = settings_for([table], 30, 10, order=1, radius=4, ridge=0.5, linear=0)
    assert start is None
    assert laws == (1, 4, 0.5, None)
    start, laws = settings_for([table], 30, 10, order=None, radius=4, ridge=0.5, linear=7)
    assert start.lags == 7
    assert laws.explained is not None


def test_saturated_laws_are_refused_and_those_of_the_paper_are_not():
    require_room(2, 9, 0.01, 20, 4)  # 9 coefficients on 19 steps: the paper's
    require_room(2, 9, 0.3, 20, 8)  # the ridge bears a part
    with pytest.raises(InputError, match=r"Got 17 coefficients \(8 channels, order 2\) on 19 steps .* `ridge` to have"):
        require_room(2, 9, 0.01, 20, 8)
    with pytest.raises(InputError, match="on 6 steps"):
        require_room(2, 9, 0.0, 6, 3)
