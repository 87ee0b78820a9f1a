"""Messages in one operation against the formulas."""

import pytest
import torch
from molecules.vae.small_networks import SMILES, batch

from pellucid.molecules.vae.passing import pass_messages, plain_messages

# All molecules; a tree with one edge, so that no message depends on another of its direction; trees without edges.
TREES = {"all": range(len(SMILES)), "one edge": [0], "single nodes": [len(SMILES) - 1] * 2}


def inputs(b, width, generator):
    shapes = [(len(b.encoder.labels), 3 * width), *[(width, width)] * 3]
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


@pytest.mark.parametrize("chosen", TREES.values(), ids=TREES)
def test_the_operation_gives_the_messages_and_gradients_of_the_formulas(chosen, generator):
    b = batch(*chosen)
    for order in (b.encoder.up, b.causal, b.full):
        given = inputs(b, 4, generator)
        fast, plain = pass_messages(*given, order), plain_messages(*given, order)
        assert torch.allclose(fast, plain, rtol=1e-12)
        weight = torch.randn(plain.shape, generator=generator, dtype=torch.float64)
        found = torch.autograd.grad(fast, given, weight)
        wanted = [torch.zeros_like(tensor) for tensor in given]
        if len(plain):
            wanted = torch.autograd.grad(plain, given, weight, allow_unused=True, materialize_grads=True)
        for ours, theirs in zip(found, wanted, strict=True):
            assert torch.allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_gradients_are_those_of_small_differences(generator):
    b = batch(2, len(SMILES) - 1)  # 1-tert-butylcyclopropane, and methane
    given = inputs(b, 2, generator)
    for order in (b.causal, b.full):
        assert torch.autograd.gradcheck(lambda *x, order=order: pass_messages(*x, order), given)


def test_gradients_can_be_differentiated_again(generator):
    b = batch(1)
    assert torch.autograd.gradgradcheck(lambda *x: pass_messages(*x, b.full), inputs(b, 2, generator))


def test_weights_may_be_frozen(generator):
    b = batch(1)
    features, *weights = inputs(b, 4, generator)
    frozen = [weight.detach() for weight in weights]
    wanted = torch.autograd.grad(plain_messages(features, *frozen, b.full).sum(), features)[0]
    assert torch.allclose(torch.autograd.grad(pass_messages(features, *frozen, b.full).sum(), features)[0], wanted)
    again = torch.autograd.grad(pass_messages(features, *frozen, b.full).sum(), features, create_graph=True)[0]
    assert torch.allclose(again, wanted)
