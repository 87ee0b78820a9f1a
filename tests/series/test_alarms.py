"""Limits of what is healthy, and when an alarm stands."""

import numpy as np
import pytest

from pellucid.series.alarms import Limits, first_lasting, in_alarm


@pytest.mark.slow
@pytest.mark.parametrize(("count", "level"), [(19, 0.95), (40, 0.9), (99, 0.99)])
@pytest.mark.parametrize("kind", ["normal", "skewed", "tied"])
@pytest.mark.parametrize("rising", [True, False])
def test_a_further_healthy_recording_stays_within_its_limit(count, level, kind, rising):
    generator = np.random.default_rng(0)
    repeats = 4000
    drawn = {
        "normal": lambda size: generator.normal(size=size),
        "skewed": lambda size: generator.lognormal(size=size),
        "tied": lambda size: generator.integers(0, 6, size=size).astype(float),
    }[kind]
    limits = Limits.of(drawn((count, 1, repeats)), level, [rising])
    within = (limits.beyond(drawn((1, 1, repeats))) == 0).mean()
    assert within >= level - 0.011  # three standard errors of 4,000 trials at 95 %
    if kind != "tied":
        assert within <= level + 1 / count + 0.011


@pytest.mark.parametrize("count", [2, 3, 4, 7, 30])
def test_limits_are_those_of_a_loop(count):
    values = np.random.default_rng(count).integers(0, 9, size=(count, 1, 5)).astype(float)
    scale = Limits.of(values, 0.5, [False]).scale
    gaps = [np.abs(values[i] - np.median(np.delete(values, i, axis=0), axis=0)) / scale for i in range(count)]
    rank = int(np.ceil((count + 1) * 0.5))
    np.testing.assert_allclose(Limits.of(values, 0.5, [False]).limit, np.sort(gaps, axis=0)[rank - 1])


def test_too_few_healthy_recordings_know_no_limit():
    values = np.random.default_rng(0).normal(size=(99, 1, 1))
    assert np.isfinite(Limits.of(values, 0.99, [False]).limit).all()
    assert np.isinf(Limits.of(values[:98], 0.99, [False]).limit).all()
    few = Limits.of(values[:1], 0.5, [False])
    assert (few.beyond(np.full((1, 1, 1), 1e9)) == 0).all()


def test_values_that_are_not_known_are_never_beyond():
    values = np.random.default_rng(0).normal(size=(30, 1, 2))
    values[:, 0, 1] = np.nan
    limits = Limits.of(values, 0.9, [False])
    assert limits.beyond(np.full((1, 1, 2), np.nan)).tolist() == [[[0, 0]]]
    assert limits.beyond(np.full((1, 1, 2), 1e9)).tolist() == [[[1, 0]]]


def test_equal_values_have_limits_of_their_own():
    limits = Limits.of(np.full((30, 1, 1), 5.0), 0.9, [False])
    assert limits.beyond(np.array([[[5.0]], [[5.1]], [[4.9]]])).ravel().tolist() == [0, 1, -1]


@pytest.mark.parametrize("rule", [(1, 1), (2, 3), (4, 5), (3, 3)])
def test_alarms_stand_as_counting_says(rule):
    beyond = np.random.default_rng(0).integers(-1, 2, size=(200, 2))
    needed, window = rule
    expected = np.zeros(beyond.shape, dtype=bool)
    for i in range(len(beyond)):
        for k in range(2):
            last = beyond[max(0, i + 1 - window) : i + 1, k].tolist()
            expected[i, k] = max(last.count(1), last.count(-1)) >= needed
    np.testing.assert_array_equal(in_alarm(beyond, rule), expected)


def test_an_alarm_lasts_from_where_nine_tenths_stand():
    alarms = np.array([False, True, False, False] + [True] * 18 + [False] * 2)
    assert first_lasting(alarms) == 4
    assert first_lasting(np.array([False] * 5)) is None
