"""Arrays in files, checked before anything is made of them; see `pellucid.schemas`."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO
from zipfile import ZipFile

import numpy as np

from pellucid.schemas import LARGEST, SchemaError, reason_of, wrong

_ZIP = b"PK"
# How many times as many bytes can be unpacked, at most.
_MOST_DEFLATED = 1033
# Of arrays of numbers and texts.
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


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


# -- files of NumPy ------------------------------------------------------------------------------------------------


def read_arrays(stream: BinaryIO) -> dict[str, np.ndarray]:
    """The arrays of a .npz file by their names, or that of a .npy file as "x"; no objects of Python.

    A `SchemaError` says what is wrong with any other file.

    Parameters
    ----------
    stream : BinaryIO
        The file, from its beginning.

    Examples
    --------
    >>> read_arrays(io.BytesIO(b"no array"))
    Traceback (most recent call last):
    pellucid.schemas.SchemaError: it is no file of NumPy arrays: ...
    """
    with _readable():
        if stream.read(len(_ZIP)) != _ZIP:
            return {"x": _read_array(stream, stream.seek(0, io.SEEK_END))}
        arrays = {}
        with ZipFile(stream) as archive:
            for entry in archive.infolist():
                most = entry.compress_size * _MOST_DEFLATED
                with archive.open(entry) as part:
                    arrays[entry.filename.removesuffix(".npy")] = _read_array(part, most)
        return arrays


def map_array(file: Path) -> np.ndarray:
    """The array of a .npy file, of which nothing is in memory; see `read_arrays`.

    Parameters
    ----------
    file : Path
        The file.
    """
    with _readable():
        with file.open("rb") as stream:
            _check_header(stream, file.stat().st_size)
        return np.lib.format.open_memmap(file, mode="r")


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # headers are parsed as Python, and archives unpacked: of damaged ones all may come
        raise SchemaError(f"it is no file of NumPy arrays: {reason_of(error)}") from None


def _read_array(stream: IO[bytes], most: int) -> np.ndarray:
    _check_header(stream, most)
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _check_header(stream: IO[bytes], most: int) -> None:
    """Refuse an array with more bytes than there can be, before memory is allocated for it."""
    stream.seek(0)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise SchemaError(f"its version is {version}")
    shape, _, kind = _HEADERS[version](stream)
    if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize > most:
        raise SchemaError(f"it has the shape {shape}, and not so many numbers")
