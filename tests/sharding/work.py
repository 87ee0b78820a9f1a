"""Pure functions that workers of other processes can import."""

import os
import signal
import time
from pathlib import Path


def squares(begin, end, *, factor=1, log=None, die=None, wait=0.0):
    """The squares of a range; optionally notes who did what, takes its time, or kills its process, once."""
    if die is not None and begin == die["begin"] and not Path(die["mark"]).exists():
        Path(die["mark"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(wait)
    if log is not None:
        Path(log, f"{begin}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return "".join(f"{factor * i * i}\n" for i in range(begin, end)).encode()
