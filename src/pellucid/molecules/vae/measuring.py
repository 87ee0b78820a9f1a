"""Posteriors and bounds of any number of molecules, in pieces that fit into memory."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid.deviations import gaussian_kl
from pellucid.molecules.vae.batches import decoder_batch, encoder_batch
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.neighborhoods import EncodableNeighborhoods
from pellucid.molecules.vae.networks import Posterior, TreeAutoencoder
from pellucid.molecules.vae.scores import Elbo, EncoderScores
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.witnesses.tree import TreeWitnesses

PIECE = 256
"""Molecules that pass through the network at once."""


@torch.no_grad()
def posteriors(network: TreeAutoencoder, vocabulary: Vocabulary, corpus: Corpus, indices: np.ndarray) -> Tensor:
    """(N, 4 L) means and log-variances of the molecules at these indices."""
    pieces = np.array_split(indices, max(1, -(-len(indices) // PIECE)))
    return torch.cat([network.encode(encoder_batch(corpus.packed(piece, vocabulary))).joined() for piece in pieces])


@torch.no_grad()
def bound(
    network: TreeAutoencoder,
    vocabulary: Vocabulary,
    corpus: Corpus,
    indices: np.ndarray,
    joined: Tensor,
    *,
    draws: int,
    seed: int,
) -> Elbo:
    """The bound with these posteriors (N, 4 L), its expectation estimated by `draws` samples."""
    generator = generator_of(seed)
    posterior = Posterior.split(joined.float())
    sums = torch.zeros(3, len(indices))
    for _ in range(draws):
        z = posterior.sample(torch.randn(posterior.mean.shape, generator=generator))
        for begin in range(0, len(indices), PIECE):
            part = slice(begin, begin + PIECE)
            batch = decoder_batch(corpus.packed(indices[part], vocabulary), vocabulary)
            sums[:, part] += torch.stack(list(network.reconstruction(batch, z[part])))
    topology, labels, assembly = (sums / draws).double().numpy()
    return Elbo(topology=topology, labels=labels, assembly=assembly, kl=posterior.divergence().double().numpy())


def encoder_scores(
    network: TreeAutoencoder, neighborhoods: EncodableNeighborhoods, witnesses: TreeWitnesses, *, draws: int, seed: int
) -> EncoderScores:
    """Scores at the centers of neighborhoods: the network's posteriors beside those of the trees."""
    centers = neighborhoods.hoods.centers
    indices = neighborhoods.index[centers.numpy()]
    neural, tree = (
        bound(network, neighborhoods.vocabulary, neighborhoods.corpus, indices, joined, draws=draws, seed=seed)
        for joined in (witnesses.f[centers], witnesses.at_centers())
    )
    return EncoderScores(
        neural=neural,
        tree=tree,
        deviations=witnesses.deviations(gaussian_kl).numpy(),
        held_out_deviations=witnesses.held_out().deviations(gaussian_kl).numpy(),
        sizes=neighborhoods.hoods.sizes.numpy(),
        leaves=(np.diff(witnesses.trees.node_offsets) + 1) // 2,
        rows=np.arange(len(indices)),
        rejected_count=0,
    )


def generator_of(seed: int) -> torch.Generator:
    """A source of random numbers."""
    return torch.Generator().manual_seed(_checks.seed(seed))
