"""Summaries of runs, trained once for all tests of reports."""

import pytest
from report.summaries import molecules_summary, series_summary, with_bounds


@pytest.fixture(scope="session")
def molecules():
    return with_bounds(molecules_summary())


@pytest.fixture(scope="session")
def series():
    return with_bounds(series_summary())
