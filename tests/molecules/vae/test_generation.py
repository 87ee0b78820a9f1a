"""Molecules that are drawn."""

import numpy as np
import pytest
import torch
from molecules.vae.small_networks import CORPUS, LABELS, SMILES, batch, network

from pellucid.molecules.vae import Corpus, TreeAutoencoder
from pellucid.molecules.vae.batches import decoder_batch
from pellucid.molecules.vae.generation import decode


@pytest.mark.slow
@pytest.mark.parametrize(("positional", "latent", "steps"), [(False, 8, 250), (True, 16, 100)])
def test_what_is_learned_by_heart_comes_back(positional, latent, steps):
    torch.manual_seed(0)
    net = TreeAutoencoder(LABELS, width=48, latent=latent, depth=2, positional=positional)
    everything = batch(*range(len(SMILES)))
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    for _ in range(steps):
        posterior = net.encode(everything.encoder)
        loss = -net.reconstruction(everything, posterior.mean).total().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        mean = net.encode(everything.encoder).mean
        certain = net.reconstruction(everything, mean).total()
    assert certain.exp().min() > 0.5  # more likely than everything else together, so that greedy choices find them
    assert decode(net, LABELS, mean) == [CORPUS.smiles(i) for i in range(len(SMILES))]


@pytest.mark.slow
def test_draws_are_repeated_by_their_seed():
    net = network().float()
    z = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    first, again, other = (decode(net, LABELS, z, torch.Generator().manual_seed(s)) for s in (3, 3, 4))
    assert first == again != other


@pytest.mark.slow
def test_frequencies_of_drawn_trees_are_their_probabilities():
    # At one point of the latent space: how often each of the likely molecules is drawn, against log p(M | z) summed
    # over nothing: each of these has one tree, and one way to be assembled.
    small = Corpus.of(["CC", "CO", "CCO", "OCO"])
    labels = small.vocabulary()
    torch.manual_seed(1)
    net = TreeAutoencoder(labels, width=8, latent=2, depth=2)
    z = torch.zeros(1, 4)
    drawn = decode(net, labels, z.expand(4000, 4), torch.Generator().manual_seed(0))
    with torch.no_grad():
        chance = net.reconstruction(decoder_batch(small.packed([0, 1], labels), labels), z.expand(2, 4)).total().exp()
    for text, p in zip(["CC", "CO"], chance.tolist(), strict=True):
        assert drawn.count(text) / 4000 == pytest.approx(p, abs=4 * np.sqrt(p / 4000))
