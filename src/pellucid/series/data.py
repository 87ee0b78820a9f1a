"""Recordings: named channels over time. `files` reads them from disk, `sources` from whatever a user has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.series.subsequences import Subsequences, row_blocks
from pellucid.splitting import hold_out
from pellucid.tables import LARGEST

UNNAMED = "channel"
"""The name of columns without one; a number follows."""


class Origin(NamedTuple):
    """Where a recording comes from."""

    file: str
    unit: str = ""
    """The unit, where the file holds several; "" if there is one recording."""
    row: int = 0
    """Its first row in the file's recording, from 0: not 0 if it is a later piece of one that was cut."""

    @property
    def label(self) -> str:
        """The name of the recording, the same for all of its pieces."""
        return f"{self.file}: {self.unit}" if self.unit else self.file


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
    """Where each recording comes from: a file name, or a number in a list. Errors name it."""
    ignored: tuple[tuple[str, str], ...] = ()
    """Ignored columns, and the reason: they rise or repeat like a clock, or name units."""
    notes: tuple[str, ...] = ()
    """Other decisions when these were read: where they were cut, what was filled."""
    origins: tuple[Origin, ...] = ()
    """`sources` in parts: pieces of one recording have the same file and unit."""

    def __post_init__(self) -> None:
        if not self.origins:
            object.__setattr__(self, "origins", tuple(Origin(source) for source in self.sources))
        if not self.values or not self.channels:
            raise InputError(
                "There must be at least one recording with at least one channel", got="none", cure="pass some"
            )
        require_distinct(self.channels, "the recordings")
        for table, source in zip(self.values, self.sources, strict=True):
            if table.shape[1] != len(self.channels):
                raise InputError(
                    f"Every recording must have the {len(self.channels)} channels {', '.join(self.channels)}",
                    got=f"{table.shape[1]} columns in {source}",
                    cure="leave that one out, or add the missing columns",
                )
            if not len(table):
                raise InputError("Every recording must have rows", got=f"none in {source}", cure="leave it out")
            bad = _places(table, lambda block: ~np.isfinite(block))
            if len(bad):
                row, column = bad[0]
                raise InputError(
                    "Recordings must have no missing or infinite values",
                    got=(
                        f"{table[row, column]} in {source}, column {self.channels[column]!r}, row {row + 1} "
                        f"({len(bad)} in all)"
                    ),
                    cure="fill the gap, or split the recording there",
                )
            large = _places(table, lambda block: np.abs(block) > LARGEST)
            if len(large):
                row, column = large[0]
                raise InputError(
                    f"Recordings must have no values beyond {LARGEST:g}",
                    got=(
                        f"{table[row, column]:g} in {source}, column {self.channels[column]!r}, row "
                        f"{row + 1} ({len(large)} in all)"
                    ),
                    cure="correct it, or use another unit",
                )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: int | slice) -> Recordings:
        """One recording, or several of them."""
        part = which if isinstance(which, slice) else slice(which, which + 1 or None)
        return replace(self, values=self.values[part], sources=self.sources[part], origins=self.origins[part])

    def __repr__(self) -> str:
        rows = sum(len(table) for table in self.values)
        without = f", without {', '.join(name for name, _ in self.ignored)}" if self.ignored else ""
        notes = "".join(f"; {note}" for note in self.notes)
        return f"Recordings({len(self)} of {', '.join(self.channels)}{without}; {rows} rows{notes})"

    def labels(self) -> list[str]:
        """The file, and the unit in it where there are several, of each recording; the same for all of its pieces."""
        return [origin.label for origin in self.origins]

    def decisions(self, *, cures: bool = True) -> list[str]:
        """Ignored columns, and what else was decided when these were read, a sentence each.

        Parameters
        ----------
        cures : bool
            Also say how to keep a column.
        """
        reasons: dict[str, list[str]] = {}
        for name, reason in self.ignored:
            reasons.setdefault(reason, []).append(name)
        result = []
        # Text cannot be a channel.
        numeric = [*(name for name, reason in self.ignored if not reason.startswith("holds")), *self.channels]
        for reason, (name, *others) in reasons.items():
            subject = f"{', '.join([name, *others[:-1]])} and {others[-1]} are ignored, as each" if others else ""
            keep = cures and not reason.startswith("holds")
            cure = f"; keep with {Parameter('channels', numeric)}" if keep else ""
            result.append(f"{subject or f'{name} is ignored, as it'} {reason}{cure}")
        return [*result, *self.notes]

    def require_variation(self) -> None:
        """Refuse a channel that has one value throughout: there is nothing to learn, and no unit to measure in."""
        for column, name in enumerate(self.channels):
            first = self.values[0][0, column]
            if all((table[:, column] == first).all() for table in self.values):
                others = " and of all others" if len(self) > 1 else ""
                raise InputError(
                    "Every channel must vary",
                    got=(
                        f"{float(first):g} in column {name!r}, rows 1 to {len(self.values[0])} of "
                        f"{self.sources[0]}{others}"
                    ),
                    cure=f"leave that channel out of {Parameter('channels')}",
                    parameter="channels",
                )

    def select(self, channels: str | Sequence[str]) -> Recordings:
        """The same recordings with these channels only, in this order."""
        names = names_of(channels)
        columns = columns_of(names, self.channels, self.sources[0])
        return replace(self, values=tuple(table[:, columns] for table in self.values), channels=tuple(names))

    def last_pieces(self) -> list[int]:
        """The positions of the last pieces of all recordings, after which nothing is known."""
        return sorted({origin.label: i for i, origin in enumerate(self.origins)}.values())

    def unused(self, length: int) -> str | None:
        """How many rows are in pieces shorter than `length` rows, in one sentence; None if there are none."""
        short = [len(table) for table in self.values if len(table) < length]
        if not short:
            return None
        pieces = "1 piece is" if len(short) == 1 else f"{len(short)} pieces are"
        return f"{pieces} shorter than context + horizon = {length} rows and not used: {sum(short):,} rows in all"

    def starts(self, length: int, *, stride: int | None = None) -> list[tuple[int, int]]:
        """Where subsequences begin, as (recording, row): every `stride` rows, by default disjoint.

        Fewer than `length` rows at a recording's end are not used, nor are shorter pieces of a recording that was cut;
        a shorter recording that was not cut is refused.

        Parameters
        ----------
        length : int
            Rows of a subsequence.
        stride : int, optional
            Rows from the start of one to that of the next; by default `length`.
        """
        length = _checks.whole(length, 1, "length")
        stride = length if stride is None else _checks.whole(stride, 1, "stride")
        self._require_length(length)
        return [(i, row) for i, table in enumerate(self.values) for row in range(0, len(table) - length + 1, stride)]

    def _require_length(self, length: int) -> None:
        """Refuse a recording that has fewer rows, unless it is a piece of one that was cut and others have more."""
        longest = max(map(len, self.values))
        pieces = Counter(origin.label for origin in self.origins)
        for table, source, origin in zip(self.values, self.sources, self.origins, strict=True):
            uncut = origin.row == 0 and pieces[origin.label] == 1
            if len(table) < length and (longest < length or uncut):
                cut = "" if uncut else ", a piece of a recording that was cut"
                raise InputError(
                    f"A recording must have at least context + horizon = {length} rows",
                    got=f"{len(table)} in {source}{cut}",
                    cure="leave it out, or choose a shorter context or horizon",
                )

    def subsequences(self, length: int, *, stride: int | None = None) -> Subsequences:
        """The same as `sequences`, each copied when it is asked for."""
        length = _checks.whole(length, 1, "length")
        self._require_length(length)
        stride = length if stride is None else _checks.whole(stride, 1, "stride")
        return Subsequences(values=self.values, length=length, stride=stride)

    def sequences(self, length: int, *, stride: int | None = None) -> np.ndarray:
        """(S, length, c) subsequences of every recording; see `starts`."""
        return self.subsequences(length, stride=stride)[:]

    def hold_out(self, share: float, length: int, *, seed: int = 0) -> tuple[Recordings, Recordings]:
        """Cut out disjoint pieces at random.

        Parameters
        ----------
        share : float
            The share of all rows that is held out, about.
        length : int
            Rows of a piece.
        seed : int
            Seed of the choice.

        Returns
        -------
        (Recordings, Recordings)
            The rest, cut where the pieces were (parts of fewer than `length` rows are dropped), and the pieces. No
            value is in both, so that sequences of the one, overlapping or not, share nothing with the other.
        """
        starts = self.starts(length)
        remaining, chosen = hold_out(len(starts), share, seed=seed)
        if not len(remaining):
            skip = Parameter("validation", 0)
            shorter = f"choose a shorter {Parameter('context')}"
            raise InputError(
                f"There must be at least two sequences of {length} rows, to learn from one and validate on the other",
                got=f"{len(starts)}",
                cure=f"record more, or {f'set {skip}' if skip.settable else shorter}",
                parameter="validation",
            )
        pieces = [(i, row, row + length) for i, row in (starts[j] for j in chosen)]
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
        return self.cut(rest), self.cut(pieces)

    def pick(self, positions: Sequence[int]) -> Recordings:
        """The recordings at these positions."""
        return replace(
            self,
            values=tuple(self.values[i] for i in positions),
            sources=tuple(self.sources[i] for i in positions),
            origins=tuple(self.origins[i] for i in positions),
        )

    def cut(self, parts: Sequence[tuple[int, int, int]]) -> Recordings:
        """Rows `begin` to `end` of recording i, for each (i, begin, end)."""
        origins = [self.origins[i]._replace(row=self.origins[i].row + begin) for i, begin, _ in parts]
        return replace(
            self,
            values=tuple(self.values[i][begin:end] for i, begin, end in parts),
            sources=tuple(
                f"{origin.label} (rows {origin.row + 1} to {origin.row + end - begin})"
                for origin, (_, begin, end) in zip(origins, parts, strict=True)
            ),
            origins=tuple(origins),
        )


