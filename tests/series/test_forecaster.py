"""Forecasters: their settings, and what they are given."""

import numpy as np
import pyarrow
import pytest
from series.small_forecasters import RIG, fit, fit_with

from pellucid import InputError
from pellucid.series import Forecaster, simulate_rig


def test_a_context_may_be_a_file_or_a_table(trained, tmp_path):
    values = RIG.values[0][:20]
    np.savetxt(tmp_path / "a.csv", values[:, ::-1], delimiter=",", header=",".join(RIG.channels[::-1]), comments="")
    expected = trained.forecast(values).mean
    np.testing.assert_allclose(trained.forecast(tmp_path / "a.csv").mean, expected, rtol=1e-6)
    table = pyarrow.table({name: values[:, i] for i, name in enumerate(RIG.channels)})
    np.testing.assert_array_equal(trained.explain(table).mean, expected)
    with pytest.raises(InputError, match="must be one recording. Got 2"):
        trained.forecast(simulate_rig(rows=50, files=2, bearings=3))
    with pytest.raises(InputError, match="must be a column of the table. Got 'bearing 1'"):
        trained.explain(table.rename_columns(["a", "b", "c"]))


@pytest.mark.slow
def test_the_network_of_the_paper_is_still_there():
    paper = fit(linear=0, order=1, ridge=1.0)
    assert paper.linear_ == 0
    assert {name.partition(".")[0] for name in paper.network_.state_dict()} == {
        "convolution", "recurrence", "hidden", "output",
    }  # fmt: skip
    assert paper.kept_ >= 1


def test_laws_that_would_follow_anything_are_refused():
    eight = simulate_rig(rows=400, bearings=8, seed=0)
    model = Forecaster(order=2, radius=9, ridge=0.01, context=20, width=4, epochs=1)
    cure = r"Got 17 coefficients \(8 channels, order 2\) on 19 steps with a ridge of 0.01, .*lower `order`"
    with pytest.raises(InputError, match=cure):
        model.fit(eight, progress=False)


def test_a_channel_may_rest_while_it_is_not_learned_from(trained):
    data = RIG.values[0][:60].copy()
    data[:, 1] = data[0, 1]
    assert trained.evaluate(data).sequences == 3
    resting = pyarrow.table({name: data[:, i] for i, name in enumerate(RIG.channels)})
    np.testing.assert_array_equal(trained.forecast(resting).mean, trained.forecast(data).mean)
    with pytest.raises(InputError, match="must vary. Got .* in column 'channel 2', rows 1 to 60 of the array"):
        fit(data)


@pytest.mark.slow
def test_settings_of_numpy_are_settings():
    data = RIG.values[0]
    model = fit(data, horizon=np.int64(6), weight=np.float32(1), channels=np.int64(3), seed=np.int32(0))
    assert type(model.horizon) is int
    assert type(model.weight) is float
    assert model.channels == 3


@pytest.mark.slow
def test_a_single_channel_may_be_given_by_name(tmp_path):
    model = fit(RIG, channels="bearing 2")
    model.save(tmp_path)
    again = Forecaster.load(tmp_path)
    assert again.channels == model.channels == ("bearing 2",)
    again.fit(RIG, progress=False)


def test_the_smallest_of_everything():
    model = fit(RIG, horizon=2, order=1, radius=1, context=1, channels=["bearing 1"], batch_size=10_000)
    explanation = model.explain(RIG.values[0][:5, :1])
    # What it is from, the channel, a head and two steps, then six lines of summary.
    assert str(explanation).startswith("each step from the forecast so far\nChannel 'bearing 1' and the law")
    assert str(explanation).count("\n") == 10
    assert "not calibrated" in explanation.trust()  # two members say nothing
    assert model.evaluate(RIG).variation < 1e-9  # both windows are the same


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "uniform"}, '`game` of Forecaster must be "symmetric", "asymmetric" or None. Got \'uniform\''),
        ({"horizon": 1}, "`horizon` must be a whole number between 2 and 10000. Got 1"),
        ({"radius": 0}, "`radius` must be a whole number >= 1. Got 0"),
        ({"learning_rate": 0}, "`learning_rate` of Forecaster must be"),
        ({"context": 1, "order": 2}, "`context` must be a whole number >= 2. Got 1"),
        ({"weight": -1}, "`weight` of Forecaster must be a finite number >= 0. Got -1"),
        ({"scale": "no"}, "`scale` of Forecaster must be True or False. Got 'no'"),
        ({"channels": []}, "must name at least one channel"),
        ({"channels": True}, "`channels` must be a whole number >= 1. Got True"),
        ({"seed": 2**40}, "`seed` must be a whole number between 0 and 2147483647"),
        ({"radius": 1.5}, "`radius` must be a whole number >= 1. Got 1.5"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Forecaster(**settings)


def test_bad_calls_are_refused(trained):
    data = RIG.values[0]
    with pytest.raises(InputError, match="must be trained first"):
        Forecaster().forecast(data)
    with pytest.raises(InputError, match="must have at least 12 rows. Got 5"):
        trained.forecast(data[:5])
    with pytest.raises(InputError, match=r"with the channels bearing 1, bearing 2, bearing 3. Got \(20, 2\)"):
        trained.forecast(data[:20, :2])
    with pytest.raises(InputError, match="Got nan in channel 'bearing 2', row 15"):
        trained.forecast(np.where(np.arange(60).reshape(20, 3) == 43, np.nan, data[:20]))
    with pytest.raises(InputError, match="One context is explained at a time. Got 2"):
        trained.explain(np.stack([data[:20]] * 2))
    with pytest.raises(InputError, match=r"\(horizon, channels\) = \(6, 3\). Got \(5, 3\)"):
        trained.explain(data[:12], data[12:17])
    with pytest.raises(
        InputError, match="at least two sequences of 18 rows.*Got 1; record more, or set `validation=0`"
    ):
        fit(data[:20])
    with pytest.raises(InputError, match="must hold real numbers. Got complex128"):
        trained.forecast(data[:20].astype(complex))
    with pytest.raises(InputError, match=r"Got \(0, 20, 3\)"):
        trained.forecast(np.zeros((0, 20, 3)))
    trained.forecast(data[:20][::-1])
    with pytest.raises(InputError, match=r"`validation` must be a share in \[0, 1\), or data. Got 1.5"):
        fit_with(validation=1.5)
    with pytest.raises(InputError, match=r"at least context \+ horizon = 36 rows. Got 20 in the array"):
        fit(data[:20], context=30)
    with pytest.raises(InputError, match="must be a column of .*Got 'bearing 1'"):
        trained.evaluate(simulate_rig(rows=50, bearings=3).select(["bearing 2", "bearing 3"]))
