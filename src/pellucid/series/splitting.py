"""Training, validation and test parts of recordings: pieces cut out at random, or the end in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.series.data import Recordings
from pellucid.splitting import Parts, hold_out

Kind = Literal["random", "time"]
Statistic = Callable[[np.ndarray], float]
SHARE = 0.1
"""Share of the rows for validation, and for the test."""
FILES = 10
"""Files from which on the end in time is the last files; with fewer it is the end of each recording."""
# Pieces that a trend needs, Student's t of its rank correlation, and the correlation itself.
_FEWEST, _MIN_T, _MIN_CORRELATION = 10, 4.0, 0.5
# Where there are fewer pieces they are shorter, down to this number of rows. Rows that follow each other are alike, and
# so are short pieces: the trend must be clearer (of 400 rows x_t = 0.95 x_{t-1} + noise, 6 in 1000 seem to trend).
_SHORTEST, _MIN_T_SHORT = 4, 6.0


def split(
    source: Recordings, length: int, seed: int, test: Recordings | None = None, *, kind: Kind = "random"
) -> Parts[Recordings]:
    """Divide recordings into parts to learn from, to validate and calibrate on, and to test on.

    Parameters
    ----------
    source : Recordings
        The recordings to divide.
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
        by_files = _by_files(source)
        if tested is None:
            rest, tested = _split_end(source, length, by_files)
        train, validation = _split_end(rest, length, by_files)
    else:
        if tested is None:
            rest, tested = source.hold_out(SHARE, length, seed=seed + 1)
        train, validation = rest.hold_out(SHARE, length, seed=seed)
    return Parts(train, validation, tested)


def split_description(source: Recordings, kind: Kind, other: bool) -> str:
    """A split in words.

    Parameters
    ----------
    source : Recordings
        The recordings to divide.
    kind : Kind
        "random" or "time".
    other : bool
        Whether the test is on other recordings.
    """
    if kind == "random":
        return f"{'validation pieces' if other else 'validation and test pieces'} cut out at random"
    last, before = ("the last files", "those") if _by_files(source) else ("the end of each recording", "the rows")
    return f"validated on {last}" if other else f"tested on {last}, validated on {before} before"


def _by_files(source: Recordings) -> bool:
    """Whether there are enough files to divide them, rather than each recording."""
    return len({origin.file for origin in source.origins}) >= FILES


def _split_end(source: Recordings, length: int, by_files: bool) -> tuple[Recordings, Recordings]:
    """All but the last tenth, and the last tenth: of the files, or of each recording."""
    if by_files:
        files = list(dict.fromkeys(origin.file for origin in source.origins))
        early = {files[i] for i in hold_out(len(files), SHARE, seed=None)[0]}
        first = [i for i, origin in enumerate(source.origins) if origin.file in early]
        last = [i for i, origin in enumerate(source.origins) if origin.file not in early]
        return source.pick(first), source.pick(last)
    rest: list[tuple[int, int, int]] = []
    end: list[tuple[int, int, int]] = []
    for members in _pieces_by_recording(source):
        # Counted from the end of each piece, so that the last rows are used.
        sizes = {i: len(source.values[i]) for i in members}
        starts = [(i, row) for i, size in sizes.items() for row in range(size % length, size, length)]
        remaining, final = hold_out(len(starts), SHARE, seed=None)
        if not len(remaining):  # too short to be divided: it is learned from
            rest += [(i, 0, size) for i, size in sizes.items() if size >= length]
            continue
        divided, row = starts[final[0]]
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


def _pieces_by_recording(source: Recordings) -> Iterable[list[int]]:
    """The positions of the pieces of each recording."""
    groups: dict[str, list[int]] = {}
    for i, origin in enumerate(source.origins):
        groups.setdefault(origin.label, []).append(i)
    return groups.values()


def trends(source: Recordings, length: int) -> list[str]:
    """The channels that trend along the recordings, and whether their level or spread does, in words.

    Level (mean) and spread (logarithm of the standard deviation) of n pieces of `length` rows have a rank correlation
    rho with time; they trend if |rho| > 0.5 and |rho| sqrt((n - 2) / (1 - rho^2)) > 4. With ten files or more the
    pieces are files. Where there are fewer than ten pieces, ten shorter ones are compared, which trend if the latter
    is > 6.
    """
    result = []
    groups = [list(range(len(source)))] if _by_files(source) else list(_pieces_by_recording(source))
    for column, name in enumerate(source.channels):
        words = []
        for statistic, word in ((np.mean, "level"), (_log_spread, "spread")):
            if any(_has_trend(source, group, column, length, statistic) for group in groups):
                words.append(word)
        if words:
            result.append(f"the {' and '.join(words)} of {name}")
    return result


def _has_trend(source: Recordings, group: list[int], column: int, length: int, statistic: Statistic) -> bool:
    numbers = _pieces(source, group, column, length, statistic)
    if len(numbers) >= _FEWEST or _by_files(source):
        return _is_trend(numbers, _MIN_T)
    sizes = [len(source.values[i]) for i in group]
    for short in range(min(length, sum(sizes) // _FEWEST), _SHORTEST - 1, -1):
        if sum(size // short for size in sizes) >= _FEWEST:
            return _is_trend(_pieces(source, group, column, short, statistic), _MIN_T_SHORT)
    return False


def _pieces(source: Recordings, group: list[int], column: int, length: int, statistic: Statistic) -> np.ndarray:
    """A number for each piece in the order of time."""
    tables = [source.values[i][:, column] for i in group]
    if _by_files(source):
        parts = [table for table in tables if len(table) >= length]
    else:
        parts = [table[row : row + length] for table in tables for row in range(0, len(table) - length + 1, length)]
    return np.array([statistic(part) for part in parts], dtype=np.float64)


def _log_spread(values: np.ndarray) -> float:
    return float(np.log(np.std(values) + 1e-12))


def _is_trend(numbers: np.ndarray, min_t: float) -> bool:
    n = len(numbers)
    if n < _FEWEST or np.ptp(numbers) == 0:
        return False
    ranks = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
    rho = float(np.corrcoef(ranks, np.arange(n))[0, 1])
    return abs(rho) > _MIN_CORRELATION and abs(rho) * np.sqrt((n - 2) / max(1 - rho**2, 1e-12)) > min_t


def recommendation(source: Recordings, length: int) -> str | None:
    """A sentence where the test of a random split would be by interpolation; None if it would not."""
    trending = trends(source, length)
    if not trending:
        return None
    listed = ", ".join(trending[:3]) + (f" and {len(trending) - 3} more" if len(trending) > 3 else "")
    return (
        f"The recordings trend ({listed}), so that pieces cut out at random are tested by interpolation, which "
        "flatters every model: split by time, which tests on the end."
    )
