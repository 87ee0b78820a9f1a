"""Posteriors and bounds of any number of molecules, a piece at a time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid.deviations import gaussian_kl
from pellucid.molecules.vae.batches import encoded, taught
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.networks import Posterior, TreeAutoencoder
from pellucid.molecules.vae.readable import Readable
from pellucid.molecules.vae.scores import Elbo, EncoderScores
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.witnesses.tree import TreeWitnesses

PIECE = 256
"""Molecules that pass through the network at once."""


@torch.no_grad()
def posteriors(network: TreeAutoencoder, vocabulary: Vocabulary, corpus: Corpus, places: np.ndarray) -> Tensor:
    """(N, 4 L) means and log-variances of the molecules in these places."""
    pieces = np.array_split(places, max(1, -(-len(places) // PIECE)))
    return torch.cat([network.encode(encoded(corpus.packed(piece, vocabulary))).joined() for piece in pieces])


@torch.no_grad()
def bound(
    network: TreeAutoencoder,
    vocabulary: Vocabulary,
    corpus: Corpus,
    places: np.ndarray,
    joined: Tensor,
    *,
    draws: int,
    seed: int,
) -> Elbo:
    """The bound with these posteriors (N, 4 L), the expectation estimated by so many draws."""
    source = generator_of(seed)
    posterior = Posterior.split(joined.float())
    sums = torch.zeros(3, len(places))
    for _ in range(draws):
        z = posterior.sample(torch.randn(posterior.mean.shape, generator=source))
        for begin in range(0, len(places), PIECE):
            part = slice(begin, begin + PIECE)
            batch = taught(corpus.packed(places[part], vocabulary), vocabulary)
            sums[:, part] += torch.stack(list(network.reconstruction(batch, z[part])))
    topology, labels, assembly = (sums / draws).double().numpy()
    return Elbo(topology=topology, labels=labels, assembly=assembly, kl=posterior.divergence().double().numpy())


def encoder_scores(
    network: TreeAutoencoder, readable: Readable, witnesses: TreeWitnesses, *, draws: int, seed: int
) -> EncoderScores:
    """Of the centers of neighborhoods: the network's posteriors beside those of the trees."""
    centers = readable.hoods.centers
    places = readable.index[centers.numpy()]
    neural, tree = (
        bound(network, readable.vocabulary, readable.corpus, places, joined, draws=draws, seed=seed)
        for joined in (witnesses.f[centers], witnesses.at_centers())
    )
    return EncoderScores(
        neural=neural,
        tree=tree,
        deviations=witnesses.deviations(gaussian_kl).numpy(),
        sizes=readable.hoods.sizes.numpy(),
        leaves=(np.diff(witnesses.trees.node_offsets) + 1) // 2,
        rows=np.arange(len(places)),
        left_out=0,
    )


def generator_of(seed: int) -> torch.Generator:
    """A source of random numbers."""
    return torch.Generator().manual_seed(_checks.whole(seed, 0, "seed"))
