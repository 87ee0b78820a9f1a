"""From tables to recordings: times, units, long tables, gaps and blanks."""

from datetime import datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from pellucid import InputError
from pellucid.series import Forecaster, read, recordings

ROWS = 60
BEGIN = datetime(2024, 5, 1, 12)
VALUES = np.random.default_rng(0).normal(size=(ROWS, 2)).round(4)


def stamped(keep=range(ROWS), step=10):
    """A table with a time every ten seconds."""
    times = [BEGIN + timedelta(seconds=step * i) for i in keep]
    return pyarrow.table({"when": times, "left": VALUES[list(keep), 0], "right": VALUES[list(keep), 1]})


def spans(source):
    return [(origin.row, origin.row + len(table)) for origin, table in zip(source.origins, source.values, strict=True)]


# -- times -------------------------------------------------------------------------------------------------------------


def test_stamps_of_files_and_tables_are_times(tmp_path):
    parquet.write_table(stamped(), tmp_path / "a.parquet")
    csv.write_csv(stamped(), tmp_path / "a.csv")
    stamps = np.array([np.datetime64(BEGIN) + np.timedelta64(10 * i, "s") for i in range(ROWS)])
    columns = {"when": stamps, "left": VALUES[:, 0], "right": VALUES[:, 1]}

    class Frame(SimpleNamespace):
        def __getitem__(self, name):
            return SimpleNamespace(to_numpy=lambda: columns[name])

    frame = Frame(columns=list(columns))
    for data in (tmp_path / "a.parquet", tmp_path / "a.csv", stamped(), frame):
        source = recordings(data)
        assert source.channels == ("left", "right")
        assert source.ignored == (("when", "holds dates or times"),)
        assert source.notes == ()
        np.testing.assert_array_equal(source.values[0], VALUES)


def test_an_index_of_dates_is_a_time():
    pandas = pytest.importorskip("pandas")
    times = pandas.DatetimeIndex([BEGIN + timedelta(seconds=10 * i) for i in range(ROWS)], tz="Europe/Berlin")
    frame = pandas.DataFrame(VALUES, columns=["left", "right"], index=times).drop(index=times[20:40])
    source = recordings(frame)
    assert spans(source) == [(0, 20), (20, 40)]
    assert recordings(frame.reset_index()).ignored == (("index", "holds dates or times"),)


def test_a_decision_is_data_and_is_told():
    source = recordings(pyarrow.table({"time": np.cumsum(1 + VALUES[:, 0] ** 2), "x": VALUES[:, 0]}), gaps="ignore")
    assert source.channels == ("x",)
    assert "without time" in repr(source)
    assert source.decisions()[0] == (
        "time is ignored, as it never falls and has a name like that of a time; keep with `channels=['time', 'x']`"
    )
    kept = recordings(pyarrow.table({"time": np.arange(ROWS), "x": VALUES[:, 0]}), ["time", "x"])
    assert kept.channels == ("time", "x")
    assert kept.ignored == ()


