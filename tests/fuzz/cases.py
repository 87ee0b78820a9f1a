"""What must hold of every file, whatever is in it: it is used, or refused in a sentence; in time, and in little memory.

Cases run in a process of their own: one that ends it, or never comes back, is counted like any other.
`PELLUCID_FUZZ=10000 pytest tests/fuzz` tries so many mutations of each kind of file, and `PELLUCID_FUZZ_FIRST=123
PELLUCID_FUZZ=1` repeats one case.
"""

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pellucid.errors import PellucidError

# Of the processor, and bytes; what compiled code does not notice, the parent process does.
SECONDS, BYTES = 30, 1 << 30
_PATIENCE = 10
# Whatever others do on the machine meanwhile.
_WALL_SECONDS = 600


class TooSlow(BaseException):
    """Not an Exception: nothing must catch it."""


class Tally:
    """How many cases of a family worked and how many were refused; and those that did neither.

    `counts` is what the report shows: a case holds, or it is a traceback, a hang, a crash or a file lost.
    """

    def __init__(self, family, count, first=0):
        self.family, self.count, self.first = family, count, first
        self.outcomes, self.failures = Counter(), {}
        self.counts = {"family": family, "tried": 0, "held": 0, "tracebacks": 0, "hangs": 0, "crashes": 0, "lost": 0}

    def try_all(self, prepare, use):
        """Try all cases: `prepare(random, number)` makes a file that lies, and `use` uses what that returns.

        A case depends on its number alone. What is refused holds, and what is used; `prepare` must always work. Use
        what is whole before: the first to need a kernel compiles it, which must not count as a hang.
        """
        number = self.first
        while number < self.first + self.count:
            number = self._try_from(number, prepare, use) + 1
        return self

    def _try_from(self, first, prepare, use):
        """Try cases in a child from this one on; the last of them, which is the last of all or has ended the child."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _serve(writing, self.family, range(first, self.first + self.count), prepare, use)
        os.close(writing)
        number, seen = first - 1, None
        with os.fdopen(reading, "rb") as stream:
            for kind, content in _messages(stream, child):
                if kind == "start":
                    number, seen = content, None
                else:
                    seen = content
                    self.add(number, kind, content)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code and seen is None:
            hung = code == -signal.SIGKILL
            self.add(number, "hangs" if hung else "crashes", f"the process ended with {code}")
        return number

    def add(self, number, outcome, text=""):
        """Count a case: "used", "refused", or a kind of failure."""
        self.counts["tried"] += 1
        if outcome in ("used", "refused"):
            self.outcomes[outcome] += 1
            self.counts["held"] += 1
        else:
            self.counts[outcome] += 1
            self.failures[number] = text
            sys.stderr.write(f"\n{self.family}, case {number}: {outcome}\n{text}\n")  # `pytest -s` shows it at once
        if self.counts["tried"] % 100 == 0:
            sys.stderr.write(f"\n{self.family}: {self.counts['tried']} tried, {self.counts['held']} held\n")

    def check(self, *, refused=True):
        """All cases held, and some were refused, unless nothing may be: otherwise the mutations are worth little."""
        tried = self.counts["tried"]
        shown = "\n".join(f"case {number}: {text}" for number, text in list(self.failures.items())[:3])
        kinds = Counter(text.strip().rpartition("\n")[2][:150] for text in self.failures.values())
        assert not self.failures, f"{len(self.failures)} of {tried}: {kinds.most_common(30)}\n{shown}"
        assert tried == self.count
        assert bool(self.outcomes["refused"]) == refused


def _serve(writing, family, numbers, prepare, use):
    """Try cases and tell of each, in a child, which does not come back."""
    code = 1
    try:
        with os.fdopen(writing, "wb", buffering=0) as stream:
            for number in numbers:
                _tell(stream, "start", number)
                _tell(stream, *_outcome(family, number, prepare, use))
        code = 0
    finally:
        os._exit(code)


def _tell(stream, kind, content):
    stream.write(json.dumps([kind, content]).encode() + b"\n")


def _outcome(family, number, prepare, use):
    try:
        case = prepare(np.random.default_rng([number, *family.encode()]), number)
        with limits(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(case)
    except PellucidError:
        return "refused", ""
    except TooSlow:
        return "hangs", traceback.format_exc()
    except Exception:
        return "tracebacks", traceback.format_exc()
    return "used", ""


def _messages(stream, child):
    """What a child tells, until it ends; one that computes for too long without a word is killed."""
    waited, start = b"", time.monotonic()
    used = _processor_seconds(child)
    while True:
        ready, _, _ = select.select([stream], [], [], 1)
        if ready:
            raw = os.read(stream.fileno(), 1 << 16)
            if not raw:
                return
            *lines, waited = (waited + raw).split(b"\n")
            yield from map(json.loads, lines)
            start, used = time.monotonic(), _processor_seconds(child)
        elif _processor_seconds(child) - used > SECONDS + _PATIENCE or time.monotonic() - start > _WALL_SECONDS:
            os.kill(child, signal.SIGKILL)


def _processor_seconds(process):
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def limits(seconds=SECONDS, memory=BYTES):
    """An end to what takes too long or too much memory."""

    def stop(*_):
        raise TooSlow

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, hard))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, handler)
