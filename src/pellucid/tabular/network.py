"""The default predictor of tables: several networks in one, which share most of their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

import torch
from torch import Tensor, nn

NetworkFactory: TypeAlias = Callable[[int, int], nn.Module]
"""From the numbers of inputs P and outputs K to a module from (B, P) to (B, K), or to (B, E, K) for E networks."""

# Pieces of the piecewise-linear embedding of a number.
_PIECES = 16


@final
class TableNetwork(nn.Module):
    """E networks that share their layers, each with signs of its own at the inputs and a last layer of its own.

    This is the smallest form of TabM (Gorishniy et al., ICLR 2025). Each of the E networks learns by itself, and their
    average predicts. Inputs are squashed, x / sqrt(1 + (x / 3)^2), so that outliers do no harm; with `embedding` each
    is also read through a piecewise-linear function of its own (Gorishniy et al., NeurIPS 2022), whose pieces end at
    quantiles of the training data.

    Parameters
    ----------
    inputs : int
        The number P of scaled features.
    outputs : int
        The number K of outputs.
    width, depth : int
        Width and number of the hidden layers.
    ensemble : int
        The number E of networks.
    dropout : float
        Share of hidden units that are left out in a training step.
    embedding : int
        Size of the embedding of each input; 0 for none.
    """

    edges: Tensor

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        width: int = 128,
        depth: int = 2,
        ensemble: int = 8,
        dropout: float = 0.0,
        embedding: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        if embedding:
            self.register_buffer("edges", torch.linspace(-3, 3, _PIECES + 1).repeat(inputs, 1))
            self.pieces = nn.Parameter(torch.empty(inputs, _PIECES, embedding).uniform_(-1, 1) / _PIECES**0.5)
            self.offsets = nn.Parameter(torch.zeros(inputs, embedding))
        size = inputs * (1 + embedding)
        self.signs = nn.Parameter(torch.randint(0, 2, (ensemble, size)) * 2.0 - 1.0)
        layers: list[nn.Module] = []
        for _ in range(depth):
            layers += [nn.Linear(size, width), nn.SiLU(), nn.Dropout(dropout)]
            size = width
        self.layers = nn.Sequential(*layers)
        self.heads = nn.Parameter(torch.empty(ensemble, size, outputs).uniform_(-1, 1) / size**0.5)
        self.biases = nn.Parameter(torch.zeros(ensemble, outputs))

    def prepare(self, x: Tensor) -> None:
        """Let the pieces of the embedding end at quantiles of the inputs x (N, P)."""
        if not self.embedding:
            return
        squashed = _squashed(x.float())
        at = torch.linspace(0, 1, _PIECES + 1)
        quantiles = torch.stack([torch.quantile(column, at) for column in squashed.T])
        # Where quantiles coincide, pieces still have a length.
        self.edges.copy_(quantiles + torch.linspace(0, 1e-3, _PIECES + 1))

    def forward(self, x: Tensor) -> Tensor:
        """(B, E, K) outputs of each network at inputs (B, P)."""
        x = _squashed(x)
        if self.embedding:
            start, end = self.edges[:, :-1], self.edges[:, 1:]
            shares = ((x[..., None] - start) / (end - start)).clamp(0, 1)
            embedded = torch.relu(torch.einsum("bpt,ptd->bpd", shares, self.pieces) + self.offsets)
            x = torch.cat([x, embedded.flatten(1)], dim=1)
        hidden = self.layers(x[:, None] * self.signs)
        return torch.einsum("bew,ewk->bek", hidden, self.heads) + self.biases


def _squashed(x: Tensor) -> Tensor:
    return x * torch.rsqrt(1 + (x / 3).square())
