"""The predictor of molecules: message passing along bonds (chemprop's), and two dense layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

import torch
from rdkit import Chem
from torch import Tensor, nn

from pellucid import _checks


@final
class Graphs:
    """Molecules as graphs, featurized once; batches of them are what a `GraphNetwork` reads.

    Parameters
    ----------
    smiles : valid SMILES, as `prepare` gives them.
    """

    def __init__(self, smiles: Iterable[str]) -> None:
        from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer

        featurize = SimpleMoleculeMolGraphFeaturizer()
        self._graphs = [featurize(Chem.MolFromSmiles(text)) for text in smiles]

    def __len__(self) -> int:
        return len(self._graphs)

    def batch(self, index: Tensor | list[int]) -> Any:
        """Chemprop's `BatchMolGraph` of these molecules."""
        from chemprop.data import BatchMolGraph

        places = _checks.indices(index, "index")
        _checks.in_range(places, len(self), "index", "molecules")
        return BatchMolGraph([self._graphs[i] for i in places.tolist()])


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
    """

    def __init__(self, outputs: int, *, width: int = 300, depth: int = 3, dropout: float = 0.0) -> None:
        super().__init__()
        from chemprop.nn import BondMessagePassing, MeanAggregation

        self.message_passing = BondMessagePassing(d_h=width, depth=depth, dropout=dropout)
        self.aggregation = MeanAggregation()
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs)
        )

    def forward(self, graphs: Any) -> Tensor:
        """(B, outputs) for a batch of `Graphs`."""
        graphs.to(next(self.parameters()).device)  # chemprop's moves in place
        atoms = self.message_passing(graphs, None)
        outputs: Tensor = self.head(self.aggregation(atoms, graphs.batch))
        return outputs

    @torch.no_grad()
    def predict(self, graphs: Graphs, *, size: int = 256) -> Tensor:
        """(N, outputs) of all molecules, in pieces."""
        was_training = self.training
        self.eval()
        parts = [self(graphs.batch(part)) for part in torch.arange(len(graphs)).split(size)]
        self.train(was_training)
        return torch.cat(parts)
