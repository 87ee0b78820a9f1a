"""How the games are played on molecules that a step evaluates."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from pellucid.games import Game
from pellucid.minibatches import Minibatch
from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.graphs import Graphs

# Molecules that pass through the network at once: more of them do not fit into a core's cache.
PIECE = 64


class Points(NamedTuple):
    """Molecules in the two forms that are needed: what predictors read, and what witnesses read."""

    graphs: Graphs
    fingerprints: Fingerprints


@lru_cache(maxsize=8)
def featurized(smiles: tuple[str, ...], morgan: Morgan, progress: bool) -> Points:
    """Made once for all models that are trained or measured on the same points."""
    return Points(Graphs(smiles, progress=progress), morgan.many(smiles, progress=progress))


@final
class Fresh(nn.Module):
    """Every member in the minibatch is evaluated in the step; where the game pays at centers alone, the other members
    need no gradient.
    """

    def __init__(self, game: Game, points: Points, values: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.game, self.points, self.values = game, points, values

    def penalty(self, network: nn.Module, outputs: Tensor, batch: Minibatch) -> Tensor:
        """What the predictor pays, given its outputs at the batch's centers."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.game.pays_at == "members"):
            more = [network(self.points.graphs.batch(part)) for part in batch.others.split(PIECE) if len(part)]
        f = self.values(torch.cat([outputs, *more]))
        x = Fingerprints(self.points.fingerprints.words[batch.points.numpy()]).dense()
        return self.game(f, x, batch.hoods).penalty
