import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid.molecules import GraphNetwork, Graphs, Morgan
from pellucid.molecules.play import Banked, Fresh, Points, draw, neighborly

SMILES = ["CCO", "CCCO", "CCCCO", "CCN", "CCCN", "c1ccccc1O", "c1ccccc1N", "CC(C)O"]


@pytest.fixture
def points():
    return Points(Graphs(SMILES), Morgan()(SMILES))


def hoods(generator, n=40, n_points=200):
    members = []
    for i in range(n):
        others = torch.randperm(n_points, generator=generator)
        size = int(torch.randint(1, 30, (), generator=generator))
        members.append(torch.cat([torch.tensor([i]), others[others != i][:size]]))
    return pl.from_lists(members, torch.arange(n), n_points)


def test_a_draw_holds_the_center_and_a_choice_of_each_neighborhoods_members(generator):
    everything = hoods(generator)
    labeled = torch.tensor([7, 3, 31, 12])
    drawn = draw(labeled, everything, share=0.5, members=6, generator=generator)
    where = torch.cat([drawn.labeled, drawn.others])
    assert drawn.playing.tolist() == [7, 3]
    assert len(where.unique()) == len(where)
    for k, i in enumerate(drawn.playing.tolist()):
        inside = where[drawn.hoods.members_of(k)].tolist()
        whole = everything.members_of(i).tolist()
        assert set(inside) <= set(whole)
        assert len(inside) == min(len(whole), 6)
        assert i in inside
        assert int(where[drawn.hoods.centers[k]]) == i


def test_all_members_are_taken_where_there_are_few(generator):
    everything = hoods(generator)
    drawn = draw(torch.arange(40), everything, share=1.0, members=1000, generator=generator)
    where = torch.cat([drawn.labeled, drawn.others])
    for i in range(40):
        assert sorted(where[drawn.hoods.members_of(i)].tolist()) == sorted(everything.members_of(i).tolist())


def test_every_other_member_is_equally_likely(generator):
    everything = pl.from_lists([torch.arange(11)], torch.tensor([4]), 11)
    seen = torch.zeros(11)
    for _ in range(2000):
        drawn = draw(torch.tensor([0]), everything.select([0]), share=1.0, members=4, generator=generator)
        where = torch.cat([drawn.labeled, drawn.others])
        seen[where[drawn.hoods.members]] += 1
    assert seen[4] == 2000
    others = seen[torch.arange(11) != 4] / 2000
    np.testing.assert_allclose(others, 0.3, atol=0.05)  # 3 of 10; five standard deviations


def test_neighborhoods_choose_their_common_members_together(generator):
    everything = pl.from_lists([torch.arange(100)] * 5, torch.arange(5), 100)
    drawn = draw(torch.arange(5), everything, share=1.0, members=20, generator=generator)
    # The five centers, and about 20 others at most: chosen one by one they would be some 60.
    assert len(drawn.labeled) + len(drawn.others) <= 5 + 20


def test_the_same_random_numbers_give_the_same_draw(generator):
    everything = hoods(generator)
    one, two = (
        draw(torch.arange(8), everything, share=1.0, members=5, generator=torch.Generator().manual_seed(3))
        for _ in range(2)
    )
    assert torch.equal(one.others, two.others)
    assert torch.equal(one.hoods.members, two.hoods.members)


def test_the_neighborly_order_brings_those_together_that_share_members(generator):
    # Four families of ten neighborhoods each, one beside the other and shuffled.
    family = torch.randperm(40, generator=generator) % 4
    members = [torch.cat([torch.tensor([i]), 40 + 50 * family[i] + torch.arange(50)]) for i in range(40)]
    everything = pl.from_lists(members, torch.arange(40), 240)
    order = neighborly(everything, generator)
    assert sorted(order.tolist()) == list(range(40))
    together = (family[order][1:] == family[order][:-1]).sum()
    assert together >= 30  # 36 if nothing came between; at random about 9
    assert not torch.equal(order, neighborly(everything, generator))


@pytest.mark.parametrize("kind", [pl.SymmetricGame, pl.AsymmetricGame])
def test_fresh_play_pays_what_the_game_asks(points, kind, generator):
    torch.manual_seed(0)
    network = GraphNetwork(2, width=8)
    game = kind(pl.TreeFamily(depth=1, criterion="absolute"), weight=0.7, deviation=pl.absolute_error)
    everything = pl.from_lists([[0, 1, 2, 7], [3, 4, 6], [5, 6]], torch.tensor([0, 3, 5]), 8)
    labeled = torch.tensor([0, 3, 5])
    f = network(points.graphs.batch(torch.arange(8))).sigmoid()
    expected = game(f, points.fingerprints.dense(), everything).penalty
    wanted = torch.autograd.grad(expected, list(network.parameters()), retain_graph=True)
    # `draw` asks for neighborhoods of the points 0 .. n - 1: here of the labeled ones only.
    local = pl.from_lists([[0, 3, 4, 7], [1, 5, 6], [2, 6]], torch.tensor([0, 1, 2]), 8)
    from pellucid.molecules.play import StepSample

    drawn = StepSample(labeled, torch.tensor([1, 2, 4, 6, 7]), torch.arange(3), local)
    fresh = Fresh(game, points, torch.sigmoid)
    paid = fresh.penalty(network, network(points.graphs.batch(labeled)), drawn)
    torch.testing.assert_close(paid, expected)
    for ours, theirs in zip(torch.autograd.grad(paid, list(network.parameters())), wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_bank_read_back_goes_on_as_before(points):
    torch.manual_seed(0)
    around = type("Around", (), {"hoods": pl.from_lists([[0, 1, 2, 7], [3, 4], [5, 6]], torch.tensor([0, 3, 5]), 8)})
    game = pl.SymmetricGame(pl.TreeFamily(depth=1), weight=1.0)
    first = torch.randn(8, 1)
    batches = [(torch.randn(3, 1), torch.randperm(8)[:3]) for _ in range(7)]

    def new():
        return Banked(game, around, points, first, refit=3)

    straight = new()
    paid = [float(straight.penalty(f, index)) for f, index in batches]
    begun = new()
    for f, index in batches[:4]:
        begun.penalty(f, index)
    resumed = new()
    resumed.load_state_dict(begun.state_dict())
    assert [float(resumed.penalty(f, index)) for f, index in batches[4:]] == paid[4:]
    # Witnesses are fitted at steps 0, 3 and 6: in between they answer to what they were fitted to.
    plain = pl.Bank(game, points.fingerprints.dense(), around.hoods)
    plain.update(first)
    plain.refit()
    for step, (f, index) in enumerate(batches):
        if step and step % 3 == 0:
            plain.refit()
        assert float(plain.penalty(f, index)) == pytest.approx(paid[step])
