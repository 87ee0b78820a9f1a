"""Checks of what users pass in: each returns the argument in its usual form or raises `InputError`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from pellucid.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from pellucid.neighborhoods import BaseNeighborhoods


def table(values: Any, name: str) -> Tensor:
    """`values` as a finite two-dimensional tensor; a vector becomes one column."""
    result = torch.as_tensor(values)
    if result.ndim == 1:
        result = result[:, None]
    if result.ndim != 2:
        raise InputError(
            f"`{name}` must have one row per point (N, or N x columns). Got shape "
            f"{tuple(result.shape)}; flatten the leading dimensions, e.g. `{name}.flatten(0, -2)`."
        )
    if result.is_complex():
        raise InputError(f"`{name}` must hold real numbers. Got {result.dtype}; pass real and imaginary parts.")
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
            f"`{name}` must be finite. Got NaN or infinity in {len(bad)} of {len(values)} rows, first in "
            f"row {int(bad[0])}; remove or impute such rows, or lower the learning rate if training diverged."
        )


def points(x: Any, f: Any, hoods: BaseNeighborhoods) -> tuple[Tensor, Tensor]:
    """Features (N x P) and predictions (N x K), checked against each other and the neighborhoods."""
    x, f = torch.as_tensor(x), torch.as_tensor(f)
    if x.device != f.device or f.device != hoods.device:
        raise InputError(
            f"`x`, `f` and `hoods` must be on one device. Got {x.device}, {f.device} and {hoods.device}; "
            "move them with `.to(device)`."
        )
    x, f = table(x, "x"), table(f, "f")
    if not f.is_floating_point():
        f = f.to(torch.get_default_dtype())
    for name, values in (("x", x), ("f", f)):
        if len(values) != hoods.n_points:
            raise InputError(
                f"`{name}` must have one row for each of the {hoods.n_points} points of the neighborhoods. "
                f"Got {len(values)} rows; pass all points (members and centers), or rebuild the neighborhoods."
            )
    if not f.shape[1]:
        raise InputError("`f` must have at least one column of predictions. Got none.")
    return x, f


def at_least(value: float, bound: float, name: str, owner: str) -> None:
    """Refuse a setting that is below its bound, infinite or NaN."""
    if not (isinstance(value, (int, float)) and bound <= value < float("inf")):
        raise InputError(f"`{name}` of {owner} must be a finite number >= {bound:g}. Got {value!r}.")


def names(given: Sequence[str] | None, default: list[str], kind: str) -> list[str]:
    """Names for features or outputs: those given, if there are as many as needed."""
    if given is None:
        return default
    if len(given) != len(default):
        raise InputError(f"There must be one name for each of the {len(default)} {kind}. Got {len(given)}.")
    return list(given)
