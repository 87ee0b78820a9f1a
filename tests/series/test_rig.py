import numpy as np
import pytest

from pellucid import InputError
from pellucid.series import simulate_rig


def spectrum(values):
    return np.abs(np.fft.rfft(values - values.mean(0), axis=0)) ** 2


def test_periods_of_five_and_twenty_samples_stand_out():
    power = spectrum(simulate_rig(rows=20_000, wear=0).values[0])
    periods = 20_000 / np.arange(1, len(power))
    for channel in power.T:
        background = np.median(channel)
        assert channel[1000] > 1000 * background  # the shaft: one line
        near = channel[1:][(periods > 4.6) & (periods < 5.4)].mean()  # the resonance: a hump
        assert near > 10 * background


def test_knocks_grow_with_wear_and_are_loudest_at_the_first_bearing():
    def kurtosis(values):
        z = (values - values.mean(0)) / values.std(0)
        return (z**4).mean(0)

    sound, worn = (simulate_rig(rows=40_000, wear=wear).values[0] for wear in (0, 3))
    power = worn.std(0) / sound.std(0)
    assert (np.diff(power) < 0).all()
    assert kurtosis(worn)[0] > kurtosis(sound)[0] + 0.5
    early, late = simulate_rig(rows=20_000, files=2, wear=3).values
    assert late[:, 0].std() > 1.2 * early[:, 0].std()


def test_neighbors_hear_each_other_less_with_distance():
    together = np.corrcoef(np.diff(simulate_rig(rows=40_000, wear=3, noise=0).values[0], n=4, axis=0).T)
    assert together[0, 1] > together[0, 2] > together[0, 3] > 0


def test_same_seed_same_recordings():
    first, again, other = (simulate_rig(rows=500, files=2, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.allclose(first.values[0], other.values[0])
    assert first.channels == ("bearing 1", "bearing 2", "bearing 3", "bearing 4")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"rows": 0}, "`rows` must be a whole number >= 1"), ({"wear": -1}, "`wear` of simulate_rig must be")],
)
def test_impossible_rigs_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        simulate_rig(**settings)
