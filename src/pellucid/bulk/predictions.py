"""Predictions of a table of any length: a shard of each range of rows, joined in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pellucid.bulk.models import folder_digest, loaded_model
from pellucid.domains import MessageCallback
from pellucid.row_domains import PredictedRows, RowDomain, joined_predictions, require_new
from pellucid.sharding import Executor, Job, Range, contents, discard, identity_of, run
from pellucid.tables import read_range, table_ranges


def predictions(
    domain: RowDomain[Any, Any],
    model: Path,
    path: Path,
    reading: Any,
    settings: Any,
    *,
    shards: Path,
    executor: Executor | None = None,
    progress: bool = False,
    warn: MessageCallback = lambda _: None,
) -> Iterator[Sequence[Any]]:
    """The names of the columns, then the rows of a file with their predictions; memory does not fill up.

    Whoever computes, the rows are the same to the last digit: they are predicted in the same ranges, and numbers are
    rounded as in all tables.

    Parameters
    ----------
    domain : RowDomain
        The domain of the model.
    model : Path
        The folder of the model.
    path : Path
        The table.
    reading : Options
        How it is read, of the class `Domain.Reading`.
    settings : Options
        What to predict, of the class `Domain.Predicting`.
    shards : Path
        The folder of the shards. Those of another job there are removed; those of the same are not made again.
    executor : Executor, optional
        Who computes; by default this process.
    progress : bool
        Show a progress bar, with the time that is left.
    warn : callable
        Takes sentences: on rows without a prediction, on what a long job takes, on what is kept of one that ends early.
    """
    domain.check_predicting(settings)
    ranges = table_ranges(path, domain.piece)
    digest = folder_digest(model)
    job = Job(
        name="predictions",
        work=_predict_range,
        arguments={
            "domain": domain,
            "model": model.resolve(),
            "digest": digest,
            "reading": reading,
            "settings": settings,
        },
        ranges=[Range(part.begin, part.end, ranges.place(part)) for part in ranges.ranges],
        folder=shards,
        identity=identity_of(
            {
                "job": "predictions",
                "domain": domain.name,
                "reading": reading,
                "settings": settings,
                "piece": domain.piece,
            },
            ranges.digest,
            digest,
        ),
        unit=domain.samples,
    )
    discard(shards, but=job)
    run(job, executor, progress=progress, note=warn)
    return joined_predictions(domain, lambda: contents(job), path.name, warn)


def _predict_range(
    begin: int,
    end: int,
    *,
    domain: RowDomain[Any, Any],
    model: Path,
    digest: str,
    reading: Any,
    settings: Any,
    **place: Any,
) -> bytes:
    """The predictions of a range, as JSON lines."""
    table = read_range(**place)
    if not table.rows:
        return PredictedRows().to_bytes()
    rows = domain.predict_rows(loaded_model(domain, model, digest), table, reading, settings)
    require_new([name for name in rows.header if name not in rows.unused], table.source)  # before hours of work
    return rows.to_bytes()
