"""Tables that hold several recordings: one unit after the other, or one row per sensor and time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.numbers import percent
from pellucid.series.cutting import LONGEST
from pellucid.series.stamps import Stamps
from pellucid.series.tables import ColumnTable, TextColumn
from pellucid.tables import is_number

# Words in the names of columns that tell units apart.
_UNITS = {
    "id", "ids", "uid", "unit", "units", "sensor", "device", "machine", "engine", "asset", "subject", "patient", "run",
    "test", "trial", "experiment", "batch", "group", "station", "node", "serial", "variable", "tag", "signal", "name",
    "parameter", "measurement", "metric", "no", "nr", "number", "series", "recording", "file", "item", "channel",
}  # fmt: skip
# The share of all times that must have a row of every level of the pivoted column.
_TOGETHER = 0.5
# Levels that a message names.
_LISTED = 4


def is_unit_name(name: str) -> bool:
    """Whether the name of a column says that it tells units apart: "unit", "engine_id"; not "sensor 2", which is one.

    Examples
    --------
    >>> is_unit_name("engine_id"), is_unit_name("sensor 2"), is_unit_name("unit pressure")
    (True, False, False)
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    return bool(words) and set(words) <= _UNITS and not re.search(r"\d", name)


def units(table: ColumnTable, by: str) -> list[ColumnTable]:
    """One table for each level of a column, in the order in which they come."""
    cells = _levels(table, by)
    rest = table.without([by])
    names, first, level = np.unique(cells, return_index=True, return_inverse=True)
    return [rest.take(np.flatnonzero(level == k), unit=f"{by} {names[k]}") for k in np.argsort(first)]


class TimeKey(NamedTuple):
    """The times of a long table's rows."""

    times: np.ndarray
    """(T,)."""
    unit: str
    """Unit of the times; "" if it is not known."""
    columns: tuple[str, ...]
    """Columns of numbers that are times, not values."""


def pivoted(
    table: ColumnTable, pivot: str, key: TimeKey | None, *, wanted: Sequence[str] | None = None, fill: str | None = None
) -> ColumnTable:
    """A long table as a wide one: each level of a column becomes a channel, and each time a row.

    Parameters
    ----------
    table : ColumnTable
        The long table.
    pivot : str
        The column that names the channel of each row.
    key : TimeKey, optional
        The times of the rows; without them the k-th rows of all levels are of one time.
    wanted : sequence of str, optional
        The channels, if they are named: earlier runs may have named them "left value" where "left" would do.
    fill : str, optional
        How blanks are filled.
    """
    cells = _levels(table, pivot)
    levels = list(dict.fromkeys(cells.tolist()))
    rest = table.without([pivot, *(key.columns if key else ())])
    if key is None:
        order = np.zeros(len(table), dtype=np.int64)
        for level in levels:
            order[cells == level] = np.arange((cells == level).sum())
    else:
        order = np.unique(key.times, return_inverse=True)[1]
    level_of_row = np.array([levels.index(cell) for cell in cells])
    if len(np.unique(order * len(levels) + level_of_row)) < len(table):
        raise InputError(
            f"A time must have one row of each {pivot!r}",
            got=f"several in {table.label}",
            cure=f"tell further units apart with {Parameter('by'):=}, or leave out rows that come twice",
            parameter="by",
        )
    count = int(order.max()) + 1
    complete = float((np.bincount(order) == len(levels)).mean())
    if key is not None and complete < (_TOGETHER if fill is None else 1 / (LONGEST + 1)):
        raise _not_together(table, pivot, levels, complete)
    long_names = {f"{level} {name}" for level in levels for name in rest.numeric}
    plain = len(rest.numeric) == 1 and not long_names & set(wanted or ())
    names = [level if plain else f"{level} {name}" for level in levels for name in rest.numeric]
    values = np.full((count, len(levels), len(rest.numeric)), np.nan)
    values[order, level_of_row] = rest.values
    first = np.unique(order, return_index=True)[1]
    wide = rest.without(rest.numeric).take(first)
    clocks = {}
    if key is not None:
        stamps = Stamps(key.times[first], unit=key.unit)
        clocks = {
            name: TextColumn(table.column(name)[first].astype(str).astype(object), stamps) for name in key.columns
        }
    return replace(
        wide,
        names=(*wide.names, *clocks, *names),
        numeric=tuple(names),
        values=values.reshape(count, -1),
        texts={**wide.texts, **clocks},
        named=True,
        blank="no value",
        pivot=pivot,
    )


def _not_together(table: ColumnTable, pivot: str, levels: Sequence[str], complete: float) -> InputError:
    examples = ", ".join(levels[:_LISTED]) + (", ..." if len(levels) > _LISTED else "")
    return InputError(
        "What becomes channels must be sampled together",
        got=f"{table.label}, where {percent(complete, 0)} of all times have a row of every {pivot!r} ({examples})",
        cure=(
            "resample them to the same times first (pandas: df.resample), make each a recording of its "
            f"own with {Parameter('by', pivot)}, or, if some are only slower, fill with "
            f"{Parameter('fill', 'previous')}"
        ),
        parameter="fill",
    )


