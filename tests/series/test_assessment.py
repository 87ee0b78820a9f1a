"""Machines followed over time: planted faults are found, and sound ones raise no alarm."""

import numpy as np
import pytest
from series.followed import BEGIN, FOLLOWER, HEALTHY, LEARNED, louder, rougher, smoother

from pellucid.errors import InputError
from pellucid.series import Forecaster, assess
from pellucid.series.condition_text import ranked, verdicts
from pellucid.series.indicators import INDICATORS
from pellucid.series.stream import sources_of

pytestmark = pytest.mark.slow


def test_a_change_of_dynamics_is_found_where_loudness_does_not_change(follow):
    condition = follow(rougher)
    alarms = {(a.channel, a.indicator): a for a in condition.alarms}
    needed = condition.persistence[0]
    for indicator in ("law", "likelihood"):
        alarm = alarms["bearing 2", indicator]
        # All after the change are beyond, so that the alarm comes with the fourth of them, or a chance before.
        assert BEGIN + needed - 2 <= alarm.first <= BEGIN + needed
        assert alarm.lasts == alarm.first
        assert alarm.side == "above"
    assert ("bearing 2", "rms") not in alarms
    assert ("bearing 2", "sd") not in alarms
    assert ranked(condition)[0] == "bearing 2"
    assert verdicts(condition)[0].startswith(f"bearing 2: alarm since recording {BEGIN + needed} of 65")


def test_the_likelihood_is_blind_to_a_change_towards_what_is_easier_to_predict(follow):
    condition = follow(smoother)
    alarms = {(a.channel, a.indicator): a for a in condition.alarms}
    assert BEGIN + 2 <= alarms["bearing 2", "law"].first <= BEGIN + 4
    assert ("bearing 2", "likelihood") not in alarms
    assert ("bearing 2", "rms") not in alarms


def test_a_change_of_loudness_is_found_by_rms_and_not_by_the_law(follow):
    condition = follow(louder, channel=0)
    alarms = {(a.channel, a.indicator): a for a in condition.alarms}
    for indicator in ("rms", "sd"):
        assert BEGIN + 2 <= alarms["bearing 1", indicator].first <= BEGIN + 4
        assert alarms["bearing 1", indicator].lasts is not None
    for indicator in ("law", "kurtosis"):
        assert ("bearing 1", indicator) not in alarms
    # The law of each recording is what it was: loudness is divided out.
    sound = follow()
    law = INDICATORS.index("law")
    np.testing.assert_allclose(condition.values[:, law, 0], sound.values[:, law, 0], rtol=1e-6, atol=1e-9)
    assert ranked(condition)[0] == "bearing 1"


def test_a_silent_channel_is_below_healthy(follow):
    condition = follow(lambda x: 0 * x)
    alarm = next(a for a in condition.alarms if (a.channel, a.indicator) == ("bearing 2", "rms"))
    assert (alarm.first, alarm.side) == (BEGIN + 3, "below")
    assert np.isfinite(condition.values[BEGIN:, INDICATORS.index("law"), 1]).all()


def test_a_healthy_machine_raises_no_alarm(follow):
    condition = follow()
    assert condition.alarms == []
    assert verdicts(condition) == ["No channel shows an alarm."]
    assert "No channel shows an alarm." in str(condition)
    check = condition.false_alarms
    assert check.level == 0.95
    assert check.beyond <= 0.1  # 20 recordings of 22 indicators, of which many rise and fall together
    assert (check.raised, check.of) == (0, 22)
    assert "drift" not in str(condition)


def test_healthy_recordings_are_named_in_any_way(follow, sound_model, sound_rig):
    first = follow()
    for healthy in (HEALTHY / 65, slice(None, HEALTHY), slice(0, HEALTHY)):
        np.testing.assert_array_equal(follow(healthy=healthy).values, first.values)
    others = follow(healthy=sound_rig[LEARNED : LEARNED + HEALTHY])
    np.testing.assert_allclose(others.reference, first.reference)
    np.testing.assert_allclose(others.limits.limit, first.limits.limit)
    assert not others.healthy.any()
    assert "40 others" in str(others)


def test_a_single_channel_has_no_others(sound_rig):
    source = sound_rig.select(["bearing 1"])
    model = Forecaster(**FOLLOWER | {"epochs": 1, "stride": 10}).fit(source[:4], progress=False)
    condition = assess(model, source[4:34], healthy=25, level=0.9, sequences=4)
    assert condition.channels == ("bearing 1",)
    assert np.isfinite(condition.values).all()


def test_the_order_of_the_laws_is_the_models_or_yours(follow):
    law = INDICATORS.index("law")
    assert follow().order == 2
    longer = follow(order=6)
    assert longer.order == 6
    assert not np.allclose(longer.values[:, law, :3], follow().values[:, law, :3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"healthy": 0}, "`healthy` must be a whole number >= 1. Got 0"),
        ({"healthy": 1.5}, r"`healthy` must be a share in \(0, 1\], a number of recordings, a slice, or data. Got 1.5"),
        ({"healthy": slice(70, 80)}, "There must be healthy recordings to compare with. Got none of the 65 by 70:80"),
        ({"level": 1.0}, "`level` must be a confidence between 0 and 1. Got 1.0"),
        ({"persistence": 4}, r"`persistence` must be two whole numbers, as in \(4, 5\).* Got 4"),
        ({"persistence": (6, 5)}, "`persistence` must be a whole number between 1 and 5. Got 6"),
        ({"sequences": 0}, "`sequences` must be a whole number >= 1. Got 0"),
        ({"every": 10}, "`every` must be a whole number >= 30. Got 10"),
        ({"every": 5000}, "A recording must have at least the 5000 rows of a piece. Got 1500 in simulated recording 7"),
        ({"order": 30}, "`order` must be a whole number between 1 and 29. Got 30"),
        ({"healthy": "nowhere"}, "The data must be a file or a folder. Got nowhere, which does not exist"),
    ],
)
def test_what_cannot_be_followed_is_refused(follow, options, message):
    with pytest.raises(InputError, match=message):
        follow(**options)


def test_other_refusals(sound_model, sound_rig, tmp_path):
    with pytest.raises(InputError, match="There must be several recordings .* Got 1; cut it .* with `every=`"):
        assess(sound_model, sound_rig[8])
    with pytest.raises(InputError, match="must be trained first"):
        assess(Forecaster(), sound_rig)
    with pytest.raises(InputError, match="The folder must hold files that match '\\*.csv'. Got none in"):
        sources_of(tmp_path, "*.csv")
    with pytest.raises(InputError, match="Every recording must have the 3 channels .* Got 2 columns"):
        assess(sound_model, [sound_rig.values[8][:, :2], sound_rig.values[9][:, :2]])
    with pytest.raises(InputError, match="Every channel must be a column of .* Got 'bearing 3'"):
        assess(sound_model, sound_rig.select(["bearing 1", "bearing 2"]))
    with pytest.raises(InputError, match=r"at least context \+ horizon = 30 rows. Got 12"):
        assess(sound_model, [sound_rig.values[8], sound_rig.values[9][:12]], healthy=1)
