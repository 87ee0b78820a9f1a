"""An audit that several tests of reports share."""

import pytest
import torch

import pellucid as pl


@pytest.fixture
def audited():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(60, 2, generator=generator)
    f = torch.sin(4 * x[:, 0]) + x[:, 1]
    return pl.audit(f, x, pl.nearest(x, k=10), pl.LinearFamily())
