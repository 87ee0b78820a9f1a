"""Layers of the networks."""

import torch

from pellucid.molecules.vae.layers import log_shares


def test_shares_within_groups(generator):
    scores, group = torch.randn(7, generator=generator), torch.tensor([0, 0, 1, 2, 2, 2, 2])
    expected = torch.cat([part.log_softmax(0) for part in scores.split([2, 1, 4])])
    assert torch.allclose(log_shares(scores, group, 3), expected)
