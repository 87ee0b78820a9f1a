"""A job from its first shard to its last: what is there is not made again; what it takes is said at its beginning."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pellucid._capacity import LONG, size_text, time_text
from pellucid.errors import InputError, PellucidError
from pellucid.numbers import counted
from pellucid.sharding.executors import Executor, InProcess, WorkerLostError
from pellucid.sharding.files import SUFFIX, read_shard_file, write_shard_file
from pellucid.sharding.jobs import Job, Range, Work
from pellucid.writing import remove_drafts

# Shards whose size is looked at before there must be room for all.
_TRIALS = 2
# Times that a job goes on after workers were lost without having done anything.
_LIVES = 3


class _Done(NamedTuple):
    begin: int
    end: int
    seconds: float
    size: int
    memory: float


def run(
    job: Job,
    executor: Executor | None = None,
    *,
    progress: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Make all shards that are missing.

    Parameters
    ----------
    job : Job
        The job.
    executor : Executor, optional
        Who computes; by default this process.
    progress : bool
        Show a progress bar, with the time that is left.
    note : callable
        Takes sentences: an estimate of what a long job takes, and what is kept where one ends early.
    """
    from tqdm.auto import tqdm

    executor = InProcess() if executor is None else executor
    job.folder.mkdir(parents=True, exist_ok=True)
    missing = {(part.begin, part.end): part for part in job.ranges if job.content(part) is None}
    total = sum(part.end - part.begin for part in job.ranges)
    rest = sum(end - begin for begin, end in missing)
    if len(missing) < len(job.ranges):
        note(f"{len(job.ranges) - len(missing)} of {counted(len(job.ranges), 'part')} are there from before.")
    estimate = _Estimate(job, executor, note)
    with tqdm(total=total, initial=total - rest, desc=job.name, unit=f" {job.unit}", disable=not progress) as bar:
        lives = _LIVES
        while missing:
            before = len(missing)
            try:
                for done in executor.run(_make, (_task(job, part) for part in list(missing.values()))):
                    del missing[done.begin, done.end]
                    bar.update(done.end - done.begin)
                    estimate.add(done, len(missing))
            except WorkerLostError as error:
                lives = _LIVES if len(missing) < before else lives - 1
                if not lives:
                    raise PellucidError(f"{error}, {_LIVES} times: for lack of memory? {_kept(job)}") from error
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"Stopped. {_kept(job)}") from None
            except Exception:
                if len(missing) < len(job.ranges):
                    note(_kept(job))
                raise


def contents(job: Job) -> Iterator[bytes]:
    """The content of all shards, in the order of the ranges; one that is damaged or gone is made anew."""
    for part in job.ranges:
        content = job.content(part)
        if content is None:
            _make(*_task(job, part))
            content = job.content(part)
        if content is None:
            raise InputError("A shard must stay as it was written", got=f"{job.path(part)}, which does not")
        yield content


def discard(folder: Path, *, but: Job | None = None) -> None:
    """Remove the shards in a folder, and the folder if nothing else is in it.

    Parameters
    ----------
    folder : Path
        The folder.
    but : Job, optional
        A job whose shards stay, and with them the folder.
    """
    kept = set() if but is None else {but.path(part) for part in but.ranges}
    for path in folder.glob(f"*-*-*-*{SUFFIX}"):
        if path not in kept:
            path.unlink(missing_ok=True)
    remove_drafts(folder)
    if but is None:
        with suppress(OSError):
            folder.rmdir()


def _task(job: Job, part: Range) -> tuple[Work, dict[str, Any], Path, str, Range]:
    return job.work, dict(job.arguments), job.path(part), job.identity, part


def _make(work: Work, arguments: dict[str, Any], path: Path, identity: str, part: Range) -> _Done:
    """Compute a shard, unless somebody has, and write it."""
    start = time.perf_counter()
    content = read_shard_file(path, (identity, part.begin, part.end))
    if content is None:
        content = work(part.begin, part.end, **arguments, **part.place)
        write_shard_file(path, identity, part.begin, part.end, content)
    return _Done(part.begin, part.end, time.perf_counter() - start, len(content), _peak())


def _peak() -> float:
    """The most memory that this process has had, in bytes; 0 where that is not known."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def _kept(job: Job) -> str:
    done = sum(job.path(part).exists() for part in job.ranges)  # also what workers have done since they were asked
    if not done:
        return "Nothing was done yet."
    return (
        f"{done} of {counted(len(job.ranges), 'part')} are kept in {job.folder}: the same command goes on from there, "
        "with other processes or workers, too."
    )


class _Estimate:
    """What the rest of a job takes, by its first shards; said once, and refused if there is no room on the disk."""

    def __init__(self, job: Job, executor: Executor, note: Callable[[str], None]) -> None:
        self.job, self.executor, self.note = job, executor, note
        self.seen: list[_Done] = []
        self.told = False

    def add(self, done: _Done, left: int) -> None:
        """Take note of a shard, after which so many are left."""
        if self.told or not left:
            return
        self.seen.append(done)
        if len(self.seen) < min(_TRIALS, left + 1):
            return
        size = max(each.size for each in self.seen)
        # The shards that are still to be written, and all of them once more as the result.
        disk = float(size * (left + len(self.job.ranges)))
        free = shutil.disk_usage(self.job.folder).free
        if disk > free:
            raise InputError(
                f"{self.job.name.capitalize()} need about {size_text(disk)} on the disk of {self.job.folder}",
                got=f"{size_text(free)} that are free",
                cure="free some, or write to another disk",
            )
        # The first shard of each worker also loads a model and compiles: one more is the second of somebody.
        if len(self.seen) < min(self.executor.workers + 1, left + 1):
            return
        self.told = True
        workers = min(self.executor.workers, left)
        seconds = min(each.seconds for each in self.seen) * left / workers
        if seconds >= LONG:
            memory = max(each.memory for each in self.seen) * workers
            self.note(
                f"{counted(left, 'part')} of {len(self.job.ranges)} are left: about {time_text(seconds)} "
                f"{self.executor.where}, {size_text(memory)} of memory and {size_text(disk)} on the disk. If it is "
                "stopped, the same command goes on where it was."
            )
