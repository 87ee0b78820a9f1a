"""Fixtures that several tests share."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# Compilation of the kernels falls into the first example, so a deadline would be a coin toss.
settings.register_profile("pellucid", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("pellucid")

# The problems are tiny: more threads would only get in each other's way.
torch.set_num_threads(1)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def real_data(monkeypatch):
    """The folder of published data sets, for tests that need one."""
    given = os.environ.get("PELLUCID_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the published data sets: set PELLUCID_DATA to their folder")
    monkeypatch.setenv("PELLUCID_DATA", str(folder))
    return folder
