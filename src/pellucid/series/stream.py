"""Recordings one after the other, in the order of time, so that a folder of any size fits into memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from pellucid import _checks
from pellucid.errors import InputError
from pellucid.series.recordings import Recordings, recordings

Read: TypeAlias = Callable[[Path], Recordings]
_STAMP = re.compile(r"(\d{4})\D?(\d{2})\D?(\d{2})\D{1,3}(\d{2})\D?(\d{2})\D?(\d{2})")


def sources_of(data: Any, pattern: str = "*") -> list[Any]:
    """What is read in one go: each file of a folder, or the data as they are."""
    if isinstance(data, list | tuple) and data and all(isinstance(part, str | Path) for part in data):
        return [source for part in data for source in sources_of(part, pattern)]
    if isinstance(data, str | Path) and Path(data).is_dir():
        files = [path for path in Path(data).glob(pattern) if path.is_file() and path.name[0] != "."]
        if not files:
            raise InputError(
                f"The folder must hold files that match {pattern!r}. Got none in {data}; change `pattern`."
            )
        return sorted(files, key=lambda path: in_order(path.name))
    if isinstance(data, str | Path) and not Path(data).exists():
        raise InputError(f"The data must be a file or a folder. Got {data}, which does not exist; correct the path.")
    return [Path(data)] if isinstance(data, str) else [data]


def in_order(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key to sort names by: numbers in them count as numbers, so that stamps of time and counts are in their order.

    >>> sorted(["run 10", "run 9", "2004.02.12", "2004.02.9"], key=in_order)
    ['2004.02.9', '2004.02.12', 'run 9', 'run 10']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)


def one_by_one(
    sources: Sequence[Any], channels: Sequence[str], *, every: int | None = None, read: Read | None = None
) -> Iterator[Recordings]:
    """Each recording alone, or each piece of `every` rows of it.

    Parameters
    ----------
    sources : what `sources_of` found.
    channels : by name, in the order of the model's.
    every : rows of a piece; what is left at the end of a recording is not used.
    read : how a file becomes recordings; by default as `series.read` does.
    """
    for source in sources:
        several = read(source) if read is not None and isinstance(source, Path) else recordings(source, channels)
        for i in range(len(several)):
            one = several[i]
            yield from [one] if every is None else pieces(one, every)


def pieces(recording: Recordings, every: int) -> list[Recordings]:
    """One recording cut into parts of `every` rows."""
    every = _checks.whole(every, 1, "every")
    (table,), (source,) = recording.values, recording.sources
    if len(table) < every:
        raise InputError(
            f"A recording must have at least the {every} rows of a piece. Got {len(table)} in {source}; choose a "
            "smaller `every`, or leave that recording out."
        )
    return [
        Recordings(
            values=(table[row : row + every],),
            channels=recording.channels,
            sources=(f"{source}, rows {row + 1} to {row + every}",),
        )
        for row in range(0, len(table) - every + 1, every)
    ]


def hours_of(names: Sequence[str]) -> list[float] | None:
    """Hours since the first recording, from stamps of time in the names (year, month, day, hour, minute, second); None
    if not all have one, or if they are not in order.

    >>> hours_of(["2004.02.12.10.32.39", "2004.02.12.11.02.39", "20040213T103239.csv"])
    [0.0, 0.5, 24.0]
    """
    moments = []
    for name in names:
        digits = _STAMP.search(name)
        try:
            moments.append(datetime(*map(int, digits.groups())))  # type: ignore[arg-type, union-attr]
        except (AttributeError, ValueError):
            return None
    hours = [(moment - moments[0]).total_seconds() / 3600 for moment in moments]
    rising = all(later > earlier for earlier, later in pairwise(hours))
    return hours if rising and len(hours) > 1 else None
