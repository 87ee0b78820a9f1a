"""The size of the fuzzers of files, see `cases`, and the report at their end."""

import os
from pathlib import Path

import pytest
from fuzz.cases import Tally

# Of a test in the large size; its cases have ends of their own.
_SECONDS = 4 * 3600
_COLUMNS = ("tried", "held", "tracebacks", "hangs", "crashes", "lost")


def pytest_collection_modifyitems(config, items):
    """Thousands of cases take longer than a test may otherwise, the more so on a busy machine."""
    if config.getoption("--fuzz-size") == "large":
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture
def tally(fuzz_size, record_property):
    """`tally(family, few, large)` counts the cases of a family, for the report."""

    def new(family, few, large):
        count = os.environ.get("PELLUCID_FUZZ", large if fuzz_size == "large" else few)
        result = Tally(family, int(count), int(os.environ.get("PELLUCID_FUZZ_FIRST", "0")))
        record_property("fuzz", result.counts)
        return result

    return new


def pytest_terminal_summary(terminalreporter):
    """What was tried, by family."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    rows = [
        value
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == "fuzz"
    ]
    if not rows:
        return
    families = {}
    for row in rows:
        total = families.setdefault(row["family"], dict.fromkeys(_COLUMNS, 0))
        for name in _COLUMNS:
            total[name] += row[name]
    width = max(map(len, families))
    terminalreporter.section("what was tried")
    terminalreporter.write_line(f"{'family':{width}}" + "".join(f"{name:>12}" for name in _COLUMNS))
    for family, total in sorted(families.items()):
        terminalreporter.write_line(f"{family:{width}}" + "".join(f"{total[name]:>12,}" for name in _COLUMNS))
    all_of = {name: sum(total[name] for total in families.values()) for name in _COLUMNS}
    terminalreporter.write_line(f"{'all':{width}}" + "".join(f"{all_of[name]:>12,}" for name in _COLUMNS))
