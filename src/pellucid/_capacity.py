"""Whether a job fits into this machine, and how long it takes: said before it starts."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from pellucid.errors import InputError, warn_once

LONG = 120.0
"""Seconds from which on a job is announced."""


def available_memory() -> float:
    """Bytes that this process may still take, by the system and by the limits of a container; infinity if unknown."""
    return min(_system(), _container(Path("/sys/fs/cgroup")))


def _system() -> float:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):  # all that there is: better than nothing on other systems
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return math.inf


def _container(folder: Path) -> float:
    with suppress(OSError, ValueError):
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            return float(limit) - float((folder / "memory.current").read_text(encoding="ascii"))
    return math.inf


def require_memory(needed: float, what: str, *, cure: str, parameter: str | None = None) -> None:
    """Refuse a job that needs more bytes than there are.

    Parameters
    ----------
    needed : float
        Bytes at the peak, beyond what is in memory already.
    what : str
        The job, with which the message begins.
    cure : str
        What to do instead.
    parameter : str, optional
        The name of the parameter to change, where it is one.
    """
    free = available_memory()
    if needed > free:
        raise InputError(
            f"{what} needs about {size_text(needed)} of memory, which must be free",
            got=f"{size_text(max(free, 0.0))}",
            cure=cure,
            parameter=parameter,
        )


def announce(seconds: float, needed: float, what: str, *, cure: str) -> None:
    """Warn of a job that takes minutes, before it starts.

    Parameters
    ----------
    seconds : float
        How long it takes, estimated from a part of it.
    needed : float
        Bytes at the peak.
    what : str
        The job, with which the message begins.
    cure : str
        What takes less, a sentence without its full stop.
    """
    if seconds >= LONG:
        warn_once(f"{what} takes about {time_text(seconds)} and {size_text(needed)} of memory. {cure}.", what)


def size_text(count: float) -> str:
    """Bytes for readers.

    Examples
    --------
    >>> size_text(880e6), size_text(25e9), size_text(4e13)
    ('880 MB', '25 GB', '40 TB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB")):
        if count >= unit:
            return f"{count / unit:.2g} {name}" if count < 100 * unit else f"{count / unit:,.0f} {name}"
    return f"{count / 1e6:.0f} MB"


def time_text(seconds: float) -> str:
    """Seconds for readers.

    Examples
    --------
    >>> time_text(40), time_text(200), time_text(20_000), time_text(9e5)
    ('40 seconds', '3 minutes', '6 hours', '10 days')
    """
    for unit, name in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.95 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"
