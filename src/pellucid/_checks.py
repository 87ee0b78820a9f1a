"""Checks of what users pass in: each returns the argument in its usual form or raises `InputError`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from pellucid import _processes
from pellucid.errors import InputError, Parameter

T = TypeVar("T")


def tensor(values: Any, name: str) -> Tensor:
    """Whatever holds numbers as a tensor; tables of pandas and polars, too."""
    try:
        columns = list(getattr(values, "columns", ()))
        if hasattr(values, "to_numpy"):
            values = np.array(values.to_numpy())  # a copy: the table may change later
        if isinstance(values, np.ndarray):
            values = _array(values, name, columns)
        return _plain(torch.as_tensor(values), name)
    except InputError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{Parameter(name)} must be a tensor, an array or nested lists of numbers",
            got=f"{type(values).__name__} ({error})",
            cure="convert it first, e.g. with `torch.tensor(...)`",
            parameter=name,
        ) from error


def _plain(values: Tensor, name: str) -> Tensor:
    """Refuse tensors that hold no numbers, or none to compute with."""
    kind, cure = "", "convert it with `.float()`"
    if values.is_nested or values.layout != torch.strided:
        kind, cure = f"a {'nested' if values.is_nested else 'sparse'} one", "convert it with `.to_dense()`"
    elif values.is_quantized:
        kind, cure = f"a quantized one, {values.dtype}", "convert it with `.dequantize()`"
    elif values.is_meta:
        kind, cure = "one on the device meta, which holds no numbers", "move the model and the data to a real device"
    elif values.is_floating_point() and values.dtype.itemsize < 2:
        kind = f"one of {values.dtype}"
    if kind:
        raise InputError(f"{Parameter(name)} must be an ordinary tensor", got=kind, cure=cure, parameter=name)
    return values


def _array(values: np.ndarray, name: str, columns: Sequence[Any]) -> np.ndarray:
    """An array that torch reads without a warning, and with nothing hidden in it."""
    if isinstance(values, np.ma.MaskedArray):
        masked = np.argwhere(np.ma.getmaskarray(values))
        if len(masked):
            location = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), masked[0].tolist(), strict=False))
            raise InputError(
                f"{Parameter(name)} must hold no missing values",
                got=f"{len(masked)} masked, first in {location}",
                cure=f"fill them, e.g. with `{name}.filled(0.0)`, or leave these rows out",
                parameter=name,
            )
        values = values.data
    if values.dtype == object:
        return _numbers(values, name, columns)
    native = values.dtype.newbyteorder("=")
    # A copy where torch would warn that it cannot protect what is read-only, or refuse: it knows no negative strides.
    if not values.flags.writeable or values.dtype != native or any(stride < 0 for stride in values.strides):
        return np.array(values, dtype=native, order="C")
    return values


def _numbers(values: np.ndarray, name: str, columns: Sequence[Any]) -> np.ndarray:
    """Python's numbers and booleans, as tables of mixed columns give them, in float64."""
    for index, value in np.ndenumerate(values):
        if isinstance(value, Real | np.bool_):
            continue
        location = f"row {index[0]}" if index else "its only entry"
        if len(index) > 1:
            column = columns[index[1]] if len(columns) == values.shape[1] else index[1]
            location += f" of column {column!r}"
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            raise InputError(
                f"{Parameter(name)} must hold no missing values",
                got=f"one in {location}",
                cure="fill it or leave it out",
                parameter=name,
            )
        raise InputError(
            f"{Parameter(name)} must hold numbers or booleans",
            got=f"{value!r} in {location}",
            cure="leave that column out, or turn it into numbers (one column of 0 and 1 for each category)",
            parameter=name,
        )
    return values.astype(np.float64)


def table(values: Any, name: str) -> Tensor:
    """`values` as a finite two-dimensional tensor; a vector becomes one column."""
    result = tensor(values, name)
    if result.ndim == 1:
        result = result[:, None]
    if result.ndim != 2:
        raise InputError(
            f"{Parameter(name)} must have one row per point (N, or N x columns)",
            got=f"shape {tuple(result.shape)}",
            cure=f"flatten the leading dimensions, e.g. `{name}.flatten(0, -2)`",
            parameter=name,
        )
    if result.is_complex():
        raise InputError(
            f"{Parameter(name)} must hold real numbers",
            got=f"{result.dtype}",
            cure="pass real and imaginary parts",
            parameter=name,
        )
    finite(result, name)
    return result


