"""How well an autoencoder describes molecules, by itself and through the trees that witness its encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from pellucid.numbers import counted

_ARRAYS = ("deviations", "held_out_deviations", "sizes", "leaves", "rows")


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
        """Join the parts of one evaluation."""
        names = ("topology", "labels", "assembly", "kl")
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def select(self, index: np.ndarray) -> Elbo:
        """The bounds of the molecules at these indices."""
        return Elbo(**{name: getattr(self, name)[index] for name in ("topology", "labels", "assembly", "kl")})

    def __len__(self) -> int:
        return len(self.kl)

    @property
    def values(self) -> np.ndarray:
        """(N,) the bound."""
        return np.asarray(self.topology + self.labels + self.assembly - self.kl)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def objective(self, kl_weight: float) -> float:
        """The mean of the bound with its KL term weighed as in training: what a network learns at a price of a nat."""
        return float((self.values + (1 - kl_weight) * self.kl).mean())

    def to_dict(self) -> dict[str, float]:
        """Means, ready for JSON."""
        terms = {name: float(getattr(self, name).mean()) for name in ("topology", "labels", "assembly", "kl")}
        return {"elbo": self.mean, **terms}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        m = self.to_dict()
        return (
            f"ELBO {m['elbo']:.2f} over {counted(len(self), 'molecule')} = topology {m['topology']:.2f} + labels "
            f"{m['labels']:.2f} + assembly {m['assembly']:.2f} - KL {m['kl']:.2f}"
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EncoderScores:
    """An autoencoder beside the trees that witness its encoder; N molecules that the encoder can read."""

    neural: Elbo
    """With the posterior of the network,"""
    tree: Elbo
    """and with that of each molecule's own tree."""
    deviations: np.ndarray
    """(N,) mean over the members of each neighborhood of KL(tree || network), where the tree was fitted,"""
    held_out_deviations: np.ndarray
    """(N,) and of the tree fitted without the member; see `WitnessFamily.held_out_values`."""
    sizes: np.ndarray
    """(N,) the number of members of each neighborhood."""
    leaves: np.ndarray
    """(N,) the number of leaves of each tree."""
    rows: np.ndarray
    """(N,) positions of the molecules in the argument of `evaluate`, starting at 0."""
    rejected_count: int
    """The number of molecules in the argument that the encoder cannot read."""

    @classmethod
    def joined(cls, parts: Sequence[EncoderScores]) -> EncoderScores:
        """Join the parts of one evaluation."""
        arrays: dict[str, Any] = {n: np.concatenate([getattr(part, n) for part in parts]) for n in _ARRAYS}
        neural, tree = (Elbo.joined([getattr(part, name) for part in parts]) for name in ("neural", "tree"))
        return cls(neural=neural, tree=tree, **arrays, rejected_count=sum(part.rejected_count for part in parts))

    def select(self, index: np.ndarray, *, rows: np.ndarray, rejected_count: int) -> EncoderScores:
        """The scores of the molecules at these indices, with their positions in the argument of `evaluate`."""
        arrays: dict[str, Any] = {name: getattr(self, name)[index] for name in _ARRAYS if name != "rows"}
        neural, tree = self.neural.select(index), self.tree.select(index)
        return EncoderScores(neural=neural, tree=tree, **arrays, rows=rows, rejected_count=rejected_count)

    @property
    def deviation(self) -> float:
        """The mean over neighborhoods with more than 2 members; in smaller ones a tree is always exact."""
        return self._mean_of_large(self.deviations)

    @property
    def held_out_deviation(self) -> float:
        """The same at members that trees were not fitted to."""
        return self._mean_of_large(self.held_out_deviations)

    def _mean_of_large(self, values: np.ndarray) -> float:
        large = values[self.sizes > 2]
        return float(large.mean()) if len(large) else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Means, ready for JSON."""
        large = self.sizes[self.sizes > 2]
        return {
            "neural": self.neural.to_dict(),
            "tree": self.tree.to_dict(),
            "deviation": self.deviation,
            "held_out_deviation": self.held_out_deviation,
            "molecules": len(self.neural),
            "rejected_count": self.rejected_count,
            "neighborhoods": {
                "share_above_2": float((self.sizes > 2).mean()),
                "median_above_2": float(np.median(large)) if len(large) else None,
                "largest": int(self.sizes.max()),
                "leaves": float(self.leaves.mean()),
            },
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"network: {self.neural}", f"trees:   {self.tree}"]
        large = self.sizes[self.sizes > 2]
        if len(large):
            lines.append(
                f"deviation KL(tree || network) {self.deviation:.3f} where fitted, {self.held_out_deviation:.3f} held "
                f"out, over {counted(len(large), 'neighborhood')} with more than 2 members, {np.median(large):g} in "
                "the median"
            )
        else:
            lines.append("no neighborhood has more than 2 members: lower the threshold of similarity, or make analogs")
        if self.rejected_count:
            lines.append(f"{counted(self.rejected_count, 'molecule')} could not be read")
        return "\n".join(lines)
