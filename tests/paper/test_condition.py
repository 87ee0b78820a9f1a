import json

import pytest
from paper import condition
from paper.runs import read_section

from pellucid.series.indicators import INDICATORS

pytestmark = pytest.mark.paper


def test_the_page_shows_the_committed_report():
    reports = json.loads((condition.REPORTS / "cpu.json").read_text())
    assert read_section(condition.DOCS / "condition.md", "condition") == condition.summary(reports)
    assert set(INDICATORS) == {*condition.PLAIN, *condition.NETWORK}


def test_a_planted_fault_is_found_and_nothing_is_done_twice(tmp_path, capfd):
    condition.study("smoke", 1, tmp_path / "work", tmp_path, None)
    reports = json.loads((tmp_path / "smoke.json").read_text())
    for report in reports.values():
        assert "work" not in report["config"]
        alarms = report["alarms"]
        # Rougher from recording 61 on, and just as loud: the fourth of these raises the alarm.
        assert alarms["law"]["bearing 2"]["first"] == alarms["law"]["bearing 2"]["lasts"] == 64
        assert alarms["likelihood"]["bearing 2"]["first"] == 64
        assert "first" not in alarms["rms"]["bearing 2"]
        assert not any(entry["false_alarm"] for entry in alarms["law"].values())
    assert (tmp_path / "work" / "condition.png").read_bytes().startswith(b"\x89PNG")
    assert "| likelihood, GAME | none | 64 |" in condition.summary(reports)
    capfd.readouterr()
    condition.study("smoke", 1, tmp_path / "work", tmp_path, None)
    assert "deep: done before\ngame: done before" in capfd.readouterr().out
