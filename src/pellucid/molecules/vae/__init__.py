"""Molecules as points: a junction-tree variational autoencoder whose encoder trees can read."""

from pellucid.molecules.vae.assembly import reassemble
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.model import Encoding, JunctionTreeVAE
from pellucid.molecules.vae.networks import Posterior, Reconstruction, TreeAutoencoder
from pellucid.molecules.vae.scores import Elbo, EncoderScores
from pellucid.molecules.vae.trees import JunctionTree, decompose
from pellucid.molecules.vae.vocabulary import Vocabulary

__all__ = [
    "Corpus",
    "Elbo",
    "EncoderScores",
    "Encoding",
    "JunctionTree",
    "JunctionTreeVAE",
    "Posterior",
    "Reconstruction",
    "TreeAutoencoder",
    "Vocabulary",
    "decompose",
    "reassemble",
]