def _places(table: np.ndarray, wrong: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """(n, 2) rows and columns of values with which something is wrong, found in blocks of rows."""
    parts = [np.argwhere(wrong(block)) + np.array([begin, 0]) for begin, block in row_blocks(table)]
    return np.concatenate(parts)


def names_of(channels: str | Iterable[Any]) -> list[str]:
    """A list of names, from one name or several."""
    names = [channels] if isinstance(channels, str) else [str(name) for name in channels]
    if not names:
        raise InputError(
            f"{Parameter('channels')} must name at least one channel",
            got="none",
            cure="leave it out to use all of them",
            parameter="channels",
        )
    return names


def columns_of(wanted: Sequence[str], names: Sequence[str], source: str) -> list[int]:
    """The positions of the wanted columns."""
    for name in wanted:
        if name not in names:
            raise InputError(
                f"Every channel must be a column of {source}",
                got=f"{name!r}",
                cure=f"its columns are {', '.join(names)}",
                parameter="channels",
            )
        require_distinct([other for other in names if other == name], source)
    return [list(names).index(name) for name in wanted]


def require_distinct(names: Sequence[str], source: str) -> None:
    """Refuse a name that occurs twice."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                "Channels must have different names", got=f"{name!r} twice in {source}", cure="rename one of them"
            )


def default_names(count: int) -> list[str]:
    """Names of columns that have none."""
    return [f"{UNNAMED} {i + 1}" for i in range(count)]
