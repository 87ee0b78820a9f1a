"""`pellucid train` in several processes, and on several machines."""

import json
import os
import socket

import pytest
import torch
from cli.runner import run
from houses import houses
from toy import CurveDomain

from pellucid import InputError, runs
from pellucid.domains import Source

SMALL = ["--target", "price", "--epochs", "2", "--width", "4", "--ensemble", "1", "--witness", "linear", "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    x, price = houses(60)
    path = tmp_path_factory.mktemp("table") / "houses.csv"
    x.assign(price=price).to_csv(path, index=False)
    return path


def assert_alike(first, second):
    """Whether two runs measured the same, up to the rounding of float32."""
    one, two = (json.loads((folder / "summary.json").read_text())["models"] for folder in (first, second))
    for name in ("DEEP", "GAME"):
        assert one[name]["scores"]["rmse"] == pytest.approx(two[name]["scores"]["rmse"], rel=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*processes share:pellucid.PellucidWarning")
def test_two_processes_make_the_run_that_one_makes(table, tmp_path):
    for devices in ("1", "2"):
        run("train", "table", table, *SMALL, "--out", tmp_path / devices, "--devices", devices)
    assert_alike(tmp_path / "1", tmp_path / "2")


@pytest.mark.slow
def test_two_machines_make_one_run(table, tmp_path, monkeypatch):
    """Two programs on this machine, as if they were on two."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo", "NODE_RANK": "1"}
    for name, value in meeting.items():
        monkeypatch.setenv(name, value)
    words = ["train", "table", table, *SMALL, "--out", tmp_path / "run", "--nodes", "2"]
    other = os.fork()
    if not other:
        try:
            (tmp_path / "other").write_text(run(*words).output)
        finally:
            os._exit(0)
    monkeypatch.setenv("NODE_RANK", "0")
    assert "report:" in run(*words).output
    os.waitpid(other, 0)
    said = (tmp_path / "other").read_text()
    assert said.endswith("This machine has done its part; the first one measures and writes the report.\n")
    run("train", "table", table, *SMALL, "--out", tmp_path / "alone")
    assert_alike(tmp_path / "run", tmp_path / "alone")


def test_hardware_that_cannot_be_is_refused_before_data_are_read(tmp_path, monkeypatch):
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    missing = tmp_path / "missing.csv"

    def refused(*words):
        return " ".join(run("train", "table", missing, *words, code=1).output.split())

    assert "--devices must be at most" in refused("--devices", "100000")
    assert "Got no MASTER_ADDR" in refused("--nodes", "2")


def test_a_run_that_other_machines_look_at_is_not_replaced(table, tmp_path, monkeypatch):
    for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "1"), ("NODE_RANK", "0")):
        monkeypatch.setenv(name, value)
    output = run("train", "table", table, *SMALL, "--out", tmp_path, "--nodes", "2", "--force", code=1).output
    assert "needs a folder without an earlier run. Got --force; delete the folder first" in " ".join(output.split())


def test_models_that_train_in_one_process_say_so(tmp_path):
    x = torch.linspace(-1, 1, 60)
    domain = CurveDomain()
    source = Source(torch.stack([x, torch.sin(4 * x)], 1), None, domain.Reading())
    with pytest.raises(InputError, match="above 1 need a model that trains in several processes. Got a CurveModel"):
        runs.train(domain, source, domain.Settings(devices=2), tmp_path / "run", title="curve", progress=False)
