"""Recordings one by one, in the order of time."""

import numpy as np
import pytest
from series.followed import LEARNED

from pellucid.errors import InputError
from pellucid.series import assess, recordings
from pellucid.series.stream import Tally, hours_of


@pytest.mark.slow
def test_a_folder_is_read_in_the_order_of_time_and_file_by_file(sound_model, sound_rig, tmp_path, monkeypatch):
    from pellucid.series import sources

    source = sound_rig[LEARNED : LEARNED + 24]
    for i, table in enumerate(source.values):
        np.savez(tmp_path / f"run {i + 1}.npz", x=table, channels=sound_rig.channels)
    (tmp_path / ".hidden").write_text("nothing")
    seen = []
    once = sources.read
    monkeypatch.setattr(sources, "read", lambda path, **options: seen.append(path.name) or once(path, **options))
    condition = assess(sound_model, tmp_path, healthy=20, level=0.95, sequences=5)
    assert seen == [f"run {i + 1}.npz" for i in range(24)]
    assert condition.recordings == tuple(seen)
    expected = assess(sound_model, source, healthy=20, level=0.95, sequences=5)
    np.testing.assert_array_equal(condition.values, expected.values)
    listed = assess(sound_model, [tmp_path / name for name in seen], healthy=20, level=0.95, sequences=5)
    np.testing.assert_array_equal(listed.values, expected.values)


@pytest.mark.slow
def test_one_long_recording_is_cut(sound_model, sound_rig):
    source = np.concatenate(sound_rig[LEARNED : LEARNED + 4].values)
    cut = assess(sound_model, recordings(source, sound_rig.channels), every=300, healthy=10, level=0.9, sequences=3)
    parts = [source[row : row + 300] for row in range(0, 6000, 300)]
    expected = assess(sound_model, parts, healthy=10, level=0.9, sequences=3)
    np.testing.assert_array_equal(cut.values, expected.values)
    assert cut.recordings[1] == "the array, rows 301 to 600"


@pytest.mark.slow
def test_what_is_too_short_is_skipped_and_counted(sound_model, sound_rig):
    source = sound_rig[LEARNED : LEARNED + 4]
    # 700 rows, 20 in between two gaps, and 1,000.
    cut = source.cut([(0, 0, 700), (0, 740, 760), (0, 0, 250), (1, 100, 1100), (2, 0, 1500), (3, 0, 1500)])
    condition = assess(sound_model, cut, every=300, healthy=10, level=0.9, sequences=3)
    assert len(condition) == 2 + 3 + 5 + 5
    assert condition.notes == (
        "470 rows are not used: 200 at the ends of recordings, too few for a further piece; 270 in 2 parts of fewer "
        "than 300 rows",
    )
    assert condition.to_dict()["notes"] == list(condition.notes)
    label = source.sources[1]
    assert condition.recordings[2:4] == (f"{label}, rows 101 to 400", f"{label}, rows 401 to 700")
    pieces = assess(sound_model, cut, healthy=4, level=0.5, sequences=3)
    assert pieces.notes == ("20 rows are not used: 20 in 1 part of fewer than 30 rows",)
    assert len(pieces) == 5
    with pytest.raises(
        InputError, match=r"context \+ horizon = 30 rows. Got 20 in .*, the longest piece between gaps and blanks"
    ):
        assess(sound_model, source.cut([(0, 0, 20), (0, 40, 50)]))
    with pytest.raises(InputError, match="several recordings .* Got 1; choose a smaller `every`"):
        assess(sound_model, sound_rig[8], every=1000)


def test_notes_of_many_files_are_few():
    tally = Tally(30)
    for i in range(9):
        tally.note("2 gaps in time", f"{i}.csv")
    for i in range(7):
        tally.note(f"{i + 3} gaps in time", f"more {i}.csv")
    assert tally.sentences() == [
        "0.csv and 8 more files: 2 gaps in time",
        *(f"more {i}.csv: {i + 3} gaps in time" for i in range(4)),
        "3 more files have notes like these",
    ]


@pytest.mark.slow
def test_recordings_of_an_array_follow_each_other(sound_model, sound_rig, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.stack(sound_rig[LEARNED : LEARNED + 4].values), channels=sound_rig.channels)
    condition = assess(sound_model, tmp_path / "a.npz", every=300, healthy=10, level=0.9, sequences=3)
    assert len(condition) == 20
    assert condition.notes == ()


def test_names_tell_the_time():
    names = ["2004.02.12.10.32.39", "2004.02.12.10.42.39"]
    assert hours_of(names) == pytest.approx([0, 1 / 6])
    assert hours_of(names[::-1]) is None
    assert hours_of(["a", "b"]) is None
    assert hours_of(["2004.13.12.10.32.39", "2004.14.12.10.32.39"]) is None
