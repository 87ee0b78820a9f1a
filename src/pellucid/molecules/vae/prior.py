"""Where the codes of molecules are in the latent space: a Gaussian to draw points from, in the place of N(0, I)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.molecules.vae.networks import Posterior
from pellucid.schemas import SchemaError
from pellucid.stored_arrays import array_of


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedPrior:
    """The Gaussian with mean and covariance of z, drawn from the posterior of a training molecule chosen at random:

        mean = E[m],   covariance = Cov[m] + diag E[v],

    where m are the means and v the variances of the posteriors.
    """

    mean: np.ndarray
    """(2 L,)"""
    covariance: np.ndarray
    """(2 L, 2 L)"""

    @classmethod
    def of(cls, joined: Tensor) -> FittedPrior:
        """That of N molecules, from their posteriors (N, 4 L)."""
        posterior = Posterior.split(joined.double())
        mean = posterior.mean.mean(0)
        gaps = posterior.mean - mean
        covariance = gaps.T @ gaps / len(gaps) + torch.diag(posterior.log_variance.exp().mean(0))
        return cls(mean=mean.numpy(), covariance=(covariance + covariance.T).numpy() / 2)  # rounding aside, the same

    def points(self, noise: Tensor) -> Tensor:
        """(B, 2 L) points, from standard normal noise."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        return (torch.from_numpy(self.mean) + noise.double() @ torch.from_numpy(root)).float()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {"mean": self.mean.tolist(), "covariance": self.covariance.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FittedPrior:
        """What `to_dict` gave."""
        mean = array_of(content["mean"], [None], "mean")
        covariance = array_of(content["covariance"], [len(mean), len(mean)], "covariance")
        if not np.array_equal(covariance, covariance.T) or (np.diagonal(covariance) <= 0).any():
            raise SchemaError("covariance is not symmetric, or has variances that are not above 0")
        return cls(mean=mean, covariance=covariance)

    def require_size(self, size: int) -> None:
        """Refuse one of another latent space."""
        if len(self.mean) != size:
            raise SchemaError(f"prior has {len(self.mean)} coordinates, not {size}")
