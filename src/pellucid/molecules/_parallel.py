"""The same work on many molecules, on all cores, with a progress bar."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

Result = TypeVar("Result")
# Molecules that one task of a worker handles.
_CHUNK = 32
# Fewer chunks are done before other processes have started.
_MIN_PARALLEL = 16


def in_chunks(
    work: Callable[..., Result],
    items: Sequence[Any],
    *arguments: Any,
    jobs: int | None,
    title: str,
    progress: bool,
    chunk: int | None = None,
) -> Iterator[Result]:
    """The results of `work(chunk, *arguments)` for the chunks of `items`, in order.

    Parameters
    ----------
    work : callable
        The function of a chunk; other processes must be able to import it.
    items : sequence of object
        The items.
    *arguments : object
        Further arguments of `work`.
    jobs : int, optional
        The number of processes; by default one per core, and for few chunks only this one.
    title : str
        The title of the progress bar.
    progress : bool
        Show a progress bar.
    chunk : int, optional
        The number of items in a chunk.
    """
    size = chunk or _CHUNK
    chunks = [items[i : i + size] for i in range(0, len(items), size)]
    few = len(chunks) < _MIN_PARALLEL
    yield from over_chunks(
        work,
        chunks,
        *arguments,
        jobs=jobs or (1 if few else None),
        title=title,
        progress=progress and not few,
        total=len(items),
    )


def over_chunks(
    work: Callable[..., Result],
    chunks: Iterable[Sequence[Any]],
    *arguments: Any,
    jobs: int | None,
    title: str,
    progress: bool,
    total: int | None = None,
) -> Iterator[Result]:
    """The same for chunks that need not all be in memory; `total` is the number of items, if it is known."""
    from tqdm.auto import tqdm

    jobs = jobs or os.cpu_count() or 1
    with tqdm(total=total, desc=title, unit="molecule", disable=not progress) as bar:
        if jobs == 1:
            for part in chunks:
                yield work(part, *arguments)
                bar.update(len(part))
            return
        from joblib import Parallel, delayed  # slow to import, and most work is done by this process
        from joblib.externals.loky import get_reusable_executor

        # Not the standard library's processes: those run a script anew that does not guard its main part.
        parallel = Parallel(jobs, return_as="generator", batch_size=1, pre_dispatch="4 * n_jobs")
        try:
            for count, result in parallel(delayed(_with_count)(work, part, *arguments) for part in chunks):
                yield result
                bar.update(count)
        finally:
            # Idle workers stay for the next call; but a process that is itself a worker would wait for them at its end.
            if multiprocessing.parent_process() is not None:
                get_reusable_executor().shutdown(wait=True)


def _with_count(work: Callable[..., Result], part: Sequence[Any], *arguments: Any) -> tuple[int, Result]:
    return len(part), work(part, *arguments)
