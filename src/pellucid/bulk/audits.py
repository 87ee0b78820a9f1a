"""Audits of tables of any length: the columns lie on the disk, and neighborhoods are measured in shards."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import torch

from pellucid._capacity import require_memory
from pellucid._nearest import memory
from pellucid._searched import SearchedNeighborhoods
from pellucid.auditing.core import Audit, assembled
from pellucid.auditing.kept import coefficients_of, witness_entry
from pellucid.auditing.measuring import FitMeasures, Measures, held_out_part, joined, measure_fit
from pellucid.auditing.predictions import Predictions
from pellucid.auditing.tables import TableAudit, audit_predictions
from pellucid.bulk.points import StoredPoints, forget_points, store_neighborhoods, store_points, stored_points
from pellucid.deviations import squared_error
from pellucid.domains import MessageCallback
from pellucid.errors import Parameter, quietly
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.sharding import Executor, InProcess, Job, Range, contents, discard, identity_of, run
from pellucid.tables import StoredTable, store_table
from pellucid.witnesses.base import WitnessFamily
from pellucid.witnesses.linear import LinearWitnesses
from pellucid.witnesses.refitted import RefittedWitnesses, parts

# Bytes of a row while a column is read: its cells as text, twice, and as numbers. Measured, rounded up.
_ROW = 500
_COLUMNS, _POINTS = "columns", "points"


def audit_long_table(
    path: Path,
    reading: Callable[[StoredTable], Predictions],
    *,
    kinds: Sequence[str],
    shards: Path,
    executor: Executor | None = None,
    progress: bool = False,
    warn: MessageCallback = lambda _: None,
    **settings: Any,
) -> TableAudit:
    """Audit a table that is too long for memory, in shards; whoever computes, the result is the same.

    It is to be written while the shards are there.

    Parameters
    ----------
    path : Path
        The table.
    reading : callable
        Makes predictions of what was read, as `pellucid.auditing.reading.read_predictions` does.
    kinds : sequence of str
        What is to be kept of each witness: ".csv" or ".parquet" what stands in tables, ".json" everything.
    shards : Path
        The folder of the shards. Those of another audit there are removed; those of the same are not made again.
    executor : Executor, optional
        Who computes; by default this process.
    progress : bool
        Show a progress bar, with the time that is left.
    warn : callable
        Takes sentences: on what a long job takes, and on what is kept of one that ends early.
    **settings : object
        Those of `pellucid.auditing.tables.audit_predictions`.
    """
    executor = InProcess() if executor is None else executor
    predictions = _read(path, reading, _emptied(shards / _COLUMNS))
    shutil.rmtree(shards / _COLUMNS)
    if predictions.smiles is not None:  # whose neighborhoods come from fingerprints, all at once
        return audit_predictions(predictions, **settings)
    x, coordinates = predictions.x, predictions.coordinates()
    local = executor.workers if executor.here else 0
    require_memory(
        float(memory(len(coordinates), coordinates.shape[1], 0)) * (1 + local),
        f"The audit of {len(x):,} rows" + (f" in {local} processes" if local else ""),
        cure=f"use fewer with {Parameter('jobs')}" if local else "audit a sample of its rows: 100,000 say the same",
        parameter="jobs" if local else None,
    )
    points = store_points(_emptied(shards / _POINTS), x, predictions.f, coordinates)
    predictions = replace(predictions, x=points.x.numpy(), f=points.f.numpy(), search=points.search)
    del x, coordinates
    made: list[AuditShards] = []

    def auditor(f: Any, x: Any, hoods: BaseNeighborhoods, family: WitnessFamily, **facts: Any) -> Audit:
        made.append(AuditShards.of(points, hoods, family, facts["features"], facts["outputs"], kinds, shards))
        discard(shards, but=made[0].job)
        run(made[0].job, executor, progress=progress, note=warn)
        family.warn_of(hoods, points.x.shape[1])
        witnesses = RefittedWitnesses(x=points.x, f=points.f, hoods=hoods, family=family)
        named = witnesses.named(facts["features"], facts["outputs"])
        return assembled(named, made[0].measures, family=family, judges=facts["judges"])

    result = audit_predictions(predictions, **settings, auditor=auditor)
    return replace(result, kept=made[0])


def forget(shards: Path) -> None:
    """Remove the columns and points of an audit, which are made anew when it goes on.

    Parameters
    ----------
    shards : Path
        The folder of its shards.
    """
    forget_points()
    for name in (_COLUMNS, _POINTS):
        shutil.rmtree(shards / name, ignore_errors=True)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class AuditShards:
    """What is measured and written of the neighborhoods of a table, in shards; see `KeptWitnesses`."""

    job: Job

    @classmethod
    def of(
        cls,
        points: StoredPoints,
        hoods: BaseNeighborhoods,
        family: WitnessFamily,
        features: Sequence[str],
        outputs: Sequence[str],
        kinds: Sequence[str],
        shards: Path,
    ) -> AuditShards:
        """The shards of an audit, not made yet.

        Parameters
        ----------
        points : StoredPoints
            Features and predictions.
        hoods : BaseNeighborhoods
            The neighborhoods.
        family : WitnessFamily
            Where the witnesses come from.
        features, outputs : sequence of str
            Names to print witnesses with.
        kinds : sequence of str
            What is to be kept of each witness.
        shards : Path
            The folder of the shards.
        """
        k = hoods.k if isinstance(hoods, SearchedNeighborhoods) else None
        if k is None:
            store_neighborhoods(points.folder, hoods)
        wanted = [name for name, ends in _WANTED.items() if {*ends} & {*kinds}]
        digest = hashlib.sha256(pickle.dumps(family)).hexdigest()
        whose = "" if k is not None else hashlib.sha256(hoods.members.numpy().data).hexdigest()
        ranges = [Range(part.start, part.stop) for part in parts(hoods)]
        chosen = {"k": k, "features": tuple(features), "outputs": tuple(outputs), "wanted": wanted}
        job = Job(
            name="audit",
            work=_audit_range,
            arguments={"folder": points.folder, "digest": points.digest, "family": family, **chosen},
            ranges=ranges,
            folder=shards,
            identity=identity_of({"job": "audit", "ranges": [part[:2] for part in ranges], **chosen},
                                 points.digest, digest, whose),
            unit="neighborhoods",
        )  # fmt: skip
        return cls(job=job)

    def _arrays(self) -> Iterator[dict[str, np.ndarray]]:
        for content in contents(self.job):
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                yield dict(arrays)

    @cached_property
    def measures(self) -> Measures:
        """What was measured, of all neighborhoods."""
        measured, held_out, saturated = [], [], []
        for arrays in self._arrays():
            columns: Any = [torch.from_numpy(arrays[name]) for name in FitMeasures._fields[:5]]
            measured.append(FitMeasures(*columns, *arrays["sums"].tolist()))
            held_out.append(torch.from_numpy(arrays["held_out"]))
            saturated.append(torch.from_numpy(arrays["saturated"]))
        return joined(measured)._replace(held_out=torch.cat(held_out), saturated=torch.cat(saturated))

    @cached_property
    def linear(self) -> bool:
        """Whether they are coefficients."""
        return "coefficients" in next(self._arrays())

    def cells(self) -> Iterator[list[Any]]:
        """For each neighborhood the cells of its witness: coefficients, or its text."""
        for arrays in self._arrays():
            if "coefficients" in arrays:
                yield from arrays["coefficients"].tolist()
            else:
                yield from ([text] for text in _lines(arrays["texts"]))

    def entries(self) -> Iterator[dict[str, Any]]:
        """For each neighborhood its witness, ready for JSON."""
        for arrays in self._arrays():
            yield from _lines(arrays["entries"])


# What is kept, and the files that it is kept for.
_WANTED = {"cells": (".csv", ".parquet"), "entries": (".json",)}


def _audit_range(
    begin: int,
    end: int,
    *,
    folder: Path,
    digest: str,
    family: WitnessFamily,
    k: int | None,
    features: Sequence[str],
    outputs: Sequence[str],
    wanted: Sequence[str],
) -> bytes:
    """What is measured and kept of a range of neighborhoods, as arrays in the format of NumPy."""
    points = stored_points(folder, digest)
    hoods = points.part(begin, end, k)  # with all threads; the nearest do not depend on them
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums do
    try:
        with quietly():
            fit = family.best_response(points.x, points.f, hoods).named(features, outputs)
        measured = measure_fit(fit, squared_error)
        arrays: dict[str, Any] = {name: getattr(measured, name).numpy() for name in FitMeasures._fields[:5]}
        arrays["sums"] = np.array([measured.total, measured.missed])
        arrays["held_out"] = held_out_part(points.x, points.f, hoods, family, squared_error).numpy()
        arrays["saturated"] = fit.saturated().numpy()
        if "cells" in wanted and isinstance(fit, LinearWitnesses):
            arrays["coefficients"] = coefficients_of(fit.theta).numpy()
        elif "cells" in wanted:
            arrays["texts"] = _packed(witness.text() for witness in fit)
        if "entries" in wanted:
            arrays["entries"] = _packed(witness_entry(witness) for witness in fit)
    finally:
        torch.set_num_threads(threads)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _packed(items: Iterator[Any]) -> np.ndarray:
    """A line of JSON for each item, as an array of bytes."""
    return np.frombuffer("".join(json.dumps(item) + "\n" for item in items).encode(), dtype=np.uint8)


def _lines(packed: np.ndarray) -> Iterator[Any]:
    return map(json.loads, packed.tobytes().splitlines())


def _read(path: Path, reading: Callable[[StoredTable], Predictions], folder: Path) -> Predictions:
    table = store_table(path, folder)
    require_memory(
        float(_ROW * len(table.numbers)),
        f"The audit of {path.name}",
        cure="audit a sample of its rows: 100,000 say the same",
    )
    return reading(table)


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder.resolve()
