"""Whatever a user has, as recordings: paths, tables with named columns, arrays, and lists of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.series.data import Recordings, default_names, names_of, require_distinct
from pellucid.series.files import read
from pellucid.series.gathering import Treatment, checked_treatment, gather
from pellucid.series.tables import ColumnTable, from_arrow, from_frame, tables_of


def recordings(
    data: Any,
    channels: int | str | Sequence[str] | None = None,
    *,
    drop: str | Iterable[str] | None = None,
    by: str | None = None,
    pivot: str | None = None,
    fill: str | None = None,
    gaps: str = "split",
) -> Recordings:
    """Whatever a user has, as `Recordings`.

    Parameters
    ----------
    data : object
        A path (see `read`); a table with named columns such as pandas', polars' or pyarrow's; an array (T, c), or (S,
        T, c) for S recordings of equal length; `Recordings`; or a list of any of these.
    channels : int, str or sequence of str, optional
        The columns to use, by name; for arrays their names, one each; or just their number.
    drop, by, pivot, fill, gaps : str or iterable of str, optional
        As in `read`. All columns of an array are channels, whatever they look like.
    """
    treatment = checked_treatment(drop, by, pivot, fill, gaps)
    if channels is None or isinstance(channels, int | np.integer):
        result = _recordings(data, None, treatment)
    else:
        result = _recordings(data, names_of(channels), treatment)
    if isinstance(channels, int | np.integer) and len(result.channels) != channels:
        without = f" without {', '.join(name for name, _ in result.ignored)}" if result.ignored else ""
        raise InputError(
            f"There must be {channels} channels",
            got=f"{len(result.channels)}{without}",
            cure=f"correct {Parameter('channels')} or the data",
        )
    return result


def recordings_with_warnings(data: Any, channels: int | str | Sequence[str] | None = None) -> Recordings:
    """Like `recordings`, with a warning for each decision, where the caller never sees the recordings."""
    result = recordings(data, channels)
    if not isinstance(data, Recordings):
        for sentence in result.decisions():
            warnings.warn(f"{result.origins[0].file}: {sentence}.", stacklevel=3)
    return result


def _recordings(data: Any, wanted: list[str] | None, treatment: Treatment) -> Recordings:
    if isinstance(data, str | Path):
        return read(data, channels=wanted, **treatment._asdict())
    if isinstance(data, Recordings):
        return data if wanted is None or tuple(wanted) == data.channels else data.select(wanted)
    if hasattr(data, "columns"):
        return _from_table(data, wanted, treatment)
    if isinstance(data, list | tuple) and any(_has_names(item) for item in data):
        return _joined([_recordings(item, wanted, treatment) for item in data])
    tables, sources = tables_of(data)
    names = wanted or default_names(tables[0].shape[1])
    if treatment == Treatment():
        return Recordings(values=tuple(tables), channels=tuple(names), sources=tuple(sources))
    columns = tuple(names)
    parts = [
        ColumnTable(
            file=source, names=columns, numeric=columns, values=table, rows=range(1, len(table) + 1), blank="nan"
        )
        for table, source in zip(tables, sources, strict=True)
    ]
    return gather(parts, [name for name in names if name not in treatment.drop and name != treatment.by], treatment)


def _has_names(item: Any) -> bool:
    return isinstance(item, str | Path | Recordings) or hasattr(item, "columns")


def _joined(parts: Sequence[Recordings]) -> Recordings:
    for i, part in enumerate(parts):
        if part.channels != parts[0].channels:
            raise InputError(
                "All recordings must have the same channels",
                got=(f"{', '.join(part.channels)} as number {i + 1} of the list after {', '.join(parts[0].channels)}"),
                cure=f"choose the common ones with {Parameter('channels')}",
            )
    suffixes = ["" if len(parts) == 1 else f" (number {i + 1} of the list)" for i in range(len(parts))]
    return Recordings(
        values=tuple(table for part in parts for table in part.values),
        channels=parts[0].channels,
        sources=tuple(
            f"{source}{suffix}" for part, suffix in zip(parts, suffixes, strict=True) for source in part.sources
        ),
        ignored=tuple(dict.fromkeys(pair for part in parts for pair in part.ignored)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        origins=tuple(
            origin._replace(file=f"{origin.file}{suffix}")
            for part, suffix in zip(parts, suffixes, strict=True)
            for origin in part.origins
        ),
    )


def _from_table(data: Any, channels: Sequence[str] | None, treatment: Treatment) -> Recordings:
    """From a table with named columns: pandas', polars', pyarrow's."""
    arrow = hasattr(data, "column_names") and hasattr(data, "schema")
    names = [str(name) for name in (data.column_names if arrow else data.columns)]
    if names == [str(i) for i in range(len(names))]:  # numbered by default, which are no names
        names = default_names(len(names))
    require_distinct(names if channels is None else [n for n in names if n in channels], "the table")
    table = from_arrow(data, "the table", first_row=1, names=names) if arrow else from_frame(data, names)
    return gather([table], channels, treatment)
