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


class MoleculePoints(NamedTuple):
    """Molecules in two forms: as predictors read them, and as witnesses read them."""

    graphs: Graphs
    fingerprints: Fingerprints


@lru_cache(maxsize=8)
def featurize(smiles: tuple[str, ...], morgan: Morgan, progress: bool) -> MoleculePoints:
    """Graphs and fingerprints, made once for all models that are trained or measured on the same points."""
    return MoleculePoints(Graphs(smiles, progress=progress), morgan.many(smiles, progress=progress))


@final
class FreshPlay(nn.Module):
    """Play in which every member of the minibatch is evaluated in the step.

    Where the game pays at centers alone, the other members need no gradient.
    """

    def __init__(self, game: Game, points: MoleculePoints, values: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.game, self.points, self.values = game, points, values

    def penalty(self, network: nn.Module, outputs: Tensor, batch: Minibatch) -> Tensor:
        """The penalty of the predictor, from its outputs at the batch's centers."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.game.pays_at == "members"):
            others = [network(self.points.graphs.batch(part)) for part in batch.others.split(PIECE) if len(part)]
        f = self.values(torch.cat([outputs, *others]))
        x = Fingerprints(self.points.fingerprints.words[batch.points.numpy()]).dense()
        return self.game(f, x, batch.hoods).penalty
