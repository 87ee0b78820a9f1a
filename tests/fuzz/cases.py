"""What must hold of every file, whatever is in it: it is used, or refused in a sentence; in time, and in little memory.

`PELLUCID_FUZZ=10000 pytest tests/fuzz` tries so many mutations of each kind of file instead of a few.
"""

import os
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pellucid.errors import PellucidError

SECONDS, BYTES = 30, 1 << 30
# Whatever others do on the machine meanwhile.
_WALL_SECONDS = 600


class TooSlow(BaseException):
    """Not an Exception: nothing must catch it."""


class Tally:
    """How many cases worked and how many were refused; and those that did neither."""

    def __init__(self, family, few):
        self.family, self.count = family, int(os.environ.get("PELLUCID_FUZZ", str(few)))
        self.outcomes, self.failures = Counter(), {}

    def __iter__(self):
        """Random numbers of each case; a case depends on its number alone."""
        first = int(os.environ.get("PELLUCID_FUZZ_FIRST", "0"))
        for number in range(first, first + self.count):
            self.number = number
            yield np.random.default_rng([number, *self.family.encode()])

    @contextmanager
    def case(self, log=None):
        """Try one case."""
        if log is not None:  # for whoever looks for a case that ended the process
            Path(log).write_text(f"{self.family} {self.number}")
        try:
            with limits(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
            self.outcomes["used"] += 1
        except PellucidError:
            self.outcomes["refused"] += 1
        except (Exception, TooSlow):
            self.failures[self.number] = traceback.format_exc()

    def check(self, *, refused=True):
        """All cases held, and some were refused, unless nothing may be: otherwise the mutations are worth little."""
        held = self.count - len(self.failures)
        sys.stderr.write(f"\n{self.family}: {self.count} tried, {held} held; {dict(self.outcomes)}\n")
        shown = "\n".join(f"case {number}: {text}" for number, text in list(self.failures.items())[:3])
        kinds = Counter(text.strip().rpartition("\n")[2][:150] for text in self.failures.values())
        assert not self.failures, f"{len(self.failures)} of {self.count}: {kinds.most_common(30)}\n{shown}"
        assert bool(self.outcomes["refused"]) == refused


@contextmanager
def limits(seconds=SECONDS, memory=BYTES):
    """An end to what takes too long or too much memory."""

    def stop(*_):
        raise TooSlow

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    handlers = {number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.alarm(_WALL_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, hard))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for number, handler in handlers.items():
            signal.signal(number, handler)
