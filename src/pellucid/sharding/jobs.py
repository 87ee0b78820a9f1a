"""What is to be done: a function, its arguments, and the ranges of rows that it is called with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

from pellucid import _checks
from pellucid.cache import key_of
from pellucid.sharding.files import SUFFIX, read_shard_file

Work: TypeAlias = Callable[..., bytes]
"""`work(begin, end, **arguments)` returns the content of a shard; other processes must be able to import it."""


class Range(NamedTuple):
    """Rows from `begin` to before `end`."""

    begin: int
    end: int
    place: Mapping[str, Any] = {}
    """Further arguments for this range alone, such as where it begins in a file."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """A pure function over ranges, each of which becomes a shard.

    Parameters
    ----------
    name : str
        What is made, in a word, for names of files and the progress bar: "predictions".
    work : callable
        See `Work`.
    arguments : mapping of str to object
        Arguments for all ranges: names of files and settings. They are sent with each range, so they must be small.
    ranges : sequence of Range
        The ranges, in the order in which the shards are joined.
    folder : Path
        Where shards are written; all workers must see it.
    identity : str
        Of everything that the content depends on; see `identity_of`.
    unit : str
        Plural noun for what is counted: "rows".
    """

    name: str
    work: Work
    ranges: Sequence[Range]
    folder: Path
    identity: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "rows"

    def path(self, part: Range) -> Path:
        """Where the shard of a range is."""
        return shard_path(self.folder, self.name, self.identity, part.begin, part.end)

    def content(self, part: Range) -> bytes | None:
        """What was computed for a range; None if it has to be."""
        return read_shard_file(self.path(part), (self.identity, part.begin, part.end))


def shard_path(folder: str | Path, name: str, identity: str, begin: int, end: int) -> Path:
    """Where a shard is: other jobs have other names."""
    return Path(folder) / f"{name}-{identity[:12]}-{begin:012d}-{end:012d}{SUFFIX}"


def identity_of(settings: Mapping[str, Any], *digests: str) -> str:
    """The identity of a job: a digest of its settings, of what it reads, and of the version of this library.

    Parameters
    ----------
    settings : mapping of str to object
        Whatever changes the content; texts stand for what JSON does not have.
    *digests : str
        Of the files that are read.
    """
    from pellucid import __version__

    return key_of(json.dumps([__version__, settings, digests], sort_keys=True, default=str))


def even_ranges(count: int, size: int) -> list[Range]:
    """Ranges of `size` rows, the last of what is left.

    Examples
    --------
    >>> [(part.begin, part.end) for part in even_ranges(10, 4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    size = _checks.whole(size, 1, "size")
    return [Range(begin, min(begin + size, count)) for begin in range(0, count, size)]
