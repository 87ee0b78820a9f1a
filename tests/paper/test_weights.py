import json

import pytest
from paper import weights
from paper.runs import read_section

from pellucid.series import simulate_rig

pytestmark = pytest.mark.paper


def test_the_tutorial_shows_the_committed_report():
    results = json.loads(weights.REPORT.read_text())["results"]
    assert read_section(weights.DOCS / "series.md", "weights") == weights.table(results)


def test_every_setting_is_measured(monkeypatch):
    rig = simulate_rig(rows=300, files=2)
    small = {"context": 12, "horizon": 6, "radius": 2, "order": 1, "width": 4, "epochs": 1}
    results = weights.measure(rig[0], rig[1], **small)
    assert set(results) == set(weights.SETTINGS)
    assert weights.table(results).count("\n") == 8
