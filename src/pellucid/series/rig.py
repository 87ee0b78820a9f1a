"""A small physical simulation of a bearing test rig, so that examples and tests run anywhere."""

from __future__ import annotations

import numpy as np

from pellucid import _checks
from pellucid.series.data import Recordings

SHAFT_PERIOD = 20.0
"""Samples in a turn of the shaft."""
RESONANCE_PERIOD = 5.0
"""Samples in a period of a housing's resonance."""
BALL_PASS_PERIOD = 67.3
"""Samples between two balls passing the defect."""


def simulate_rig(
    *, rows: int = 20_480, files: int = 1, bearings: int = 4, wear: float = 1.0, noise: float = 0.3, seed: int = 0
) -> Recordings:
    """Accelerations of bearings on one shaft, in arbitrary units of about 0.1.

    Every bearing hears the shaft (its first three harmonics, each bearing with phases of its own) and its own
    housing, a damped resonance driven by broad-band friction:

        r_t = 2 rho cos(2 pi / 5) r_{t-1} - rho^2 r_{t-2} + e_t

    The first bearing has a defect: every passing ball knocks on its housing, at slightly irregular times.
    Neighbors on the shaft hear a third of each other. White noise is added by the sensors.

    Parameters
    ----------
    rows : int
        Number of samples in each recording.
    files : int
        Number of recordings. Between two of them the rig turns for a random while; wear grows in proportion to their
        number.
    bearings : int
        Number of channels.
    wear : float
        Size of the defect at the end, in the last recording; 0 is a sound bearing.
    noise : float
        Noise of the sensors, in units of a channel's friction.
    seed : int
        Seed of all random numbers.
    """
    from scipy.signal import lfilter

    for name, value in (("rows", rows), ("files", files), ("bearings", bearings)):
        _checks.whole(value, 1, name)
    _checks.seed(seed)
    _checks.at_least(wear, 0, "wear", "simulate_rig")
    _checks.at_least(noise, 0, "noise", "simulate_rig")
    generator = np.random.default_rng(seed)
    positions = np.arange(bearings)
    coupling = (1 / 3) ** np.abs(positions[:, None] - positions[None])
    amplitudes = generator.uniform(0.6, 1.2, (bearings, 3)) / np.arange(1, 4)
    phases = generator.uniform(0, 2 * np.pi, (bearings, 3))
    rho = 0.95
    recurrence = [1.0, -2 * rho * np.cos(2 * np.pi / RESONANCE_PERIOD), rho**2]
    warm_up = 200  # the resonance forgets how it was started
    values = []
    for file in range(files):
        turn = generator.uniform(0, SHAFT_PERIOD) + np.arange(rows)
        angles = 2 * np.pi * np.arange(1, 4)[:, None] * turn / SHAFT_PERIOD  # (3, rows)
        shaft = np.einsum("bh,bhr->br", amplitudes, np.sin(angles + phases[..., None]))
        drive = 0.35 * generator.standard_normal((bearings, warm_up + rows))
        count = int((warm_up + rows) / BALL_PASS_PERIOD) + 1
        knocks = generator.uniform(0, BALL_PASS_PERIOD) + BALL_PASS_PERIOD * np.arange(count)
        knocks = np.round(knocks + generator.normal(0, 0.01 * BALL_PASS_PERIOD, count)).astype(int)
        knocks = knocks[(knocks >= 0) & (knocks < warm_up + rows)]
        drive[0, knocks] += 3 * wear * (file + 1) / files
        housing = lfilter([1.0], recurrence, drive, axis=1)[:, warm_up:]
        heard = coupling @ (shaft + housing) + noise * generator.standard_normal((bearings, rows))
        values.append(0.05 * heard.T)
    return Recordings(
        values=tuple(values),
        channels=tuple(f"bearing {i + 1}" for i in range(bearings)),
        sources=tuple(f"simulated recording {i + 1}" for i in range(files)),
    )
