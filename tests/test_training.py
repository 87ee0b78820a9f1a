import json
import math
import shutil
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from torch import nn

from pellucid import ConvergenceError, InputError
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


@pytest.mark.slow
@pytest.mark.parametrize("validated", [True, False])
@pytest.mark.parametrize("stop", [1, 5, 10, 11, 12, 20, 21, 30])
def test_an_interrupted_run_resumes_to_the_same_result(tmp_path, stop, validated):
    weights, history, _ = run(validated=validated)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stop=stop, validated=validated)
    resumed, later, steps = run(tmp_path, resume=True, validated=validated)
    assert torch.equal(resumed, weights)
    assert later == history
    assert steps == 30 - (stop - 1)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [5, 12, 25])
def test_dropout_is_drawn_as_if_there_had_been_no_interruption(tmp_path, stop):
    weights, history, _ = run(dropout=0.5)
    assert not torch.equal(weights, run()[0])
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stop=stop, dropout=0.5)
    resumed, later, _ = run(tmp_path, resume=True, dropout=0.5)
    assert torch.equal(resumed, weights)
    assert later == history
    other, _, _ = run(dropout=0.5, seed=4)
    assert not torch.equal(other, weights)


def test_training_leaves_the_random_numbers_of_others_alone():
    network = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    train(
        SmallFit(
            network,
            lambda batch: {"loss": (network(batch[0]) - batch[1]).square().mean()},
            Batches(lambda i, _: (X[i], Y[i]), 80, size=8, seed=0),
        ),
        TrainingSettings(epochs=1, learning_rate=0.01),
        progress=False,
    )
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.slow
def test_resuming_a_finished_run_changes_nothing(tmp_path):
    weights, history, _ = run(tmp_path)
    again, later, steps = run(tmp_path, resume=True)
    assert torch.equal(again, weights)
    assert later == history
    assert steps == 0


CURVE = [3.0, 4, 3.5, 2, 6, 7, 8, 1]


def curved(folder=None, **options):
    """Ten epochs with this curve of validation losses: early stopping (patience 2) leaves the best at epoch 4."""
    return run(folder, epochs=8, patience=3, curve=CURVE, **options)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [11, 21, 31, 35, 41, 51, 61, 71])
def test_early_stopping_and_the_best_epoch_survive_an_interruption(tmp_path, stop):
    weights, history, _ = curved()
    assert [round(record["validation_loss"], 6) for record in history] == CURVE[:7]
    if stop <= 70:
        with pytest.raises(KeyboardInterrupt):
            curved(tmp_path, stop=stop)
    else:
        curved(tmp_path)
    resumed, later, _ = curved(tmp_path, resume=True)
    assert later == history
    assert torch.equal(resumed, weights)


@pytest.mark.slow
@pytest.mark.parametrize("move", [shutil.move, shutil.copytree])
@pytest.mark.parametrize("stop", [11, 35, 41, 51, 61])
def test_a_folder_that_was_moved_or_copied_resumes_to_the_same_result(tmp_path, stop, move):
    weights, history, _ = curved()
    with pytest.raises(KeyboardInterrupt):
        curved(tmp_path / "here", stop=stop)
    move(tmp_path / "here", tmp_path / "there")
    resumed, later, _ = curved(tmp_path / "there", resume=True)
    assert later == history
    assert torch.equal(resumed, weights)


# How version 0.1 kept the best epoch: under Lightning's name, with paths of the folder as it was.
OLD_KEY = (
    "ModelCheckpoint{'monitor': 'validation_loss', 'mode': 'min', 'every_n_train_steps': 0, 'every_n_epochs': 1, "
    "'train_time_interval': None}"
)
OLD_STOPPING = "EarlyStopping{'monitor': 'validation_loss', 'mode': 'min'}"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [5, 35, 51, 61])
def test_checkpoints_of_the_first_version_are_resumed(tmp_path, stop):
    weights, history, _ = curved()
    with pytest.raises(KeyboardInterrupt):
        curved(tmp_path, stop=stop)
    content = torch.load(tmp_path / "last.ckpt", weights_only=True)
    best = content["callbacks"].pop("_Best")
    score = best["score"]
    content["callbacks"][OLD_STOPPING] = {"wait_count": best["waited"], "stopped_epoch": 0, "patience": 3}
    content["callbacks"][OLD_KEY] = {
        "monitor": "validation_loss",
        "best_model_score": None if score is None else torch.tensor(score),
        "best_model_path": "" if score is None else "/elsewhere/best.ckpt",
        "dirpath": "/elsewhere",
    }
    torch.save(content, tmp_path / "last.ckpt")
    resumed, later, _ = curved(tmp_path, resume=True)
    assert later == history
    assert torch.equal(resumed, weights)


@pytest.mark.slow
def test_a_folder_that_was_copied_in_part_is_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        curved(tmp_path, stop=35)
    (tmp_path / "best.ckpt").unlink()
    with pytest.raises(InputError, match="must be whole. Got .* without best.ckpt.*copy or move all of its files"):
        curved(tmp_path, resume=True)


@pytest.mark.slow
def test_a_run_that_was_killed_at_its_very_end_is_resumed(tmp_path):
    weights, history, _ = curved(tmp_path)
    (tmp_path / "history.json").unlink()  # the last file to be written
    resumed, later, steps = curved(tmp_path, resume=True)
    assert steps == 0
    assert later == history
    assert torch.equal(resumed, weights)