def finite(values: Tensor, name: str) -> None:
    """Refuse NaN and infinite values, naming the first row that has one."""
    # One sum is a quarter of the work of `isfinite`, and finite exactly when there is nothing to report
    # (or, rarely, when finite numbers overflow: the second look tells).
    if not values.is_floating_point() or values.detach().sum().isfinite():
        return
    bad = (~torch.isfinite(values.detach())).flatten(1).any(dim=1).nonzero().flatten()
    if len(bad):
        raise InputError(
            f"{Parameter(name)} must be finite",
            got=f"NaN or infinity in {len(bad)} of {len(values)} rows, first in row {int(bad[0])}",
            cure="remove or impute such rows, or lower the learning rate if training diverged",
            parameter=name,
        )


def one_process(owner: str, what: str) -> None:
    """Refuse to play where several processes train together and each would keep a state of its own."""
    from torch import distributed

    if _processes.current().world > 1:  # that of `pellucid.training`, where they share it
        return
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        raise InputError(
            f"A {owner} must be played in one process, since {what} in each",
            got=f"a process group of {distributed.get_world_size()}",
            cure=(
                "play a SymmetricGame or an AsymmetricGame on the neighborhoods of each process's batch, "
                "or train in one process"
            ),
        )


def indices(values: Any, name: str) -> Tensor:
    """Whole numbers as a flat int64 tensor; nothing is rounded."""
    result = tensor(values, name)
    if result.numel() and (result.is_floating_point() or result.is_complex() or result.dtype == torch.bool):
        raise InputError(
            f"{Parameter(name)} must hold whole numbers",
            got=f"{result.dtype}",
            cure="convert them with `.long()`, or a mask with `.nonzero()`",
            parameter=name,
        )
    return result.long().flatten()


def in_range(values: Tensor, bound: int, what: str, among: str) -> None:
    """Refuse indices outside 0 .. bound - 1, naming the first."""
    outside = ((values < 0) | (values >= bound)).nonzero().flatten()
    if len(outside):
        raise InputError(
            f"Every {what} must lie between 0 and {bound - 1}, since there are {bound} {among}",
            got=f"{int(values[outside[0]])} at position {int(outside[0])}",
            cure="correct it or leave it out",
        )


def whole(value: Any, low: int, name: str, high: int | None = None) -> int:
    """A whole number of any kind (Python's, NumPy's) within bounds."""
    if _is(value, Integral) and low <= value and (high is None or value <= high):
        return int(value)
    bounds = f">= {low}" if high is None else f"between {low} and {high}"
    raise InputError(
        f"{Parameter(name)} must be a whole number {bounds}",
        got=f"{value!r}",
        cure="choose one within these bounds",
        parameter=name,
    )


def seed(value: Any) -> int:
    """A seed of random numbers, such as all generators take."""
    return whole(value, 0, "seed", 2**31 - 1)


def at_least(value: Any, bound: float, name: str, owner: str, *, cure: str = "choose such a number") -> float:
    """A finite real number of any kind (Python's, NumPy's) that is not below its bound."""
    if _is(value, Real) and bound <= value and math.isfinite(value):
        return float(value)
    raise InputError(
        f"{Parameter(name, of=owner)} must be a finite number >= {bound:g}",
        got=f"{value!r}",
        cure=cure,
        parameter=name,
    )


def _is(value: Any, kind: type) -> bool:
    """A number of this kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def flat(items: Sequence[Any], kind: type[T], owner: str, what: str) -> tuple[T, ...]:
    """Items of one kind, passed one by one or in lists, as one tuple."""
    parts = [part for item in items for part in (item if isinstance(item, list | tuple) else [item])]
    if not parts or not all(isinstance(part, kind) for part in parts):
        raise InputError(
            f"{Parameter(owner)} takes one or more {what}",
            got=f"{items!r}",
            cure="pass them one by one or in a list",
            parameter=owner,
        )
    return tuple(parts)


def names(texts: Sequence[Any] | None, default: list[str], kind: str) -> list[str]:
    """Names of features or outputs, one for each; the default if there are none."""
    if texts is None:
        return default
    if len(texts) != len(default):
        raise InputError(
            f"There must be one name for each of the {len(default)} {kind}",
            got=f"{len(texts)}",
            cure="pass one for each, in order",
        )
    return [str(name) for name in texts]
