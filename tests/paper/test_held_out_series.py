import json

import numpy as np
import pytest
from paper import held_out_series, runs

README = runs.ROOT / "paper" / "README.md"
pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(held_out_series.REPORTS / "cpu")


def test_the_study_runs():
    config = runs.load_config("held_out_series", "smoke")
    reports = {cell["name"]: held_out_series.run(cell) for cell in held_out_series.cells(config)}
    assert list(reports) == ["deep-seed0", "held-out-1-seed0", "in-sample-1-seed0"]
    for report in reports.values():
        assert 0 < report["test"]["held_out"] < report["test"]["fitted"] < 1
    rows = held_out_series.table_of(config, reports).splitlines()
    assert f"| {reports['deep-seed0']['test']['relative_error']:.3f} |" in rows[2]


def test_a_paired_difference_has_the_interval_of_its_mean():
    from scipy.stats import ttest_rel

    ours, theirs = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.9, 3.0])
    interval = ttest_rel(ours, theirs).confidence_interval(0.95)
    middle, half = (interval.high + interval.low) / 2, (interval.high - interval.low) / 2
    assert runs.mean_difference(ours - theirs) == f"{middle:+.3f} ± {half:.3f}"
    assert runs.mean_difference(ours[:1] - theirs[:1]) == "+0.500"


@pytest.mark.skipif(not COMMITTED, reason="the study has not been run")
def test_the_readme_shows_what_was_measured():
    config = runs.load_config("held_out_series", "cpu")
    cells = held_out_series.cells(config)
    assert {cell["name"] for cell in cells} == set(COMMITTED)
    for cell in cells:
        assert COMMITTED[cell["name"]]["config"] == json.loads(json.dumps(cell))
    assert held_out_series.table_of(config, COMMITTED) in README.read_text()
