"""Several processes learn what one would."""

import os
import socket

import pytest
import torch
from training import divided_fits
from training.small_fits import SmallFit, X, Y

from pellucid import InputError, PellucidWarning, _processes
from pellucid.training import Batches, Hardware, TrainingSettings
from pellucid.training.loop import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*processes share:pellucid.PellucidWarning"),  # on machines with few cores
]

CASES = {
    "table": {
        "deep": {"game": None},
        "symmetric": {"weight": 2e3, "share": 1.0},
        "few play": {"weight": 2e3, "share": 0.1},
        "asymmetric": {"game": "asymmetric", "weight": 2e4, "share": 0.7},
        "uniform": {"game": "uniform", "margin": 0.0, "multiplier_rate": 1e7},
        "banked": {"play": "banked", "weight": 20.0},
        "held out": {"held_out_game": True, "weight": 2e3},
    },
    "molecules": {
        "deep": {"game": None},
        "symmetric": {"weight": 300.0, "members": 8},
        "few play": {"weight": 300.0, "share": 0.1},
        "asymmetric": {"game": "asymmetric", "criterion": "squared", "weight": 1e5, "share": 1.0},
        "uniform": {"game": "uniform", "margin": 0.0, "multiplier_rate": 1e6},
        "banked": {"play": "banked", "weight": 3.0, "refit": 2},
        "held out": {"held_out_game": True, "weight": 300.0},
    },
    "series": {
        "deep": {"game": None},
        "symmetric": {"weight": 5.0},
        "asymmetric": {"game": "asymmetric", "weight": 5.0},
        "held out": {"held_out_game": True, "weight": 5.0},
    },
    "autoencoder": {
        "deep": {"game": None},
        "symmetric": {"weight": 1e3},
        "asymmetric": {"game": "asymmetric", "weight": 1e3, "free": 0.6},
    },
}


def trained(folder, domain, settings, **hardware):
    """The network, multipliers and bank that a training leaves, and its history."""
    model, fit = getattr(divided_fits, domain)(**settings)
    history = train(fit, model, folder=folder, progress=False, hardware=Hardware(device="cpu", **hardware)).history
    state = torch.load(folder / "result.ckpt", weights_only=True)["state_dict"]
    for name, value in fit.network.state_dict().items():  # what the processes wrote came back
        assert torch.equal(state[f"network.{name}"], value)
    return state, history


@pytest.mark.parametrize(("domain", "case"), [(domain, case) for domain, cases in CASES.items() for case in cases])
def test_two_processes_learn_what_one_does(tmp_path, domain, case):
    settings = CASES[domain][case]
    runs = (trained(tmp_path / str(count), domain, settings, devices=count) for count in (1, 2))
    (one, history), (two, divided) = runs
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert (value.double() - two[name].double()).abs().max() <= 1e-10 * max(1.0, float(value.abs().max())), name
    if case != "deep":  # a game that counts
        assert history[-1]["penalty"] > 1e-3
    assert len(history) == len(divided) == 2
    for alone, together in zip(history, divided, strict=True):
        assert together == pytest.approx(alone, rel=1e-9, abs=1e-12)


def same(one, two):
    return all((value.double() - two[name].double()).abs().max() <= 1e-10 for name, value in one.items())


@pytest.mark.parametrize("case", ["symmetric", "uniform", "banked"])
def test_processes_may_be_more_than_the_rows_of_a_batch(tmp_path, case):
    settings = CASES["table"][case] | {"batch_size": 13}  # 13, 13 and 1: three of four have nothing to do
    runs = [trained(tmp_path / str(count), "table", settings, devices=count)[0] for count in (1, 4)]
    assert same(*runs)


def test_torch_can_average_gradients_as_they_come(tmp_path):
    runs = [
        trained(tmp_path / name, "series", {"weight": 5.0}, devices=2, strategy=name)[0] for name in ("auto", "ddp")
    ]
    assert same(*runs)


def test_processes_that_share_cores_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.training.hardware.available_cores", lambda: 1)
    monkeypatch.setattr("pellucid.errors._warned", set())
    with pytest.warns(PellucidWarning, match=r"2 processes share 1 core, and are not faster than 1; use `devices=1`"):
        trained(tmp_path, "table", {"game": None}, devices=2)


def test_a_program_that_has_used_threads_can_train_in_processes(tmp_path, monkeypatch):
    """Threads do not survive a fork: a product of matrices in a process would wait for those of its parent."""
    monkeypatch.setattr("lightning.fabric.utilities.distributed._num_cpus_available", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    matrix = torch.randn(600, 600, requires_grad=True)
    (matrix @ matrix).sum().backward()
    model, fit = divided_fits.table(game=None)
    loss, threads = fit.loss, torch.zeros(2).share_memory_()

    def with_products(batch):
        threads[_processes.current().rank] = torch.get_num_threads()
        matrix.detach() @ matrix.detach()
        return loss(batch)

    fit.loss = with_products
    train(fit, model, folder=tmp_path, progress=False, hardware=Hardware(device="cpu", devices=2))
    assert threads.tolist() == [1, 1]
    assert torch.get_num_threads() == 2
    assert "OMP_NUM_THREADS" not in os.environ  # that of this process is its own


def test_a_fit_that_cannot_be_divided_is_refused():
    network = torch.nn.Linear(3, 1)
    fit = SmallFit(
        network,
        lambda batch: {"loss": (network(batch[0]) - batch[1]).square().mean()},
        Batches(lambda i, _: (X[i], Y[i]), 80, size=8, seed=0),
    )
    with pytest.raises(InputError, match="`devices` above 1 needs a fit whose batches can be divided. Got a SmallFit"):
        train(fit, TrainingSettings(epochs=1), progress=False, hardware=Hardware(device="cpu", devices=2))


def test_two_machines_learn_what_one_does(tmp_path, monkeypatch):
    """Two programs on this machine, as if they were on two; the second writes nothing."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    monkeypatch.setenv("NODE_RANK", "1")
    other = os.fork()
    if not other:
        code = 1
        try:
            result, _ = trained(tmp_path / "shared", "table", CASES["table"]["banked"], nodes=2)
            torch.save(result, tmp_path / "other")
            code = 0
        finally:
            os._exit(code)
    monkeypatch.setenv("NODE_RANK", "0")
    first, _ = trained(tmp_path / "shared", "table", CASES["table"]["banked"], nodes=2)
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == 0
    alone, _ = trained(tmp_path / "alone", "table", CASES["table"]["banked"])
    assert same(alone, first)
    assert same(first, torch.load(tmp_path / "other", weights_only=True))


def test_several_machines_need_a_folder_that_all_see(monkeypatch):
    for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "1"), ("NODE_RANK", "0")):
        monkeypatch.setenv(name, value)
    model, fit = divided_fits.table(game=None)
    with pytest.raises(InputError, match="needs a folder that all of them see"):
        train(fit, model, progress=False, hardware=Hardware(device="cpu", nodes=2))
