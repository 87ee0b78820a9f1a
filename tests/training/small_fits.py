"""A network so small that its training takes a moment."""

import math

import torch
from torch import nn

from pellucid.training import Batches, Fit, TrainingSettings
from pellucid.training.loop import train

X = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))


Y = X.square().sum(1, keepdim=True)


class SmallFit(Fit):
    """A fit whose result is its history."""

    def __init__(self, network, loss, batches, validation=None, **identity):
        self.network, self.batches, self.validation = network, batches, validation
        self.of_a_batch, self.told = loss, identity

    def loss(self, batch):
        return self.of_a_batch(batch)

    def identity(self):
        return self.told

    def result(self, history):
        assert not self.network.training
        return history


def run(
    folder=None,
    *,
    stop=None,
    stop_validation=None,
    resume=False,
    validated=True,
    epochs=3,
    patience=5,
    seed=3,
    loss_of=None,
    curve=None,
    progress=False,
    device="cpu",
    dropout=0.0,
):
    """Train a small network on ten batches an epoch; raise KeyboardInterrupt before batch number `stop`."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 1))
    torch.seed()  # nothing may depend on what was drawn before
    steps = validations = 0
    done = 0
    if curve is not None and resume and (folder / "last.ckpt").exists():
        done = torch.load(folder / "last.ckpt", weights_only=True)["global_step"] / 10

    def loss(batch):
        nonlocal steps, validations
        x, y = batch
        if torch.is_grad_enabled():
            steps += 1
            if steps == stop:
                raise KeyboardInterrupt
        else:
            validations += 1
            if validations == stop_validation:
                raise KeyboardInterrupt
            if curve is not None:
                return {
                    "loss": torch.tensor(float(curve[math.ceil(done + steps / 10) - 1])),
                    "double": torch.tensor(0.0),
                }
        value = (network(x) - y).square().mean()
        return {"loss": value if loss_of is None else loss_of(value), "double": 2 * value}

    validation = Batches(lambda i, _: (X[80 + i], Y[80 + i]), 20, size=8, seed=None) if validated else None
    history = train(
        SmallFit(network, loss, Batches(lambda i, _: (X[i], Y[i]), 80, size=8, seed=seed), validation, data="these"),
        TrainingSettings(epochs=epochs, learning_rate=0.01, patience=patience, seed=seed),
        folder=folder,
        resume=resume,
        progress=progress,
        device=device,
        checkpoint_seconds=0,
    )
    return torch.cat([p.detach().flatten() for p in network.parameters()]), history, steps


CURVE = [3.0, 4, 3.5, 2, 6, 7, 8, 1]


def curved(folder=None, **options):
    """Ten epochs with this curve of validation losses: early stopping (patience 2) leaves the best at epoch 4."""
    return run(folder, epochs=8, patience=3, curve=CURVE, **options)
