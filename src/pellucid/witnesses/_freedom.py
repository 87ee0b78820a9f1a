"""How much of its members a linear fit leaves unexplained, whatever their values are."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pellucid.neighborhoods import BaseNeighborhoods

# Numbers that one batch of small matrices may hold: 32 MB.
_BATCH = 2**22
# Directions shorter than this share of the longest one (squared) are rounding.
_ROUNDING = 1e-12


def freedom_left(x: Tensor, hoods: BaseNeighborhoods, penalty: Tensor | float, intercept: bool) -> Tensor:
    """(n,) degrees of freedom that a linear fit leaves to each neighborhood of m members:

        m - [intercept] - sum_a s_a^2 / (s_a^2 + 1),

    where s are the singular values of the members' features, less their means, each feature divided by the root of
    its penalty; without a penalty every s_a > 0 counts as one. Zero means that the fit goes through any values.
    Where m exceeds the number of features by two or more it is at least one, and is not told more exactly.

    Parameters
    ----------
    x : Tensor
        (N, P) features.
    hoods : BaseNeighborhoods
        The neighborhoods.
    penalty : Tensor or float
        Of the square of each coefficient, (P,) or one for all.
    intercept : bool
        Whether the fit has one.
    """
    sizes = hoods.sizes.cpu().numpy()
    p, free = x.shape[1], int(intercept)
    left = np.maximum(sizes - free - min(p, int(sizes.max())), 0).astype(np.float64)
    members, offsets = hoods.members.cpu(), hoods.offsets.cpu().numpy()
    root = torch.as_tensor(penalty, dtype=torch.float64).cpu().sqrt()
    plain = not bool(root.any())
    for m in np.unique(sizes[left < 1]):
        group = np.flatnonzero(sizes == m)
        step = max(1, _BATCH // (int(m) * max(int(m), p)))
        for start in range(0, len(group), step):
            part = group[start : start + step]
            entries = torch.from_numpy(offsets[part][:, None] + np.arange(m))
            features = x[members[entries].to(x.device)].cpu().double()
            features = features - features.mean(1, keepdim=True) if intercept else features
            features = features if plain else features / root
            squares = torch.linalg.eigvalsh(features @ features.mT)
            used = squares / (squares + 1) if not plain else (squares > _ROUNDING * squares[:, -1:]).double()
            left[part] = m - free - used.clamp(min=0).sum(1).numpy()
    return torch.from_numpy(left).to(hoods.device)
