"""A few molecules, and networks for them."""

import torch
from blockers import blockers

from pellucid.molecules.vae import Corpus, TreeAutoencoder
from pellucid.molecules.vae.batches import decoder_batch

SMILES = ["CCO", "Cc1ccccc1F", "CC(C)(C)C1CC1", *blockers().smiles[:60:10], "C"]

CORPUS = Corpus.of(SMILES)

LABELS = CORPUS.vocabulary()


def batch(*places):
    return decoder_batch(CORPUS.packed(places, LABELS), LABELS)


def network(width=8, latent=3):
    torch.manual_seed(0)
    return TreeAutoencoder(LABELS, width=width, latent=latent, depth=2).double()
