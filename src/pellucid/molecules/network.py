"""The predictor of molecules: message passing along bonds, and two dense layers."""

from __future__ import annotations

from copy import deepcopy
from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pellucid.molecules.features import ATOM_FEATURES, BOND_FEATURES
from pellucid.molecules.graphs import GraphBatch, Graphs

# Molecules that pass through the network at once: more of them do not fit into a core's cache.
_PIECE, _EXACT_PIECE = 64, 16
MAX_DEPTH = 100
"""The most rounds of message passing: few molecules are as long."""


@final
class BondMessages(nn.Module):
    """Vectors of atoms, from messages along directed bonds (Yang et al. 2019).

        h_uv = relu(W_i [x_u, e_uv]),  repeated depth - 1 times:  h_uv <- relu(W_i [x_u, e_uv] + W_h sum_w!=v h_wu)
        h_v = relu(W_o [x_v, sum_w h_wv])

    Weights have the names, and get the initial values, of chemprop's `BondMessagePassing`: each can read what the other
    has learned.

    Parameters
    ----------
    features : (int, int)
        The numbers of features of an atom and of a bond.
    width : int
        The width of the messages.
    depth : int
        Rounds of message passing.
    dropout : float
        Dropout of all hidden layers.
    """

    def __init__(self, features: tuple[int, int], *, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        atom_features, bond_features = features
        self.W_i = nn.Linear(atom_features + bond_features, width, bias=False)
        self.W_h = nn.Linear(width, width, bias=False)
        self.W_o = nn.Linear(atom_features + width, width)
        self.dropout = nn.Dropout(dropout)
        self.depth = depth

    def forward(self, graphs: GraphBatch) -> Tensor:
        """(atoms, width)."""
        return self._shared(graphs) if self._shares(graphs) else self._plain(graphs)

    def _shares(self, graphs: GraphBatch) -> bool:
        """Whether bonds of equal surroundings have equal messages, and kernels can compute them."""
        return (
            not (self.training and self.dropout.p > 0)
            and not (graphs.V.requires_grad or graphs.E.requires_grad)
            and all(
                part.device.type == "cpu" and part.dtype == self.W_i.weight.dtype in (torch.float32, torch.float64)
                for part in (graphs.V, graphs.E, self.W_i.weight)
            )
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
            and not torch._C._functorch.is_functorch_wrapped_tensor(self.W_i.weight)
        )

    def _shared(self, graphs: GraphBatch) -> Tensor:
        """Computed once for all bonds, and all atoms, whose surroundings are equal."""
        from pellucid.molecules._environments import Environments, list_sums, passed_on

        found = Environments.of(graphs, self.depth)
        begin = graphs.edge_index[0][found.bonds]
        first = self.W_i(torch.cat([graphs.V[begin], graphs.E[found.bonds]], dim=1))
        bonds = torch.relu(first)
        for level in found.rounds:
            bonds = passed_on(level, first, bonds, self.W_h.weight)
        own, arrived = self.W_o.weight.split([graphs.V.shape[1], bonds.shape[1]], dim=1)
        first = linear(graphs.V[found.atoms], own, self.W_o.bias)
        return list_sums(passed_on(found.last, first, bonds, arrived), found.numbers)

    def _plain(self, graphs: GraphBatch) -> Tensor:
        source, target = graphs.edge_index
        first = self.W_i(torch.cat([graphs.V[source], graphs.E], dim=1))
        bonds = torch.relu(first)
        for _ in range(1, self.depth):
            arriving = sums(bonds, target, len(graphs.V))
            bonds = self.dropout(torch.relu(first + self.W_h(arriving[source] - bonds[graphs.rev_edge_index])))
        atoms = torch.cat([graphs.V, sums(bonds, target, len(graphs.V))], dim=1)
        states: Tensor = self.dropout(torch.relu(self.W_o(atoms)))
        return states


@final
class GraphNetwork(nn.Module):
    """Outputs of molecules: message passing, the mean over the atoms, two dense layers.

        f(M) = W_2 relu(W_1 mean_v h_v)

    with the vectors h_v of the atoms that messages along bonds give:

        h_uv = relu(W_i [x_u, e_uv]),  repeated depth - 1 times:  h_uv <- relu(W_i [x_u, e_uv] + W_h sum_w!=v h_wu)
        h_v = relu(W_o [x_v, sum_w h_wv])

    Parameters
    ----------
    outputs : int
        The number of outputs for a molecule.
    width : int
        The width of all hidden layers; the paper's is 1800.
    depth : int
        Rounds of message passing; the paper's is 6.
    dropout : float
        Dropout of all hidden layers.
    features : (int, int)
        The numbers of features of an atom and of a bond, if they are not those of `Graphs`.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 300,
        depth: int = 3,
        dropout: float = 0.0,
        features: tuple[int, int] = (ATOM_FEATURES, BOND_FEATURES),
    ) -> None:
        super().__init__()
        self.message_passing = BondMessages(features, width=width, depth=depth, dropout=dropout)
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs)
        )

    def forward(self, graphs: GraphBatch) -> Tensor:
        """(B, outputs) for a batch of `Graphs`."""
        return self.outputs(self.atoms(graphs), graphs)

    def atoms(self, graphs: GraphBatch) -> Tensor:
        """(atoms, width) vectors of the atoms."""
        weights = next(self.parameters())
        vectors: Tensor = self.message_passing(graphs.to(weights.device).to_precision(weights.dtype))
        return vectors

    def outputs(self, atoms: Tensor, graphs: GraphBatch) -> Tensor:
        """(B, outputs) from the vectors of the atoms."""
        graphs = graphs.to(atoms.device)
        counts = torch.bincount(graphs.batch, minlength=len(graphs))
        outputs: Tensor = self.head(sums(atoms, graphs.batch, len(graphs)) / counts[:, None])
        return outputs


def sums(values: Tensor, owner: Tensor, count: int) -> Tensor:
    """(count, ...) the sums of the rows that belong to each owner."""
    return values.new_zeros(count, *values.shape[1:]).index_add(0, owner, values)


@torch.no_grad()
def outputs_of(network: nn.Module, graphs: Graphs, *, size: int | None = None, exact: bool = False) -> Tensor:
    """(N, outputs) outputs of all molecules, computed in pieces and without dropout.

    Parameters
    ----------
    network : Module
        A network, which reads batches of graphs.
    graphs : Graphs
        The molecules.
    size : int, optional
        The number of molecules in a piece; by default as many as fit into a core's cache.
    exact : bool
        Whether to compute in float64, for networks of ours, so that a molecule's outputs are the same among any others:
        sums of matrix products depend on the size of the matrices in the last digits.
    """
    size = size or (_EXACT_PIECE if exact else _PIECE)
    if exact and isinstance(network, GraphNetwork):
        network = deepcopy(network).double()
    was_training = network.training
    network.eval()
    parts = [network(graphs.batch(part)).cpu() for part in torch.arange(len(graphs)).split(size)]
    network.train(was_training)
    return torch.cat(parts).float() if exact else torch.cat(parts)
