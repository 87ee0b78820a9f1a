"""Checks of predictions and features against the neighborhoods over them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods


def check_points(x: Any, f: Any, hoods: BaseNeighborhoods, *, name: str = "f") -> tuple[Tensor, Tensor]:
    """Features (N x P), detached, and predictions (N x K), checked against each other and the neighborhoods.

    Predictions come as float32 or float64: sums of squares would overflow in half precision.
    """
    check_neighborhoods(hoods)
    x, f = _checks.tensor(x, "x"), _checks.tensor(f, name)
    # A compiler traces no such question, and has no such tensors.
    if not torch.compiler.is_compiling() and torch._C._functorch.is_functorch_wrapped_tensor(f):
        raise InputError(
            f"{Parameter(name)} must be plain numbers: witnesses are fitted to them",
            got="a tensor inside of a transformation of torch.func (grad, vmap, ...), which has none",
            cure="call the game outside of it, and use `backward` or `torch.autograd.grad`",
            parameter=name,
        )
    if x.device != f.device or f.device != hoods.device:
        raise InputError(
            f"`x`, {Parameter(name)} and `hoods` must be on one device",
            got=f"{x.device}, {f.device} and {hoods.device}",
            cure="move them with `.to(device)`",
            parameter="x",
        )
    # Witnesses are constants when the predictor is differentiated, and so are the features that they read.
    x, f = _checks.table(x.detach(), "x"), _checks.table(f, name)
    if not f.is_floating_point() or f.dtype.itemsize < 4:
        f = f.float()
    for label, values in (("x", x), (name, f)):
        if len(values) != hoods.n_points:
            raise InputError(
                f"{Parameter(label)} must have one row for each of the {hoods.n_points} points of the neighborhoods",
                got=f"{len(values)} rows",
                cure="pass all points (members and centers), or rebuild the neighborhoods",
                parameter=label,
            )
    if not f.shape[1]:
        raise InputError(
            f"{Parameter(name)} must have at least one column",
            got="none",
            cure="a vector counts as one column",
            parameter=name,
        )
    return x, f


def check_neighborhoods(hoods: Any) -> None:
    """Refuse anything but neighborhoods."""
    if not isinstance(hoods, BaseNeighborhoods):
        raise InputError(
            "`hoods` must be neighborhoods",
            got=f"{type(hoods).__name__}",
            cure=(
                "make them with `windows`, `nearest`, `within`, `from_lists` or `from_pairs`, and mind "
                "the order of arguments: (f, x, hoods)"
            ),
            parameter="hoods",
        )
