"""Spreads a compiled kernel over threads.

The kernels release the interpreter's lock, so plain Python threads suffice; there is no second OpenMP
runtime to fight with torch's. The number of threads is torch's own (`torch.set_num_threads`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="pellucid")


# Threads do not survive a fork: a child that used its parent's pool would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_chunks(kernel: Callable[[int, int], object], offsets: NDArray[np.int64], threads: int, grain: int = 1) -> None:
    """Call `kernel(start, stop)` on contiguous ranges of neighborhoods that hold about equally many members.

    Ranges start at multiples of `grain`. Each neighborhood is handled by exactly one call and writes only its
    own slots, so the result does not depend on the number of threads.
    """
    n = len(offsets) - 1
    if threads <= 1 or n <= threads:
        kernel(0, n)
        return
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], threads + 1)[1:-1]) // grain * grain
    bounds = [0, *cuts.tolist(), n]
    futures = [_pool(threads).submit(kernel, a, b) for a, b in pairwise(bounds) if a < b]
    for future in futures:
        future.result()
