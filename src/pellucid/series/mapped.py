"""Recordings that do not fit into memory: NumPy's .npy files, mapped from the disk and read where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pellucid.errors import InputError
from pellucid.schemas import SchemaError
from pellucid.series.data import Recordings, columns_of, default_names
from pellucid.series.tables import tables_of
from pellucid.stored_arrays import map_array

LARGE = 2**28
"""Bytes from which on a file is mapped instead of read."""


def is_large(file: Path) -> bool:
    """Whether a file is one that is mapped."""
    return file.suffix == ".npy" and file.stat().st_size >= LARGE


def mapped(file: Path, wanted: Sequence[str] | None) -> Recordings:
    """The recordings of a .npy file, of which nothing is in memory: every column is a channel.

    Times are not looked for, and blanks are refused: what looks at all rows together would read all of them.

    Parameters
    ----------
    file : Path
        An array (T, c), or (S, T, c) for S recordings.
    wanted : sequence of str, optional
        The channels, by the names "channel 1" and so on; by default all.
    """
    try:
        array = map_array(file)
    except SchemaError as error:
        raise unreadable(file, error) from None
    tables, labels = tables_of(array)
    names = default_names(tables[0].shape[1])
    columns = columns_of(wanted or names, names, file.name)
    if columns == list(range(columns[0], columns[0] + len(columns))):
        tables = [table[:, columns[0] : columns[-1] + 1] for table in tables]  # a view
    else:
        tables = [table[:, columns] for table in tables]
    return Recordings(
        values=tuple(tables),
        channels=tuple(names[i] for i in columns),
        sources=tuple([file.name] if len(tables) == 1 else [f"{file.name}: {label}" for label in labels]),
        notes=("mapped from the disk, so that every column is a channel and no times are looked for",),
    )


def unreadable(file: Path, error: SchemaError) -> InputError:
    """The refusal of a file of NumPy arrays that is damaged, or none."""
    return InputError(f"{file.name} must be a file of plain NumPy arrays", got=f"one that cannot be read: {error}")
