from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
import torch

from pellucid import InputError
from pellucid.series import Recordings, recordings, simulate_rig


def table(rows=6, columns=2):
    return np.random.default_rng(0).normal(size=(rows, columns))


class Frame(SimpleNamespace):
    """What pandas and polars have in common."""

    def __getitem__(self, name):
        column = self.data[name]
        return SimpleNamespace(to_numpy=lambda: np.asarray(column))


def frame(**data):
    return Frame(columns=list(data), data=data)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (table(), 1),
        (torch.from_numpy(table()), 1),
        (np.stack([table(), table() + 1]), 2),
        ([table(6), table(9)], 2),
        ([torch.from_numpy(table(6)), table(9)], 2),
        (table().tolist(), 1),
        (recordings(table()), 1),
    ],
    ids=["array", "tensor", "stack", "list", "mixed", "numbers", "recordings"],
)
def test_arrays_of_all_kinds_become_recordings(data, count):
    result = recordings(data)
    assert len(result) == count
    assert result.channels == ("channel 1", "channel 2")
    np.testing.assert_array_equal(result.values[0], table())


def test_tables_keep_the_names_of_their_columns():
    result = recordings(frame(left=[1.0, 2, 3], right=[4, 5, 6]), ["right"])
    assert result.channels == ("right",)
    np.testing.assert_array_equal(result.values[0], [[4], [5], [6]])
    arrow = recordings(pyarrow.table({"left": [1.0, 2, 3], "right": [4, 5, 6]}))
    assert arrow.channels == ("left", "right")
    np.testing.assert_array_equal(arrow.values[0], [[1, 4], [2, 5], [3, 6]])


def test_columns_that_are_only_numbered_have_no_names():
    assert recordings(frame(**{"0": [1.0, 2], "1": [3, 4]})).channels == ("channel 1", "channel 2")


def test_channels_may_be_named_counted_or_selected():
    assert recordings(table(), ["a", "b"]).channels == ("a", "b")
    assert recordings(table(), 2).channels == ("channel 1", "channel 2")
    rig = simulate_rig(rows=50)
    chosen = recordings(rig, ["bearing 3", "bearing 1"])
    np.testing.assert_array_equal(chosen.values[0], rig.values[0][:, [2, 0]])


def test_sequences_are_disjoint_and_in_order():
    values = np.arange(23.0)[:, None]
    result = recordings([values, values + 100]).sequences(5)
    assert result.shape == (8, 5, 1)
    np.testing.assert_array_equal(result[:4, :, 0].ravel(), np.arange(20))
    np.testing.assert_array_equal(result[4:, :, 0].ravel(), 100 + np.arange(20))


def test_sequences_may_overlap():
    result = recordings(np.arange(9.0)[:, None]).sequences(5, stride=2)
    np.testing.assert_array_equal(result[:, 0, 0], [0, 2, 4])


