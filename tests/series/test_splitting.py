"""Parts of recordings: at random or in time, and when the latter matters."""

import numpy as np
import pytest

from pellucid import InputError
from pellucid.series import recordings, simulate_rig
from pellucid.series.splitting import recommendation, split, split_description, trends

LENGTH = 10


def numbered(*lengths):
    """Recordings whose values are their rows, a thousand further in each."""
    return recordings([1000.0 * i + np.arange(n)[:, None] for i, n in enumerate(lengths)])


def rows(part):
    return np.concatenate(part.values)[:, 0]


@pytest.mark.parametrize("kind", ["random", "time"])
def test_no_row_is_in_two_parts(kind):
    parts = split(numbered(400, 307), LENGTH, 0, kind=kind)
    every = [set(rows(part)) for part in parts]
    assert not every[0] & every[1] | every[0] & every[2] | every[1] & every[2]
    assert all(len(table) >= LENGTH for part in parts for table in part.values)


def test_the_end_of_each_recording_is_tested_on():
    source = numbered(400, 307)
    train, validation, test = split(source, LENGTH, 0, kind="time")
    # 40 and 30 sequences: four and three at the end, and of the 36 and 27 that are left, four and three before.
    np.testing.assert_array_equal(rows(test), np.r_[360:400, 1277:1307])
    np.testing.assert_array_equal(rows(validation), np.r_[320:360, 1247:1277])
    np.testing.assert_array_equal(rows(train), np.r_[:320, 1000:1247])
    assert test.sources == ("recording 0 (rows 361 to 400)", "recording 1 (rows 278 to 307)")
    sentence = "tested on the end of each recording, validated on the rows before"
    assert split_description(source, "time", False) == sentence


def test_with_ten_files_the_last_ones_are_tested_on():
    source = numbered(*[50] * 20)
    train, validation, test = split(source, LENGTH, 0, kind="time")
    assert test.sources == ("recording 18", "recording 19")
    assert validation.sources == ("recording 16", "recording 17")
    assert len(train) == 16
    assert split_description(source, "time", False) == "tested on the last files, validated on those before"
    # After the test only nine of ten are left: the rule is that of the whole.
    assert split(numbered(*[50] * 10), LENGTH, 0, kind="time").validation.sources == ("recording 8",)


def test_pieces_of_one_recording_are_divided_as_one():
    source = numbered(400)
    cut = source.cut([(0, 0, 195), (0, 200, 245), (0, 250, 400)])
    train, validation, test = split(cut, LENGTH, 0, kind="time")
    # 19 + 4 + 15 sequences: four for the test, and of the 34 others three.
    np.testing.assert_array_equal(rows(test), np.r_[360:400])
    np.testing.assert_array_equal(rows(validation), np.r_[330:360])
    np.testing.assert_array_equal(rows(train), np.r_[:195, 200:245, 250:330])


def test_a_recording_too_short_to_be_divided_is_learned_from():
    train, validation, test = split(numbered(400, 15), LENGTH, 0, kind="time")
    assert set(range(1000, 1015)) <= set(rows(train))
    assert max(rows(test)) == 399
    assert max(rows(validation)) == 359
    with pytest.raises(
        InputError, match="needs at least two sequences of 10 rows in a recording. Got fewer in the arr"
    ):
        split(numbered(15), LENGTH, 0, kind="time")
    with pytest.raises(InputError, match='`split` must be "random" or "time". Got \'last\''):
        split(numbered(400), LENGTH, 0, kind="last")


def test_other_recordings_are_tested_on_as_they_are():
    other = numbered(30)
    parts = split(numbered(400), LENGTH, 0, other, kind="time")
    assert parts.test is other
    np.testing.assert_array_equal(rows(parts.validation), np.r_[360:400])
    assert split_description(numbered(400), "time", True) == "validated on the end of each recording"
    assert split_description(numbered(400), "random", True) == "validation pieces cut out at random"


def test_trends_are_seen_in_level_and_spread():
    generator = np.random.default_rng(0)
    noise, ramp = generator.normal(size=(1000, 4)), np.linspace(0, 1, 1000)
    table = np.c_[noise[:, 0], noise[:, 1] + ramp, noise[:, 2] * np.exp(ramp), 100 - 5 * ramp + noise[:, 3]]
    source = recordings(table, ["plain", "rising", "growing", "falling"])
    assert trends(source, 20) == ["the level of rising", "the spread of growing", "the level of falling"]
    sentence = recommendation(source, 20)
    assert "(the level of rising, the spread of growing, the level of falling)" in sentence
    assert sentence.endswith("split by time, which tests on the end.")


@pytest.mark.slow
def test_what_does_not_trend_is_not_said_to():
    assert recommendation(simulate_rig(rows=6000, seed=0), 100) is None
    seen = sum(bool(trends(recordings(np.random.default_rng(seed).normal(size=(400, 2))), 20)) for seed in range(200))
    assert seen <= 4  # chance
    slow = recordings(np.sin(np.arange(2000) / 50)[:, None])
    assert recommendation(slow, 20) is None


@pytest.mark.parametrize("pieces", [[(0, 0, 400)], [(0, 0, 150), (0, 155, 400)]])
def test_few_rows_that_rise_steadily_trend(pieces):
    noise, ramp = np.random.default_rng(0).normal(size=(400, 3)), np.linspace(0, 4, 400)
    table = np.c_[noise[:, 0], noise[:, 1] + ramp, noise[:, 2] * np.exp(ramp)]
    source = recordings(table, ["plain", "rising", "growing"]).cut(pieces)
    # Two or three pieces of 150 rows, and none of 1000.
    assert trends(source, 150) == trends(source, 1000) == ["the level of rising", "the spread of growing"]
    assert trends(source.cut([(0, 0, 39)]), 30) == []  # too short to say


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.95])
def test_few_rows_that_do_not_trend_are_not_said_to(memory):
    count = 0
    for seed in range(300):
        noise = np.random.default_rng(seed).normal(size=700)
        values = np.zeros(700)
        for t in range(1, 700):
            values[t] = memory * values[t - 1] + noise[t]
        count += bool(trends(recordings(values[300:, None]), 150))
    assert count <= 3  # chance: one in a hundred, of level and spread
    assert trends(recordings(np.sin(np.arange(400) / 400 * 2 * np.pi)[:, None]), 150) == []


def test_files_that_wear_trend():
    rig = simulate_rig(files=20, rows=400, bearings=2, wear=3.0, seed=0)
    assert "spread of bearing 1" in trends(rig, 100)[0]


def test_a_trend_is_harder_to_forecast_than_to_interpolate():
    # What the recommendation is for: the mean of what was learned is nearer to pieces between than to the end.
    table = np.linspace(0, 1, 1000)[:, None] + 0.01 * np.random.default_rng(0).normal(size=(1000, 1))
    errors = {}
    for kind in ("random", "time"):
        parts = split(recordings(table), 20, 0, kind=kind)
        errors[kind] = np.abs(rows(parts.test) - rows(parts.train).mean()).mean()
    assert errors["time"] > 1.5 * errors["random"]
