"""Columns of Arrow tables as NumPy arrays, without pandas, which Arrow would import where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np


def floats(column: Any) -> np.ndarray:
    """(T,) float64 of a column of numbers; blanks are NaN."""
    import pyarrow

    # Not "safe": whole numbers beyond 2^53 are rounded, as NumPy rounds them.
    chunks = column.cast(pyarrow.float64(), safe=False).fill_null(float("nan")).chunks
    return np.concatenate([np.zeros(0), *(np.from_dlpack(chunk) for chunk in chunks if len(chunk))])
