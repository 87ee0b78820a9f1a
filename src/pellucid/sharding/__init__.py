"""Jobs in shards: a pure function over ranges of rows of files, on this machine or on a cluster.

A job names a function, its arguments (names of files and settings, never arrays) and the ranges. Each range becomes a
shard: a file that is written whole or not at all, that says which job and which range it is of, and that is not made
again while it is there and undamaged. So an interrupted job goes on where it stopped, whoever computes a shard writes
the same bytes, and the shards joined in their order are what one process would have written.

Processes are those of joblib, clusters those of Dask; there is no scheduler of our own.
"""

from pellucid.sharding.executors import Executor, InProcess, Processes, executor_of
from pellucid.sharding.jobs import Job, Range, even_ranges, identity_of
from pellucid.sharding.running import contents, discard, run

__all__ = [
    "Executor",
    "InProcess",
    "Job",
    "Processes",
    "Range",
    "contents",
    "discard",
    "even_ranges",
    "executor_of",
    "identity_of",
    "run",
]
