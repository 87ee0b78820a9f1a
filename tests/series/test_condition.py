"""The condition of a machine over time."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from series.followed import BEGIN, HEALTHY, LEARNED, rougher

from pellucid.series import assess
from pellucid.series.condition_text import verdicts
from pellucid.series.data import Recordings
from pellucid.series.indicators import INDICATORS

pytestmark = pytest.mark.slow


def test_an_alarm_that_passes_does_not_last(follow, sound_model, sound_rig):
    values = [table.copy() for table in sound_rig[LEARNED:].values]
    for table in values[45:50]:
        table[:, 2] *= 3
    condition = assess(
        sound_model,
        Recordings(values=tuple(values), channels=sound_rig.channels, sources=sound_rig.sources[LEARNED:]),
        healthy=HEALTHY,
        level=0.95,
        sequences=20,
    )
    alarm = next(a for a in condition.alarms if (a.channel, a.indicator) == ("bearing 3", "rms"))
    assert (alarm.first, alarm.lasts) == (48, None)
    assert alarm.peak_at in range(45, 50)
    assert any("come and go" in line for line in verdicts(condition))
    assert "49~ " in str(condition) or "49~\n" in str(condition)


def test_what_was_before_the_healthy_ones_is_not_judged(follow):
    condition = follow(rougher)
    late = replace(condition, healthy=np.arange(len(condition)) >= BEGIN - 10)
    assert late.first_judged == len(condition)
    assert late.alarms == []


def test_it_is_written_down(follow, tmp_path):
    condition = follow(rougher)
    condition.to_json(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["indicators"] == list(INDICATORS)
    assert content["healthy"] == list(range(HEALTHY))
    assert content["calibrated"] == HEALTHY
    assert content["values"][2][0][1] == pytest.approx(condition.values[2, 0, 1], rel=1e-5)
    assert content["values"][2][0][3] is None  # all channels together have no rms
    assert [a["first"] for a in content["alarms"]] == [a.first for a in condition.alarms]
    condition.to_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 65 * 4
    row = rows[4 * 60 + 1]
    assert (row["number"], row["channel"], row["healthy"]) == ("61", "bearing 2", "0")
    assert float(row["law"]) == pytest.approx(condition.values[60, -1, 1], rel=1e-5)
    assert float(row["law: distance"]) == pytest.approx(condition.distances[60, -1, 1], rel=1e-5)
    assert "law" in row["alarm"].split()
    assert rows[1]["alarm"] == ""
