"""How the games are played on molecules: which points a step evaluates, and what the predictor pays there."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from pellucid.bank import Bank
from pellucid.games import AsymmetricGame, Game, SymmetricGame, UniformGame
from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.graphs import Graphs
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.neighborhoods import Neighborhoods

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


class StepSample(NamedTuple):
    """What one step looks at."""

    labeled: Tensor
    """(B,) the molecules whose values are learned."""
    others: Tensor
    """(P - B,) further points."""
    playing: Tensor
    """(q,) the centers whose neighborhoods play."""
    hoods: Neighborhoods
    """Their neighborhoods, over the P points `labeled` and `others`."""


def draw(
    labeled: Tensor, hoods: Neighborhoods, *, share: float, members: int, generator: torch.Generator
) -> StepSample:
    """Choose which neighborhoods of a batch play, and which of their members are evaluated.

    The first `share` of the batch plays, which is random as batches are. Of a neighborhood with more than
    `members` members the center and a random choice of the others is taken. All neighborhoods of a step choose by
    the same random order of all points: members that they share are chosen together, and evaluated once.
    """
    playing = labeled[: max(round(share * len(labeled)), 1)]
    chosen = hoods.select(playing)
    order = torch.rand(hoods.n_points, generator=generator, dtype=torch.float64)[chosen.members]
    order[chosen.members == chosen.centers[chosen.rows]] = -1.0  # the center comes first
    ranked = torch.argsort(chosen.rows * 4.0 + order, stable=True)
    sizes = chosen.sizes.clamp(max=members)
    kept = torch.arange(len(ranked)) - chosen.offsets[chosen.rows] < members
    entries = chosen.members[ranked[kept]]
    place = torch.full((hoods.n_points,), -1)
    place[labeled] = torch.arange(len(labeled))
    others = torch.unique(entries[place[entries] < 0])
    place[others] = len(labeled) + torch.arange(len(others))
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    local = Neighborhoods(place[entries], offsets, place[playing], len(labeled) + len(others))
    return StepSample(labeled, others, playing, local)


def neighborly(hoods: Neighborhoods, generator: torch.Generator) -> Tensor:
    """A random order of the neighborhoods in which those that share members tend to stand together.

    Points get a random order, and each neighborhood stands where its first member does: two neighborhoods meet
    with a probability of the share of members that they have in common.
    """
    order = torch.rand(hoods.n_points, generator=generator, dtype=torch.float64)
    first = torch.full((len(hoods),), 2.0, dtype=torch.float64)
    return torch.argsort(first.scatter_reduce(0, hoods.rows, order[hoods.members], "amin"), stable=True)


@final
class Fresh(nn.Module):
    """Every chosen member is evaluated in the step.

    In the symmetric and the uniform game the predictor pays at all members; in the asymmetric one only at the
    centers, so that the other members need no gradient.
    """

    def __init__(self, game: Game, points: Points, values: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.game, self.points, self.values = game, points, values

    def penalty(self, network: nn.Module, outputs: Tensor, drawn: StepSample) -> Tensor:
        """What the predictor pays, given its outputs on the labeled molecules."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not isinstance(self.game, AsymmetricGame)):
            more = [network(self.points.graphs.batch(part)) for part in drawn.others.split(PIECE) if len(part)]
        f = self.values(torch.cat([outputs, *more]))
        where = torch.cat([drawn.labeled, drawn.others])
        x = Fingerprints(self.points.fingerprints.words[where.numpy()]).dense()
        if isinstance(self.game, UniformGame):
            return self.game.forward(f, x, drawn.hoods, drawn.playing).penalty
        return self.game(f, x, drawn.hoods).penalty


@final
class Banked(nn.Module):
    """The symmetric game by points: the witnesses answer to a bank of the latest predictions of all points.

    Fitted anew every `refit` steps. What the bank and the witnesses rest on is part of the module's state, so
    that an interrupted run goes on as if it had not been.
    """

    predictions: Tensor
    fitted_to: Tensor
    steps: Tensor

    def __init__(
        self, game: SymmetricGame, around: MoleculeNeighborhoods, points: Points, first: Tensor, *, refit: int
    ) -> None:
        super().__init__()
        self.bank = Bank(game, points.fingerprints.dense(), around.hoods, refit_every=0)
        self.refit = refit
        self.register_buffer("predictions", first.clone())
        self.register_buffer("fitted_to", first.clone())
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.fitted = False

    def penalty(self, f: Tensor, index: Tensor) -> Tensor:
        """What the predictor pays on a batch of points, given its values f there."""
        if int(self.steps) % self.refit == 0:
            self.fitted_to.copy_(self.predictions)
            self.fitted = False
        if not self.fitted:  # or the state has just been read back
            self.bank.update(self.fitted_to)
            self.bank.refit()
            self.fitted = True
        self.steps += 1
        self.predictions[index] = f.detach()
        return self.bank.penalty(f, index)
