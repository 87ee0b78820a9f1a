"""Processes of a training that are killed, fail or are interrupted: the run ends with a sentence, and goes on later."""

import os
import signal
import time

import pytest
import torch
from test_interrupts import take_signal
from training import divided_fits

from pellucid import InputError, PellucidError
from pellucid._processes import current
from pellucid.training import Hardware
from pellucid.training.loop import train
from pellucid.training.workers import run_together

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*processes share:pellucid.PellucidWarning"),  # on machines with few cores
]

# A game with a bank: a resumed run needs that of every process.
BANKED = {"play": "banked", "weight": 20.0}


def run(folder, *, at=None, rank=0, act=None, resume=False, devices=2):
    """Train; `act()` is called in one of the processes before its step number `at`."""
    model, fit = divided_fits.table(**BANKED)
    loss, steps = fit.loss, 0

    def watched(batch):
        nonlocal steps
        steps += torch.is_grad_enabled()
        if steps == at and current().rank == rank and torch.is_grad_enabled():
            act()
        return loss(batch)

    fit.loss = watched
    hardware = Hardware(device="cpu", devices=devices)
    result = train(fit, model, folder=folder, resume=resume, progress=False, hardware=hardware, checkpoint_seconds=0)
    return torch.cat([p.detach().flatten() for p in fit.network.parameters()]), result.history


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("whole") / "run")


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("rank", "at"), [(0, 6), (1, 3), (1, 8)])
def test_a_run_whose_process_was_killed_resumes_to_the_same(tmp_path, whole, rank, at):
    start = time.monotonic()
    with pytest.raises(PellucidError, match=rf"Process {rank + 1} of 2 was killed by SIGKILL.*resume the run"):
        run(tmp_path, at=at, rank=rank, act=kill)
    assert time.monotonic() - start < 30
    weights, history = run(tmp_path, resume=True)
    assert torch.equal(weights, whole[0])
    assert history == whole[1]


def test_a_run_resumes_with_another_number_of_processes(tmp_path, whole):
    with pytest.raises(PellucidError, match="was killed"):
        run(tmp_path, at=4, rank=1, act=kill)
    weights, _ = run(tmp_path, resume=True, devices=1)
    assert (weights - whole[0]).abs().max() <= 1e-10


def test_what_a_process_refuses_is_refused(tmp_path):
    def refuse():
        raise InputError("Rows must be even", got="odd ones", parameter="x")

    with pytest.raises(InputError, match=r"^Rows must be even. Got odd ones\.$") as caught:
        run(tmp_path, at=2, rank=1, act=refuse)
    assert caught.value.parameter == "x"


def test_an_error_in_a_process_is_shown_with_its_place(tmp_path):
    def fail():
        raise ZeroDivisionError("of mine")

    with pytest.raises(PellucidError, match=r"(?s)Process 2 of 2 of the training failed.*in fail.*of mine"):
        run(tmp_path, at=2, rank=1, act=fail)


def test_an_interrupted_run_tells_how_to_resume(tmp_path, whole):
    parent = os.getpid()

    def interrupt():
        os.kill(parent, signal.SIGINT)
        time.sleep(60)

    take_signal()  # whatever ran before, training hears Ctrl-C
    with pytest.raises(KeyboardInterrupt, match="Resume with"):
        run(tmp_path, at=5, rank=0, act=interrupt)
    assert torch.equal(run(tmp_path, resume=True)[0], whole[0])


def test_processes_end_with_the_one_that_started_them(tmp_path, whole):
    notes = tmp_path / "notes"
    notes.mkdir()

    def linger():
        (notes / str(os.getpid())).touch()
        time.sleep(60)

    child = os.fork()
    if not child:
        try:
            run(tmp_path / "run", at=5, rank=1, act=linger)
        finally:
            os._exit(1)
    _until(lambda: any(notes.iterdir()))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    (name,) = os.listdir(notes)
    _until(lambda: not _runs(int(name)))
    _until(lambda: not _locked(tmp_path / "run"))
    assert torch.equal(run(tmp_path / "run", resume=True)[0], whole[0])


def _runs(process):
    try:
        with open(f"/proc/{process}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def _locked(folder):
    import fcntl

    with open(folder / ".lock", "a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_processes_get_their_numbers(tmp_path):
    run_together(lambda number: (tmp_path / str(number)).touch(), 3)
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2"]
