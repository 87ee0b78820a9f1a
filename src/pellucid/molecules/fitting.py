"""One run of `PropertyModel.fit`: its batches, and their losses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid import _processes
from pellucid.bank import Bank
from pellucid.games import Game
from pellucid.minibatches import Minibatch, overlap_order, sample_minibatch
from pellucid.molecules._arguments import checked_network
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.fitted import FittedProperties
from pellucid.molecules.network import outputs_of
from pellucid.molecules.play import FreshPlay, featurize
from pellucid.molecules.table import Molecules
from pellucid.molecules.tasks import Task
from pellucid.named_games import stepper_of
from pellucid.training import Batches, Fit
from pellucid.training.fits import History

if TYPE_CHECKING:
    from pellucid.molecules.property_model import PropertyModel


class ValidationBatch(NamedTuple):
    """A batch of validation molecules."""

    molecules: Tensor


@final
class PropertyFit(Fit[FittedProperties]):
    """Batches and losses of one run.

    Parameters
    ----------
    model : PropertyModel
        The model whose settings are used.
    molecules : Molecules
        All labeled molecules, those held out included.
    learned, held_out : Molecules
        The molecules to learn from, and those to validate on, if any.
    pool : tuple of str
        Unlabeled molecules, among which neighbors are looked for too.
    groups : RGroups, optional
        The groups that analogs are made with; by default those seen in the molecules to learn from.
    network : Module, optional
        A predictor of the user's.
    progress : bool
        Show progress bars.
    """

    is_divisible = True

    def __init__(
        self,
        model: PropertyModel,
        molecules: Molecules,
        learned: Molecules,
        held_out: Molecules | None = None,
        *,
        pool: tuple[str, ...] = (),
        groups: RGroups | None = None,
        network: nn.Module | None = None,
        progress: bool = False,
    ) -> None:
        self.model, self.molecules, self.learned, self.held_out = model, molecules, learned, held_out
        self.pool = pool
        Task.of(model.task, molecules.y, molecules.targets)
        self.task = Task.of(model.task, learned.y, learned.targets, part=" after molecules were held out")
        if held_out is not None and model.task == "classification":
            Task.require_binary(held_out.y, held_out.targets)
        self.groups = groups or model.exchanging.groups(learned.smiles, progress=progress)
        self.own_network = network is not None
        # As it is before training: what a resumed run must share.
        self.network_text = None if network is None else repr(network)
        self.network = (
            model.new_network(targets=molecules.targets) if network is None else checked_network(network, molecules)
        )
        self._prepare(progress)

    def _prepare(self, progress: bool) -> None:
        """Set up points, neighborhoods and batches."""
        model, learned, morgan = self.model, self.learned, self.model.similar.fingerprints
        game, texts = model.new_game(len(learned)), learned.smiles
        if game is not None:
            self.neighborhoods = model.similar.neighborhoods(
                learned.smiles, learned.smiles, self.groups, pool=self.pool, progress=progress
            )
            texts = self.neighborhoods.points
        self.points = featurize(texts, morgan, progress)
        self.y = torch.full((len(texts), len(learned.targets)), torch.nan)
        self.y[: len(learned)] = self.task.inner(learned.y)
        self.play = None if game is None else self._new_play(game)
        self.companion, self.stepper = self.play, stepper_of(game, multiplier_rate=model.multiplier_rate)
        arrange = self._overlap_order if isinstance(self.play, FreshPlay) else None
        # Unlabeled points take their turn only where each is evaluated by itself.
        count = len(texts) if model.play == "banked" else len(learned)
        self.batches = Batches(self.take, count, size=model.batch_size, seed=model.seed, arrange=arrange)
        if self.held_out is not None:
            self.held_out_points = featurize(self.held_out.smiles, morgan, progress)
            self.held_out_y = self.task.inner(self.held_out.y)
            self.validation = Batches(
                lambda chosen, _: ValidationBatch(_processes.part(chosen)),
                len(self.held_out),
                size=model.batch_size,
                seed=None,
            )

    def _new_play(self, game: Game) -> FreshPlay | Bank:
        if self.model.play == "banked":
            bank = Bank(game, self.points.fingerprints.dense(), self.neighborhoods.hoods, refit_every=0)
            bank.update(self.task.values(outputs_of(self.network, self.points.graphs)))
            return bank
        return FreshPlay(game, self.points, self.task.values)

    def _overlap_order(self, generator: torch.Generator) -> Tensor:
        return overlap_order(self.neighborhoods.hoods, generator=generator)

    def take(self, chosen: Tensor, generator: torch.Generator) -> Minibatch | Tensor:
        """A batch to learn from."""
        if not isinstance(self.play, FreshPlay):
            return _processes.part(chosen)
        playing = _processes.part_size(max(round(self.model.share * len(chosen)), 1))
        own = _processes.part(chosen)
        return sample_minibatch(
            self.neighborhoods.hoods,
            own,
            share=playing / len(own),
            max_members=self.model.members,
            generator=generator,
        )

    def loss(self, batch: Minibatch | Tensor | ValidationBatch) -> Mapping[str, Tensor]:
        """The terms of a batch's loss; in validation accuracy alone."""
        # Lightning moves what it can to the network's device; indices, losses and witnesses are at home on the CPU.
        if isinstance(batch, ValidationBatch):
            index = batch.molecules.cpu()
            outputs = self.network(self.held_out_points.graphs.batch(index)).cpu()
            return {"loss": self.task.loss(outputs, self.held_out_y[index])}
        labeled = (batch.centers if isinstance(batch, Minibatch) else batch).cpu()
        outputs = self.network(self.points.graphs.batch(labeled)).cpu()
        fit = self.task.loss(outputs, self.y[labeled])
        if isinstance(self.play, Bank):
            if int(self.play.steps) % self.model.refit == 0:
                self.play.refit()
            penalty = self.play.penalty(self.task.values(outputs), labeled)
        elif self.play is not None and isinstance(batch, Minibatch):
            with _processes.counting_share(self.model.share):
                penalty = self.play.penalty(self.network, outputs, batch.to("cpu"))
        else:
            return {"loss": fit}
        return {"loss": fit + penalty, "fit": fit, "penalty": penalty}

    def identity(self) -> Mapping[str, Any]:
        """Digests of the data and of the user's network."""
        digest = hashlib.sha256()
        for part in (part for part in (self.learned, self.held_out) if part is not None):
            digest.update("\n".join(part.smiles).encode())
            digest.update(np.ascontiguousarray(part.y).data)
        digest.update("\n".join(self.pool).encode())
        return {"data": digest.hexdigest(), "network": self.network_text}

    def result(self, history: History) -> FittedProperties:
        """The trained network, and the molecules among which neighbors are looked for."""
        return FittedProperties(
            network=self.network,
            history=history,
            targets=self.molecules.targets,
            task=self.task,
            own_network=self.own_network,
            groups=self.groups,
            smiles=self.molecules.smiles,
            y=self.molecules.y,
            rejected=self.molecules.rejected,
            pool=self.pool,
            calibration=None,
            witness="tree" if self.model.witness == "tree" else "contributions",
            intervals=None,
            probabilities=None,
            held_out=self._unseen(),
        )

    def _unseen(self) -> tuple[str, ...]:
        learned = set(self.learned.smiles)
        return tuple(text for text in self.molecules.smiles if text not in learned)