@pytest.mark.parametrize(
    ("data", "channels", "message"),
    [
        ([], None, r"`data` must be a path, a table.*Got list"),
        (3, None, "Got int"),
        (np.zeros(5), None, r"must be a table of numbers \(time, channels\).*shape \(5,\) as recording 0.*\(time, 1\)"),
        (np.array([["a", "b"]]), None, "must be a table of numbers"),
        ([table(5, 2), table(5, 3)], None, "must have the 2 channels.*Got 3 columns in recording 1"),
        (table(), ["one"], "must have the 1 channels one. Got 2 columns"),
        (table(), 3, "must be 3 channels. Got 2"),
        (table(), ["a", "a"], "different names. Got 'a' twice"),
        (frame(a=[1.0, 2]), ["b"], "must be a column of the table. Got 'b'; its columns are a"),
        (frame(a=[1.0, 2], time=["9:00", "later"]), None, "Got '9:00' in the table, column 'time', row 1"),
        (pyarrow.table({"a": [1.0, None]}), None, "Got an empty cell in the table, column 'a', row 2"),
        (np.array([[1.0, 2], [3, np.nan]]), None, "Got nan in the array, column 'channel 2', row 2"),
        (np.array([[1.0, 2], [3, np.inf]]), None, "Got inf in the array"),
        (np.ma.masked_equal([[1.0, 2], [3, 4]], 4), None, "Got nan in the array, column 'channel 2', row 2"),
        (frame(a=[1.0, None]), None, "Got an empty cell in the table, column 'a', row 2"),
        (frame(a=[True, False]), None, "Got 'True' in the table, column 'a', row 1"),
        ([[1.0, 2], [3]], None, "must be tables of numbers.*Got one that is not"),
        (table(), [], "must name at least one channel"),
        (pyarrow.table([[1.0], [2.0]], names=["x", "x"]), ["x"], "different names. Got 'x' twice in the table"),
        (
            [frame(x=[1, 2], y=[3, 4]), frame(y=[1, 2], x=[3, 4])],
            None,
            "same channels. Got y, x as number 2 .* after x, y",
        ),
    ],
)
def test_bad_data_are_refused_by_name_and_row(data, channels, message):
    with pytest.raises(InputError, match=message):
        recordings(data, channels)


def test_a_channel_may_rest_in_one_recording_but_not_in_all_to_be_learned():
    moving, resting = np.array([[1.0], [2.0]]), np.array([[5.0], [5.0]])
    recordings([moving, resting]).require_variation()
    message = (
        "must vary. Got 5 in column 'channel 1', rows 1 to 2 of recording 0 and of all others; leave that channel out"
    )
    with pytest.raises(InputError, match=message):
        recordings([resting, resting]).require_variation()


def test_lists_of_files_tables_and_recordings_keep_their_names(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    mixed = recordings([tmp_path / "a.csv", frame(x=[5, 6], y=[7, 8]), recordings(table(3), ["x", "y"])], ["y"])
    assert mixed.channels == ("y",)
    assert [len(part) for part in mixed.values] == [2, 2, 3]
    assert mixed.sources[0] == "a.csv (number 1 of the list)"


def test_one_or_several_recordings_can_be_taken_out():
    rig = simulate_rig(rows=20, files=3)
    assert rig[-1].sources == rig.sources[-1:]
    assert rig[1].sources == rig.sources[1:2]
    assert rig[:2].sources == rig.sources[:2]
    assert rig.select("bearing 2").channels == ("bearing 2",)


def test_short_recordings_are_named():
    with pytest.raises(InputError, match=r"at least context \+ horizon = 7 rows. Got 6 in recording 1"):
        recordings([table(8), table(6)]).sequences(7)


def test_they_print_what_they_are():
    assert repr(simulate_rig(rows=50, files=2, bearings=2)) == "Recordings(2 of bearing 1, bearing 2; 100 rows)"
    assert isinstance(simulate_rig(rows=50), Recordings)


def test_pieces_held_out_share_nothing_with_the_rest():
    rows = recordings([np.arange(47.0)[:, None], 100 + np.arange(31.0)[:, None]])
    rest, held = rows.hold_out(0.4, 5, seed=1)
    assert len(held) == round(0.4 * 15)
    assert all(len(piece) == 5 and piece[0, 0] % 5 == 0 for piece in held.values)
    assert all(len(stretch) >= 5 for stretch in rest.values)
    left, taken = (np.concatenate(part.values)[:, 0] for part in (rest, held))
    assert not set(left) & set(taken)
    lost = set(np.concatenate(rows.values)[:, 0]) - set(left) - set(taken)
    assert len(lost) < 5 * 2  # at the ends only
    assert "the array" not in rest.sources[0]
    assert "(rows " in held.sources[0]


def test_overlapping_sequences_of_the_rest_are_consecutive_values():
    rest, _ = recordings(np.arange(200.0)[:, None]).hold_out(0.1, 10)
    sequences = rest.sequences(10, stride=3)
    assert (np.diff(sequences[:, :, 0], axis=1) == 1).all()
