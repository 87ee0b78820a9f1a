"""What one run of `JunctionTreeVAE.fit` looks at, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid.minibatches import sample_minibatch
from pellucid.molecules.fingerprints import Fingerprints
from pellucid.molecules.vae.batches import Encoded, Taught, encoded, taught
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.readable import Readable
from pellucid.neighborhoods import Neighborhoods

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
    watched: bool = False


@final
class AutoencoderFit:
    """Batches and losses of one run.

    Parameters
    ----------
    model : JunctionTreeVAE
        Whose settings are used.
    corpus, learned, watched : Corpus or ndarray
        The molecules, and the places of those to learn from and to validate on.

    Attributes
    ----------
    vocabulary, network, pool, groups : object
        What the model will have when it is trained.
    readable : object
        The neighborhoods in which the game is played; None without one.
    batches, watching : object
        What `training` needs.
    """

    def __init__(
        self, model: JunctionTreeVAE, corpus: Corpus, learned: np.ndarray, watched: np.ndarray, progress: bool
    ) -> None:
        from pellucid.training import Batches

        self.corpus, self.learned, self.watched = corpus, learned, watched
        self.game, self.share, self.members, self.free = model.new_game(), model.share, model.members, model.free
        self.vocabulary = corpus.vocabulary()
        self.network = model.new_network(self.vocabulary)
        chosen = np.random.default_rng(model.seed).permutation(learned)[: model.pool]
        self.pool = tuple(dict.fromkeys(corpus.smiles(int(i)) for i in chosen))
        centers, similar = self.pool[: model.centers], model.similar
        self.groups = similar.groups(centers, progress=progress)
        self.readable = None
        if self.game is not None:
            around = similar.around(centers, self.pool, self.groups, progress=progress)
            self.readable = Readable.of(around, self.vocabulary, similar.fingerprints, progress=progress)
        size = model.batch_size
        self.batches = Batches(self.take, len(learned), size=size, seed=model.seed)
        self.watching = Batches(self.take_watched, len(watched), size=size, seed=None) if len(watched) else None
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
        playing = torch.randperm(len(hoods), generator=generator)[: max(round(self.share * len(chosen)), 1)]
        minibatch = sample_minibatch(hoods, playing, max_members=self.members, generator=generator)
        points = minibatch.points.numpy()
        members = encoded(self.readable.packed(points))
        x = Fingerprints(self.readable.fingerprints.words[points]).dense()
        return batch._replace(round=Round(members, x, minibatch.hoods))

    def take_watched(self, chosen: Tensor, generator: torch.Generator) -> Batch:
        """A batch to validate on: the same noise in every epoch."""
        return self._molecules(self.watched[chosen.numpy()], generator, 1.0)._replace(watched=True)

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
        if batch.watched:
            return {"loss": -terms["elbo"], **terms}
        loss = batch.kl_weight * divergence.mean().clamp(min=self.free) - parts.total().mean()
        terms["kl_weight"] = torch.tensor(batch.kl_weight)
        if batch.round is not None and self.game is not None:
            # Trees are grown on the CPU, wherever the network is.
            f = self.network.encode(batch.round.members.to(device)).joined().cpu()
            terms["penalty"] = self.game(f, batch.round.x, batch.round.hoods.to("cpu")).penalty
            loss = loss + terms["penalty"].to(device)
        return {"loss": loss, **terms}
