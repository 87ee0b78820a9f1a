"""Processes that train together on one machine: forked, watched, and ended together.

They are forked, not started anew, so that what was prepared is not prepared again: data, neighborhoods and networks are
shared by memory until somebody writes. Threads do not survive a fork, so each process computes with one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from pellucid.errors import InputError, Parameter, PellucidError

# Seconds in which the others notice that one has ended, and say what they have to say.
_GRACE = 10.0
_INTERRUPTED = 130
# Characters of a message: more would not fit into a pipe that nobody reads from yet.
_LONGEST = 10_000


class WorkerError(PellucidError, RuntimeError):
    """A process of a training ended before its work was done."""


class _Worker(NamedTuple):
    process: Any
    answers: Connection


def run_together(work: Callable[[int], None], count: int) -> None:
    """Run `work(0)` ... `work(count - 1)`, each in a process of its own, and wait for all of them.

    Where one fails or is killed, the others are ended, and the error says what happened; Ctrl-C ends all of them.

    Parameters
    ----------
    work : callable
        Takes the number of the process.
    count : int
        The number of processes.
    """
    if torch.cuda.is_initialized():
        raise InputError(
            f"{Parameter('devices')} above 1 needs a program that has not used a GPU yet, since processes are forked",
            got="one that has",
            cure="train before anything else is computed on a GPU, or in a program of its own",
            parameter="devices",
        )
    reading, writing = os.pipe()  # nothing is ever written: it closes when this process ends, however it ends
    workers: list[_Worker] = []
    try:
        for number in range(count):
            worker = _start(work, number, reading, writing)
            workers.append(worker)  # at once: it must be ended if the next cannot be started
        failed = _wait(workers)
    finally:
        _end(workers)
        os.close(reading)
        os.close(writing)
    if failed is not None:
        _raise_failure(workers, failed)


def _start(work: Callable[[int], None], number: int, reading: int, writing: int) -> _Worker:
    context = multiprocessing.get_context("fork")
    answers, telling = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, number, telling, reading, writing), daemon=False)
    with warnings.catch_warnings():
        # Python warns of threads that might hold locks; those of torch and of this library are handled in `_child`.
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        process.start()
    telling.close()
    return _Worker(process, answers)


def _child(work: Callable[[int], None], number: int, telling: Connection, reading: int, writing: int) -> None:
    os.close(writing)
    threading.Thread(target=_leave_with_parent, args=(reading,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The lock of progress bars is shared by default: a process that is killed while it holds it would stop all others.
    tqdm.set_lock(threading.RLock())
    # Threads of OpenMP do not survive a fork: a product of matrices with more than one would wait for ever. Lightning
    # chooses a number of its own unless the variable says one.
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        work(number)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    except BaseException as error:
        _tell(telling, error)
        os._exit(1)  # without waiting for the others, which may wait for this one
    telling.close()


def _leave_with_parent(reading: int) -> None:
    with suppress(OSError):
        os.read(reading, 1)
    os._exit(_INTERRUPTED)


def _tell(telling: Connection, error: BaseException) -> None:
    text = "".join(traceback.format_exception(error))[-_LONGEST:]
    with suppress(OSError):
        try:
            telling.send((error if isinstance(error, PellucidError) else None, text))
        except Exception:  # an error that cannot be sent
            telling.send((None, text))


def _wait(workers: list[_Worker]) -> int | None:
    """Wait until all have ended well, or one has not: the number of that one."""
    alive = {worker.process.sentinel: number for number, worker in enumerate(workers)}
    while alive:
        for sentinel in connection.wait(list(alive)):
            number = alive.pop(sentinel)
            workers[number].process.join()
            if workers[number].process.exitcode:
                end = time.monotonic() + _GRACE
                for other in alive.values():
                    workers[other].process.join(max(end - time.monotonic(), 0.0))
                return number
    return None


def _end(workers: list[_Worker]) -> None:
    """End what is still running; files are written whole or not at all, so that it may happen at any time."""
    for worker in workers:
        if worker.process.is_alive():
            worker.process.kill()
    for worker in workers:
        worker.process.join()


def _raise_failure(workers: list[_Worker], failed: int) -> None:
    codes = [worker.process.exitcode for worker in workers]
    messages = [_answer(worker) for worker in workers]
    for error, _ in messages:
        if error is not None:
            raise error
    if _INTERRUPTED in codes:
        raise KeyboardInterrupt
    if codes[failed] < 0:
        raise WorkerError(
            f"All processes of a training must live until its end. Process {failed + 1} of {len(workers)} was killed "
            f"by {_signal_name(-codes[failed])}, perhaps because there was not enough memory; resume the run, or use "
            "fewer processes."
        )
    raise WorkerError(
        f"Process {failed + 1} of {len(workers)} of the training failed.\n{messages[failed][1] or codes[failed]}"
    )


def _answer(worker: _Worker) -> tuple[PellucidError | None, str]:
    with suppress(EOFError, OSError):
        if worker.answers.poll():
            error, text = worker.answers.recv()
            return error, text
    return None, ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
