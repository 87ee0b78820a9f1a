"""The condition of a machine in words."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.series import Condition

pytestmark = pytest.mark.slow


def test_healthy_recordings_that_drift_are_told(follow):
    condition = follow()
    drift = condition.reference.copy()
    drift[20:] += 10 * condition.limits.scale
    drifting = replace(condition, reference=drift, healthy=np.zeros(65, dtype=bool))
    assert drifting.false_alarms.beyond == 1.0
    assert drifting.false_alarms.raised == 22
    assert "100 % of values in the second half are beyond; 22 of 22 indicators of channels raise" in str(drifting)
    assert "note: the healthy recordings drift" in str(drifting)
    assert replace(condition, reference=drift[:17]).false_alarms is None
    strict = replace(condition, level=0.97)
    assert strict.false_alarms.level == pytest.approx(20 / 21)
    assert "by 95.2 % limits (the highest level that 20 recordings are enough for) from the first half" in str(strict)
    assert "by 95 % limits from the first half of the healthy recordings, " in str(condition)


def test_alarm_levels_that_are_not_known_are_told(follow, tmp_path):
    condition = follow(level=0.99)
    assert condition.alarms == []
    assert (
        "Alarm levels of 99 % are not known: 40 healthy recordings are enough for 97.5 %; name more of them with "
        "`healthy=`, or lower `level`." in str(condition)
    )
    assert "first alarm" not in str(condition)
    assert condition.to_dict()["limit"][0][0] is None
    condition.plot().savefig(tmp_path / "a.svg")
    assert isinstance(condition, Condition)
