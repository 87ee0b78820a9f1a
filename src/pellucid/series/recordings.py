"""Recordings: named channels over time, from arrays and tables in memory; `files` reads them from disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError
from pellucid.tables import LARGEST


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Recordings:
    """One or more recordings of the same channels; every value is finite.

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
        _refuse_twice(self.channels, "the recordings")
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
            large = np.argwhere(np.abs(table) > LARGEST)
            if len(large):
                row, column = large[0]
                raise InputError(
                    f"Recordings must have no values beyond {LARGEST:g}. Got {table[row, column]:g} in {source}, "
                    f"column {self.channels[column]!r}, row {row + 1} ({len(large)} such in all); mend it, or use "
                    "another unit."
                )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: int | slice) -> Recordings:
        """One recording, or several of them."""
        part = which if isinstance(which, slice) else slice(which, which + 1 or None)
        return Recordings(values=self.values[part], channels=self.channels, sources=self.sources[part])

    def __repr__(self) -> str:
        rows = sum(len(table) for table in self.values)
        return f"Recordings({len(self)} of {', '.join(self.channels)}; {rows} rows)"

    def require_variation(self) -> None:
        """Refuse a channel that has one value throughout: there is nothing to learn, and no unit to measure in."""
        for column, name in enumerate(self.channels):
            first = self.values[0][0, column]
            if all((table[:, column] == first).all() for table in self.values):
                others = " and of all others" if len(self) > 1 else ""
                raise InputError(
                    f"Every channel must vary. Got {float(first):g} in column {name!r}, rows 1 to "
                    f"{len(self.values[0])} of {self.sources[0]}{others}; leave that channel out with `channels=`."
                )

    def select(self, channels: str | Sequence[str]) -> Recordings:
        """The same recordings with these channels only, in this order."""
        names = names_of(channels)
        columns = columns_of(names, self.channels, self.sources[0])
        return Recordings(
            values=tuple(table[:, columns] for table in self.values), channels=tuple(names), sources=self.sources
        )

    def starts(self, length: int, *, stride: int | None = None) -> list[tuple[int, int]]:
        """Where subsequences begin, as (recording, row): every `stride` rows, by default disjoint.

        What is left at a recording's end, shorter than `length`, is not used; a recording shorter than
        `length` is refused.
        """
        length = _checks.whole(length, 1, "length")
        stride = length if stride is None else _checks.whole(stride, 1, "stride")
        for table, source in zip(self.values, self.sources, strict=True):
            if len(table) < length:
                raise InputError(
                    f"A recording must have at least context + horizon = {length} rows. Got {len(table)} in {source}; "
                    "leave it out, or choose a shorter context or horizon."
                )
        return [(i, row) for i, table in enumerate(self.values) for row in range(0, len(table) - length + 1, stride)]

    def sequences(self, length: int, *, stride: int | None = None) -> np.ndarray:
        """(S, length, c): subsequences of every recording; see `starts`."""
        return np.stack([self.values[i][row : row + length] for i, row in self.starts(length, stride=stride)])

    def hold_out(self, share: float, length: int, *, seed: int = 0) -> tuple[Recordings, Recordings]:
        """Cut out disjoint pieces of `length` rows at random, about this share of all rows.

        Returns
        -------
        What remains, in as many recordings as the cuts leave (of at least `length` rows), and the pieces.
        No value is in both, so that sequences of the one, overlapping or not, share nothing with the other.
        """
        places = self.starts(length)
        count = max(1, round(share * len(places)))
        if count >= len(places):
            raise InputError(
                f"There must be at least two sequences of {length} rows, to learn from one and validate on the other. "
                f"Got {len(places)}; record more, or set `validation=0`."
            )
        chosen = np.sort(np.random.default_rng(seed).permutation(len(places))[:count])
        pieces = [(i, row, row + length) for i, row in (places[j] for j in chosen)]
        cuts: dict[int, list[int]] = {i: [] for i in range(len(self))}
        for i, row, _ in pieces:
            cuts[i].append(row)
        rest = []
        for i, table in enumerate(self.values):
            begin = 0
            for row in [*cuts[i], len(table)]:
                if row - begin >= length:
                    rest.append((i, begin, row))
                begin = row + length
        return self._cut(rest), self._cut(pieces)

    def _cut(self, parts: Sequence[tuple[int, int, int]]) -> Recordings:
        """Rows `begin` to `end` of recording i, for each (i, begin, end)."""
        return Recordings(
            values=tuple(self.values[i][begin:end] for i, begin, end in parts),
            channels=self.channels,
            sources=tuple(f"{self.sources[i]} (rows {begin + 1} to {end})" for i, begin, end in parts),
        )


def recordings(data: Any, channels: int | str | Sequence[str] | None = None) -> Recordings:
    """Whatever a user has, as `Recordings`.

    Parameters
    ----------
    data : a path (see `read`); a table with named columns such as pandas', polars' or pyarrow's; an array (T, c),
        or (S, T, c) for S recordings of equal length; `Recordings`; or a list of any of these.
    channels : the columns to use, by name; for arrays their names, one each; or just their number.
    """
    if channels is None or isinstance(channels, int | np.integer):
        result = _recordings(data, None)
    else:
        result = _recordings(data, names_of(channels))
    if isinstance(channels, int | np.integer) and len(result.channels) != channels:
        raise InputError(f"There must be {channels} channels. Got {len(result.channels)}; mend `channels` or the data.")
    return result


