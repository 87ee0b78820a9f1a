"""How well an autoencoder describes molecules, by itself and through the trees that witness its encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Elbo:
    """The evidence lower bound of N molecules, in nats, and its terms:

        ELBO(M) = E_q(z | M) [ topology + labels + assembly ] - KL(q(z | M) || N(0, I))

    with the expectation estimated by draws. Prints as means.
    """

    topology: np.ndarray
    """(N,) log-probability of where the tree has children,"""
    labels: np.ndarray
    """(N,) of the clusters' labels,"""
    assembly: np.ndarray
    """(N,) and of how they are attached."""
    kl: np.ndarray
    """(N,)"""

    @classmethod
    def joined(cls, parts: Sequence[Elbo]) -> Elbo:
        """Of all molecules of several."""
        names = ("topology", "labels", "assembly", "kl")
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def __len__(self) -> int:
        return len(self.kl)

    @property
    def values(self) -> np.ndarray:
        """(N,) the bound."""
        return np.asarray(self.topology + self.labels + self.assembly - self.kl)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def to_dict(self) -> dict[str, float]:
        """Means, ready for JSON."""
        terms = {name: float(getattr(self, name).mean()) for name in ("topology", "labels", "assembly", "kl")}
        return {"elbo": self.mean, **terms}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        m = self.to_dict()
        return (
            f"ELBO {m['elbo']:.2f} over {len(self):,} molecules = topology {m['topology']:.2f} + labels "
            f"{m['labels']:.2f} + assembly {m['assembly']:.2f} - KL {m['kl']:.2f}"
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EncoderScores:
    """An autoencoder beside the trees that witness its encoder, over the molecules that have neighborhoods."""

    neural: Elbo
    """With the posterior of the network,"""
    tree: Elbo
    """and with that which each molecule's own tree gives it."""
    deviations: np.ndarray
    """(n,) of each neighborhood the mean over its members of KL(tree || network)."""
    sizes: np.ndarray
    """(n,) members of each."""
    leaves: np.ndarray
    """(n,) leaves of each tree."""
    left_out: int
    """Molecules that could not be read."""

    @property
    def deviation(self) -> float:
        return float(self.deviations.mean())

    def to_dict(self) -> dict[str, Any]:
        """Means, ready for JSON."""
        some = self.sizes[self.sizes > 2]
        return {
            "neural": self.neural.to_dict(),
            "tree": self.tree.to_dict(),
            "deviation": self.deviation,
            "molecules": len(self.neural),
            "left_out": self.left_out,
            "neighborhoods": {
                "share_above_2": float((self.sizes > 2).mean()),
                "median_above_2": float(np.median(some)) if len(some) else None,
                "largest": int(self.sizes.max()),
                "leaves": float(self.leaves.mean()),
            },
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return (
            f"network: {self.neural}\ntrees:   {self.tree}\ndeviation KL(tree || network) {self.deviation:.3f} over "
            f"neighborhoods of {np.median(self.sizes):g} members (median)"
        )
