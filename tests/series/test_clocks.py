"""What is a clock, and what is a signal that looks a little like one."""

import numpy as np
import pytest

from pellucid.series.clocks import clocks_of

N = 500
k = np.arange(N)
noise = np.random.default_rng(0).normal(size=N)
generator = np.random.default_rng(1)
uneven = np.cumsum(generator.exponential(size=N))


def reasons(names, columns, *, named=True):
    """The columns that are called clocks, and why; beside them there are always two signals."""
    table = np.stack([*columns, noise, noise**2], axis=1)
    found = clocks_of([*names, "left", "right"], [table], named=named)
    return {column: clock.reason for clock in found for column in clock.columns}


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("time", uneven, "never falls"),
        ("Time [s]", np.round(k * 0.0123, 3), "rises evenly"),
        ("epoch", 1.7e9 + np.floor(uneven), "never falls"),
        ("TimeStamp_ms", 1.7e12 + 1000 * np.floor(uneven), "never falls"),
        ("year", 1959 + k // 4, "never falls"),
        ("quarter", 1 + k % 4, "quarter"),
        ("month", 1 + k % 12, "month"),
        ("day", 1 + k % 31, "day"),
        ("weekday", k % 5, "weekday"),
        ("hour", (k // 4) % 24, "hour"),
        ("minute", (10 * k) % 60, "minute"),
        ("second", (k // 3) % 60, "second"),
        ("microsecond", (65_664 + 390 * k * 10) % 1_000_000, "begins anew"),
        ("counter", (200 * k) % 65_536, "begins anew"),
        ("t", np.cumsum(1 + 0.8 * generator.uniform(-1, 1, N)), "rises like"),
        ("sample no", k, "rises evenly"),
        ("index", k % 100, "rises evenly"),  # of five recordings, one after the other
        ("cycle", np.r_[1:201, 1:301], "rises evenly"),
    ],
)
def test_clocks_with_names(name, column, reason):
    found = reasons([name], [column])
    assert list(found) == [0]
    assert reason in found[0]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("temperature", 20 + 0.01 * k + 0.05 * noise),
        ("temperature", 20 + 0.01 * k),  # without noise: rises evenly, and is called no time
        ("T", 20 + 0.1 * k),
        ("T [C]", 20 + 0.1 * k),
        ("sample temperature", 20 + 0.1 * k),
        ("valve", (k // 7) % 2),
        ("angle", (7.3 * k) % 360),
        ("encoder", 3 * k),
        ("wear", np.cumsum(np.abs(noise))),
        ("drift", 0.1 * k),
        ("t drift", np.cumsum(k)),
        ("second", noise),
        ("second", 5 + np.cumsum(noise)),
        ("time", noise),
        ("response time", np.abs(noise)),
        ("hour", generator.integers(0, 24, N)),
        ("quarter", generator.integers(1, 5, N)),
        ("NO", np.round(30 + 5 * np.sin(k / 20))),
        ("US", 24.0 * ((k // 30) % 2)),
        ("min", np.round(10 + noise)),
        ("cycle depth", 0.5 * k),
        ("counter", np.cumsum(generator.integers(0, 3, N))),
        ("step", k // 50),  # of a program
        ("speed set point", 10.0 * k),
        ("price index", 100 + np.cumsum(np.abs(noise))),
    ],
)
def test_signals_with_names(name, column):
    assert reasons([name], [column]) == {}


def test_columns_of_a_calendar_tell_the_time_together():
    columns = [np.full(N, 2010), np.full(N, 1), 1 + k // 24, k % 24]
    table = np.stack([*columns, noise], axis=1)
    (clock,) = clocks_of(["year", "month", "day", "hour", "pm"], [table], named=True)
    assert clock.columns == (0, 1, 2, 3)
    np.testing.assert_array_equal(np.diff(clock.times[0]), 3600)
    (clock,) = clocks_of(["year", "quarter", "gdp"], [np.stack([1959 + k // 4, 1 + k % 4, noise], 1)], named=True)
    np.testing.assert_array_equal(np.diff(clock.times[0]), 1)
    # Past midnight, without a date.
    seconds = 86_000 + 30 * k
    parts = [seconds // 3600 % 24, seconds // 60 % 60, seconds % 60]
    (clock,) = clocks_of(["hour", "minute", "second", "x"], [np.stack([*parts, noise], 1)], named=True)
    np.testing.assert_array_equal(np.diff(clock.times[0]), 30)


def femto(begin, unit, rate=39.0625):
    """Hour, minute, second and a fraction, as in the PRONOSTIA bearing files, which have no line of names."""
    time = begin + np.floor(rate * k * 10) / 1e6
    fraction = np.round((time % 1) * unit)
    whole = np.floor(time) + fraction // unit
    return [whole // 3600, whole // 60 % 60, whole % 60, fraction % unit]


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        (femto(34_779.065664, 1e6), 4),
        ([np.full(N, 9), 39 + (39 + k // 10) // 60, (39 + k // 10) % 60, k % 10], 4),  # tenths of a second
        ([10 + (k // 60) // 60, k // 60 % 60, k % 60], 3),
        ([np.full(N, 2024), np.full(N, 2), 1 + k // 24 % 28, k % 24, 0 * k, 0 * k], 6),
        ([0.01 * k], 1),
        ([1.7e9 + np.floor(uneven)], 1),
    ],
)
def test_clocks_at_the_beginning_of_rows_without_names(columns, width):
    assert list(reasons([f"channel {i}" for i in range(len(columns))], columns, named=False)) == list(range(width))


def test_fractions_of_a_second_are_read_in_their_unit():
    table = np.stack([np.full(N, 9), 39 + (39 + k // 10) // 60, (39 + k // 10) % 60, k % 10, noise], axis=1)
    (clock,) = clocks_of(list("abcde"), [table], named=False)
    np.testing.assert_allclose(np.diff(clock.times[0]), 0.1, atol=1e-9)


@pytest.mark.parametrize(
    "columns",
    [
        [(7.3 * k) % 360],
        [(k // 7) % 2],
        [np.cumsum(np.abs(noise))],
        [np.cumsum(100 + generator.integers(-2, 3, N))],  # an encoder, at a speed that varies a little
        [np.round(20 + 0.01 * k, 1)],
        [np.full(N, 1), np.zeros(N), (k // 7) % 2],
        [generator.integers(0, 24, N), generator.integers(0, 60, N), generator.integers(0, 60, N)],
        [noise, k],  # not at the beginning
    ],
)
def test_signals_at_the_beginning_of_rows_without_names(columns):
    assert reasons([f"channel {i}" for i in range(len(columns))], columns, named=False) == {}


def test_what_is_a_clock_in_one_recording_only_is_a_signal():
    first, second = (np.stack([column, noise], axis=1) for column in (k, noise))
    assert clocks_of(["time", "x"], [first, second], named=True) == []
    assert len(clocks_of(["time", "x"], [first, first[:300]], named=True)) == 1
