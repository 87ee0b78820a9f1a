"""What is shown and kept of every epoch."""

import pytest
from torch import nn
from training.small_fits import SmallFit, run

from pellucid.training import Batches, TrainingSettings
from pellucid.training.loop import train


def test_history_holds_means_over_the_items_of_an_epoch():
    seen = []
    history = train(
        SmallFit(
            nn.Linear(1, 1),
            lambda batch: {"loss": network_loss(batch, seen)},
            Batches(lambda i, _: i, 10, size=4, seed=0),
            Batches(lambda i, _: (i, i), 5, size=4, seed=None),
        ),
        TrainingSettings(epochs=1, learning_rate=0.1),
        progress=False,
    )
    assert history[0]["loss"] == pytest.approx(sum(range(10)) / 10)
    assert history[0]["validation_loss"] == pytest.approx(2.0)


def network_loss(batch, seen):
    values = batch[0] if isinstance(batch, list | tuple) else batch
    return values.float().mean().requires_grad_()


def test_progress_is_shown(capfd):
    run(epochs=2, progress=True)
    shown = capfd.readouterr().err
    assert "epoch 2/2: 100%" in shown
    assert "20/20" in shown
    assert "validation_loss=" in shown
