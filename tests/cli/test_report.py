"""`pellucid report`: the page of a run, written once more."""

import pytest
from cli.runner import run

pytestmark = pytest.mark.slow


def test_a_report_is_written_once_more(place, tmp_path):
    for name in ("run", "series"):
        run("report", place / name, "-o", tmp_path / "again.html", "--force")
        assert (tmp_path / "again.html").read_text() == (place / name / "report.html").read_text()
