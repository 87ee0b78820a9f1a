"""Processes that tests fork neither wait for locks of their parent nor outlive it."""

import ctypes
import os
import signal
import sys
import threading

from tqdm import tqdm

_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def prepare():
    """Prepare this process, whose tests fork others."""
    # A lock that is shared with children would stop us when a child is killed that holds it; and a thread that looks
    # after progress bars may hold any lock at the moment of a fork.
    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    parent, prctl = os.getpid(), _prctl()

    def in_child():
        tqdm.set_lock(threading.RLock())
        # A child that waits for ever would hold the pipes of a worker that was ended for it, and stop the test run.
        if prctl is not None and os.getppid() == parent:
            prctl(_DIES_WITH_PARENT, signal.SIGKILL)

    os.register_at_fork(after_in_child=in_child)


def _prctl():
    return ctypes.CDLL(None).prctl if sys.platform == "linux" else None
