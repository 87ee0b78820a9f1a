"""Which rows are learned from, validated on and tested on."""

from __future__ import annotations

import numpy as np

from pellucid.errors import InputError


def random_parts(count: int, seed: int) -> list[np.ndarray]:
    """Places at random: 80, 10 and 10 %."""
    order = np.random.default_rng(seed).permutation(count)
    ends = np.round(np.cumsum((0.8, 0.1)) * count).astype(int)
    parts = np.split(order, ends)
    if not all(map(len, parts)):
        raise InputError("There must be something to learn from, to validate on and to test on", got=f"{count} in all")
    return parts
