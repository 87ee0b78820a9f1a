"""Who computes shards: this process, processes of joblib, or the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar, final

from pellucid import _checks
from pellucid._capacity import require_memory
from pellucid.errors import InputError, Parameter, PellucidError

Result = TypeVar("Result")
LOCAL = "local"
"""The name of a cluster of processes on this machine."""
# What a process takes that has imported torch and RDKit and loaded a model, in bytes: measured, rounded up.
_PROCESS = 4e8
# Tasks that wait at each worker, so that none is idle while the next is on its way.
_AHEAD = 2
# Seconds until a cluster answers.
_PATIENCE = 20


class WorkerLostError(PellucidError, RuntimeError):
    """A worker ended before its task did: it was killed, or its machine is out of memory."""


class Executor(ABC):
    """Runs tasks somewhere, and yields their results as they end, in whatever order. To be used in a `with` block."""

    workers: int = 1
    """Tasks that run at the same time."""
    where: str = "in this process"
    """For messages."""
    here: bool = False
    """Whether tasks run in further processes of this machine, whose memory they share."""

    @abstractmethod
    def run(self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """The results of `function(*task)`.

        Parameters
        ----------
        function : callable
            A function that other processes can import.
        tasks : iterable of tuple
            Arguments; taken as they are needed.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(  # noqa: B027 - most have nothing to let go of
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of what was started."""


@final
class InProcess(Executor):
    """One task after the other, in this process."""

    def run(self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """The results, in order."""
        for task in tasks:
            yield function(*task)


@final
class Processes(Executor):
    """Processes of joblib on this machine, each with one thread.

    Parameters
    ----------
    jobs : int
        Their number.
    """

    def __init__(self, jobs: int) -> None:
        self.workers = _checks.whole(jobs, 1, "jobs")
        self.where, self.here = f"in {self.workers} processes", True
        _require_room(self.workers)

    def run(self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """The results, as they come."""
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        parallel = Parallel(
            self.workers, return_as="generator_unordered", batch_size=1, pre_dispatch=f"{_AHEAD} * n_jobs"
        )
        try:
            yield from parallel(delayed(_alone)(function, task) for task in tasks)
        except TerminatedWorkerError as error:
            raise WorkerLostError(f"A process of {self.workers} was killed") from error


@final
class Cluster(Executor):
    """The workers of a Dask cluster, which see the same files under the same paths.

    Parameters
    ----------
    address : str
        The address of its scheduler, such as "tcp://10.0.0.1:8786"; "local" starts processes on this machine.
    jobs : int, optional
        The number of processes of a local one; by default one per core.
    """

    def __init__(self, address: str, jobs: int | None = None) -> None:
        self.address, self.jobs = address, None if jobs is None else _checks.whole(jobs, 1, "jobs")
        self.where, self.here = f"on the cluster {address}", address == LOCAL
        self._client: Any = None
        self._started: Any = None

    def __enter__(self) -> Self:
        from distributed import Client, LocalCluster

        if self.address == LOCAL:
            count = self.jobs or os.cpu_count() or 1
            _require_room(count)
            with _deaf_children():
                self._started = LocalCluster(
                    n_workers=count, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
                )
            self._client = Client(self._started, set_as_default=False)
        else:
            try:
                self._client = Client(self.address, timeout=_PATIENCE, set_as_default=False)
            except (OSError, ValueError, TimeoutError) as error:
                raise InputError(
                    f"{Parameter('cluster')} must be the address of a Dask scheduler, or {LOCAL!r}",
                    got=f"{self.address!r}, where none answers",
                    cure="start one with `dask scheduler`, and use the address that it prints",
                    parameter="cluster",
                ) from error
        self.workers = self._count()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect, and end a local cluster."""
        for each in (self._client, self._started):
            if each is not None:
                with suppress(OSError, TimeoutError):
                    each.close()

    def run(self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """The results, as they come; what a worker that ends had to do goes to another."""
        from distributed import KilledWorker, as_completed

        rest, pending = iter(tasks), set()
        running = as_completed(loop=self._client.loop)

        def submit(room: int) -> None:
            for task in islice(rest, room):
                future = self._client.submit(_alone, function, task, pure=False)
                pending.add(future)
                running.add(future)

        submit(_AHEAD * self._count())
        try:
            for future in running:
                result = future.result()
                pending.discard(future)
                submit(max(_AHEAD * self._count() - len(pending), 0))  # workers may have joined meanwhile
                yield result
        except KilledWorker as error:
            raise WorkerLostError(f"Workers of the cluster {self.address} were killed at the same task") from error
        except FileNotFoundError as error:
            raise InputError(
                "The workers of a cluster must see the same files under the same paths",
                got=f"no {error.filename} there",
                cure="put data, model and output on a disk that all machines share",
                parameter="cluster",
            ) from error
        finally:
            self._client.cancel(list(pending))

    def _count(self) -> int:
        """The number of tasks that its workers do at a time; waits for the first worker."""
        if not self._client.ncores():
            with suppress(TimeoutError):
                self._client.wait_for_workers(1, timeout=_PATIENCE)
        count = sum(self._client.ncores().values())
        if not count:
            raise InputError(
                "A cluster must have workers",
                got=f"none at {self.address}",
                cure=f"start some with `dask worker {self.address}`",
                parameter="cluster",
            )
        return int(count)


def executor_of(jobs: int | None = None, cluster: str | None = None) -> Executor:
    """Who computes: this process unless there is more to choose.

    Parameters
    ----------
    jobs : int, optional
        The number of processes on this machine.
    cluster : str, optional
        The address of a Dask scheduler, or "local".
    """
    if cluster is not None:
        if jobs is not None and cluster != LOCAL:
            raise InputError(
                f"{Parameter('jobs')} is the number of processes on this machine",
                got=f"a cluster at {cluster}, too",
                cure="leave one out",
                parameter="jobs",
            )
        return Cluster(cluster, jobs)
    return InProcess() if jobs in (None, 1) else Processes(jobs or 1)


def _require_room(count: int) -> None:
    require_memory(
        count * _PROCESS,
        f"Work in {count} processes",
        cure=f"use fewer with {Parameter('jobs')}",
        parameter="jobs",
    )


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started here do not hear Ctrl-C, which the terminal sends to all: this one ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _alone(function: Callable[..., Result], task: tuple[Any, ...]) -> Result:
    """A task in a process beside others: with one thread, and without processes of its own."""
    from joblib import parallel_config

    os.environ["OMP_NUM_THREADS"] = "1"  # for torch, where it has not been imported yet
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    with parallel_config(backend="sequential"):
        return function(*task)
