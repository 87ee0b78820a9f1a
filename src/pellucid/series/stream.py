"""Recordings one after the other, in the order of time, so that a folder of any size fits into memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, final

from pellucid.errors import InputError, Parameter
from pellucid.numbers import counted
from pellucid.paths import files_in, kind_of
from pellucid.series.data import Recordings
from pellucid.series.sources import recordings

Reader: TypeAlias = Callable[[Path], Recordings]
"""How a file becomes recordings."""
# Different notes that are listed.
_NOTES = 5
_STAMP = re.compile(r"(\d{4})\D?(\d{2})\D?(\d{2})\D{1,3}(\d{2})\D?(\d{2})\D?(\d{2})")


def sources_of(data: Any, pattern: str = "*") -> list[Any]:
    """The parts that are read one at a time: each file of a folder, or the data as they are."""
    if isinstance(data, list | tuple) and data and all(isinstance(part, str | Path) for part in data):
        return [source for part in data for source in sources_of(part, pattern)]
    if isinstance(data, str | Path) and kind_of(data) == "folder":
        files = files_in(Path(data), pattern)
        if not files:
            raise InputError(
                f"The folder must hold files that match {pattern!r}",
                got=f"none in {data}",
                cure=f"change {Parameter('pattern')}",
            )
        return sorted(files, key=lambda path: natural_key(path.name))
    if isinstance(data, str | Path) and kind_of(data) is None:
        raise InputError(
            "The data must be a file or a folder", got=f"{data}, which does not exist", cure="correct the path"
        )
    return [Path(data)] if isinstance(data, str) else [data]


def natural_key(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key that sorts names with numbers in them by these numbers, so that counts and stamps of time are in order.

    Examples
    --------
    >>> sorted(["run 10", "run 9", "2004.02.12", "2004.02.9"], key=natural_key)
    ['2004.02.9', '2004.02.12', 'run 9', 'run 10']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)


@final
@dataclass(eq=False)
class Tally:
    """What was decided when recordings were read one by one, and what of them is not used."""

    length: int
    """Rows that a recording must have: those of a sequence, or those of a piece."""
    every: int | None = None
    notes: dict[str, list[str]] = field(default_factory=dict)
    """Files by what is noted of them."""
    remaining: int = 0
    """Rows at the ends of recordings, too few for a piece."""
    short: list[tuple[int, str]] = field(default_factory=list)
    """Rows and names of recordings and pieces that were skipped."""

    def note(self, sentence: str, file: str) -> None:
        """Note something about a file."""
        self.notes.setdefault(sentence, []).append(file)

    def sentences(self) -> list[str]:
        """All of it, a sentence each."""
        result = []
        for sentence, files in list(self.notes.items())[:_NOTES]:
            which = files[0] if len(files) == 1 else f"{files[0]} and {counted(len(files) - 1, 'more file')}"
            result.append(f"{which}: {sentence}")
        others = {file for files in list(self.notes.values())[_NOTES:] for file in files}
        if others:
            result.append(
                f"{counted(len(others), 'more file')} {'has' if len(others) == 1 else 'have'} notes like these"
            )
        unused = self.remaining + sum(rows for rows, _ in self.short)
        if unused:
            parts = (
                [f"{self.remaining:,} at the ends of recordings, too few for a further piece"] if self.remaining else []
            )
            if self.short:
                what = counted(len(self.short), "part")
                parts.append(f"{sum(rows for rows, _ in self.short):,} in {what} of fewer than {self.length} rows")
            result.append(f"{unused:,} row{' is' if unused == 1 else 's are'} not used: {'; '.join(parts)}")
        return result

    def refusal(self) -> InputError:
        """The error where nothing remains."""
        rows, source = max(self.short, key=lambda pair: pair[0])
        if self.every is None:
            return InputError(
                f"A recording must have at least context + horizon = {self.length} rows",
                got=f"{rows} in {source}, the longest piece between gaps and blanks",
                cure=(
                    f"fill these with {Parameter('fill', 'linear')}, or join what is on either side of "
                    f"gaps with {Parameter('gaps', 'ignore')}"
                ),
            )
        return InputError(
            f"A recording must have at least the {self.every} rows of a piece",
            got=f"{rows} in {source}, the longest",
            cure=f"choose a smaller {Parameter('every')}",
        )


def one_by_one(
    source: Any, channels: Sequence[str], tally: Tally, *, read: Reader | None = None, alone: bool = True
) -> Iterator[Recordings]:
    """Each recording of a source alone, or each piece of `tally.every` rows of it.

    A piece of a recording that was cut at gaps and blanks is skipped if it is shorter than `tally.length`; so are the
    remaining rows at the end of a recording when pieces are cut. `tally` counts both.

    Parameters
    ----------
    source : object
        One of those that `sources_of` returns.
    channels : sequence of str
        Names of the model's channels, in their order.
    tally : Tally
        Counts what is skipped.
    read : Reader, optional
        How a file becomes recordings; by default as `series.read` does.
    alone : bool
        Whether it is the only source: one of several may be no recording at all.
    """
    try:
        batch = read(source) if read is not None and isinstance(source, Path) else recordings(source, channels)
    except InputError as error:
        if alone or not isinstance(source, Path):
            raise
        raise InputError(
            f"{error} If {source.name} is no recording, leave it out with {Parameter('pattern'):=}",
            parameter=error.parameter,
        ) from None
    _check_units(batch, tally)
    if not isinstance(source, Recordings):  # who read these has seen the decisions
        for sentence in batch.decisions():
            tally.note(sentence, batch.origins[0].file)
    counts = Counter(origin.label for origin in batch.origins)
    for i, origin in enumerate(batch.origins):
        one, rows = batch[i], len(batch.values[i])
        uncut = origin.row == 0 and counts[origin.label] == 1
        if rows < tally.length and (tally.every is not None or not uncut):
            tally.short.append((rows, one.sources[0]))
        elif tally.every is None:
            yield one
        else:
            tally.remaining += rows % tally.every
            yield from pieces(one, tally.every)


def _check_units(batch: Recordings, tally: Tally) -> None:
    """Refuse to cut units of a table, which are side by side in time, into pieces of one course of time."""
    # Recordings of an array follow each other, as files of a folder do.
    labels = {o.label: o for o in batch.origins if o.unit and Path(o.file).suffix not in (".npz", ".npy")}
    if len(labels) < 2:
        return
    file = batch.origins[0].file
    names = [origin.unit for origin in labels.values()]
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    if tally.every is not None:
        raise InputError(
            f"Pieces of {Parameter('every')} rows must be of one machine",
            got=f"{len(names)} units in {file} ({listed})",
            cure=(
                "write each unit into a file of its own and follow these one by one, or leave "
                f"{Parameter('every')} out if each unit is one recording of the same machine"
            ),
        )
    tally.note(
        f"{len(names)} units ({listed}), each taken for a recording of one machine, in this order; if they are "
        "different machines, write each into a file of its own and follow these one by one",
        file,
    )


def pieces(recording: Recordings, every: int) -> Iterator[Recordings]:
    """One recording cut into pieces of `every` rows; the remaining rows at its end are not used."""
    (table,), (origin,) = recording.values, recording.origins
    for row in range(0, len(table) - every + 1, every):
        yield Recordings(
            values=(table[row : row + every],),
            channels=recording.channels,
            sources=(f"{origin.label}, rows {origin.row + row + 1} to {origin.row + row + every}",),
        )


def hours_of(names: Sequence[str]) -> list[float] | None:
    """Hours since the first recording, from stamps of time in the names (year, month, day, hour, minute, second); None
    if not all have one, or if they are not in order.

    Examples
    --------
    >>> hours_of(["2004.02.12.10.32.39", "2004.02.12.11.02.39", "20040213T103239.csv"])
    [0.0, 0.5, 24.0]
    """
    moments = []
    for name in names:
        digits = _STAMP.search(name)
        try:
            moments.append(datetime(*map(int, digits.groups())))  # type: ignore[arg-type, union-attr]
        except (AttributeError, ValueError):
            return None
    hours = [(moment - moments[0]).total_seconds() / 3600 for moment in moments]
    rising = all(later > earlier for earlier, later in pairwise(hours))
    return hours if rising and len(hours) > 1 else None
