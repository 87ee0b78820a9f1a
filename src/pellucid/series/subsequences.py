"""Long recordings in parts: blocks of rows, and subsequences that are copied when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

# Values of a block.
_BLOCK = 2**21


def row_blocks(table: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Rows of a table (T, c) in blocks that fit into memory, each with the number of rows before it."""
    size = max(_BLOCK // max(table.shape[-1], 1), 1)
    for begin in range(0, len(table), size):
        yield begin, table[begin : begin + size]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Subsequences:
    """(S, length, c) subsequences of recordings, `stride` rows apart; of a recording on a disk, nothing else is read.

    Parameters
    ----------
    values : sequence of ndarray
        The recordings, (T, c) each.
    length : int
        Rows of a subsequence.
    stride : int
        Rows from the start of one to that of the next.
    """

    values: Sequence[np.ndarray]
    length: int
    stride: int

    @cached_property
    def _ends(self) -> np.ndarray:
        counts = [max((len(table) - self.length) // self.stride + 1, 0) for table in self.values]
        return np.cumsum(counts)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, which: slice | np.ndarray) -> np.ndarray:
        """Some of them, in memory."""
        index = np.arange(*which.indices(len(self))) if isinstance(which, slice) else np.asarray(which)
        recording = np.searchsorted(self._ends, index, side="right")
        rows = (index - np.concatenate([[0], self._ends])[recording]) * self.stride
        places = zip(recording.tolist(), rows.tolist(), strict=True)
        return np.stack([self.values[i][row : row + self.length] for i, row in places])
