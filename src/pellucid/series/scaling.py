"""Between the units of the data and those of the network, in which every channel has mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.schemas import SMALLEST
from pellucid.series.network import Gaussian
from pellucid.stored_arrays import array_of

# Sequences that are standardized at once.
_CHUNK = 4096


@final
@dataclass(frozen=True, eq=False)
class Scaling:
    """z = (x - shift) / scale, for each of c channels."""

    shift: np.ndarray
    """(c,) means."""
    scale: np.ndarray
    """(c,) standard deviations."""

    @classmethod
    def of(cls, rows: np.ndarray) -> Scaling:
        """Mean and standard deviation of rows (T, c)."""
        return cls(rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64))

    def to_dict(self) -> dict[str, list[float]]:
        """Plain lists, ready for JSON."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], channels: int) -> Scaling:
        """The scaling that `to_dict` was called on.

        Parameters
        ----------
        content : mapping of str to object
            What `to_dict` returned.
        channels : int
            The number of channels, which is checked.
        """
        return cls(
            array_of(content["shift"], [channels], "shift"),
            array_of(content["scale"], [channels], "scale", low=SMALLEST),
        )

    def standardize(self, sequences: np.ndarray) -> Tensor:
        """Values (S, ..., c) as the network reads them; centered in the data's own precision."""
        result = np.empty(sequences.shape, dtype=np.float32)
        for start in range(0, len(sequences), _CHUNK):
            part = slice(start, start + _CHUNK)
            result[part] = (sequences[part] - self.shift) / self.scale
        return torch.from_numpy(result)

    def moments(self, gaussian: Gaussian) -> tuple[np.ndarray, np.ndarray]:
        """Mean (..., c) and covariance (..., c, c) in the units of the data."""
        mean, factor = (part.detach().double().numpy() for part in gaussian)
        factor = self.scale[:, None] * factor
        return self.shift + self.scale * mean, factor @ factor.swapaxes(-1, -2)

    def values(self, z: Tensor) -> np.ndarray:
        """Values (..., order c) of one or several lags in the units of the data."""
        order = z.shape[-1] // len(self.scale)
        return np.asarray(np.tile(self.shift, order) + np.tile(self.scale, order) * z.double().numpy())

    def parameters(self, theta: Tensor, units: np.ndarray) -> np.ndarray:
        """Parameters (n, 1 + order c, c) of witnesses in the units of the data.

        With z_p the standardized lags, u = `units` and s the scale, a witness says u_k z'_k = theta_0k + sum_p
        theta_pk u_p z_p; solved for the raw x'_k = shift_k + s_k z'_k this is linear in the raw lags again.
        """
        order = (theta.shape[1] - 1) // len(self.scale)
        unit = self.scale / units
        weights = theta[:, 1:].numpy() * unit / np.tile(unit, order)[:, None]
        offset = self.shift + unit * theta[:, 0].numpy() - np.tile(self.shift, order) @ weights
        return np.concatenate([offset[:, None], weights], axis=1)
