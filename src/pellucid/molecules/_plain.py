"""Numbers for JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def plain(values: np.ndarray) -> list[float | None]:
    """Numbers for JSON, None where there is none."""
    return [float(value) if np.isfinite(value) else None for value in values]


def numbers(values: Sequence[float | None]) -> np.ndarray:
    """What `plain` was called on."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
