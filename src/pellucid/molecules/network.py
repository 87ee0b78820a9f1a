"""The predictor of molecules: message passing along bonds (chemprop's), and two dense layers."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from pellucid.molecules.graphs import GraphBatch, Graphs


@final
class GraphNetwork(nn.Module):
    """Outputs of molecules: message passing, the mean over the atoms, two dense layers.

        h_uv = relu(W_i [x_u, e_uv]),  repeated depth - 1 times:  h_uv <- relu(W_i [x_u, e_uv] + W_h sum_w!=v h_wu)
        f(M) = W_2 relu(W_1 mean_v relu(W_o [x_v, sum_w h_wv]))

    Parameters
    ----------
    outputs : how many numbers it gives for a molecule.
    width : of all hidden layers; the paper's is 1800.
    depth : rounds of message passing; the paper's is 6.
    dropout : in all hidden layers.
    features : of an atom and of a bond, if they are not those of `Graphs`.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 300,
        depth: int = 3,
        dropout: float = 0.0,
        features: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        from chemprop.nn import BondMessagePassing

        sizes = {} if features is None else {"d_v": features[0], "d_e": features[1]}
        self.message_passing = BondMessagePassing(d_h=width, depth=depth, dropout=dropout, **sizes)
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs)
        )

    def forward(self, graphs: GraphBatch) -> Tensor:
        """(B, outputs) for a batch of `Graphs`."""
        graphs = graphs.to(next(self.parameters()).device)
        # Chemprop's layers, called one by one: its own sums over neighbors take half of its time on a CPU.
        layers, (source, target) = self.message_passing, graphs.edge_index
        first = layers.initialize(graphs)
        bonds = layers.tau(first)
        for _ in range(1, layers.depth):
            arriving = sums(bonds, target, len(graphs.V))
            bonds = layers.update(arriving[source] - bonds[graphs.rev_edge_index], first)
        atoms = layers.finalize(sums(bonds, target, len(graphs.V)), graphs.V, None)
        counts = torch.bincount(graphs.batch, minlength=len(graphs))
        outputs: Tensor = self.head(sums(atoms, graphs.batch, len(graphs)) / counts[:, None])
        return outputs


def sums(values: Tensor, owner: Tensor, count: int) -> Tensor:
    """(count, ...) the sums of the rows that belong to each owner."""
    return values.new_zeros(count, *values.shape[1:]).index_add(0, owner, values)


@torch.no_grad()
def outputs_of(network: nn.Module, graphs: Graphs, *, size: int = 64) -> Tensor:
    """(N, outputs) of all molecules, in pieces, without dropout."""
    was_training = network.training
    network.eval()
    parts = [network(graphs.batch(part)).cpu() for part in torch.arange(len(graphs)).split(size)]
    network.train(was_training)
    return torch.cat(parts)
