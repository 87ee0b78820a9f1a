"""What is learned from, validated on and tested on: pieces cut out at random, or the end in time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.series.data import Recordings
from pellucid.splitting import Parts, hold_out

Kind = Literal["random", "time"]
SHARE = 0.1
"""Of the rows, for validation and for the test each."""
FILES = 10
"""From so many files on, the end in time is the last files; of fewer it is the end of each recording."""
# Pieces that a trend is seen in, and how clear it must be: Student's t of the rank correlation, and itself.
_FEWEST, _CLEAR, _STRONG = 10, 4.0, 0.5
# Where there are fewer, pieces are shorter, down to so many rows. Rows that follow each other are alike, and so are
# short pieces: the trend must be clearer (of 400 rows x_t = 0.95 x_{t-1} + noise, 6 in 1000 seem to trend).
_SHORTEST, _CLEARER = 4, 6.0


def split(
    source: Recordings, length: int, seed: int, test: Recordings | None = None, *, kind: Kind = "random"
) -> Parts[Recordings]:
    """What is learned from, chosen and calibrated on, and tested on.

    Parameters
    ----------
    source : Recordings
        What is divided.
    length : int
        Context + horizon, the rows of a sequence.
    seed : int
        Seed of the choice at random.
    test : Recordings, optional
        Other recordings to test on; by default a tenth of the same ones.
    kind : Kind
        "random" cuts out pieces of `length` rows; "time" takes the last tenth to test on and the tenth before it to
        validate on: of each recording, or with ten files or more of the files in the order of their names.
    """
    if kind not in ("random", "time"):
        raise InputError(
            f'{Parameter("split")} must be "random" or "time"',
            got=f"{kind!r}",
            cure="choose one of these",
            parameter="split",
        )
    rest, tested = source, test
    if kind == "time":
        whole = _by_files(source)
        if tested is None:
            rest, tested = _last(source, length, whole)
        train, validation = _last(rest, length, whole)
    else:
        if tested is None:
            rest, tested = source.hold_out(SHARE, length, seed=seed + 1)
        train, validation = rest.hold_out(SHARE, length, seed=seed)
    return Parts(train, validation, tested)


def described(source: Recordings, kind: Kind, other: bool) -> str:
    """The split in words.

    Parameters
    ----------
    source : Recordings
        What is divided.
    kind : Kind
        How.
    other : bool
        Whether the test is on recordings of their own.
    """
    if kind == "random":
        return f"{'validation pieces' if other else 'validation and test pieces'} cut out at random"
    last, before = ("the last files", "those") if _by_files(source) else ("the end of each recording", "the rows")
    return f"validated on {last}" if other else f"tested on {last}, validated on {before} before"


def _by_files(source: Recordings) -> bool:
    return len({origin.file for origin in source.origins}) >= FILES


def _last(source: Recordings, length: int, whole: bool) -> tuple[Recordings, Recordings]:
    """What comes first, and the last tenth: of the files, or of each recording."""
    if whole:
        files = list(dict.fromkeys(origin.file for origin in source.origins))
        early = {files[i] for i in hold_out(len(files), SHARE, seed=None)[0]}
        first = [i for i, origin in enumerate(source.origins) if origin.file in early]
        last = [i for i, origin in enumerate(source.origins) if origin.file not in early]
        return source.pick(first), source.pick(last)
    rest: list[tuple[int, int, int]] = []
    end: list[tuple[int, int, int]] = []
    for members in _wholes(source):
        # Counted from the end of each piece, so that the last rows are used.
        sizes = {i: len(source.values[i]) for i in members}
        starts = [(i, row) for i, size in sizes.items() for row in range(size % length, size, length)]
        remaining, held = hold_out(len(starts), SHARE, seed=None)
        if not len(remaining):  # too short to be divided: it is learned from
            rest += [(i, 0, size) for i, size in sizes.items() if size >= length]
            continue
        divided, row = starts[held[0]]
        for i, total in sizes.items():
            cut = total if i < divided else row if i == divided else 0
            if cut >= length:
                rest.append((i, 0, cut))
            if total - cut >= length:
                end.append((i, cut, total))
    if not end or not rest:
        raise InputError(
            f"A split in time needs at least two sequences of {length} rows in a recording",
            got=f"fewer in {source.sources[0]}",
            cure=f"record more, choose a shorter context or horizon, or use {Parameter('split', 'random')}",
            parameter="split",
        )
    return source.cut(rest), source.cut(end)


def _wholes(source: Recordings) -> Iterable[list[int]]:
    """The places of the pieces of each recording that was cut."""
    groups: dict[str, list[int]] = {}
    for i, origin in enumerate(source.origins):
        groups.setdefault(origin.label, []).append(i)
    return groups.values()


def trends(source: Recordings, length: int) -> list[str]:
    """In which channels, and how, pieces of `length` rows change along the recordings, in words.

    Level (mean) and spread (logarithm of the standard deviation) of the pieces are compared with their place by the
    rank correlation rho of n pieces; they trend if |rho| > 0.5 and |rho| sqrt((n - 2) / (1 - rho^2)) > 4. With ten
    files or more the pieces are files. Where there are fewer than ten pieces, ten shorter ones are compared, which
    trend if the latter is > 6.
    """
    result = []
    groups = [list(range(len(source)))] if _by_files(source) else list(_wholes(source))
    for column, name in enumerate(source.channels):
        words = []
        for measure, word in ((np.mean, "level"), (_log_spread, "spread")):
            if any(_trends(source, group, column, length, measure) for group in groups):
                words.append(word)
        if words:
            result.append(f"the {' and '.join(words)} of {name}")
    return result


def _trends(source: Recordings, group: list[int], column: int, length: int, measure: object) -> bool:
    numbers = _pieces(source, group, column, length, measure)
    if len(numbers) >= _FEWEST or _by_files(source):
        return _is_trend(numbers, _CLEAR)
    sizes = [len(source.values[i]) for i in group]
    for short in range(min(length, sum(sizes) // _FEWEST), _SHORTEST - 1, -1):
        if sum(size // short for size in sizes) >= _FEWEST:
            return _is_trend(_pieces(source, group, column, short, measure), _CLEARER)
    return False


def _pieces(source: Recordings, group: list[int], column: int, length: int, measure: object) -> np.ndarray:
    """A number for each piece in the order of time."""
    tables = [source.values[i][:, column] for i in group]
    if _by_files(source):
        parts = [table for table in tables if len(table) >= length]
    else:
        parts = [table[row : row + length] for table in tables for row in range(0, len(table) - length + 1, length)]
    return np.array([measure(part) for part in parts], dtype=np.float64)  # type: ignore[operator]


def _log_spread(values: np.ndarray) -> float:
    return float(np.log(np.std(values) + 1e-12))


def _is_trend(numbers: np.ndarray, clear: float) -> bool:
    n = len(numbers)
    if n < _FEWEST or np.ptp(numbers) == 0:
        return False
    ranks = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
    rho = float(np.corrcoef(ranks, np.arange(n))[0, 1])
    return abs(rho) > _STRONG and abs(rho) * np.sqrt((n - 2) / max(1 - rho**2, 1e-12)) > clear


def recommendation(source: Recordings, length: int) -> str | None:
    """A sentence if pieces cut out at random would be tested by interpolation."""
    changing = trends(source, length)
    if not changing:
        return None
    shown = ", ".join(changing[:3]) + (f" and {len(changing) - 3} more" if len(changing) > 3 else "")
    return (
        f"The recordings trend ({shown}), so that pieces cut out at random are tested by interpolation, which flatters "
        "every model: test on the end with --split time."
    )