@pytest.mark.slow
def test_of_equally_good_epochs_the_first_is_kept():
    first, _, _ = run(epochs=3, curve=[1.0, 2.0, 3.0])
    kept, _, _ = run(epochs=3, curve=[1.0, 1.0, 1.0])
    assert torch.equal(first, kept)
    last, _, _ = run(epochs=3, curve=[3.0, 2.0, 1.0])
    assert not torch.equal(first, last)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_validation_loss_that_is_not_finite_ends_the_run(value):
    first, _, _ = run(epochs=3, curve=[1.0, 2.0, 3.0])
    kept, history, _ = run(epochs=3, curve=[1.0, value, 0.5])
    assert torch.equal(first, kept)
    assert len(history) == 2


@pytest.mark.slow
def test_an_interruption_of_the_validation_repeats_it(tmp_path):
    weights, history, _ = curved()
    with pytest.raises(KeyboardInterrupt):
        curved(tmp_path, stop_validation=5)
    resumed, later, _ = curved(tmp_path, resume=True)
    assert later == history
    assert torch.equal(resumed, weights)


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


def test_nothing_is_written_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(epochs=1, validated=False)
    run(epochs=1)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_resumed_is_said(tmp_path, capfd):
    with pytest.raises(InputError, match="its folder must be given"):
        run(resume=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="which is a file"):
        run(tmp_path / "file")
    run(tmp_path / "new", resume=True, progress=True, epochs=1)
    assert "There is no checkpoint in" in capfd.readouterr().out
    with pytest.raises(KeyboardInterrupt, match="Resume with `folder='.*stopped', resume=True`"):
        run(tmp_path / "stopped", stop=3)
    with pytest.raises(KeyboardInterrupt, match="nothing was kept. With `folder=`"):
        run(stop=3)


def test_devices_that_are_not_here_are_refused():
    with pytest.raises(
        InputError, match='`device` must be available on this machine. Got .banana.*Use "auto" or "cpu"'
    ):
        run(device="banana")


def test_the_best_epoch_is_kept_and_training_stops_early():
    worse = iter(range(10_000))
    # The validation loss grows with every call, so the first epoch stays the best.
    weights, history, steps = run(epochs=9, patience=2, loss_of=lambda v: v + next(worse))
    assert len(history) == 3
    assert steps == 30
    first, _, _ = run(epochs=9, patience=1, loss_of=lambda v: v + next(worse))
    assert torch.equal(weights, first)


def test_a_folder_belongs_to_one_run(tmp_path):
    run(tmp_path, epochs=1)
    with pytest.raises(InputError, match="must hold no other run.*resume that run with `resume=True`"):
        run(tmp_path)
    with pytest.raises(InputError, match="Got another `seed`: 4 for 3; restore it, or start anew"):
        run(tmp_path, epochs=1, seed=4, resume=True)
    identity = {"epochs": 1, "batch_size": 64, "learning_rate": 0.01, "patience": 5, "seed": 3, "data": "these"}
    assert json.loads((tmp_path / "identity.json").read_text()) == identity


def test_checkpoints_hold_plain_values_only(tmp_path):
    run(tmp_path, epochs=1)
    for name in ("last.ckpt", "result.ckpt"):
        torch.load(tmp_path / name, weights_only=True)
    assert not list(tmp_path.glob("*.draft"))


def test_a_checkpoint_with_code_in_it_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("code from a checkpoint was run",))

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stop=5)
    torch.save({"state_dict": Evil()}, tmp_path / "last.ckpt")
    with pytest.raises(InputError, match="damaged or not a checkpoint .*Weights only.*start anew"):
        run(tmp_path, resume=True)
    run(tmp_path / "finished")
    torch.save({"state_dict": Evil()}, tmp_path / "finished" / "result.ckpt")
    with pytest.raises(InputError, match="damaged or not a checkpoint"):
        run(tmp_path / "finished", resume=True)


def test_batches_are_a_new_permutation_every_epoch():
    batches = Batches(lambda i, _: i, 10, size=4, seed=0)
    assert len(batches) == 3
    first, second = (list(batches) for _ in range(2))
    assert [count for _, count in first] == [4, 4, 2]
    assert sorted(items(first)) == list(range(10))
    assert items(first) != items(second)
    again = Batches(lambda i, _: i, 10, size=4, seed=0)
    again.load_state_dict({"epoch": 1, "position": 1})
    assert items(again) == items(second[1:])
    assert items(Batches(lambda i, _: i, 5, size=2, seed=None)) == list(range(5))


def items(batches):
    return torch.cat([batch for batch, _ in batches]).tolist()


def test_a_loss_that_is_no_longer_finite_is_reported():
    worse = iter(range(10_000))
    with pytest.raises(ConvergenceError, match="must stay finite. Got nan at step 3; lower the learning rate"):
        run(loss_of=lambda value: value * (float("nan") if next(worse) == 2 else 1))


def test_progress_is_shown(capfd):
    run(epochs=2, progress=True)
    shown = capfd.readouterr().err
    assert "epoch 2/2: 100%" in shown
    assert "20/20" in shown
    assert "validation_loss=" in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "`epochs` must be a whole number >= 1. Got 0"),
        ({"patience": 1.5}, "`patience` must be a whole number >= 1. Got 1.5"),
        ({"learning_rate": -1}, "`learning_rate` of TrainingSettings must be a finite number >= 1e-09. Got -1"),
        ({"seed": -1}, "`seed` must be a whole number between 0 and 2147483647. Got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        TrainingSettings(**settings)


def test_settings_are_plain_numbers_and_never_change():
    settings = TrainingSettings(epochs=np.int64(3), learning_rate=np.float32(0.5))
    assert type(settings.epochs) is int
    assert type(settings.learning_rate) is float
    assert settings.settings() == {
        "epochs": 3, "batch_size": 64, "learning_rate": 0.5, "patience": 10, "seed": 0,
    }  # fmt: skip
    with pytest.raises(FrozenInstanceError):
        settings.epochs = 4
