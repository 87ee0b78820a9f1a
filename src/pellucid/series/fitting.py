"""One run of `Forecaster.fit`: what is chosen before it, its batches and its losses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _processes
from pellucid.named_games import named_game
from pellucid.series.data import Recordings
from pellucid.series.fitted import ChosenSettings, FittedForecaster
from pellucid.series.law_settings import LawSettings, require_others, settings_for
from pellucid.series.linear_law import LinearLaw
from pellucid.series.network import Network
from pellucid.series.scaling import Scaling
from pellucid.training import Batches, Fit
from pellucid.training.fits import History

if TYPE_CHECKING:
    from pellucid.series.forecaster import Forecaster

BATCH = 512
"""Sequences that pass through the network at once outside of training."""


class Preparation(NamedTuple):
    """What is chosen before training, by the recordings that are learned from."""

    scaling: Scaling
    z: Tensor
    """(T, c) the recordings one after the other, standardized."""
    law: LinearLaw | None
    """The linear law that the network begins as, if it has a linear path."""
    law_settings: LawSettings
    """Settings of the laws along a forecast."""
    choices: ChosenSettings

    @classmethod
    def of(cls, model: Forecaster, source: Recordings) -> Preparation:
        """Choose what the settings leave open."""
        rows = np.concatenate(source.values)
        scaling = Scaling.of(rows)
        z = scaling.standardize(rows)
        ends = np.cumsum([len(table) for table in source.values])[:-1]
        unit = 1.0 if model.scale else float(np.square(scaling.scale).mean())
        law, settings = settings_for(
            np.split(z.numpy(), ends),
            model.context,
            model.horizon,
            order=model.order,
            radius=model.radius,
            ridge=None if model.ridge is None else model.ridge / unit,
            linear=model.linear,
        )
        ridge = settings.ridge * unit if model.ridge is None else model.ridge
        choices = ChosenSettings(settings.order, settings.radius, ridge, 0 if law is None else law.lags)
        return cls(scaling, z, law, settings, choices)


@final
class ForecastFit(Fit[FittedForecaster]):
    """Batches and losses of one run.

    Parameters
    ----------
    model : Forecaster
        The model to train.
    train, validation : Recordings
        What is learned from, and what is validated on, if anything.
    """

    network: Network
    is_divisible = True

    def __init__(self, model: Forecaster, train: Recordings, validation: Recordings | None) -> None:
        self.model, self.channels = model, train.channels
        self.preparation = preparation = Preparation.of(model, train)
        self.witness_fitter = model.witness_fitter_for(preparation.scaling, preparation.choices)
        self.game = named_game(
            model.game, self.witness_fitter.family, weight=model.weight, held_out=model.held_out_game
        )
        if model.held_out_game and self.game is not None:
            require_others(preparation.choices.order, preparation.choices.radius, model.horizon)
        self.network = self._new_network()
        length = model.context + model.horizon
        firsts = torch.tensor(_first_rows(train, length, model.stride or model.horizon))
        self.batches = Batches(
            lambda chosen, _: preparation.z[firsts[_processes.part(chosen)][:, None] + torch.arange(length)],
            len(firsts),
            size=model.batch_size,
            seed=model.seed,
        )
        self.validation_sequences: Tensor | None = None
        # The validation loss of the linear law that the network begins as.
        self.first_loss: float | None = None
        if validation is not None:
            self.validation_sequences = sequences = preparation.scaling.standardize(validation.sequences(length))
            self.validation = Batches(
                lambda chosen, _: sequences[_processes.part(chosen)], len(sequences), size=BATCH, seed=None
            )
            if preparation.law is not None:
                self.first_loss = self._mean_loss(sequences)

    def _new_network(self) -> Network:
        law = self.preparation.law
        network = self.model.new_network(channels=self.channels, choices=self.preparation.choices)
        if law is not None:
            network.start_at(*(torch.from_numpy(part) for part in (law.weights, law.offset, law.covariance)))
        return network

    @torch.no_grad()
    def _mean_loss(self, sequences: Tensor) -> float:
        losses = [len(part) * float(self.loss(part)["loss"]) for part in sequences.split(BATCH)]
        return sum(losses) / len(sequences)

    def loss(self, batch: Tensor) -> Mapping[str, Tensor]:
        """The terms of a batch's loss: (B, context + horizon, c) standardized -> scalars."""
        model = self.model
        gaussian, _ = self.network(batch[:, :-1], last=model.horizon)
        likelihood = _processes.mean(gaussian.negative_log_likelihood(batch[:, model.context :]))
        if self.game is None:
            return {"loss": likelihood}
        outcome = self.game(*self.witness_fitter.points(gaussian.mean, batch[:, :-1]))
        return {"loss": likelihood + outcome.penalty, "nll": likelihood, "penalty": outcome.penalty}

    def identity(self) -> Mapping[str, Any]:
        """The data, and what was chosen by them."""
        return {
            "data": _digest(self.preparation.z, self.validation_sequences),
            "scaling": self.preparation.scaling.to_dict(),
            "chosen": self.preparation.choices._asdict(),
        }

    def result(self, history: History) -> FittedForecaster:
        """The best network, or the linear law that it began as where nothing was learned beyond that."""
        losses = [record["validation_loss"] for record in history if "validation_loss" in record]
        network, kept = self.network, 1 + int(np.argmin(losses)) if losses else len(history)
        if self.first_loss is not None and not min(losses) < self.first_loss:
            network, kept = self._new_network().eval(), 0
        return FittedForecaster(
            network=network,
            history=history,
            channels=self.channels,
            scaling=self.preparation.scaling,
            choices=self.preparation.choices,
            kept=kept,
            calibrations={},
        )


def _first_rows(source: Recordings, length: int, stride: int) -> list[int]:
    """The first rows of all sequences, in the table of all recordings one after the other."""
    begins = np.concatenate([[0], np.cumsum([len(table) for table in source.values])])
    return [int(begins[i]) + row for i, row in source.starts(length, stride=stride)]


def _digest(*parts: Tensor | None) -> str:
    """A fingerprint of the data, so that a run is not resumed on others."""
    digest = hashlib.sha256()
    for part in (part for part in parts if part is not None):
        digest.update(part.numpy().data)
    return digest.hexdigest()
