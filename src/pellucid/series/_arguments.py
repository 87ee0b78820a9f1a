"""Arguments of a forecaster, checked: channels, validation data, contexts and futures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.series.data import Recordings, names_of
from pellucid.series.sources import recordings
from pellucid.series.tables import array_of


def checked_channels(channels: Any, name: str) -> int | tuple[str, ...] | None:
    """The number of channels, or their names."""
    if isinstance(channels, int | np.integer):
        return _checks.whole(channels, 1, name)
    return None if channels is None else tuple(names_of(channels))


def train_and_validation(
    source: Recordings, validation: Any, length: int, seed: int
) -> tuple[Recordings, Recordings | None]:
    """What is learned from, and what is validated on: a share of the recordings in pieces of this length, or others."""
    if not isinstance(validation, int | float):
        return source, recordings(validation, source.channels)
    if not 0 <= validation < 1:
        raise InputError(
            f"{Parameter('validation')} must be a share in [0, 1), or data",
            got=f"{validation!r}",
            cure="try 0.05",
            parameter="validation",
        )
    if not validation:
        return source, None
    train, held_out = source.hold_out(validation, length, seed=seed)
    train.require_variation()
    return train, held_out


def context_of(values: Any, channels: tuple[str, ...], length: int) -> np.ndarray:
    """(length, c) or (B, length, c): the last values before a forecast."""
    array = numbers_of(values, channels, "context", last=length)
    if array.shape[-2] < length:
        raise InputError(
            f"A context must have at least {length} rows",
            got=f"{array.shape[-2]}",
            cure=f"observe longer, or train a forecaster with a shorter {Parameter('context')}",
        )
    return array[..., array.shape[-2] - length :, :]


def future_of(values: Any, channels: tuple[str, ...], horizon: int) -> np.ndarray | None:
    """(horizon, c) what really came, if it is known."""
    if values is None:
        return None
    array = numbers_of(values, channels, "future")
    if array.shape != (horizon, len(channels)):
        raise InputError(
            f"`future` must have the shape (horizon, channels) = {(horizon, len(channels))}",
            got=f"{array.shape}",
            cure="pass what came right after the context",
            parameter="future",
        )
    return array


def numbers_of(values: Any, channels: tuple[str, ...], name: str, *, last: int | None = None) -> np.ndarray:
    """An array, table or file as an array (t, c) or (B, t, c) of finite numbers of these channels; the last rows, or
    all.
    """
    if isinstance(values, str | Path | Recordings) or hasattr(values, "columns"):
        source = recordings(values, channels)
        if len(source) > 1:
            raise InputError(
                f"{Parameter(name)} must be one recording",
                got=f"{len(source)}",
                cure="pass them one by one",
                parameter=name,
            )
        values = source.values[0]
    try:
        array = array_of(values)
    except ValueError as error:
        raise InputError(
            f"{Parameter(name)} must be an array of numbers",
            got=f"{type(values).__name__}: {error}",
            parameter=name,
        ) from None
    if array.dtype.kind not in "fiu":
        raise InputError(
            f"{Parameter(name)} must hold real numbers",
            got=f"{array.dtype}",
            cure="convert it to floats",
            parameter=name,
        )
    if array.ndim not in (2, 3) or array.shape[-1] != len(channels) or not len(array):
        raise InputError(
            f"{Parameter(name)} must have the shape (time, channels) or (batch, time, channels) with "
            f"the channels {', '.join(channels)}",
            got=f"{array.shape}",
            cure="check the order of its dimensions",
            parameter=name,
        )
    before = 0 if last is None else max(array.shape[-2] - last, 0)
    array = array[..., before:, :]  # nothing else is read from a disk
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"{Parameter(name)} must have no missing or infinite values",
            got=f"{array[tuple(bad[0])]} in channel {channels[bad[0][-1]]!r}, row {before + bad[0][-2] + 1}",
            cure="fill the gap",
            parameter=name,
        )
    return array.astype(np.float64)