def _levels(table: ColumnTable, name: str) -> np.ndarray:
    """The cells of a column as text."""
    if name not in table.names:
        raise InputError(
            f"The column that tells recordings apart must be one of {table.file}",
            got=f"{name!r}",
            cure=f"its columns are {', '.join(table.names)}",
        )
    cells = table.column(name)
    blank = np.array([cell is None or cell != cell for cell in cells.tolist()])
    if blank.any():
        row = table.rows[int(np.argmax(blank))]
        raise InputError("Every row must belong to a unit", got=f"a blank in {table.file}, column {name!r}, row {row}")
    return np.array([f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells.tolist()])


def unit_column(
    table: ColumnTable, candidates: Sequence[str], times: np.ndarray | None, wanted: Sequence[str] | None = None
) -> str | None:
    """The column by which a table falls into units, if there is one; a table in long form is refused with the cure.

    A table falls into units where a column called like one, or of text, changes and time starts anew.

    Parameters
    ----------
    table : ColumnTable
        As it was read.
    candidates : sequence of str
        Columns that are neither times nor certainly channels.
    times : ndarray, optional
        (T,) times of the rows, if they are known.
    wanted : sequence of str, optional
        The channels, if they are named; by default all other columns of numbers.
    """
    for name in candidates:
        text = name in table.texts
        if not text and not (table.named and is_unit_name(name)):
            continue
        cells = table.column(name)
        single = len([n for n in candidates if n in table.numeric and n != name] if wanted is None else wanted) == 1
        if text and (any(cell is None or is_number(cell) for cell in cells) or table.texts[name].stamps):
            continue
        if not text and not (np.isfinite(cells).all() and (cells % 1 == 0).all()):
            continue
        levels = list(dict.fromkeys(cells.tolist()))
        if not 2 <= len(levels) <= len(table) / 3:
            continue
        changes = np.flatnonzero(cells[1:] != cells[:-1]) + 1
        together = len(changes) == len(levels) - 1  # each unit's rows stand together
        restarts = set() if times is None else set((np.flatnonzero(np.diff(times) < 0) + 1).tolist())
        if together and restarts and restarts <= set(changes.tolist()):
            if single and _same_times(cells, levels, times):
                raise _long(table, name, levels, pivot=True)
            return name
        if together and not text and "id" in name.lower() and times is None:
            return name
        shared = times is not None and len(np.unique(times)) * 2 <= len(times)
        if shared and len(set(zip(times.tolist(), cells.tolist(), strict=True))) == len(table):  # type: ignore[union-attr]
            raise _long(table, name, levels, pivot=single)
        if text:
            raise _long(table, name, levels, pivot=False)
    return None


def counted_units(table: ColumnTable) -> int | None:
    """0 if the first column of a table without names numbers units, and the second counts the rows of each; or None."""
    if table.named or table.values.shape[1] < 3 or len(table) < 10:
        return None
    unit, count = table.values[:, 0], table.values[:, 1]
    if not (np.isfinite(unit).all() and np.isfinite(count).all() and (unit % 1 == 0).all()):
        return None
    changes, falls = (np.flatnonzero(condition) for condition in (np.diff(unit) > 0, np.diff(count) < 0))
    steps = np.diff(count)[np.diff(count) >= 0]
    even = len(steps) and steps[0] > 0 and np.ptp(steps) <= 1e-6 * steps[0]
    return 0 if even and len(falls) and (np.diff(unit) >= 0).all() and np.array_equal(changes, falls) else None


def _same_times(cells: np.ndarray, levels: Sequence[object], times: np.ndarray | None) -> bool:
    if times is None:
        return False
    parts = [times[cells == level] for level in levels]
    return all(np.array_equal(part, parts[0]) for part in parts)


def _long(table: ColumnTable, name: str, levels: Sequence[object], *, pivot: bool) -> InputError:
    examples = ", ".join(f"{level:g}" if isinstance(level, float) else str(level) for level in levels[:_LISTED])
    more, pivoting = ", ..." if len(levels) > _LISTED else "", Parameter("pivot", name)
    channel, unit = f"make each a channel with {pivoting}", f"a recording of its own with {Parameter('by', name)}"
    cure = f"{channel}, or {unit}" if pivot else f"make each {unit}"
    return InputError(
        "A recording must have one row for each time, and numbers in its columns",
        got=f"a long table in {table.file}, whose column {name!r} tells {len(levels)} units apart ({examples}{more})",
        cure=f"{cure}. If it is neither, leave it out with {Parameter('drop', name)}",
    )
