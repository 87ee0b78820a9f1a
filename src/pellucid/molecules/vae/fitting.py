"""One run of `JunctionTreeVAE.fit`: its batches, and their losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _processes
from pellucid.minibatches import sample_minibatch
from pellucid.molecules._arguments import hold_out_molecules
from pellucid.molecules.fingerprints import Fingerprints
from pellucid.molecules.vae.batches import DecoderBatch, EncoderBatch, decoder_batch, encoder_batch
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.fitted import FittedAutoencoder
from pellucid.molecules.vae.measuring import posteriors
from pellucid.molecules.vae.neighborhoods import EncodableNeighborhoods
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.prior import FittedPrior
from pellucid.neighborhoods import Neighborhoods
from pellucid.training import Batches, Fit
from pellucid.training.fits import History

if TYPE_CHECKING:
    from pellucid.molecules.vae.model import JunctionTreeVAE

# Training molecules whose codes the prior is fitted to.
_PRIOR_SIZE = 10_000


class GameBatch(NamedTuple):
    """The neighborhoods in which the game is played in one step."""

    members: EncoderBatch
    x: Tensor
    """(N, P) fingerprints of the members."""
    hoods: Neighborhoods
    total: int
    """The number of neighborhoods of the step, in all processes."""


class TrainingBatch(NamedTuple):
    """The molecules of one step, and the neighborhoods of its game."""

    molecules: DecoderBatch
    noise: Tensor
    kl_weight: float
    game: GameBatch | None
    held_out: bool = False


@final
class AutoencoderFit(Fit[FittedAutoencoder]):
    """Batches and losses of one run.

    Parameters
    ----------
    model : JunctionTreeVAE
        The model whose settings are used.
    corpus : Corpus
        All molecules, those held out included.
    validation : float
        The share of the molecules to hold out, at random.
    progress : bool
        Show progress bars.
    """

    network: TreeAutoencoder
    is_divisible = True

    def __init__(self, model: JunctionTreeVAE, corpus: Corpus, *, validation: float, progress: bool = False) -> None:
        self.model, self.corpus, self.share = model, corpus, validation
        # Indices in the corpus.
        self.learned, self.held_out = hold_out_molecules(len(corpus), validation, model.seed)
        self.game = model.new_game()
        self.vocabulary = corpus.vocabulary()
        self.network = model.new_network(vocabulary=self.vocabulary)
        chosen = np.random.default_rng(model.seed).permutation(self.learned)[: model.pool]
        self.pool = tuple(dict.fromkeys(corpus.smiles(int(i)) for i in chosen))
        centers, rule = self.pool[: model.centers], model.similar
        self.groups = rule.groups(centers, progress=progress)
        # Those in which the game is played.
        self.neighborhoods: EncodableNeighborhoods | None = None
        if self.game is not None:
            neighborhoods = rule.neighborhoods(centers, self.pool, self.groups, progress=progress)
            self.neighborhoods = EncodableNeighborhoods.of(
                neighborhoods, self.vocabulary, rule.fingerprints, progress=progress
            )
        self.batches = Batches(self.take, len(self.learned), size=model.batch_size, seed=model.seed)
        if len(self.held_out):
            self.validation = Batches(self.take_held_out, len(self.held_out), size=model.batch_size, seed=None)
        # The number of steps over which the weight of the KL term rises from 0.
        self.warm_steps = round(model.warm * model.epochs * len(self.batches))

    def take(self, chosen: Tensor, generator: torch.Generator) -> TrainingBatch:
        """A batch to learn from."""
        step = self.batches.epoch * len(self.batches) + self.batches.position
        rise = min(step / self.warm_steps, 1.0) if self.warm_steps else 1.0
        batch = self._molecules(self.learned[chosen.numpy()], generator, rise * self.model.kl_weight)
        if self.neighborhoods is None:
            return batch
        hoods = self.neighborhoods.hoods
        playing = torch.randperm(len(hoods), generator=generator)[: max(round(self.model.share * len(chosen)), 1)]
        minibatch = sample_minibatch(
            hoods, _processes.part(playing), max_members=self.model.members, generator=generator
        )
        points = minibatch.points.numpy()
        members = encoder_batch(self.neighborhoods.packed(points))
        x = Fingerprints(self.neighborhoods.fingerprints.words[points]).dense()
        return batch._replace(game=GameBatch(members, x, minibatch.hoods, len(playing)))

    def take_held_out(self, chosen: Tensor, generator: torch.Generator) -> TrainingBatch:
        """A batch to validate on: the same noise in every epoch."""
        return self._molecules(self.held_out[chosen.numpy()], generator, self.model.kl_weight)._replace(held_out=True)

    def _molecules(self, indices: np.ndarray, generator: torch.Generator, weight: float) -> TrainingBatch:
        noise = torch.randn(len(indices), 2 * self.network.latent, generator=generator)
        own = _processes.part(torch.from_numpy(indices)).numpy()
        batch = decoder_batch(self.corpus.packed(own, self.vocabulary), self.vocabulary)
        return TrainingBatch(batch, _processes.part(noise), weight, None)

    def loss(self, batch: TrainingBatch) -> Mapping[str, Tensor]:
        """The terms of a batch's loss; in validation the bound alone, with all of its KL."""
        device = self.network.fits.device
        posterior, parts = self.network(batch.molecules.to(device), batch.noise.to(device))
        divergence = posterior.divergence()
        values = {**parts._asdict(), "kl": divergence, "elbo": parts.total() - divergence, "total": parts.total()}
        terms = _processes.means(values)
        total = terms.pop("total")
        if batch.held_out:
            return {"loss": batch.kl_weight * terms["kl"] - total, **terms}
        loss = batch.kl_weight * terms["kl"].clamp(min=self.model.free) - total
        terms["kl_weight"] = torch.tensor(batch.kl_weight)
        if batch.game is not None and self.game is not None:
            # Trees are grown on the CPU, wherever the network is.
            f = self.network.encode(batch.game.members.to(device)).joined().cpu()
            with _processes.counting(batch.game.total):
                terms["penalty"] = self.game(f, batch.game.x, batch.game.hoods.to("cpu")).penalty
            loss = loss + terms["penalty"].to(device)
        return {"loss": loss, **terms}

    def identity(self) -> Mapping[str, Any]:
        """The data, and the share that is held out."""
        return {"data": self.corpus.key(), "validation": self.share}

    def result(self, history: History) -> FittedAutoencoder:
        """The trained network, where its codes are, and the molecules among which neighbors are looked for."""
        some = np.random.default_rng(self.model.seed).permutation(self.learned)[:_PRIOR_SIZE]
        return FittedAutoencoder(
            network=self.network,
            history=history,
            vocabulary=self.vocabulary,
            groups=self.groups,
            pool=self.pool,
            rejected=self.corpus.rejected,
            rejected_counts=dict(self.corpus.reasons),
            flattened=self.corpus.flattened,
            calibration=None,
            prior=FittedPrior.of(posteriors(self.network, self.vocabulary, self.corpus, some)),
        )
