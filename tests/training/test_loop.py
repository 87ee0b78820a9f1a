"""Training: interrupted anywhere, it goes on to the same result."""

import math

import pytest
import torch
from torch import nn
from training.small_fits import SmallFit, X, Y, curved, run

from pellucid import ConvergenceError, InputError
from pellucid.training import Batches, TrainingSettings
from pellucid.training.loop import train


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


@pytest.mark.slow
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


@pytest.mark.parametrize("text", ['{"name": "somebody"}', "no JSON"])
def test_a_file_that_no_run_wrote_is_kept(tmp_path, text):
    (tmp_path / "identity.json").write_text(text)
    with pytest.raises(InputError, match="which no run wrote"):
        run(tmp_path, epochs=1)
    assert (tmp_path / "identity.json").read_text() == text


def test_an_identity_without_a_checkpoint_is_replaced(tmp_path):
    (tmp_path / "identity.json").write_text('{"epochs": 3}')
    run(tmp_path, epochs=1)
    assert (tmp_path / "identity.json").read_text() != '{"epochs": 3}'


def test_devices_that_are_not_here_are_refused():
    with pytest.raises(
        InputError, match='`device` must be available on this machine. Got .banana.*Use "auto" or "cpu"'
    ):
        run(device="banana")


def test_a_loss_that_is_no_longer_finite_is_reported():
    worse = iter(range(10_000))
    with pytest.raises(ConvergenceError, match="must stay finite. Got nan at step 3; lower the learning rate"):
        run(loss_of=lambda value: value * (float("nan") if next(worse) == 2 else 1))


def test_training_in_several_threads_repeats_to_the_last_bit():
    # Threads sum the gradient of `x[index]` in whatever order they come, unless told otherwise.
    generator = torch.Generator().manual_seed(0)
    index, factors = torch.randint(50, (20_000,), generator=generator), torch.randn(20_000, 32, generator=generator)

    def weights():
        network = nn.Embedding.from_pretrained(torch.ones(50, 32), freeze=False)
        fit = SmallFit(
            network,
            lambda _: {"loss": (network.weight[index] * factors).square().mean()},
            Batches(lambda i, _: i, 8, size=1, seed=0),
        )
        train(fit, TrainingSettings(epochs=1, learning_rate=0.01), progress=False)
        return network.weight.detach()

    torch.set_num_threads(2)
    first = weights()
    assert all(torch.equal(weights(), first) for _ in range(5))
    assert not torch.are_deterministic_algorithms_enabled()  # what the user chose, before and after
    assert torch.utils.deterministic.fill_uninitialized_memory
