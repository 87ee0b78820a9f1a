"""The file of a shard: a line that says what it is of, with a digest, and then its content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pellucid.writing import write_bytes

SUFFIX = ".shard"
_MAGIC = "pellucid shard 1"
# The longest first line.
_HEAD = 300


def write_shard_file(path: Path, identity: str, begin: int, end: int, content: bytes) -> None:
    """Write a shard, whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    identity : str
        Of the job; see `identity_of`.
    begin, end : int
        The range of the shard.
    content : bytes
        What was computed.
    """
    write_bytes(path, f"{_MAGIC} {identity} {begin} {end} {_digest(content)}\n".encode() + content)


def read_shard_file(path: Path, of: tuple[str, int, int] | None = None) -> bytes | None:
    """The content of a shard; None if it is not there, damaged, or of another job or range.

    Parameters
    ----------
    path : Path
        The file.
    of : (str, int, int), optional
        The identity of the job, and the range; by default that of any.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    head, _, content = raw.partition(b"\n")
    known, _, digest = head[:_HEAD].decode("ascii", errors="replace").rpartition(" ")
    expected = known if of is None else " ".join((_MAGIC, *map(str, of)))
    return content if known.startswith(_MAGIC) and known == expected and digest == _digest(content) else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
