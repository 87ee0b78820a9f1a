"""What one run of `PropertyModel.fit` looks at, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, final

import torch
from torch import Tensor

from pellucid.bank import Bank
from pellucid.games import Game
from pellucid.minibatches import Minibatch, overlap_order, sample_minibatch
from pellucid.mirror_prox import MirrorProx
from pellucid.molecules.network import outputs_of
from pellucid.molecules.play import Fresh, featurized
from pellucid.molecules.table import Molecules

if TYPE_CHECKING:
    from pellucid.molecules.property_model import PropertyModel


class ValidationBatch(NamedTuple):
    """A batch of validation molecules."""

    molecules: Tensor


@final
class PropertyFit:
    """Batches and losses of one run.

    Attributes
    ----------
    count : object
        The points that take their turn as labeled ones in an epoch.
    play : object
        How the game is played; None without one.
    stepper, arrange : object
        What `training` needs to know beyond the usual.
    """

    def __init__(self, model: PropertyModel, learned: Molecules, watched: Molecules | None, progress: bool) -> None:
        self.model, self.task = model, model.task_
        self.play: Fresh | Bank | None = None
        self.stepper: Callable[[Any], MirrorProx] | None = None
        self.arrange: Callable[[torch.Generator], Tensor] | None = None
        morgan = model.similar.fingerprints
        texts: tuple[str, ...] = learned.smiles
        if model.game is not None:
            self.around = model.similar.around(
                learned.smiles, learned.smiles, model.groups_, pool=model.pool_, progress=progress
            )
            texts = self.around.points
        self.points = featurized(texts, morgan, progress)
        self.y = torch.full((len(texts), len(learned.targets)), torch.nan)
        self.y[: len(learned)] = self.task.inner(learned.y)
        # Unlabeled points take their turn only where each is evaluated by itself.
        self.count = len(texts) if model.play == "banked" else len(learned)
        if model.game is not None:
            self._start(model.new_game(len(learned)))
        if watched is not None:
            self.watched = featurized(watched.smiles, morgan, progress)
            self.watched_y = self.task.inner(watched.y)

    def _start(self, game: Game) -> None:
        model, hoods = self.model, self.around.hoods
        if model.play == "banked":
            self.play = Bank(game, self.points.fingerprints.dense(), hoods, refit_every=0)
            self.play.update(self.task.values(outputs_of(model.network_, self.points.graphs)))
            return
        self.play = Fresh(game, self.points, self.task.values)
        self.arrange = lambda generator: overlap_order(hoods, generator=generator)
        if game.has_multipliers:
            self.stepper = lambda optimizer: MirrorProx(optimizer, game, multiplier_lr=model.multiplier_rate)

    def take(self, chosen: Tensor, generator: torch.Generator) -> Minibatch | Tensor:
        """A batch to learn from."""
        if not isinstance(self.play, Fresh):
            return chosen
        return sample_minibatch(
            self.around.hoods, chosen, share=self.model.share, max_members=self.model.members, generator=generator
        )

    def take_watched(self, chosen: Tensor, _: torch.Generator) -> ValidationBatch:
        """A batch to validate on."""
        return ValidationBatch(chosen)

    def loss(self, batch: Minibatch | Tensor | ValidationBatch) -> Mapping[str, Tensor]:
        """The terms of a batch's loss; in validation accuracy alone."""
        # Lightning moves what it can to the network's device; indices, losses and witnesses are at home on the CPU.
        network = self.model.network_
        if isinstance(batch, ValidationBatch):
            index = batch.molecules.cpu()
            return {"loss": self.task.loss(network(self.watched.graphs.batch(index)).cpu(), self.watched_y[index])}
        labeled = (batch.centers if isinstance(batch, Minibatch) else batch).cpu()
        outputs = network(self.points.graphs.batch(labeled)).cpu()
        fit = self.task.loss(outputs, self.y[labeled])
        if isinstance(self.play, Bank):
            if int(self.play.steps) % self.model.refit == 0:
                self.play.refit()
            penalty = self.play.penalty(self.task.values(outputs), labeled)
        elif self.play is not None and isinstance(batch, Minibatch):
            penalty = self.play.penalty(network, outputs, batch.to("cpu"))
        else:
            return {"loss": fit}
        return {"loss": fit + penalty, "fit": fit, "penalty": penalty}
