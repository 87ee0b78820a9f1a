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
    clocks = clocks_of([*names, "left", "right"], [table], named=named)
    return {column: clock.reason for clock in clocks for column in clock.columns}


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
    result = reasons([name], [column])
    assert list(result) == [0]
    assert reason in result[0]


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
    full = np.floor(time) + fraction // unit
    return [full // 3600, full // 60 % 60, full % 60, fraction % unit]


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


LONG = 3000
rows = np.arange(LONG)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (np.cumsum(generator.exponential(size=LONG)), "stands first and rises with every row"),
        (0.01 * (rows + generator.uniform(-0.3, 0.3, LONG)) + 1, "stands first and rises with every row"),
        (0.01 * (rows + 500 * (rows > 1000) + 70 * (rows > 2000)), "evenly but for gaps"),
        ((0.01 * (rows + 500 * (rows > 1000)))[900:1100], "evenly but for gaps"),
    ],
)
def test_uneven_times_at_the_beginning_of_rows_without_names(column, reason):
    signal = np.random.default_rng(0).normal(size=len(column))
    table = np.stack([column, signal], axis=1)
    (clock,) = clocks_of(["channel 1", "channel 2"], [table], named=False)
    assert clock.columns == (0,)
    assert reason in clock.reason
    np.testing.assert_array_equal(clock.times[0], column)


@pytest.mark.parametrize(
    "column",
    [
        np.cumsum(generator.exponential(size=LONG)) - 5,  # below zero
        np.sort(np.round(generator.uniform(0, 1000, LONG))),  # stands still now and then
        np.r_[np.cumsum(generator.exponential(size=LONG)), 0],
        np.cumsum(generator.integers(1, 4, 500)),  # an encoder of few rows
        np.cumsum(generator.exponential(size=500)),
        20 + 5 * np.sin(rows / 100),
    ],
)
def test_signals_that_mostly_rise_at_the_beginning_of_rows_without_names(column):
    signal = np.random.default_rng(0).normal(size=len(column))
    assert clocks_of(["channel 1", "channel 2"], [np.stack([column, signal], axis=1)], named=False) == []


def test_a_first_column_must_rise_in_every_file():
    rising, signal = np.cumsum(generator.exponential(size=LONG)), generator.normal(size=LONG)
    tables = [np.stack([column, signal], axis=1) for column in (rising, signal)]
    assert clocks_of(["channel 1", "channel 2"], tables, named=False) == []
    assert len(clocks_of(["channel 1", "channel 2"], [tables[0], tables[0]], named=False)) == 1


def parts_of(seconds, unit):
    """Hours, minutes, seconds and a fraction."""
    full = np.floor(seconds)
    return [full // 3600 % 24, full // 60 % 60, full % 60, np.round((seconds - full) * unit)]


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        (["h", "m", "s", "us"], 1e6),
        (["Stunde", "Minute", "Sekunde", "Mikrosekunde"], 1e6),
        (["Stunde", "Minute", "Sekunde", "ms"], 1e3),
        (["hour", "min", "sec", "ms"], 1e3),
        (["heure", "minute", "seconde", "milliseconde"], 1e3),
        (["hora", "minuto", "segundo", "µs"], 1e6),
        (["Std", "Min", "Sek"], None),
        (["h", "m", "s"], None),
        (["H", "MM", "SS", "ms"], 1e3),
        (["godzina", "minuta", "sekunda", "ulamek"], 1e3),  # by the carry alone
        (["a", "b", "c"], None),
    ],
)
@pytest.mark.parametrize("begin", [80_000, 86_390])  # the latter passes midnight
def test_clocks_in_columns_of_any_name(names, unit, begin):
    step = 0.25 if unit else 7
    seconds = begin + step * rows
    columns = parts_of(seconds, unit or 1)[: len(names)]
    table = np.stack([*columns, generator.normal(size=LONG)], axis=1)
    if begin == 86_390 and names[0] in ("godzina", "a"):
        table = table[100:]
    (clock,) = clocks_of([*names, "x"], [table], named=True)
    assert clock.columns == tuple(range(len(names)))
    assert clock.unit == "s"
    np.testing.assert_allclose(np.diff(clock.times[0]), step, atol=1e-6)


def test_dates_with_short_names():
    days = np.arange(np.datetime64("2023-11-20T00"), np.datetime64("2023-11-20T00") + 500)
    date = days.astype("M8[D]")
    months = date.astype("M8[M]").astype(int)
    columns = [1970 + months // 12, 1 + months % 12, (date - date.astype("M8[M]")).astype(int) + 1, np.arange(500) % 24]
    table = np.stack([*columns, noise], axis=1)
    for names in (["year", "month", "day", "h"], ["Jahr", "Monat", "Tag", "Stunde"], ["año", "mes", "día", "hora"]):
        (clock,) = clocks_of([*names, "x"], [table], named=True)
        assert clock.columns == (0, 1, 2, 3)
        np.testing.assert_array_equal(np.diff(clock.times[0]), 3600)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["min", "max", "std"], [np.round(10 + noise), np.round(30 + noise), np.abs(noise)]),
        (["std", "min"], [np.abs(np.round(noise)), np.round(10 + noise)]),
        (["h", "m", "s"], generator.integers(0, 20, (3, N))),
        (["m", "s"], [np.round(20 + 5 * np.sin(k / 30)), np.round(20 + 5 * np.cos(k / 30))]),
        (["valve", "alarm", "step"], [k // 250, np.zeros(N), (k // 7) % 2]),
        (["zone", "stage", "piece"], [0 * k, k // 50, k % 41]),  # forty-one pieces are no minute
        (["valve", "pump", "level"], [0 * k[:60], 0 * k[:60], k[:60]]),  # without a carry
    ],
)
def test_signals_in_columns_that_could_be_a_clock(names, columns):
    table = np.stack([*columns, noise[: len(columns[0])]], axis=1)
    assert clocks_of([*names, "x"], [table], named=True) == []


def test_part_of_a_clock_is_not_taken_for_the_whole():
    # A millisecond that begins anew every fourth row tells no time, and neither do minutes with it.
    seconds = 80_000 + np.cumsum(generator.uniform(0.2, 0.3, LONG))
    hour, minute, second, fraction = parts_of(seconds, 1e3)
    signal = generator.normal(size=LONG)
    clocks = clocks_of(["minute", "ms", "x"], [np.stack([minute, fraction, signal], axis=1)], named=True)
    assert [(clock.columns, clock.times) for clock in clocks] == [((0,), None)]
    (clock,) = clocks_of(["Std", "Min", "Sek", "ms"], [np.stack([hour, minute, second, fraction], 1)], named=True)
    np.testing.assert_allclose(clock.times[0], seconds, atol=1e-3)


@pytest.mark.parametrize("names", [None, ["h", "m", "s", "us"], ["godzina", "minuta", "sekunda", "ulamek"]])
def test_clocks_whose_steps_vary(names):
    seconds = 40_000 + np.cumsum(generator.uniform(0.1, 0.4, LONG)).round(6)
    table = np.stack([*parts_of(seconds, 1e6), generator.normal(size=LONG)], axis=1)
    (clock,) = clocks_of([*(names or "abcd"), "x"], [table], named=names is not None)
    assert clock.columns == (0, 1, 2, 3)
    np.testing.assert_allclose(clock.times[0], seconds, atol=1e-5)