def _recordings(data: Any, wanted: list[str] | None) -> Recordings:
    if isinstance(data, str | Path):
        from pellucid.series.files import read

        return read(data, channels=wanted)
    if isinstance(data, Recordings):
        return data if wanted is None or tuple(wanted) == data.channels else data.select(wanted)
    if hasattr(data, "columns"):
        return _from_table(data, wanted)
    if isinstance(data, list | tuple) and any(_has_names(item) for item in data):
        return _joined([_recordings(item, wanted) for item in data])
    tables, sources = tables_of(data)
    names = wanted or default_names(tables[0].shape[1])
    return Recordings(values=tuple(tables), channels=tuple(names), sources=tuple(sources))


def _has_names(item: Any) -> bool:
    return isinstance(item, str | Path | Recordings) or hasattr(item, "columns")


def _joined(parts: Sequence[Recordings]) -> Recordings:
    for i, part in enumerate(parts):
        if part.channels != parts[0].channels:
            raise InputError(
                f"All recordings must have the same channels. Got {', '.join(part.channels)} at place {i} of the list "
                f"after {', '.join(parts[0].channels)}; choose the common ones with `channels`."
            )
    return Recordings(
        values=tuple(table for part in parts for table in part.values),
        channels=parts[0].channels,
        sources=tuple(
            source if len(parts) == 1 else f"{source} (at place {i} of the list)"
            for i, part in enumerate(parts)
            for source in part.sources
        ),
    )


def tables_of(data: Any) -> tuple[list[np.ndarray], list[str]]:
    """Tables (T, c) from an array of two or three dimensions, or from a list of arrays."""
    try:
        if isinstance(data, np.ndarray | Tensor):
            parts = list(array_of(data)) if data.ndim == 3 else [array_of(data)]
        elif isinstance(data, Iterable) and any(isinstance(part, np.ndarray | Tensor) for part in data):
            parts = [array_of(part) for part in data]
        elif isinstance(data, Iterable):
            whole = array_of(list(data))
            parts = list(whole) if whole.ndim == 3 else [whole] if whole.size else []
        else:
            parts = []
    except (ValueError, TypeError) as error:
        raise InputError(f"`data` must be tables of numbers, (time, channels). Got one that is not: {error}.") from None
    for i, table in enumerate(parts):
        if table.ndim != 2 or table.dtype.kind not in "fiu":
            raise InputError(
                f"A recording must be a table of numbers (time, channels). Got {table.dtype} of shape {table.shape} as "
                f"recording {i}; give a single channel the shape (time, 1)."
            )
    if not parts:
        raise InputError(
            "`data` must be a path, a table, an array (time, channels) or a list of such. Got "
            f"{type(data).__name__}; pass one of these."
        )
    return parts, ["the array"] if len(parts) == 1 else [f"recording {i}" for i in range(len(parts))]


def array_of(values: Any) -> np.ndarray:
    """As an array of NumPy's; what a masked array hides is missing."""
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    return np.asarray(values)


def _from_table(data: Any, channels: Sequence[str] | None) -> Recordings:
    """From a table with named columns: pandas', polars', pyarrow's."""
    arrow = hasattr(data, "column_names") and hasattr(data, "schema")
    names = [str(name) for name in (data.column_names if arrow else data.columns)]
    if names == [str(i) for i in range(len(names))]:  # numbered by default: no names at all
        names = default_names(len(names))
    _refuse_twice(names if channels is None else [n for n in names if n in channels], "the table")
    columns = list(range(len(names))) if channels is None else columns_of(channels, names, "the table")
    if arrow:
        from pellucid.series.files import numbers_of

        values = [numbers_of(data.column(i), names[i], "the table", 1) for i in columns]
    else:
        own = list(data.columns)
        values = [_cells(data[own[i]].to_numpy(), names[i]) for i in columns]
    return Recordings(
        values=(np.stack(values, axis=1),), channels=tuple(names[i] for i in columns), sources=("the table",)
    )


def _cells(column: np.ndarray, name: str) -> np.ndarray:
    """A column as numbers; missing ones become NaN, to be refused with their row."""
    if column.dtype.kind in "fiu":
        return column.astype(np.float64)
    for row, cell in enumerate(column):
        if isinstance(cell, bool | np.bool_) or not (cell is None or isinstance(cell, int | float | np.number)):
            raise InputError(
                f"Every cell must be a number. Got {str(cell)!r} in the table, column {name!r}, row {row + 1}; correct "
                "it, convert the column to numbers, or leave it out with `channels=`."
            )
    return np.array([np.nan if cell is None else float(cell) for cell in column])


def names_of(channels: str | Iterable[Any]) -> list[str]:
    """Names, given as one or several."""
    names = [channels] if isinstance(channels, str) else [str(name) for name in channels]
    if not names:
        raise InputError("`channels` must name at least one channel. Got none; leave it out to use all of them.")
    return names


def columns_of(wanted: Sequence[str], names: Sequence[str], source: str) -> list[int]:
    """Where the wanted columns are."""
    for name in wanted:
        if name not in names:
            raise InputError(
                f"Every channel must be a column of {source}. Got {name!r}; its columns are {', '.join(names)}."
            )
        _refuse_twice([other for other in names if other == name], source)
    return [list(names).index(name) for name in wanted]


def _refuse_twice(names: Sequence[str], source: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"Channels must have different names. Got {name!r} twice in {source}; rename one of them.")


def default_names(count: int) -> list[str]:
    return [f"channel {i + 1}" for i in range(count)]
