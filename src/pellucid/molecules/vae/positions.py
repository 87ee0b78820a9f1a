"""A code that is written place by place: what is at each cluster of a tree, and can be read there again."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from pellucid.molecules.network import sums

MAX_PLACES = 64
"""Clusters after these share the last place."""
MAX_CHILDREN = 9
"""Nodes with more children count as having so many."""
# Log-variances of an untrained code: narrow, so that training starts from what the means say.
_NARROW = 5.0


@final
class PositionalCode(nn.Module):
    """Vectors of a molecule's clusters, written into its z and read again, each at the place of its cluster.

    Clusters have the places k = 0, 1, ... in the order in which the decoder generates them: depth first. With a vector
    p_k for each place,

        written = W sum_k v_k * p_k + b,    read_k(z) = (W_m^T z) * p_k

    where * multiplies coordinate by coordinate and W_m are the rows of W that give the means of z. What was written at
    a place is likely to have the largest product read_k(z) . v there, of all vectors v that may have been written:
    with random weights too, as in a holographic memory. Training starts with a code that gives much of a molecule
    back.

    Parameters
    ----------
    width : int
        The width of the vectors.
    latent : int
        The number L of coordinates of z.
    """

    def __init__(self, width: int, latent: int) -> None:
        super().__init__()
        self.latent = latent
        self.places = nn.Embedding(MAX_PLACES, width)
        self.written = nn.Linear(width, 2 * latent)
        with torch.no_grad():
            self.written.bias[latent:] += _NARROW

    def write(self, vectors: Tensor, place: Tensor, owner: Tensor, count: int) -> Tensor:
        """(count, 2 L) means and log-variances, before their bound, of the molecules that own the vectors."""
        written: Tensor = self.written(sums(vectors * self._of(place), owner, count))
        return written

    def read(self, z: Tensor, place: Tensor) -> Tensor:
        """(rows, width) what points z (rows, L) say of places."""
        return (z @ self.written.weight[: self.latent]) * self._of(place)

    def _of(self, place: Tensor) -> Tensor:
        vectors: Tensor = self.places(place.clamp(max=MAX_PLACES - 1))
        return vectors


@final
class TreeCode(nn.Module):
    """The labels and the numbers of children of a tree's clusters, written place by place.

    Parameters
    ----------
    count : int
        The number of labels.
    width : int
        The width of the vectors.
    latent : int
        The number L of coordinates of z.
    """

    def __init__(self, count: int, width: int, latent: int) -> None:
        super().__init__()
        self.code = PositionalCode(width, latent)
        self.labels = nn.Embedding(count, width)
        self.child_numbers = nn.Embedding(MAX_CHILDREN + 1, width)
        for vectors in (self.labels, self.child_numbers):
            nn.init.normal_(vectors.weight, std=0.5)
        self.gain = nn.Parameter(torch.full((2,), 0.05))

    def write(self, labels: Tensor, children: Tensor, place: Tensor, owner: Tensor, count: int) -> Tensor:
        """(count, 2 L) what `PositionalCode.write` makes of clusters with these labels and numbers of children."""
        vectors = self.labels(labels) + self.child_numbers(children.clamp(max=MAX_CHILDREN))
        return self.code.write(vectors, place, owner, count)

    def label_scores(self, z: Tensor, place: Tensor) -> Tensor:
        """(rows, labels) what points say of the labels at places, as logits."""
        return self.gain[0] * (self.code.read(z, place) @ self.labels.weight.T)

    def child_scores(self, z: Tensor, place: Tensor, children: Tensor) -> Tensor:
        """(rows,) what points say of whether there are more children than so many at places, as logits.

        With a score s_m for every number of children m, the log-odds of more than n against n:
        log sum_{m > n} exp s_m - s_n.
        """
        scores = self.gain[1] * (self.code.read(z, place) @ self.child_numbers.weight.T)
        n = children.clamp(max=MAX_CHILDREN - 1)[:, None]
        more = torch.arange(MAX_CHILDREN + 1, device=n.device) > n
        return scores.masked_fill(~more, -torch.inf).logsumexp(1) - scores.gather(1, n).squeeze(1)
