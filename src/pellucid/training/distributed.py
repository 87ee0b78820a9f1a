"""A training in several processes, with Lightning's DDP: gloo between processors, NCCL between GPUs.

The fit is prepared once on each machine, then forked; all processes run the same loop on their parts of the same
batches, and the first alone writes. What is left to the others is to wait for its files.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any, final

import torch
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from pellucid import _processes
from pellucid.errors import InputError, Parameter
from pellucid.training import folders
from pellucid.training.fits import Fit, History
from pellucid.training.hardware import Hardware
from pellucid.training.workers import WorkerError, run_together

# Seconds until the others of a training on several machines are given up.
_PATIENCE = timedelta(minutes=30)
# Seconds in which a file that one machine wrote is seen by the others.
_SIGHT = 120.0
# Trainings of one program meet at consecutive ports, so that none meets the end of the one before.
_meetings = count()
_PORTS = 64


def check_divisible(fit: Fit[Any], hardware: Hardware, folder: Path | None) -> None:
    """Refuse several processes for a fit whose batches cannot be divided, and several machines without a folder."""
    if hardware.world > 1 and not fit.is_divisible:
        raise InputError(
            f"{Parameter('devices')} above 1 needs a fit whose batches can be divided",
            got=f"a {type(fit).__name__}, which is not `is_divisible`",
            cure=f"use {Parameter('devices', 1)}",
            parameter="devices",
        )
    if hardware.nodes > 1 and folder is None:
        raise InputError(
            "Training on several machines needs a folder that all of them see",
            got="none",
            cure=f"pass {Parameter('folder'):=}",
            parameter="folder",
        )


def run_on(hardware: Hardware, run: Callable[[], Any], home: Path) -> History:
    """Run the loop in all processes of this machine, and return the history that the first of all wrote.

    Parameters
    ----------
    hardware : Hardware
        How many processes and machines.
    run : callable
        The loop; its first process leaves `history.json` in the folder.
    home : Path
        The folder of the run.
    """
    hardware.warn_of_few_cores()
    meeting = next(_meetings)
    store = home / f".processes-{os.getpid()}-{meeting}"

    def work(local: int) -> None:
        rank = hardware.node * hardware.devices + local
        _join(hardware, rank, store, meeting)
        with _processes.together(rank, hardware.world):
            run()
            distributed.barrier()  # nobody leaves before all is written
        distributed.destroy_process_group()

    try:
        run_together(work, hardware.devices)
    finally:
        store.unlink(missing_ok=True)
    history: History | None = _seen(lambda: folders.read_history(home), _SIGHT if hardware.node else 0.0)
    if history is None:
        raise WorkerError(f"The processes of a training must leave {folders.HISTORY}. Got none in {home}.")
    return history


def seen(path: Path, hardware: Hardware) -> None:
    """Wait until a file that the first machine writes can be seen on this one."""
    _seen(lambda: path.exists() or None, _SIGHT if hardware.node else 0.0)


def _seen(look: Callable[[], Any], seconds: float) -> Any:
    end = time.monotonic() + seconds
    while (answer := look()) is None and time.monotonic() < end:
        time.sleep(0.1)
    return answer


def _join(hardware: Hardware, rank: int, store: Path, meeting: int) -> None:
    """Meet the other processes: at a file on one machine, at an address on several."""
    on_gpu = hardware.device in ("gpu", "cuda") or (hardware.device == "auto" and torch.cuda.is_available())
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    if hardware.nodes > 1:
        port = int(os.environ["MASTER_PORT"]) + meeting % _PORTS
        method = f"tcp://{os.environ['MASTER_ADDR']}:{port}"
    else:
        method = store.absolute().as_uri()
        loopback = {name for _, name in socket.if_nameindex()} & {"lo", "lo0"}
        if loopback:  # whatever the machine is called, and whether that name leads to it
            os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback.pop())
    distributed.init_process_group(backend, init_method=method, rank=rank, world_size=hardware.world, timeout=_PATIENCE)


def trainer_options(hardware: Hardware) -> dict[str, Any]:
    """What Lightning must know about the processes."""
    if hardware.world == 1:
        return {"devices": 1}
    # Buffers are not sent in every step: a bank is the same everywhere, and as large as the data.
    later = "forward_sync_buffers" in signature(DistributedDataParallel.__init__).parameters
    buffers: dict[str, Any] = {"forward_sync_buffers" if later else "broadcast_buffers": False}
    strategy = DDPStrategy(cluster_environment=_Forked(hardware), **buffers)
    return {"devices": hardware.devices, "num_nodes": hardware.nodes, "strategy": strategy}


@final
class _Forked(ClusterEnvironment):
    """Processes that exist already, and have met."""

    def __init__(self, hardware: Hardware) -> None:
        super().__init__()
        self.hardware = hardware

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    @property
    def main_port(self) -> int:
        return int(os.environ.get("MASTER_PORT", "0"))

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self.hardware.world

    def set_world_size(self, size: int) -> None: ...

    def global_rank(self) -> int:
        return distributed.get_rank()

    def set_global_rank(self, rank: int) -> None: ...

    def local_rank(self) -> int:
        return distributed.get_rank() % self.hardware.devices

    def node_rank(self) -> int:
        return self.hardware.node
