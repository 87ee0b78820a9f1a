"""From tables to recordings: which columns are channels and which are times, and which rows follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.series.clocks import clocks_of
from pellucid.series.cutting import Cutter, Fill, Gaps
from pellucid.series.data import Origin, Recordings, columns_of
from pellucid.series.long_tables import TimeKey, counted_units, pivoted, unit_column, units
from pellucid.series.stamps import times_of
from pellucid.series.tables import ColumnTable


class Treatment(NamedTuple):
    """How tables are treated; see `read`."""

    drop: tuple[str, ...] = ()
    by: str | None = None
    pivot: str | None = None
    fill: Fill | None = None
    gaps: Gaps = "split"


def checked_treatment(
    drop: str | Iterable[str] | None, by: str | None, pivot: str | None, fill: str | None, gaps: str
) -> Treatment:
    """A `Treatment`, checked."""
    if fill not in (None, "linear", "previous", "split"):
        raise InputError(
            f'{Parameter("fill")} must be "linear", "previous", "split" or None',
            got=f"{fill!r}",
            cure="choose one of these",
            parameter="fill",
        )
    if gaps not in ("split", "ignore"):
        raise InputError(
            f'{Parameter("gaps")} must be "split" or "ignore"',
            got=f"{gaps!r}",
            cure="choose one of these",
            parameter="gaps",
        )
    names = (drop,) if isinstance(drop, str) else tuple(str(name) for name in drop or ())
    return Treatment(names, by, pivot, fill, gaps)  # type: ignore[arg-type]


class _Roles(NamedTuple):
    """The roles of the columns of tables."""

    channels: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    times: list[np.ndarray | None]
    unit: str
    """Unit of the times, such as "s"; "" if it is not known."""


def gather(tables: Sequence[ColumnTable], wanted: Sequence[str] | None, treatment: Treatment) -> Recordings:
    """Recordings of these tables.

    Parameters
    ----------
    tables : sequence of ColumnTable
        The tables, as they were read.
    wanted : sequence of str, optional
        The channels; by default every column of numbers that is not a time.
    treatment : Treatment
        How times, gaps and blanks are treated.
    """
    _require_droppable(tables, wanted, treatment)
    parts = [table.without(treatment.drop) for table in tables]
    ignored: list[tuple[str, str]] = []
    if treatment.pivot is not None:
        single = [unit for table in parts for unit in ([table] if treatment.by is None else units(table, treatment.by))]
        parts = [_pivoted(unit, treatment.pivot, wanted, treatment.fill) for unit in single]
    elif treatment.by is not None:
        parts = [unit for table in parts for unit in units(table, treatment.by)]
    else:
        parts, name = _split_units(parts, wanted)
        if name is not None:
            verb = "holds the names of" if name in tables[0].texts else "numbers"
            ignored.append((name, f"{verb} units, each of which is a recording of its own"))
    if wanted is None:
        _require_same(parts)
    for table in parts:
        columns_of(wanted or (), table.names, table.file)
        for name in wanted or ():
            if name not in table.numeric:
                raise table.not_numeric(name)
    roles = _roles(parts, wanted)
    cutter = Cutter(fill=treatment.fill, gaps=treatment.gaps)
    values, sources, origins = [], [], []
    for table, times in zip(parts, roles.times, strict=True):
        for piece in cutter.cut(table, roles.channels, times, roles.unit):
            values.append(piece.values)
            rows = "" if piece.complete else f" (rows {piece.row + 1} to {piece.row + len(piece.values)})"
            sources.append(f"{table.label}{rows}")
            origins.append(Origin(table.file, table.unit, piece.row))
    if not values:
        raise InputError(
            "Recordings must have rows without blanks",
            got=f"none in {parts[0].label}",
            cure=(
                f"fill them with {Parameter('fill', 'linear')}, or drop columns that are mostly blank "
                f"with {Parameter('drop'):=}"
            ),
        )
    return Recordings(
        values=tuple(values),
        channels=roles.channels,
        sources=tuple(sources),
        origins=tuple(origins),
        ignored=() if wanted is not None else (*ignored, *roles.ignored),
        notes=tuple(cutter.notes()),
    )


def _require_droppable(tables: Sequence[ColumnTable], wanted: Sequence[str] | None, treatment: Treatment) -> None:
    """Refuse to drop columns that are not there, unless the channels are named: other files of a run may lack them."""
    both = [name for name in treatment.drop if name in (wanted or ()) and treatment.pivot is None]
    if both:
        raise InputError(
            "A column must be either a channel or dropped",
            got=f"{both[0]!r} in {Parameter('channels')} and in {Parameter('drop')}",
            cure="name it in one of them",
        )
    for table in tables if wanted is None else ():
        for name in treatment.drop:
            if name not in table.names:
                raise InputError(
                    f"{Parameter('drop')} must name columns of {table.file}",
                    got=f"{name!r}",
                    cure=f"its columns are {', '.join(table.names)}",
                    parameter="drop",
                )


def _pivoted(table: ColumnTable, pivot: str, wanted: Sequence[str] | None, fill: Fill | None) -> ColumnTable:
    """A long table as a wide one, with the time once: a column is a time if it is one in the rows of every level."""
    levels = units(table, pivot)
    names = [name for name in table.names if name != pivot]
    roles = _roles(levels, (), names)
    if all(part is not None for part in roles.times):
        times = np.empty(len(table))
        for level, part in zip(levels, roles.times, strict=True):
            times[np.searchsorted(np.asarray(table.rows), np.asarray(level.rows))] = part
        clocks = [name for name, _ in roles.ignored if name in table.numeric]
        return pivoted(table, pivot, TimeKey(times, roles.unit, tuple(clocks)), wanted=wanted, fill=fill)
    return pivoted(table, pivot, None, wanted=wanted, fill=fill)


def _require_same(tables: Sequence[ColumnTable]) -> None:
    first = tables[0]
    for table in tables:
        if table.names != first.names:
            raise InputError(
                "All files of a folder must have the same columns",
                got=(f"{', '.join(table.names)} in {table.label} after {', '.join(first.names)} in {first.label}"),
                cure=(f"choose the common ones with {Parameter('channels')}, or the files with {Parameter('pattern')}"),
            )


def _split_units(tables: list[ColumnTable], wanted: Sequence[str] | None) -> tuple[list[ColumnTable], str | None]:
    """Tables that hold one recording each, and the column that tells them apart, if there is one."""
    first = tables[0]
    if all(counted_units(table) is not None for table in tables) and first.names[0] not in (wanted or ()):
        return [unit for table in tables for unit in units(table, first.names[0])], first.names[0]
    candidates = [name for name in first.names if name not in (wanted or ())]
    if not any(name in first.texts or first.named for name in candidates):
        return tables, None
    columns = []
    for table in tables:
        names = [name for name in candidates if name in table.names]
        roles = _roles([table], (), names)
        ignored = {name for name, _ in roles.ignored}
        columns.append(unit_column(table, [name for name in names if name not in ignored], roles.times[0], wanted))
    name = next((name for name in columns if name is not None), None)
    if name is None:
        return tables, None
    return [unit for table in tables for unit in units(table, name)], name


def _roles(tables: Sequence[ColumnTable], wanted: Sequence[str] | None, among: Sequence[str] | None = None) -> _Roles:
    """Which columns are times, and which are channels.

    Parameters
    ----------
    tables : sequence of ColumnTable
        One for each recording.
    wanted : sequence of str, optional
        The channels; by default all columns of numbers that are not times, and then columns of text are refused.
    among : sequence of str, optional
        The columns to look at; by default all that are not wanted.
    """
    first = tables[0]
    names = [name for name in (first.names if among is None else among) if name not in (wanted or ())]
    names = [name for name in names if all(name in table.names for table in tables)]
    stamps = [name for name in names if all(n in t.texts and t.texts[n].stamps for t in tables for n in [name])]
    numeric = [name for name in names if all(name in table.numeric for table in tables)]
    ignored = [(name, "holds dates or times") for name in stamps]
    columns = [[table.numeric.index(name) for name in numeric] for table in tables]
    plain = all(own == list(range(table.values.shape[1])) for own, table in zip(columns, tables, strict=True))
    blocks = [table.values if plain else table.values[:, own] for table, own in zip(tables, columns, strict=True)]
    clocks = clocks_of(numeric, blocks, named=first.named)
    times: list[np.ndarray | None] = [None] * len(tables)
    unit = ""
    if stamps:
        for i, table in enumerate(tables):
            parts = [s for name in stamps if (s := table.texts[name].stamps) is not None]
            times[i], unit = times_of(parts), parts[0].unit
    elif clocks and clocks[0].times is not None:
        times, unit = list(clocks[0].times), clocks[0].unit
    ignored += [(numeric[column], clock.reason) for clock in clocks for column in clock.columns]
    if wanted is not None:
        return _Roles(tuple(wanted), tuple(ignored), times, unit)
    for name in (name for name in names if name not in numeric and name not in stamps):
        texts = [{cell for cell in table.texts[name].cells if cell is not None} if name in table.texts else {""}
                 for table in tables]  # fmt: skip
        if all(len(cells) == 1 for cells in texts) and all(name in table.texts for table in tables):
            ignored.append((name, "holds one text throughout"))
            continue
        raise next(t for t, cells in zip(tables, texts, strict=True) if name in t.texts and len(cells) > 1).not_numeric(
            name
        )
    reasons = dict(ignored)
    channels = [name for name in numeric if name not in reasons]
    if not channels and numeric:  # a file of nothing but clocks is meant
        channels, ignored = numeric, [(name, reason) for name, reason in ignored if name not in numeric]
        times = times if stamps else [None] * len(tables)
    if not channels:
        raise InputError(
            f"{first.file} must have a column of numbers to learn from",
            got=f"{', '.join(first.names)}, which hold none",
            cure="add one",
        )
    return _Roles(tuple(channels), tuple(ignored), times, unit)
