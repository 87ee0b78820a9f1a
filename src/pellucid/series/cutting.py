"""Cuts recordings at gaps in time, where time starts anew, and at blanks that are not filled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple, final

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.numbers import counted
from pellucid.series.tables import ColumnTable

Fill = Literal["linear", "previous", "split"]
Gaps = Literal["split", "ignore"]
LONGEST = 5
"""Consecutive rows that are filled, at most; more are cut out."""
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "days": 86_400.0}
"""Seconds in each unit of time."""
# The length of a gap in typical steps, where times are even and where they are not.
_EVEN, _UNEVEN = 1.5, 5.0
# Where more than this share of the steps is long, the times are uneven and the steps are no gaps.
_OFTEN = 0.1


class Piece(NamedTuple):
    """Rows that follow each other."""

    values: np.ndarray
    row: int
    """Its first row in the recording, from 0."""
    complete: bool
    """Whether it is all of the recording."""


@final
@dataclass(eq=False)
class Cutter:
    """Cuts recordings one by one, and counts what it did."""

    fill: Fill | None = None
    gaps: Gaps = "split"
    filled: Counter[str] = field(default_factory=Counter)
    """The number of cells that were filled in each channel."""
    removed: int = 0
    """The number of rows that were cut out."""
    inserted: int = 0
    """The number of rows that were missing and are filled."""
    restarts: int = 0
    """How often time started anew."""
    jumps: list[tuple[float, str]] = field(default_factory=list)
    """The gaps: their lengths in steps, and in words."""
    uneven: list[str] = field(default_factory=list)
    """Recordings with uneven times, in words."""

    def cut(self, table: ColumnTable, channels: tuple[str, ...], times: np.ndarray | None, unit: str) -> list[Piece]:
        """The pieces of a recording.

        Parameters
        ----------
        table : ColumnTable
            A recording.
        channels : tuple of str
            The columns that are kept.
        times : ndarray, optional
            (T,) times of the rows, if they are known.
        unit : str
            Unit of the times, one of `SECONDS`; "" if it is not known.
        """
        columns = [table.numeric.index(name) for name in channels]
        plain = columns == list(range(table.values.shape[1]))
        values = table.values if plain else table.values[:, columns]
        self._require_numbers(table, channels, values)
        pieces, ahead = [], 0
        for begin, end, missing in self._stretches(table, times, unit):
            part, inserted = values[begin:end], np.array([], dtype=np.int64)
            if missing:
                inserted = np.repeat([row - begin for row in missing], list(missing.values()))
                part = np.insert(part.astype(np.float64), inserted, np.nan, axis=0)
            row, ahead = begin + ahead, ahead + len(inserted)
            if part.dtype.kind != "f" or not np.isnan(part).any():
                pieces.append(Piece(part, row, False))
                continue
            new = np.zeros(len(part), dtype=bool)
            new[inserted + np.arange(len(inserted))] = True
            pieces += [Piece(rows, row + first, False) for first, rows in self._filled(part, channels, new)]
        self.inserted += ahead
        if len(pieces) == 1 and len(pieces[0].values) == len(values) + ahead:
            pieces = [pieces[0]._replace(complete=True)]
        return pieces

    def _require_numbers(self, table: ColumnTable, channels: tuple[str, ...], values: np.ndarray) -> None:
        if values.dtype.kind != "f" or np.isfinite(values).all():
            return
        infinite = np.argwhere(np.isinf(values))
        if len(infinite):
            row, column = infinite[0]
            raise InputError(
                "Recordings must have no infinite values",
                got=(
                    f"{values[row, column]} in {table.file}, {table.column_text(channels[column])}, "
                    f"row {table.rows[row]}"
                ),
                cure=f"correct it, or {_cure(table)}",
            )
        blank = np.isnan(values)
        empty = blank.all(axis=0)
        if empty.any():
            name = channels[int(np.argmax(empty))]
            raise InputError(
                "Every channel must have values",
                got=f"none in {table.label}, {table.column_text(name)}",
                cure=_cure(table),
            )
        if self.fill is None:
            row, column = np.argwhere(blank)[0]
            raise InputError(
                "Recordings must have no missing values",
                got=(
                    f"{table.blank} in {table.file}, {table.column_text(channels[column])}, "
                    f"{'at the time of ' if table.pivot else ''}row {table.rows[row]} ({blank.sum()} "
                    "in all)"
                ),
                cure=(
                    f"fill with {Parameter('fill', 'linear')} or {Parameter('fill', 'previous')}, or cut "
                    f"there with {Parameter('fill', 'split')}"
                ),
                parameter="fill",
            )

    def _stretches(
        self, table: ColumnTable, times: np.ndarray | None, unit: str
    ) -> Iterator[tuple[int, int, dict[int, int]]]:
        """(begin, end, missing): rows that follow each other in time, and how many are missing before which row."""
        if times is None or len(times) < 3 or not np.isfinite(times).all():
            yield 0, len(table), {}
            return
        falls = (np.flatnonzero(np.diff(times) < 0) + 1).tolist()
        self.restarts += len(falls)
        for begin, end in zip([0, *falls], [*falls, len(times)], strict=True):
            steps = np.diff(times[begin:end])
            typical = typical_step(times[begin:end])
            if typical is None:
                yield begin, end, {}
                continue
            often = (steps > _EVEN * typical).mean() > _OFTEN
            # Where steps vary, a gap is longer than they do.
            vary = max(1.0, float(np.quantile(steps, 0.95 if often else 1 - _OFTEN)) / typical)
            limit = vary * (_UNEVEN if often else _EVEN)
            long = np.flatnonzero(steps > limit * typical) + 1 + begin
            for row in long:
                length = times[row] - times[row - 1]
                words = f"{duration(length, unit)} after row {row} of {table.label}, where a step is "
                self.jumps.append((length / typical, words + duration(typical, unit)))
            if often or is_uneven(times[begin:end], typical, limit):
                usual = np.quantile(steps, [0.05, 0.95])
                words = f"{duration(float(usual[0]), unit)} to {duration(float(usual[1]), unit)}"
                self.uneven.append(f"{table.label}: {words}")
            if self.gaps == "ignore":
                yield begin, end, {}
                continue
            missing = {int(row): round((times[row] - times[row - 1]) / typical) - 1 for row in long}
            if self.fill not in ("linear", "previous") or often:
                missing = {}
            missing = {row: rows for row, rows in missing.items() if rows <= LONGEST}
            cuts = [begin, *(int(row) for row in long if int(row) not in missing), end]
            for first, last in pairwise(cuts):
                yield first, last, {row: rows for row, rows in missing.items() if first < row < last}

    def _filled(self, part: np.ndarray, channels: tuple[str, ...], new: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Stretches without blanks, and where they begin: short blanks are filled, the others are cut out.

        Parameters
        ----------
        part : ndarray
            (T, c) rows that follow each other in time.
        channels : tuple of str
            The names of the columns.
        new : ndarray
            (T,) which rows were missing altogether.
        """
        result = part.astype(np.float64)
        for column, name in enumerate(channels):
            blank = np.asarray(np.isnan(part[:, column]))
            for begin, end in _runs(blank) if self.fill in ("linear", "previous") else []:
                if end - begin > LONGEST or begin == 0 or (end == len(part) and self.fill == "linear"):
                    continue
                before = part[begin - 1, column]
                after = part[end, column] if self.fill == "linear" else before
                result[begin:end, column] = np.linspace(before, after, end - begin + 2)[1:-1]
                self.filled[name] += int((~new[begin:end]).sum())
        complete = np.asarray(np.isfinite(result).all(axis=1))
        self.removed += int((~complete & ~new).sum())
        for begin, end in _runs(complete):
            yield begin, result[begin:end]

    def notes(self) -> list[str]:
        """What was cut and filled, a sentence each."""
        result = []
        if self.restarts:
            times = "once" if self.restarts == 1 else f"{self.restarts} times"
            result.append(f"time starts anew {times}: there a recording of its own begins")
        if self.jumps:
            longest = ("the longest " if len(self.jumps) > 1 else "") + max(self.jumps)[1]
            if self.gaps == "ignore":
                outcome = "joined as asked, as if nothing lay between"
            elif self.fill in ("linear", "previous"):
                outcome = f"up to {LONGEST} missing rows are filled ({self.inserted} in all), longer gaps are cut"
            else:
                outcome = (
                    f"the recording is cut there; a fill would close up to {LONGEST} missing rows, and to ignore gaps "
                    "would join what is on either side"
                )
            result.append(f"{counted(len(self.jumps), 'gap')} in time, {longest}: {outcome}")
        if self.uneven:
            others = f" and {len(self.uneven) - 1} more" if len(self.uneven) > 1 else ""
            result.append(
                f"rows are not evenly spaced in time ({self.uneven[0]}{others}), and a law counts rows, not time: "
                "resample them first (pandas: df.resample), or read the laws with care"
            )
        if any(self.filled.values()):
            how = "by straight lines" if self.fill == "linear" else "with the value before"
            each = ", ".join(f"{name} {count}" for name, count in self.filled.items() if count)
            result.append(f"{counted(sum(self.filled.values()), 'blank cell')} filled {how} ({each})")
        if self.removed:
            why = "" if self.fill == "split" else f" (more than {LONGEST} in a row, or at an end)"
            result.append(f"{counted(self.removed, 'row')} with blanks{why} cut out")
        return result


