"""Fixtures that several tests share."""

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
