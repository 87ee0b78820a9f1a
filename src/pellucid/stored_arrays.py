"""Arrays in files, checked before anything is made of them; see `pellucid.schemas`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pellucid.schemas import LARGEST, SchemaError, wrong


def array_of(
    content: Any, shape: Sequence[int | None], where: str, *, low: float = -LARGEST, blanks: bool = False
) -> np.ndarray:
    """Numbers in float64, from nested lists of JSON.

    Parameters
    ----------
    content : object
        The lists.
    shape : sequence of int
        The shape that the array must have; None is any length.
    where : str
        Where it is in the file, for messages.
    low : float
        The smallest number that is allowed.
    blanks : bool
        Whether null is allowed, for which there is NaN.

    Examples
    --------
    >>> array_of([[1, None], [2, 3]], (None, 2), "y", blanks=True)
    array([[ 1., nan],
           [ 2.,  3.]])
    """
    if not isinstance(content, list | tuple):
        raise wrong(content, where, "a list")
    try:
        raw = np.array(content)
        values = raw.astype(np.float64) if raw.dtype.kind in "iufO" and not _has_text(raw) else None
    except (ValueError, TypeError, OverflowError):
        values = None
    if values is None:
        raise wrong(content, where, "a list of numbers")
    if not values.size and 0 in [length or 0 for length in shape]:  # JSON does not tell the shape of nothing
        values = values.reshape([length or 0 for length in shape])
    check_array(values, shape, where, low=low, blanks=blanks)
    return values


def _has_text(raw: np.ndarray) -> bool:
    return raw.dtype == object and any(isinstance(value, str | bool) for value in raw.flat)


def check_array(
    values: np.ndarray,
    shape: Sequence[int | None],
    where: str,
    *,
    kinds: str = "f",
    low: float = -LARGEST,
    high: float = LARGEST,
    blanks: bool = False,
) -> None:
    """Refuse an array of another shape or type, or with values out of bounds.

    Parameters
    ----------
    values : ndarray
        The array.
    shape : sequence of int
        The shape that it must have; None is any length.
    where : str
        Where it is in the file, for messages.
    kinds : str
        The kinds of types that are allowed, as NumPy has them: "f", "iu".
    low, high : float
        The bounds of its values, both included.
    blanks : bool
        Whether NaN is allowed.
    """
    if values.dtype.kind not in kinds:
        raise SchemaError(f"{where} has the type {values.dtype}")
    if values.ndim != len(shape) or any(w is not None and w != n for w, n in zip(shape, values.shape, strict=True)):
        expected = " x ".join("any" if length is None else str(length) for length in shape)
        raise SchemaError(f"{where} has the shape {values.shape}, not {expected}")
    present = values[~np.isnan(values)] if blanks and values.dtype.kind == "f" else values
    if present.size and not (low <= present.min() and present.max() <= high):
        raise SchemaError(f"{where} has values outside of {low:g} to {high:g}, or NaN")