def typical_step(times: np.ndarray) -> float | None:
    """The median step between rows, or the mean where many rows share a tick; None if time stands still."""
    if len(times) < 3 or times[-1] <= times[0]:
        return None
    steps = np.diff(times)
    typical = float(np.median(steps))
    return typical if typical > 0 else max(float(steps.mean()), float(steps[steps > 0].min()))


def is_uneven(times: np.ndarray, typical: float, limit: float = _EVEN) -> bool:
    """Whether more than one step in ten differs by a tenth, beyond what rounding does, gaps aside."""
    steps = np.diff(times)
    usual = steps[steps <= limit * typical]
    if (usual == 0).mean() > 0.5:  # many rows share a tick, within which steps are unknown
        return False
    gaps = np.abs(usual - typical)
    return bool(((gaps > 0.1 * typical) & (gaps > _last_digit(times))).mean() > _OFTEN)


def _last_digit(times: np.ndarray) -> float:
    """The value of the last digit that times are written with."""
    for digits in range(10):
        unit = 10.0**-digits
        if np.abs(times / unit - np.round(times / unit)).max() < 1e-3:
            return 1.001 * unit
    return 0.0


def _cure(table: ColumnTable) -> str:
    """How a channel is ignored, in words: `drop` names columns of the file, not levels of one."""
    if table.pivot:
        return f"choose others with {Parameter('channels'):=}"
    return f"leave that column out with {Parameter('drop'):=}"


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """(begin, end) of each stretch where a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in zip(edges[::2], edges[1::2], strict=True)]


def duration(value: float, unit: str) -> str:
    """A length of time as people say it.

    Examples
    --------
    >>> duration(5400, "s"), duration(0.02, "s"), duration(3000, "ms"), duration(3, "")
    ('1.5 h', '20 ms', '3 s', '3')
    >>> duration(31_708_800, ""), duration(0.00002, ""), duration(3.2e15, "")
    ('31708800', '0.00002', '3.2e+15')
    """
    if not unit:
        plain = f"{value:.0f}" if value >= 1000 else f"{value:.8f}".rstrip("0").rstrip(".")
        short = f"{value:.4g}"
        return plain if "e" in short and len(plain) <= 10 and float(plain) > 0 else short
    value = value * SECONDS[unit]
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value * 1e6:.3g} µs"
