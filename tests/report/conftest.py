"""Summaries of runs, trained once for all tests of reports."""

import json

import pytest
from report.summaries import molecules_summary, series_summary, with_bounds


@pytest.fixture(scope="session")
def molecules(made_once):
    return summary_of(made_once("molecules-summary", lambda folder: keep(folder, molecules_summary())))


@pytest.fixture(scope="session")
def series(made_once):
    return summary_of(made_once("series-summary", lambda folder: keep(folder, series_summary())))


def keep(folder, content):
    (folder / "summary.json").write_text(json.dumps(with_bounds(content)))


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())
