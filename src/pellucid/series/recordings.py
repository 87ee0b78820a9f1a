"""Recordings: named channels over time, from arrays, tables, folders of files, or NumPy's own files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Recordings:
    """One or more recordings of the same channels. Every value is finite and no channel is constant throughout.

    Make them with `read` (files) or `recordings` (arrays and tables in memory).
    """

    values: tuple[np.ndarray, ...] = field(repr=False)
    """For each recording a table (T, c); lengths may differ."""
    channels: tuple[str, ...]
    sources: tuple[str, ...]
    """Where each recording comes from: a file name, or a place in a list. Errors name it."""

    def __post_init__(self) -> None:
        if not self.values or not self.channels:
            raise InputError("There must be at least one recording with at least one channel. Got none; pass some.")
        if len(set(self.channels)) < len(self.channels):
            twice = next(name for name in self.channels if self.channels.count(name) > 1)
            raise InputError(f"Channels must have different names. Got {twice!r} twice; rename one of them.")
        for table, source in zip(self.values, self.sources, strict=True):
            if table.shape[1] != len(self.channels):
                raise InputError(
                    f"Every recording must have the {len(self.channels)} channels {', '.join(self.channels)}. Got "
                    f"{table.shape[1]} columns in {source}; leave that one out, or give it the same columns."
                )
            if not len(table):
                raise InputError(f"Every recording must have rows. Got none in {source}; leave it out.")
            bad = np.argwhere(~np.isfinite(table))
            if len(bad):
                row, column = bad[0]
                raise InputError(
                    f"Recordings must have no missing or infinite values. Got {table[row, column]} in {source}, "
                    f"column {self.channels[column]!r}, row {row + 1} ({len(bad)} such in all); fill the gap, or "
                    "split the recording there."
                )
        for column, name in enumerate(self.channels):
            first = self.values[0][:1, column]
            if all((table[:, column] == first).all() for table in self.values):
                raise InputError(
                    f"Every channel must vary. Got {float(first[0])} in all rows of "
                    f"column {name!r} of {self.sources[0]}{' and all others' if len(self.values) > 1 else ''}, rows "
                    f"1 to {len(self.values[0])}; leave that channel out with `channels=`."
                )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: int | slice) -> Recordings:
        """One recording, or several of them."""
        if isinstance(which, slice):
            return Recordings(values=self.values[which], channels=self.channels, sources=self.sources[which])
        return Recordings(values=(self.values[which],), channels=self.channels, sources=(self.sources[which],))

    def __repr__(self) -> str:
        rows = sum(len(table) for table in self.values)
        return f"Recordings({len(self)} of {', '.join(self.channels)}; {rows} rows)"

    def select(self, channels: Sequence[str]) -> Recordings:
        """The same recordings with these channels only, in this order."""
        columns = columns_of(channels, self.channels, self.sources[0])
        return Recordings(
            values=tuple(table[:, columns] for table in self.values), channels=tuple(channels), sources=self.sources
        )

    def sequences(self, length: int, *, stride: int | None = None) -> np.ndarray:
        """(S, length, c): subsequences of every recording, by default disjoint ones.

        What is left at a recording's end, shorter than `length`, is not used; a recording shorter than
        `length` is refused.

        Parameters
        ----------
        stride : from the start of one subsequence to that of the next; by default `length`.
        """
        length = _checks.whole(length, 1, "length")
        stride = length if stride is None else _checks.whole(stride, 1, "stride")
        pieces = []
        for table, source in zip(self.values, self.sources, strict=True):
            if len(table) < length:
                raise InputError(
                    f"A recording must have at least context + horizon = {length} rows. Got {len(table)} in {source}; "
                    "leave it out, or choose a shorter context or horizon."
                )
            windows = np.lib.stride_tricks.sliding_window_view(table, length, axis=0)[::stride]
            pieces.append(windows.transpose(0, 2, 1))
        return np.concatenate(pieces)

    def hold_out(self, share: float, length: int, *, seed: int = 0) -> tuple[Recordings, Recordings]:
        """Cut out disjoint pieces of `length` rows at random, about this share of all rows.

        Returns
        -------
        What remains, in as many recordings as the cuts leave (of at least `length` rows), and the pieces.
        No value is in both, so that sequences of the one, overlapping or not, share nothing with the other.
        """
        places = [(i, start) for i, table in enumerate(self.values) for start in _starts(len(table), length)]
        count = max(1, round(share * len(places)))
        if count >= len(places):
            raise InputError(
                f"There must be at least two sequences of {length} rows, to learn from one and validate on the other. "
                f"Got {len(places)}; record more, or set `validation=0`."
            )
        chosen = np.sort(np.random.default_rng(seed).permutation(len(places))[:count])
        pieces = [(places[j][0], places[j][1], places[j][1] + length) for j in chosen]
        rest = []
        for i, table in enumerate(self.values):
            begin = 0
            for start in [*(start for which, start, _ in pieces if which == i), len(table)]:
                if start - begin >= length:
                    rest.append((i, begin, start))
                begin = start + length
        return self._cut(rest), self._cut(pieces)

    def _cut(self, parts: Sequence[tuple[int, int, int]]) -> Recordings:
        """Rows `begin` to `end` of recording i, for each (i, begin, end)."""
        return Recordings(
            values=tuple(self.values[i][begin:end] for i, begin, end in parts),
            channels=self.channels,
            sources=tuple(f"{self.sources[i]} (rows {begin + 1} to {end})" for i, begin, end in parts),
        )


def _starts(rows: int, length: int) -> range:
    """Where the disjoint pieces of a recording begin."""
    return range(0, rows - length + 1, length)


def recordings(data: Any, channels: int | Sequence[str] | None = None) -> Recordings:
    """Whatever a user has, as `Recordings`.

    Parameters
    ----------
    data : a path (see `read`); a table with named columns such as pandas' or pyarrow's; an array (T, c), or
        (S, T, c) for S recordings of equal length; a list of arrays (T, c); or `Recordings`.
    channels : the columns to use, by name; for arrays their names, one each; or just their number.
    """
    wanted = None if channels is None or isinstance(channels, int) else _names(channels)
    if isinstance(data, str | Path):
        from pellucid.series.files import read

        result = read(data, channels=wanted)
    elif isinstance(data, Recordings):
        result = data if wanted is None or tuple(wanted) == data.channels else data.select(wanted)
    elif hasattr(data, "columns"):  # pandas, polars; pyarrow's columns have other contents
        result = _from_table(data, wanted)
    else:
        tables, sources = tables_of(data)
        names = wanted or default_names(tables[0].shape[1])
        result = Recordings(values=tuple(tables), channels=tuple(names), sources=tuple(sources))
    if isinstance(channels, int) and not isinstance(channels, bool) and len(result.channels) != channels:
        raise InputError(f"There must be {channels} channels. Got {len(result.channels)}; mend `channels` or the data.")
    return result


def tables_of(data: Any) -> tuple[list[np.ndarray], list[str]]:
    """Tables (T, c) from an array of two or three dimensions, or from a list of arrays."""
    if isinstance(data, Tensor):
        data = data.detach().cpu().numpy()
    if isinstance(data, np.ndarray):
        parts = list(data) if data.ndim == 3 else [data]
    elif isinstance(data, Iterable):
        parts = [part.detach().cpu().numpy() if isinstance(part, Tensor) else part for part in data]
        if parts and not hasattr(parts[0], "ndim"):
            parts = [np.asarray(data)]
            parts = list(parts[0]) if parts[0].ndim == 3 else parts
    else:
        parts = []
    tables = []
    for i, part in enumerate(parts):
        table = np.asarray(part)
        if table.ndim != 2 or table.dtype.kind not in "fiu":
            raise InputError(
                f"A recording must be a table of numbers (time, channels). Got {table.dtype} of shape {table.shape} as "
                f"recording {i}; give a single channel the shape (time, 1)."
            )
        tables.append(table)
    if not tables:
        raise InputError(
            "`data` must be a path, a table, an array (time, channels) or a list of such arrays. Got "
            f"{type(data).__name__}; pass one of these."
        )
    return tables, ["the array"] if len(tables) == 1 else [f"recording {i}" for i in range(len(tables))]


def _from_table(data: Any, channels: Sequence[str] | None) -> Recordings:
    """From a table with named columns: pandas', polars', pyarrow's."""
    names = [str(name) for name in getattr(data, "column_names", data.columns)]
    columns = list(range(len(names))) if channels is None else columns_of(channels, names, "the table")
    if hasattr(data, "column_names"):  # pyarrow
        from pellucid.series.files import numbers_of

        values = [numbers_of(data.column(i), names[i], "the table", 1) for i in columns]
    else:
        values = [_cells(data[data.columns[i]].to_numpy(), names[i]) for i in columns]
    return Recordings(
        values=(np.stack(values, axis=1),), channels=tuple(names[i] for i in columns), sources=("the table",)
    )


def _cells(column: np.ndarray, name: str) -> np.ndarray:
    if column.dtype.kind in "fiu":
        return column.astype(np.float64)
    row = next((i for i, cell in enumerate(column) if not is_number(str(cell))), 0)
    raise InputError(
        f"Every cell must be a number. Got {str(column[row])!r} in the table, column {name!r}, row {row + 1}; correct "
        "it, convert the column to numbers, or leave it out with `channels=`."
    )


def columns_of(wanted: Sequence[str], names: Sequence[str], source: str) -> list[int]:
    """Where the wanted columns are."""
    for name in wanted:
        if name not in names:
            raise InputError(
                f"Every channel must be a column of {source}. Got {name!r}; its columns are {', '.join(names)}."
            )
    return [list(names).index(name) for name in wanted]


def _names(channels: Sequence[str]) -> list[str]:
    if isinstance(channels, str):
        return [channels]
    return [str(name) for name in channels]


def default_names(count: int) -> list[str]:
    return [f"channel {i + 1}" for i in range(count)]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
