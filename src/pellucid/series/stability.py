"""Whether autoregressive laws are stable."""

from __future__ import annotations

import numpy as np


def spectral_radius(parameters: np.ndarray) -> np.ndarray:
    """(n,) the largest modulus of the eigenvalues of autoregressive laws (n, 1 + order c, c).

    The law x_{t+1} = sum_k theta_{k+1} x_{t-k} + theta_0 moves the last `order` values on by its companion matrix

        [theta_1' theta_2' ...; I 0 ...; 0 I ...].

    Above 1 a forecast by the law alone grows without bound; at most 1 it does not. Units of the channels do not matter.
    """
    count, rows, channels = parameters.shape
    companion = np.zeros((count, rows - 1, rows - 1))
    companion[:, :channels] = parameters[:, 1:].swapaxes(1, 2)
    columns = np.arange(rows - 1 - channels)
    companion[:, columns + channels, columns] = 1
    return np.asarray(np.abs(np.linalg.eigvals(companion)).max(1))


def instability_note(radius: float) -> str:
    """A warning beside a law with this spectral radius; empty if it is stable."""
    return f" (unstable: spectral radius {radius:.3g})" if radius > 1 else ""
