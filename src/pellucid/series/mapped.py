"""Recordings that do not fit into memory: NumPy's .npy files, mapped from the disk and read where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pellucid.series.data import Recordings, columns_of, default_names
from pellucid.series.tables import tables_of

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
    tables, labels = tables_of(np.load(file, mmap_mode="r", allow_pickle=False))
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
