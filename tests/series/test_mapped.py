"""Recordings on a disk that are not read into memory: the same numbers as those in memory."""

import mmap

import numpy as np
import pytest

from pellucid.errors import InputError
from pellucid.series import mapped, read, recordings, subsequences
from pellucid.series.stream import Tally, one_by_one


@pytest.fixture
def file(rig, tmp_path, monkeypatch):
    """A long recording that counts as large."""
    monkeypatch.setattr(mapped, "LARGE", 1000)
    monkeypatch.setattr(subsequences, "_BLOCK", 50)
    np.save(tmp_path / "long.npy", np.concatenate(rig.values))
    return tmp_path / "long.npy"


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def test_a_large_file_is_mapped_and_a_small_one_is_read(file, monkeypatch):
    source = read(file)
    assert is_mapped(source.values[0])
    assert source.notes == ("mapped from the disk, so that every column is a channel and no times are looked for",)
    assert is_mapped(read(file, channels=["channel 2"]).values[0])
    monkeypatch.setattr(mapped, "LARGE", 10**9)
    small = read(file)
    assert not is_mapped(small.values[0])
    np.testing.assert_array_equal(source.values[0], small.values[0])
    assert source.channels == small.channels
    monkeypatch.setattr(mapped, "LARGE", 1000)
    with pytest.raises(InputError, match="Every channel must be a column of long.npy. Got 'left'"):
        read(file, channels=["left"])


def test_subsequences_are_those_of_the_recordings(rig):
    source = recordings([*rig.values, rig.values[0][:7]])[:-1]
    for stride in (3, 11, 20):
        expected = [table[row : row + 11] for table in source.values for row in range(0, len(table) - 10, stride)]
        lazy = source.subsequences(11, stride=stride)
        assert len(lazy) == len(expected)
        np.testing.assert_array_equal(lazy[:], expected)
        np.testing.assert_array_equal(lazy[np.array([5, 0, len(expected) - 1])], [expected[i] for i in (5, 0, -1)])
        np.testing.assert_array_equal(lazy[4:7], expected[4:7])


def test_scores_and_forecasts_are_the_same_without_a_copy_of_the_file(forecaster, file, rig):
    whole = recordings(np.concatenate(rig.values), channels=forecaster.channels_)
    source = recordings(file)
    source = type(source)(values=source.values, channels=forecaster.channels_, sources=source.sources)
    np.testing.assert_array_equal(forecaster.deviations(source), forecaster.deviations(whole))
    assert forecaster.evaluate(source) == forecaster.evaluate(whole)
    np.testing.assert_array_equal(forecaster.forecast(source).mean, forecaster.forecast(whole).mean)
    np.testing.assert_array_equal(
        forecaster.forecast(np.load(file, mmap_mode="r")).mean, forecaster.forecast(whole).mean
    )
    pieces = list(one_by_one(source, forecaster.channels_, Tally(100, 100)))
    assert len(pieces) == len(whole.values[0]) // 100
    assert all(is_mapped(piece.values[0]) for piece in pieces)


def test_a_flaw_is_found_in_whatever_block_it_is(file):
    values = np.load(file)
    values[123, 1] = np.nan
    values[456, 0] = np.inf
    np.save(file, values)
    with pytest.raises(
        InputError, match=r"no missing or infinite values. Got nan in long.npy, .* row 124 \(2 in all\)"
    ):
        read(file)
