"""Small fits of every domain, in float64, whose batches can be divided among processes."""

from dataclasses import is_dataclass, replace

import numpy as np
import torch
from blockers import blockers
from torch import Tensor

from pellucid.models import new_with_seed
from pellucid.molecules import PropertyModel, SimilarityRule
from pellucid.molecules.fitting import PropertyFit
from pellucid.molecules.vae import Corpus, JunctionTreeVAE
from pellucid.molecules.vae.fitting import AutoencoderFit
from pellucid.series import Forecaster
from pellucid.series.fitting import ForecastFit
from pellucid.series.sources import recordings
from pellucid.tabular.fitting import LabeledRows, TableFit
from pellucid.tabular.frames import frame_of
from pellucid.tabular.model import TableModel

# 27 and 7 items: with batches of 8 the last one has 3, and the held-out ones are divided unequally.
LEARNED, HELD_OUT = 27, 7
SMALL = {"epochs": 2, "batch_size": 8, "learning_rate": 0.02, "seed": 1}
ALONE = SimilarityRule(analogs=False, threshold=0.3)


def table(**settings):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(LEARNED + HELD_OUT, 3))
    y = x[:, 0] * x[:, 1] + x[:, 2]
    weights = generator.uniform(0.5, 2, LEARNED)
    model = TableModel(task="regression", width=8, ensemble=2, neighbors=6, members=10, **SMALL | settings)
    learned = LabeledRows(frame_of(x[:LEARNED]), y[:LEARNED], weights)
    fit = TableFit(model, learned, LabeledRows(frame_of(x[LEARNED:]), y[LEARNED:]), target="y")
    fit.network.double()
    fit.x, fit.y, fit.held_out_x = fit.x.double(), fit.y.double(), fit.held_out_x.double()
    if fit.bank is not None:
        fit.bank.x, fit.bank.predictions = fit.x, None
        with torch.no_grad():
            fit.bank.update(fit._values(fit.x))
    return model, fit


def molecules(**settings):
    some = blockers().select(range(0, 1017, 30))
    y = some.y.copy()
    y[::5] = np.nan  # parts with unequal numbers of measured values
    model = PropertyModel(task="regression", similar=ALONE, width=8, depth=2, **SMALL | settings)
    learned, held_out = (replace(some, y=y).select(range(*ends)) for ends in ((0, LEARNED), (LEARNED, 34)))
    network = model.new_network(targets=some.targets).double()
    fit = PropertyFit(model, some, learned, held_out, network=network)
    fit.y, fit.held_out_y = fit.y.double(), fit.held_out_y.double()
    return model, fit


def series(**settings):
    generator = np.random.default_rng(0)
    wave = np.sin(np.arange(238) / 3)[:, None] + 0.3 * generator.normal(size=(238, 1))
    model = Forecaster(context=12, horizon=6, width=6, order=1, radius=4, linear=2, ridge=0.1, **SMALL | settings)
    fit = ForecastFit(model, recordings(wave[:178]), recordings(wave[178:]))
    fit.network.double()
    return model, _doubled_batches(fit)


def autoencoder(**settings):
    model = JunctionTreeVAE(
        width=8, latent=2, similar=ALONE, centers=12, pool=24, share=0.4, members=6, **SMALL | settings
    )
    texts = list(blockers().smiles[: LEARNED + HELD_OUT])
    fit = new_with_seed(0, lambda: AutoencoderFit(model, Corpus.of(texts), validation=HELD_OUT / len(texts)))
    fit.network.double()
    return model, _doubled_batches(fit)


def _doubled_batches(fit):
    for batches in (fit.batches, fit.validation):
        batches.take = _doubled_take(batches.take)
    return fit


def _doubled_take(take):
    return lambda index, generator: doubled(take(index, generator))


def doubled(value):
    """The same record with numbers in float64."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, tuple):
        parts = [doubled(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value):
        return replace(value, **{name: doubled(part) for name, part in vars(value).items()})
    return value
