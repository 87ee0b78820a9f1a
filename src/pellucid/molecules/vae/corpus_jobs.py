"""Corpora of tables of any length, in shards: the folder that `Corpus.build` writes, made by any number of machines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import rdBase

from pellucid import _checks, cache
from pellucid.cache import as_bytes
from pellucid.domains import MessageCallback
from pellucid.molecules.files import smiles_column
from pellucid.molecules.table import Rejection
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.corpus_format import CONTENT, FORMAT, CorpusPart, corpus_key, pack, write_parts
from pellucid.molecules.vae.trees import ATOM_LIMIT, MAX_ATOMS
from pellucid.sharding import Executor, Job, Range, contents, discard, identity_of, run
from pellucid.tables import read_range, table_ranges

_PIECE = 4096


def write_corpus(
    table: str | Path,
    folder: str | Path,
    *,
    smiles: str | None = None,
    largest: int = MAX_ATOMS,
    executor: Executor | None = None,
    progress: bool = True,
    warn: MessageCallback = lambda _: None,
) -> Corpus:
    """Write the junction trees of a table of molecules into a folder; what is interrupted goes on where it was.

    The folder is that of `Corpus.build`, to the last byte, whoever computes; it can be trained from, and opened.

    Parameters
    ----------
    table : str or Path
        A file with a line of names and a column of SMILES, or a list of them (.smi).
    folder : str or Path
        Where to write: new or empty, or of the same molecules. Shards are beside it until all are done, in a folder
        whose name ends in ".parts".
    smiles : str, optional
        The column of SMILES; by default it is found by its name.
    largest : int
        The most heavy atoms that a molecule may have.
    executor : Executor, optional
        Who computes; by default this process. See `pellucid.sharding.executor_of`.
    progress : bool
        Show a progress bar, with the time that is left.
    warn : callable
        Takes sentences on what a long job takes.
    """
    _checks.whole(largest, 1, "largest", ATOM_LIMIT)
    target = Path(folder).resolve()
    key = corpus_key(table, largest, None, smiles)
    if (corpus := Corpus.built_in(target, key)) is not None:
        return corpus
    ranges = table_ranges(table, _PIECE)
    column = smiles_column(ranges.header, smiles, ranges.path.name)
    job = Job(
        name="junction trees",
        work=_trees_range,
        arguments={"column": column, "largest": largest},
        ranges=[Range(part.begin, part.end, ranges.place(part)) for part in ranges.ranges],
        folder=target.with_name(f"{target.name}.parts"),
        identity=identity_of(
            {
                "job": "corpus",
                "format": FORMAT,
                "fields": CorpusPart._fields,
                "column": column,
                "largest": largest,
                "rdkit": rdBase.rdkitVersion,
            },
            ranges.digest,
        ),
        unit="molecules",
    )
    run(job, executor, progress=progress, note=warn)
    with cache.new_folder(target, CONTENT) as draft:
        write_parts(draft, _parts(job), key)
    discard(job.folder)
    return Corpus.open(target)


def _trees_range(begin: int, end: int, *, column: str, largest: int, **place: Any) -> bytes:
    """A `CorpusPart` as bytes."""
    table = read_range(**place)
    rows = list(zip(table.numbers, table.column(column), strict=True)) if table.rows else []
    part = pack(rows, largest)
    stream = io.BytesIO()
    about = json.dumps({"names": part.names, "rejected": part.rejected, "flattened": part.flattened})
    np.savez(stream, allow_pickle=False, about=as_bytes([about]), **part.arrays)
    return stream.getvalue()


def _parts(job: Job) -> Iterator[CorpusPart]:
    for content in contents(job):
        with np.load(io.BytesIO(content)) as stored:
            arrays = dict(stored)
        about = json.loads(arrays.pop("about").tobytes())
        rejected = [Rejection(*each) for each in about["rejected"]]
        yield CorpusPart(arrays, about["names"], rejected, about["flattened"])
