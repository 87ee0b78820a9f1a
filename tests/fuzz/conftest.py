"""The size of the fuzzers of files, see `cases`, and the report at their end."""

import os

import pytest
from fuzz.cases import Tally

_COLUMNS = ("tried", "held", "tracebacks", "hangs", "crashes", "lost")


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
