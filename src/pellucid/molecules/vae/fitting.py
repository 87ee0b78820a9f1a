"""What one run of `JunctionTreeVAE.fit` looks at, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid.minibatches import sample_minibatch
from pellucid.molecules._inputs import split_off
from pellucid.molecules.fingerprints import Fingerprints
from pellucid.molecules.vae.batches import Encoded, Taught, encoded, taught
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.fitted import FittedAutoencoder
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.readable import Readable
from pellucid.neighborhoods import Neighborhoods
from pellucid.training import Batches, Fit
from pellucid.training.fits import History

if TYPE_CHECKING:
    from pellucid.molecules.vae.model import JunctionTreeVAE


class Round(NamedTuple):
    """The neighborhoods that play in one step."""

    members: Encoded
    x: Tensor
    """(N, P) their fingerprints."""
    hoods: Neighborhoods


class Batch(NamedTuple):
    """What one step looks at."""

    molecules: Taught
    noise: Tensor
    kl_weight: float
    round: Round | None
    held_out: bool = False


@final
class AutoencoderFit(Fit[FittedAutoencoder]):
    """Batches and losses of one run.

    Parameters
    ----------
    model : JunctionTreeVAE
        Whose settings are used.
    corpus : Corpus
        All molecules.
    validation : float
        The share of them to hold out, at random.
    progress : bool
        Show progress bars.
    """

    network: TreeAutoencoder

    def __init__(self, model: JunctionTreeVAE, corpus: Corpus, *, validation: float, progress: bool = False) -> None:
        self.model, self.corpus, self.share = model, corpus, validation
        # Places in the corpus.
        self.learned, self.held_out = split_off(len(corpus), validation, model.seed)
        self.game = model.new_game()
        self.vocabulary = corpus.vocabulary()
        self.network = model.new_network(vocabulary=self.vocabulary)
        chosen = np.random.default_rng(model.seed).permutation(self.learned)[: model.pool]
        self.pool = tuple(dict.fromkeys(corpus.smiles(int(i)) for i in chosen))
        centers, similar = self.pool[: model.centers], model.similar
        self.groups = similar.groups(centers, progress=progress)
        # The neighborhoods in which the game is played.
        self.readable: Readable | None = None
        if self.game is not None:
            around = similar.around(centers, self.pool, self.groups, progress=progress)
            self.readable = Readable.of(around, self.vocabulary, similar.fingerprints, progress=progress)
        self.batches = Batches(self.take, len(self.learned), size=model.batch_size, seed=model.seed)
        if len(self.held_out):
            self.validation = Batches(self.take_held_out, len(self.held_out), size=model.batch_size, seed=None)
        # Over so many steps the weight of the KL term rises from 0 to 1.
        self.warm = round(model.warm * model.epochs * len(self.batches))

    def take(self, chosen: Tensor, generator: torch.Generator) -> Batch:
        """A batch to learn from."""
        step = self.batches.epoch * len(self.batches) + self.batches.position
        weight = min(step / self.warm, 1.0) if self.warm else 1.0
        batch = self._molecules(self.learned[chosen.numpy()], generator, weight)
        if self.readable is None:
            return batch
        hoods = self.readable.hoods
        playing = torch.randperm(len(hoods), generator=generator)[: max(round(self.model.share * len(chosen)), 1)]
        minibatch = sample_minibatch(hoods, playing, max_members=self.model.members, generator=generator)
        points = minibatch.points.numpy()
        members = encoded(self.readable.packed(points))
        x = Fingerprints(self.readable.fingerprints.words[points]).dense()
        return batch._replace(round=Round(members, x, minibatch.hoods))

    def take_held_out(self, chosen: Tensor, generator: torch.Generator) -> Batch:
        """A batch to validate on: the same noise in every epoch."""
        return self._molecules(self.held_out[chosen.numpy()], generator, 1.0)._replace(held_out=True)

    def _molecules(self, places: np.ndarray, generator: torch.Generator, weight: float) -> Batch:
        batch = taught(self.corpus.packed(places, self.vocabulary), self.vocabulary)
        noise = torch.randn(len(batch), 2 * self.network.latent, generator=generator)
        return Batch(batch, noise, weight, None)

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        """The terms of a batch's loss; in validation the negative ELBO alone."""
        device = self.network.fits.device
        posterior, parts = self.network(batch.molecules.to(device), batch.noise.to(device))
        divergence = posterior.divergence()
        terms = {name: value.mean() for name, value in parts._asdict().items()}
        terms |= {"kl": divergence.mean(), "elbo": (parts.total() - divergence).mean()}
        if batch.held_out:
            return {"loss": -terms["elbo"], **terms}
        loss = batch.kl_weight * divergence.mean().clamp(min=self.model.free) - parts.total().mean()
        terms["kl_weight"] = torch.tensor(batch.kl_weight)
        if batch.round is not None and self.game is not None:
            # Trees are grown on the CPU, wherever the network is.
            f = self.network.encode(batch.round.members.to(device)).joined().cpu()
            terms["penalty"] = self.game(f, batch.round.x, batch.round.hoods.to("cpu")).penalty
            loss = loss + terms["penalty"].to(device)
        return {"loss": loss, **terms}

    def identity(self) -> Mapping[str, Any]:
        """The data, and the share that is held out."""
        return {"data": self.corpus.key(), "validation": self.share}

    def result(self, history: History) -> FittedAutoencoder:
        """The trained network, and where neighbors come from."""
        return FittedAutoencoder(
            network=self.network,
            history=history,
            vocabulary=self.vocabulary,
            groups=self.groups,
            pool=self.pool,
            rejected=self.corpus.rejected,
            left_out=dict(self.corpus.reasons),
            calibration=None,
        )
