"""Tensors in the form that compiled kernels read."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def numbers(values: Tensor) -> np.ndarray:
    """As the kernels want them: float64 in main memory, row after row."""
    return np.ascontiguousarray(values.detach().double().cpu().numpy())


def rounding_unit(dtype: torch.dtype) -> float:
    """By what share a number of this type may be off for having been rounded; whole numbers are exact."""
    return torch.finfo(dtype).eps / 2 if dtype.is_floating_point else 0.0


def features(x: Tensor) -> np.ndarray:
    """In a form that kernels read without a copy where they can: bytes for binary features, otherwise floats."""
    kept = (torch.bool, torch.uint8, torch.float32, torch.float64)
    values = x.detach().cpu()
    array = np.ascontiguousarray((values if values.dtype in kept else values.double()).numpy())
    return array.view(np.uint8) if array.dtype == np.bool_ else array
