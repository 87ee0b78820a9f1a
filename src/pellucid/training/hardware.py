"""Where a training computes: on which kind of device, and in how many processes on how many machines."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import final

from pellucid import _checks
from pellucid.errors import InputError, Parameter, warn_once
from pellucid.numbers import counted

STRATEGIES = ("auto", "ddp")
# Processes for each core, beyond which somebody must have mistyped.
_MOST_PER_CORE = 8
_ADDRESS, _PORT, _NODE = "MASTER_ADDR", "MASTER_PORT", "NODE_RANK"


@final
@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Devices and machines. However many processes there are, they learn from the batches that one would learn from.

    Parameters
    ----------
    device : str
        "auto", "cpu", "gpu" or another of Lightning's accelerators.
    devices : int
        Processes on each machine, each with a core or a GPU of its own.
    nodes : int
        Machines. The same program runs on each, with the variables MASTER_ADDR and MASTER_PORT, which say where the
        first machine listens, and NODE_RANK, the number of the machine, from 0.
    strategy : {"auto", "ddp"}
        How gradients are averaged. "auto" does so in one exchange after a step's gradients are complete; "ddp" with
        torch's DDP, which sends the first of them while others are computed. It is for networks so large that this
        counts, and that use all of their weights in every step.
    """

    device: str = "auto"
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        for name in ("devices", "nodes"):
            object.__setattr__(self, name, _checks.whole(getattr(self, name), 1, name))
        if self.strategy not in STRATEGIES:
            raise InputError(
                f'{Parameter("strategy")} must be "auto" or "ddp"', got=f"{self.strategy!r}", parameter="strategy"
            )
        if self.world > 1:
            self._check_machine()

    def _check_machine(self) -> None:
        if not hasattr(os, "fork"):
            raise InputError(
                f"{Parameter('devices')} above 1 needs an operating system that can fork processes",
                got=os.name,
                cure=f"use {Parameter('devices', 1)}, or Linux",
                parameter="devices",
            )
        cores = available_cores()
        if self.device in ("auto", "cpu") and self.devices > _MOST_PER_CORE * cores:
            raise InputError(
                f"{Parameter('devices')} must be at most {_MOST_PER_CORE * cores} on this machine, which has "
                f"{counted(cores, 'core')}",
                got=f"{self.devices}",
                cure=f"use {Parameter('devices', cores)}",
                parameter="devices",
            )
        if self.nodes > 1:
            self._check_meeting()

    def _check_meeting(self) -> None:
        absent = [name for name in (_ADDRESS, _PORT, _NODE) if not os.environ.get(name)]
        if absent:
            raise InputError(
                f"Training on several machines needs the variables {_ADDRESS}, {_PORT} and {_NODE}",
                got=f"no {absent[0]}",
                cure=f"set them to the address and a free port of the first machine and to the number of this one, or "
                f"use {Parameter('nodes', 1)}",
                parameter="nodes",
            )
        for name, most in ((_PORT, 65_535), (_NODE, self.nodes - 1)):
            value = os.environ[name]
            if not value.isascii() or not value.isdigit() or int(value) > most:
                raise InputError(f"{name} must be a whole number up to {most}", got=f"{value!r}", parameter="nodes")

    def warn_of_few_cores(self) -> None:
        """Warn where processes have to share cores."""
        cores = available_cores()
        if self.device in ("auto", "cpu") and self.devices > cores:
            warn_once(
                f"{self.devices} processes share {counted(cores, 'core')}, and are not faster than {cores}; use "
                f"{Parameter('devices', cores)}.",
                "devices",
            )

    @property
    def world(self) -> int:
        """The number of processes on all machines."""
        return self.devices * self.nodes

    @property
    def node(self) -> int:
        """The number of this machine."""
        return int(os.environ[_NODE]) if self.nodes > 1 else 0


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
