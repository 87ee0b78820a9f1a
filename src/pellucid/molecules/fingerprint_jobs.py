"""Fingerprints of a table of molecules of any length: a shard of each range of rows, then one sorted file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import rdBase

from pellucid._capacity import require_memory
from pellucid.domains import MessageCallback
from pellucid.molecules.files import smiles_column
from pellucid.molecules.fingerprint_files import Array, FingerprintFile
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.table import canonical
from pellucid.sharding import Executor, Job, Range, contents, discard, identity_of, run
from pellucid.tables import read_range, table_ranges

_PIECE = 8192
# Bytes of memory for each fingerprint while they are sorted on the disk.
_SORTED = 60.0
_SHARDS = "shards"


def write_fingerprints(
    table: str | Path,
    folder: str | Path,
    *,
    smiles: str | None = None,
    morgan: Morgan | None = None,
    executor: Executor | None = None,
    progress: bool = True,
    warn: MessageCallback = lambda _: None,
) -> FingerprintFile:
    """Write the fingerprints of a table, with little of it in memory; pairs will name molecules by their rows, from 0.

    A row without a molecule has no bits, and is similar to none. What is interrupted goes on where it was.

    Parameters
    ----------
    table : str or Path
        A file with a column of SMILES, or a list of them (.smi).
    folder : str or Path
        Where to write, as `FingerprintFile.write` does; shards are in it until all are done.
    smiles : str, optional
        The column of SMILES; by default it is found by its name.
    morgan : Morgan, optional
        The kind of the fingerprints.
    executor : Executor, optional
        Who computes; by default this process. See `pellucid.sharding.executor_of`.
    progress : bool
        Show a progress bar, with the time that is left.
    warn : callable
        Takes sentences on what a long job takes, and on rows without a molecule.
    """
    morgan = Morgan() if morgan is None else morgan
    ranges = table_ranges(table, _PIECE)
    require_memory(
        _SORTED * ranges.count,
        f"Sorting {ranges.count:,} fingerprints",
        cure="divide the table, or use a larger machine",
    )
    column = smiles_column(ranges.header, smiles, ranges.path.name)
    job = Job(
        name="fingerprints",
        work=_fingerprint_range,
        arguments={"column": column, "morgan": morgan},
        ranges=[Range(part.begin, part.end, ranges.place(part)) for part in ranges.ranges],
        folder=Path(folder).resolve() / _SHARDS,
        identity=identity_of(
            {"job": "fingerprints", "column": column, "morgan": repr(morgan), "rdkit": rdBase.rdkitVersion},
            ranges.digest,
        ),
        unit="molecules",
    )
    run(job, executor, progress=progress, note=warn)

    def parts() -> Iterator[Array]:
        for content in contents(job):
            yield np.frombuffer(content, dtype="<u8").reshape(-1, morgan.size // 64)

    file = FingerprintFile.write_parts(folder, parts)
    discard(job.folder)
    empty = int(np.searchsorted(file.counts, 1))
    if empty:
        warn(f"{empty:,} of {len(file):,} rows hold no molecule; they are similar to none.")
    return file


def _fingerprint_range(begin: int, end: int, *, column: str, morgan: Morgan, **place: Any) -> bytes:
    """(rows, words) bits as bytes."""
    table = read_range(**place)
    words = np.zeros((len(table.rows), morgan.size // 64), dtype="<u8")
    with rdBase.BlockLogs():
        molecules = [canonical(text) for text in table.column(column)] if table.rows else []
    valid = [i for i, (_, reason) in enumerate(molecules) if not reason]
    if valid:
        words[valid] = morgan([molecules[i][0] for i in valid]).words
    return words.tobytes()
