"""Options of the hardware that cannot be are refused before anything is computed."""

import pytest

from pellucid import InputError
from pellucid.training import Hardware
from pellucid.training.hardware import available_cores


def test_one_process_is_the_default():
    hardware = Hardware()
    assert (hardware.world, hardware.node, hardware.device) == (1, 0, "auto")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": 0}, "`devices` must be"),
        ({"devices": 1.5}, "`devices` must be"),
        ({"nodes": -1}, "`nodes` must be"),
        ({"strategy": "fsdp"}, '`strategy` must be "auto" or "ddp". Got \'fsdp\''),
        (
            {"devices": 100 * available_cores()},
            r"`devices` must be at most \d+ on this machine, which has .*; use `devices=",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        Hardware(**options)


MEETING = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "NODE_RANK": "1"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"MASTER_ADDR": ""},
            "needs the variables MASTER_ADDR, MASTER_PORT and NODE_RANK. Got no MASTER_ADDR; set them",
        ),
        ({"NODE_RANK": ""}, "Got no NODE_RANK"),
        ({"NODE_RANK": "2"}, "NODE_RANK must be a whole number up to 1. Got '2'"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT must be a whole number up to 65535. Got 'http'"),
    ],
)
def test_machines_must_know_where_to_meet(monkeypatch, changes, message):
    for name, value in (MEETING | changes).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message):
        Hardware(nodes=2)


def test_a_machine_knows_its_number(monkeypatch):
    for name, value in MEETING.items():
        monkeypatch.setenv(name, value)
    assert Hardware(nodes=2, devices=2).node == 1
    assert Hardware(nodes=2, devices=2).world == 4
    assert Hardware(devices=2).node == 0
