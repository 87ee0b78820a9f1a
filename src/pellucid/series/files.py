"""Recordings from files: text, Parquet, NumPy's own, and folders of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.paths import files_in, kind_of
from pellucid.schemas import SchemaError
from pellucid.series.data import UNNAMED, Recordings, columns_of, default_names, names_of, require_distinct
from pellucid.series.gathering import Treatment, checked_treatment, gather
from pellucid.series.mapped import is_large, mapped, unreadable
from pellucid.series.tables import ColumnTable, from_arrow, tables_of
from pellucid.stored_arrays import read_arrays
from pellucid.tables import read_columns
from pellucid.tables.parquet import readable

_TABLES = (".parquet", ".pq")
_ARRAYS = (".npz", ".npy")


def read(
    path: str | Path,
    *,
    channels: str | Sequence[str] | None = None,
    drop: str | Iterable[str] | None = None,
    by: str | None = None,
    pivot: str | None = None,
    fill: str | None = None,
    gaps: str = "split",
    pattern: str = "*",
    header: bool | None = None,
    decimal: str = ".",
) -> Recordings:
    """Recordings from a file, or from a folder with one recording per file, in the order of their names.

    Columns that rise or repeat like a clock, and stamps such as "2024-05-01 12:30", are times, not channels: they
    are ignored, unless `channels` names them, and show where rows do not follow each other. What was decided is in
    `Recordings.ignored` and `Recordings.notes`.

    Parameters
    ----------
    path : str or Path
        Text (cells separated by commas, semicolons, tabs or blanks, with or without a line of names), Parquet
        (.parquet), or NumPy's .npy and .npz. An .npz holds an array `x`, or one array of any name: (T, c), or (S, T,
        c) for S recordings; optionally `channels`, the names of the c channels, and `names`, those of the S
        recordings. An .npy of more than 256 MB is not read into memory: all its columns are channels, and rows are
        read where they are needed.
    channels : str or sequence of str, optional
        The columns to use; by default all columns of numbers that are not times.
    drop : str or iterable of str, optional
        Columns to ignore.
    by : str, optional
        A column that tells units apart, each of which is a recording of its own; by default a column called unit, id
        or the like, if time starts anew where it changes.
    pivot : str, optional
        A column that names the channel of each row, for tables with one row per sensor and time.
    fill : str, optional
        How blanks are treated: "linear" fills up to five in a row by straight lines, "previous" with the value
        before, and cuts the recording where there are more; "split" cuts it at each; None refuses them. The first two
        also fill up to five rows that are missing in time.
    gaps : str
        Where time jumps, "split" cuts the recording, so that nothing is learned across a gap; "ignore" does not.
    pattern : str
        Which files of a folder to read, as in "*.csv".
    header : bool, optional
        Whether the first line of text holds names; by default it does if none of its cells is a number.
    decimal : str
        The decimal sign of text files, "." or ",".
    """
    path = Path(path)
    kind = kind_of(path)
    if kind is None:
        raise InputError(
            "The data must be a file or a folder", got=f"{path}, which does not exist", cure="correct the path"
        )
    if decimal not in (".", ","):
        raise InputError(f'{Parameter("decimal")} must be "." or ","', got=f"{decimal!r}", parameter="decimal")
    treatment = checked_treatment(drop, by, pivot, fill, gaps)
    files = [path] if kind == "file" else files_in(path, pattern)
    if not files:
        raise InputError(
            f"The folder must hold files that match {pattern!r}",
            got=f"none in {path}",
            cure=f"change {Parameter('pattern')}",
        )
    wanted = None if channels is None else names_of(channels)
    if kind == "file" and is_large(path) and treatment._replace(gaps="split") == Treatment():
        return mapped(path, wanted)
    tables: list[ColumnTable] = []
    for file in files:
        try:
            parts = _read_file(file, header, decimal)
            for table in parts:
                require_distinct([n for n in table.names if n in wanted] if wanted else table.names, file.name)
                columns_of([] if pivot else wanted or [], table.names, file.name)
                for name in [] if pivot else wanted or []:
                    if name not in table.numeric:
                        raise table.not_numeric(name)
        except InputError as error:
            if len(files) == 1:
                raise
            raise InputError(
                f"{error} If {file.name} is no recording, leave it out with {Parameter('pattern'):=}",
                parameter=error.parameter,
            ) from None
        tables += parts
    return gather(tables, wanted, treatment)


def _read_file(file: Path, header: bool | None, decimal: str) -> list[ColumnTable]:
    """The tables of one file."""
    if file.suffix in _ARRAYS:
        return _read_arrays(file)
    if file.suffix in _TABLES:
        from pyarrow import parquet

        with readable(file):
            return [from_arrow(parquet.read_table(file), file.name, first_row=1)]
    columns = read_columns(file, header=header, decimal=decimal, unnamed=UNNAMED)
    return [from_arrow(columns.table, file.name, first_row=columns.first_row, named=columns.named)]


def _read_arrays(file: Path) -> list[ColumnTable]:
    try:
        with file.open("rb") as stream:
            entries = read_arrays(stream)
    except SchemaError as error:
        raise unreadable(file, error) from None
    numeric = [name for name, array in entries.items() if array.ndim in (2, 3) and array.dtype.kind in "fiu"]
    name = "x" if "x" in entries else numeric[0] if len(numeric) == 1 else None
    if name is None or name not in numeric:
        raise InputError(
            f"{file.name} must hold an array `x` of numbers, (time, channels) or (recordings, time, channels)",
            got=f"{', '.join((f'{key} {array.dtype} {array.shape}' for key, array in entries.items()))}",
            cure="save one as `x`, a single channel as (time, 1)",
        )
    array = entries[name]
    tables, sources = tables_of(array)
    labels = [str(label) for label in np.ravel(entries.get("names", []))]
    labels = labels if len(labels) == len(tables) else sources
    channels = entries.get("channels")
    names = default_names(array.shape[-1]) if channels is None else [str(label) for label in np.ravel(channels)]
    if len(names) != array.shape[-1]:
        raise InputError(
            f"{Parameter('channels')} of {file.name} must name the {array.shape[-1]} channels of `x`",
            got=f"{len(names)} names",
            parameter="channels",
        )
    return [
        ColumnTable(
            file=file.name,
            names=tuple(names),
            numeric=tuple(names),
            values=table,
            rows=range(1, len(table) + 1),
            named=channels is not None,
            unit=label if len(tables) > 1 else "",
            blank="nan",
        )
        for table, label in zip(tables, labels, strict=True)
    ]