def test_columns_are_dropped_by_hand():
    table = pyarrow.table({"x": VALUES[:, 0], "y": VALUES[:, 1], "note": ["a", "b"] * (ROWS // 2)})
    assert recordings(table, drop=["note", "y"]).channels == ("x",)
    assert recordings(table, drop="note").channels == ("x", "y")
    with pytest.raises(InputError, match="`drop` must name columns of the table. Got 'z'; its columns are x, y, note"):
        recordings(table, drop="z")
    with pytest.raises(InputError, match="either a channel or dropped. Got 'x' in `channels` and in `drop`"):
        recordings(table, ["x", "y"], drop="x")
    # A run names its channels: other files may lack what was left out when it was trained.
    assert recordings(table.drop_columns(["note"]), ["x"], drop="note").channels == ("x",)


def test_a_column_alone_is_meant():
    assert recordings(pyarrow.table({"time": np.arange(ROWS)})).channels == ("time",)
    with pytest.raises(InputError, match="the table must have a column of numbers to learn from. Got when"):
        recordings(stamped().select(["when"]))


def test_arrays_are_taken_as_they_are():
    array = np.c_[np.arange(ROWS), VALUES]
    assert recordings(array, ["time", "a", "b"]).channels == ("time", "a", "b")
    assert recordings(array).channels == ("channel 1", "channel 2", "channel 3")


def test_one_text_throughout_is_left_out():
    table = pyarrow.table({"machine": ["M1"] * ROWS, "x": VALUES[:, 0]})
    assert recordings(table).ignored == (("machine", "holds one text throughout"),)


@pytest.mark.slow
def test_who_never_sees_the_recordings_is_warned():
    table = pyarrow.table({"time": np.arange(400), "x": np.random.default_rng(0).normal(size=400)})
    model = Forecaster(context=8, horizon=4, radius=2, width=4, epochs=1, game=None)
    with pytest.warns(UserWarning, match="the table: time is ignored, as it rises evenly like a time; keep with"):
        model.fit(table, progress=False)
    assert model.channels_ == ("x",)
    model.fit(recordings(table), progress=False)  # who has seen them, is not


# -- gaps --------------------------------------------------------------------------------------------------------------


def test_recordings_are_cut_where_time_jumps():
    keep = [i for i in range(ROWS) if not 20 <= i < 40 and i != 50]
    source = recordings(stamped(keep))
    assert spans(source) == [(0, 20), (20, 30), (30, 39)]
    assert source.sources[1] == "the table (rows 21 to 30)"
    assert source.origins[1].label == "the table"
    np.testing.assert_array_equal(np.concatenate(source.values), VALUES[keep])
    (note,) = source.notes
    assert note.startswith("2 gaps in time, the longest 3.5 min after row 20 of the table, where a step is 10 s: the")
    assert "a fill would close up to 5 missing rows" in note
    joined = recordings(stamped(keep), gaps="ignore")
    assert spans(joined) == [(0, 39)]
    assert "joined as asked" in joined.notes[0]


def test_missing_rows_are_filled_up_to_five():
    keep = [i for i in range(ROWS) if not 20 <= i < 25 and not 40 <= i < 46]
    source = recordings(stamped(keep), fill="linear")
    assert spans(source) == [(0, 40), (40, 54)]
    line = VALUES[19] + np.arange(1, 6)[:, None] / 6 * (VALUES[25] - VALUES[19])
    np.testing.assert_allclose(source.values[0][20:25], line, rtol=1e-12)
    np.testing.assert_array_equal(source.values[1], VALUES[46:])
    assert "(5 in all)" in source.notes[0]
    held = recordings(stamped(keep), fill="previous").values[0]
    np.testing.assert_array_equal(held[20:25], np.repeat(VALUES[19:20], 5, axis=0))


@pytest.mark.parametrize(
    "times",
    [
        np.round(np.arange(ROWS) * 0.0123, 3),  # rounding
        np.arange(ROWS) // 7,  # many rows to a tick
        np.arange(ROWS) + np.where(np.arange(ROWS) % 30 == 10, 0.4, 0),  # a late row now and then
    ],
)
def test_even_times_have_no_gaps(times):
    source = recordings(pyarrow.table({"time": times, "x": VALUES[:, 0]}))
    assert (len(source), source.notes) == (1, ())


def test_uneven_times_are_told_and_not_shredded():
    generator = np.random.default_rng(0)
    times = np.cumsum(generator.exponential(size=2000))
    source = recordings(pyarrow.table({"time": times, "x": generator.normal(size=2000)}))
    assert len(source) == 1
    assert "rows are not evenly spaced in time (the table: 0.0" in source.notes[0]
    # Working days: every fifth step is three days long.
    days = [BEGIN + timedelta(days=i) for i in range(400) if (BEGIN + timedelta(days=i)).weekday() < 5]
    source = recordings(pyarrow.table({"day": days, "x": generator.normal(size=len(days))}))
    assert len(source) == 1
    assert "1 days to 3 days" in source.notes[0]
    # A month of holidays is a gap all the same.
    source = recordings(pyarrow.table({"day": days[:100] + days[130:], "x": generator.normal(size=len(days) - 30)}))
    assert [len(part) for part in source.values] == [100, len(days) - 130]


def test_steps_that_vary_a_little_are_no_gaps():
    generator = np.random.default_rng(0)
    steps = generator.uniform(0.1, 0.4, 2000)  # one in twelve is longer than one and a half typical ones
    columns = {"time": np.cumsum(steps), "x": generator.normal(size=2000)}
    assert len(recordings(pyarrow.table(columns))) == 1
    steps[700] = 1.0
    source = recordings(pyarrow.table({**columns, "time": np.cumsum(steps)}))
    assert spans(source) == [(0, 700), (700, 2000)]


def test_pieces_too_short_for_a_sequence_are_not_used_and_told():
    source = recordings(stamped([i for i in range(ROWS) if i not in (30, 35)]))
    assert [len(part) for part in source.values] == [30, 4, 24]
    assert source.starts(10) == [(0, 0), (0, 10), (0, 20), (2, 0), (2, 10)]
    assert source.unused(10) == "1 piece is shorter than context + horizon = 10 rows and not used: 4 rows in all"
    assert source.unused(4) is None
    with pytest.raises(InputError, match=r"at least context \+ horizon = 40 rows. Got 30 in the table .* a piece of"):
        source.starts(40)


# -- blanks ------------------------------------------------------------------------------------------------------------


def blanked(cells, **more):
    values = VALUES.copy()
    for row, column in cells:
        values[row, column] = np.nan
    columns = {"left": values[:, 0], "right": values[:, 1], **more}
    return pyarrow.table({name: pyarrow.array(v, from_pandas=True) for name, v in columns.items()})


PLACES = [(10, 0), (11, 0), (12, 1), *((row, 1) for row in range(30, 37))]


def test_blanks_are_refused_with_the_cure():
    with pytest.raises(
        InputError,
        match=r"Got an empty cell in the table, column 'left', row 11 \(10 in all\); fill with `fill='linear'`",
    ):
        recordings(blanked(PLACES))


def test_blanks_are_filled_and_counted():
    source = recordings(blanked(PLACES), fill="linear")
    assert spans(source) == [(0, 30), (37, 60)]
    expected = VALUES[:30].copy()
    expected[[10, 11], 0] = VALUES[9, 0] + np.array([1, 2]) / 3 * (VALUES[12, 0] - VALUES[9, 0])
    expected[12, 1] = (VALUES[11, 1] + VALUES[13, 1]) / 2
    np.testing.assert_allclose(source.values[0], expected, rtol=1e-12)
    assert source.notes == (
        "3 blank cells filled by straight lines (left 2, right 1)",
        "7 rows with blanks (more than 5 in a row, or at an end) cut out",
    )
    held = recordings(blanked([(10, 0), (59, 1)]), fill="previous")
    np.testing.assert_array_equal(held.values[0][[10, 59], [0, 1]], [VALUES[9, 0], VALUES[58, 1]])
    assert recordings(blanked([(0, 0), (59, 1)]), fill="linear").origins[0].row == 1


def test_recordings_are_cut_at_blanks():
    source = recordings(blanked(PLACES), fill="split")
    assert spans(source) == [(0, 10), (13, 30), (37, 60)]
    assert source.notes == ("10 rows with blanks cut out",)


def test_blanks_of_columns_that_are_not_used_do_not_matter():
    assert len(recordings(blanked(PLACES), ["left"], fill="linear")) == 1
    assert len(recordings(blanked([(3, 1)]), drop="right")) == 1


def test_arrays_are_filled_too():
    array = VALUES.copy()
    array[5, 1] = np.nan
    source = recordings(array, fill="linear")
    assert source.values[0][5, 1] == pytest.approx((VALUES[4, 1] + VALUES[6, 1]) / 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fill": "mean"}, "`fill` must be \"linear\", \"previous\", \"split\" or None. Got 'mean'"),
        ({"gaps": "jump"}, "`gaps` must be \"split\" or \"ignore\". Got 'jump'"),
    ],
)  # fmt: skip
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        recordings(VALUES, **options)


def test_a_blank_column_is_refused():
    table = pyarrow.table({"x": VALUES[:, 0], "y": pyarrow.nulls(ROWS)})
    with pytest.raises(InputError, match="Every channel must have values. Got none in the table, column 'y'; leave"):
        recordings(table, fill="linear")
    alternating = pyarrow.table({"x": [1.0, None, 2.0, None], "y": [None, 1.0, None, 2.0]})
    with pytest.raises(InputError, match="must have rows without blanks. Got none in the table"):
        recordings(alternating, fill="split")


# -- several recordings in one table -----------------------------------------------------------------------------------


def panel(first="unit", levels=(3, 1, 2)):
    """Three units of 20 rows each, one after the other, each with a time of its own."""
    return pyarrow.table(
        {
            first: np.repeat(levels, ROWS // 3),
            "cycle": np.tile(np.arange(1, ROWS // 3 + 1), 3),
            "left": VALUES[:, 0],
            "right": VALUES[:, 1],
        }
    )


@pytest.mark.parametrize("table", [panel(), panel("engine_id"), panel("machine", ["c", "a", "b"])])
def test_units_are_recordings_of_their_own(table):
    source = recordings(table)
    assert source.channels == ("left", "right")
    assert [name for name, _ in source.ignored] == table.column_names[:2]
    np.testing.assert_array_equal(np.stack(source.values), VALUES.reshape(3, -1, 2))
    first = table.column_names[0]
    assert source.sources == tuple(f"the table: {first} {level}" for level in dict.fromkeys(table[first].to_pylist()))
    # The same where the channels are named, as when a model reads them.
    assert len(recordings(table, ["left", "right"])) == 3


def test_units_without_names(tmp_path):
    csv.write_csv(panel(levels=(1, 2, 3)), tmp_path / "a.txt", csv.WriteOptions(include_header=False))
    source = read(tmp_path / "a.txt")
    assert source.channels == ("channel 3", "channel 4")
    assert [len(part) for part in source.values] == [20, 20, 20]


def test_time_that_starts_anew_begins_a_recording():
    source = recordings(panel().drop_columns(["unit"]))
    assert [len(part) for part in source.values] == [20, 20, 20]
    assert source.notes == ("time starts anew 2 times: there a recording of its own begins",)


def test_units_are_told_apart_by_hand():
    mixed = np.arange(ROWS) % 3  # one row of each in turn, and no time
    table = pyarrow.table({"level": mixed, "left": VALUES[:, 0], "right": VALUES[:, 1]})
    source = recordings(table, by="level")
    np.testing.assert_array_equal(source.values[1], VALUES[1::3])
    assert source.sources[1] == "the table: level 1"
    with pytest.raises(InputError, match="must be one of the table. Got 'unit'; its columns are level, left, right"):
        recordings(table, by="unit")
    holes = pyarrow.table({"level": pyarrow.array([1.0, None, 2.0]), "x": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="Every row must belong to a unit. Got a blank in the table, column 'level'"):
        recordings(holes, by="level")


def long(order="sensor", sensors=("left", "right")):
    """One row per sensor and time."""
    rows = [(name, i, VALUES[i, k]) for k, name in enumerate(sensors) for i in range(ROWS)]
    if order == "time":
        rows.sort(key=lambda row: row[1])
    names, cells, values = zip(*rows, strict=True)
    return pyarrow.table({"sensor": names, "when": [BEGIN + timedelta(seconds=10 * i) for i in cells], "value": values})


@pytest.mark.parametrize("order", ["sensor", "time"])
@pytest.mark.parametrize("sensors", [("left", "right"), (1, 2)])
def test_long_tables_are_refused_with_the_cure_and_pivoted(order, sensors):
    table = long(order, sensors)
    shown = ", ".join(map(str, sensors))
    with pytest.raises(
        InputError,
        match=rf"Got a long table in the table, whose column 'sensor' tells 2 units apart \({shown}\); make each a "
        "channel with `pivot='sensor'`, or a recording of its own with `by='sensor'`",
    ):
        recordings(table)
    wide = recordings(table, pivot="sensor")
    assert wide.channels == tuple(map(str, sensors))
    np.testing.assert_array_equal(wide.values[0], VALUES)
    apart = recordings(table, by="sensor")
    assert apart.channels == ("value",)
    np.testing.assert_array_equal(np.concatenate(apart.values, axis=1), VALUES)


def test_long_tables_with_holes_are_filled():
    table = long().filter([i != 10 for i in range(2 * ROWS)])
    # There is no column called left in the table.
    with pytest.raises(InputError, match="Got no value in the table, sensor 'left', at the time of row 70 "):
        recordings(table, pivot="sensor")
    source = recordings(table, pivot="sensor", fill="linear")
    assert source.values[0][10, 0] == pytest.approx((VALUES[9, 0] + VALUES[11, 0]) / 2)
    with pytest.raises(InputError, match="A time must have one row of each 'sensor'. Got several in the table"):
        recordings(pyarrow.concat_tables([long(), long()]), pivot="sensor")


def numbered_long(time, order="sensor", lacks=(10, 11), gone=(), more=False):
    """One row per sensor and time, which is a number; B lacks some rows, and both lack others."""
    rows = [
        (name, time[i], VALUES[i, k], VALUES[i, k] ** 2)
        for k, name in enumerate("AB")
        for i in range(ROWS)
        if i not in gone and not (name == "B" and i in lacks)
    ]
    if order == "time":
        rows.sort(key=lambda row: row[1])
    columns = dict(zip(["sensor", "time [s]", "value", "square"], zip(*rows, strict=True), strict=True))
    return pyarrow.table({name: column for name, column in columns.items() if more or name != "square"})


JITTERED = np.cumsum(10 + np.random.default_rng(3).uniform(-1, 1, ROWS)).round(3)


@pytest.mark.parametrize("order", ["sensor", "time"])
@pytest.mark.parametrize("time", [10 * np.arange(ROWS), 0.1 * np.arange(ROWS), 1.7e9 + JITTERED])
def test_long_tables_with_times_in_numbers_are_pivoted(order, time):
    source = recordings(numbered_long(time, order), pivot="sensor", fill="linear")
    assert source.channels == ("A", "B")
    assert source.ignored == (("time [s]", "holds dates or times"),)
    assert source.notes == ("2 blank cells filled by straight lines (B 2)",)
    expected = VALUES.copy()
    expected[10:12, 1] = VALUES[9, 1] + np.array([1, 2]) / 3 * (VALUES[12, 1] - VALUES[9, 1])
    np.testing.assert_allclose(source.values[0], expected, rtol=1e-12)
    with pytest.raises(InputError, match=r"Got no value in the table, sensor 'B', at the time of row \d+ \(2 in all"):
        recordings(numbered_long(time, order), pivot="sensor")
    # Nothing lacks: nothing to fill.
    np.testing.assert_array_equal(recordings(numbered_long(time, order, ()), pivot="sensor").values[0], VALUES)


def test_gaps_of_long_tables_with_times_in_numbers_are_seen():
    table = numbered_long(10 * np.arange(ROWS), "time", (), gone=range(20, 40))
    source = recordings(table, pivot="sensor")
    assert spans(source) == [(0, 20), (20, 40)]
    assert source.notes[0].startswith("1 gap in time, 3.5 min after row 20 of the table, where a step is 10 s")
    bare = table.rename_columns(["sensor", "t", "value"])
    assert recordings(bare, pivot="sensor").notes[0].startswith("1 gap in time, 210 after row 20")


def test_channels_of_long_tables_are_called_after_values_where_there_are_several():
    table = numbered_long(10 * np.arange(ROWS), lacks=(), more=True)
    assert recordings(table, pivot="sensor").channels == ("A value", "A square", "B value", "B square")
    # Runs of earlier versions named the one value, too.
    one = numbered_long(10 * np.arange(ROWS))
    source = recordings(one, ["A value", "B value"], pivot="sensor", fill="linear")
    np.testing.assert_array_equal(source.values[0][:, 0], VALUES[:, 0])


def test_sensors_that_are_not_sampled_together_are_refused():
    rows = [(name, 10.0 * i + shift, VALUES[i, 0]) for name, shift in (("A", 0), ("B", 3)) for i in range(ROWS)]
    columns = dict(zip(["sensor", "time", "value"], zip(*rows, strict=True), strict=True))
    for fill in (None, "linear"):
        with pytest.raises(
            InputError,
            match=r"must be sampled together. Got the table, where 0 % of all times .* 'sensor' \(A, B\); res",
        ):
            recordings(pyarrow.table(columns), pivot="sensor", fill=fill)
    # One that is three times slower can be filled.
    slow = numbered_long(10 * np.arange(ROWS), lacks=[i for i in range(ROWS) if i % 3])
    with pytest.raises(InputError, match="where 33 % of all times .* fill with `fill='previous'`"):
        recordings(slow, pivot="sensor")
    np.testing.assert_array_equal(
        recordings(slow, pivot="sensor", fill="previous").values[0][:, 1], np.repeat(VALUES[::3, 1], 3)
    )


@pytest.mark.parametrize(
    ("name", "begin", "step", "words"),
    [
        ("time", 1.7e9, 86_400, "367 days after row 30 of the table, where a step is 1 days"),
        ("time [ms]", 0, 20, "7.34 s after row 30 of the table, where a step is 20 ms"),
        ("hours", 0, 2, "30.6 days after row 30 of the table, where a step is 2 h"),
        ("time", 0, 86_400, "31708800 after row 30 of the table, where a step is 86400"),
    ],
)
def test_gaps_are_told_in_the_unit_of_their_time(name, begin, step, words):
    time = begin + step * (np.arange(ROWS) + 366 * (np.arange(ROWS) >= 30))
    assert words in recordings(pyarrow.table({name: time, "x": VALUES[:, 0]})).notes[0]


def test_other_text_is_refused_with_the_cure():
    table = pyarrow.table({"phase": ["run", "idle"] * (ROWS // 2), "x": VALUES[:, 0]})
    with pytest.raises(InputError, match="make each a recording of its own with `by='phase'`. .*`drop='phase'`"):
        recordings(table)
    with pytest.raises(InputError, match="Every cell must be a number. Got 'a0' in the table, column 'note', row 1"):
        recordings(pyarrow.table({"note": [f"a{i}" for i in range(ROWS)], "x": VALUES[:, 0]}))


def test_a_measured_sensor_is_no_unit():
    # Whole numbers that rise slowly, of a column called sensor: as long as time does not start anew, it is a signal.
    table = pyarrow.table({"time": np.arange(ROWS), "sensor": np.arange(ROWS) // 15, "x": VALUES[:, 0]})
    assert recordings(table).channels == ("sensor", "x")
    numbered = pyarrow.table({"sensor 1": np.arange(ROWS) // 20, "cycle": np.tile(np.arange(20), 3), "x": VALUES[:, 0]})
    assert recordings(numbered).channels == ("sensor 1", "x")


def test_folders_agree_on_what_is_a_time(tmp_path):
    for name in ("a", "b"):
        csv.write_csv(stamped(), tmp_path / f"{name}.csv")
    source = read(tmp_path)
    assert (len(source), source.channels, len(source.ignored)) == (2, ("left", "right"), 1)
    with pytest.raises(InputError, match="Got '2024.* If a.csv is no recording, leave it out with `pattern=`"):
        read(tmp_path, channels=["when"])
