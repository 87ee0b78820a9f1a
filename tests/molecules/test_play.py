import pytest
import torch

import pellucid as pl
from pellucid.molecules import GraphNetwork, Graphs, Morgan
from pellucid.molecules.play import FreshPlay, MoleculePoints

SMILES = ["CCO", "CCCO", "CCCCO", "CCN", "CCCN", "c1ccccc1O", "c1ccccc1N", "CC(C)O"]


@pytest.fixture
def points():
    return MoleculePoints(Graphs(SMILES), Morgan()(SMILES))


@pytest.mark.parametrize("kind", [pl.SymmetricGame, pl.AsymmetricGame])
def test_fresh_play_pays_what_the_game_asks(points, kind):
    torch.manual_seed(0)
    network = GraphNetwork(2, width=8)
    game = kind(pl.TreeFamily(depth=1, criterion="absolute"), weight=0.7, deviation=pl.absolute_error)
    everything = pl.from_lists([[0, 1, 2, 7], [3, 4, 6], [5, 6]], torch.tensor([0, 3, 5]), 8)
    f = network(points.graphs.batch(torch.arange(8))).sigmoid()
    expected = game(f, points.fingerprints.dense(), everything).penalty
    wanted = torch.autograd.grad(expected, list(network.parameters()), retain_graph=True)
    batch = pl.sample_minibatch(everything, [0, 1, 2])
    fresh = FreshPlay(game, points, torch.sigmoid)
    paid = fresh.penalty(network, network(points.graphs.batch(batch.centers)), batch)
    torch.testing.assert_close(paid, expected)
    for ours, theirs in zip(torch.autograd.grad(paid, list(network.parameters())), wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
