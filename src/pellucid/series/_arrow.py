"""Columns of Arrow tables as NumPy arrays, without pandas, which Arrow would import where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np


def floats(column: Any) -> np.ndarray:
    """(T,) float64 of a column of numbers; blanks are NaN."""
    import pyarrow

    # Not "safe": whole numbers beyond 2^53 are rounded, as NumPy rounds them.
    numbers = column.cast(pyarrow.float64(), safe=False)
    return _plain(numbers.fill_null(np.nan) if numbers.null_count else numbers, np.float64)


def integers(column: Any) -> np.ndarray:
    """(T,) int64 of a column of whole numbers or of their texts; blanks are 0."""
    import pyarrow

    numbers = column.cast(pyarrow.int64())
    return _plain(numbers.fill_null(0) if numbers.null_count else numbers, np.int64)


def blanks(column: Any) -> np.ndarray:
    """(T,) whether each cell is blank."""
    import pyarrow

    return _plain(column.is_null().cast(pyarrow.uint8()), np.uint8).astype(bool)


def _plain(column: Any, kind: type[np.generic]) -> np.ndarray:
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    return np.concatenate([np.zeros(0, dtype=kind), *(np.from_dlpack(chunk) for chunk in chunks if len(chunk))])
