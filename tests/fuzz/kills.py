"""Processes that are killed: a child runs an action, and is gone at a moment that the test chooses."""

import os
import random
import signal
import time

KILLED = 9


def killed_at(action, moment, *, before=True):
    """Run an action in a child that leaves without a word at its rename number `moment`, from 1; whether it got there.

    Nothing is cleaned up, as after kill -9: no `finally`, no handler of exits.
    """

    def run():
        real, count = os.replace, 0

        def replace(source, target, **options):
            nonlocal count
            count += 1
            if count == moment and before:
                os._exit(KILLED)
            real(source, target, **options)
            if count == moment:
                os._exit(KILLED)

        os.replace = replace
        action()

    return _child(run) == KILLED


def killed_after(action, seconds):
    """Run an action in a child that is killed after some seconds; whether it was."""
    child = _fork(action)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _child(action):
    code = os.waitstatus_to_exitcode(os.waitpid(_fork(action), 0)[1])
    assert code in (0, KILLED), code
    return code


def _fork(action):
    child = os.fork()
    if child:
        return child
    try:
        action()
    except BaseException:  # the child must not go on with the tests of its parent
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def moments(count, size, seed=0, few=8):
    """All moments, or a few of them, each before or after the rename."""
    every = [(moment, before) for moment in range(1, count + 1) for before in (True, False)]
    return every if size == "large" else sorted(random.Random(seed).sample(every, min(len(every), few)))
