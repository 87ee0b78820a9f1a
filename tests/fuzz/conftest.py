"""The size of the fuzzers of files: see `cases`."""

import os

import pytest

LARGE = "1000"


@pytest.fixture(autouse=True)
def _number_of_mutations(fuzz_size, monkeypatch):
    if fuzz_size == "large" and "PELLUCID_FUZZ" not in os.environ:
        monkeypatch.setenv("PELLUCID_FUZZ", LARGE)
