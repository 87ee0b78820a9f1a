"""What is kept in a folder, and the best epoch."""

import json
import shutil

import pytest
import torch
from training.small_fits import CURVE, curved, run

from pellucid import InputError


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


@pytest.mark.slow
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


@pytest.mark.slow
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
