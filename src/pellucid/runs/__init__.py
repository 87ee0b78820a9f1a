"""Runs: DEEP and GAME trained side by side on one split of the data, evaluated, and recorded in one folder.

    run/summary.json    the results, in plain numbers; the report is made from it alone
    run/report.html
    run/deep, run/game  the models
    run/reading.json    how the files were read
    run/checkpoints     what an interrupted run resumes from

A run works for every domain; see `pellucid.domains`.
"""

from pellucid.runs.folders import check_folder, digest, load_reading, same_test_data
from pellucid.runs.occupied import CHECKPOINTS, REPORT, is_learned, is_run
from pellucid.runs.results import finite_mean, finite_or_none, scores, select_examples, trust_summary
from pellucid.runs.training import assist, check_machines, is_first_machine, train

__all__ = [
    "CHECKPOINTS",
    "REPORT",
    "assist",
    "check_folder",
    "check_machines",
    "digest",
    "finite_mean",
    "finite_or_none",
    "is_first_machine",
    "is_learned",
    "is_run",
    "load_reading",
    "same_test_data",
    "scores",
    "select_examples",
    "train",
    "trust_summary",
]
