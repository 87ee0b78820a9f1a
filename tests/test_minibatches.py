import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import pellucid as pl


def hoods(generator, n=40, n_points=200):
    members = []
    for i in range(n):
        others = torch.randperm(n_points, generator=generator)
        size = int(torch.randint(1, 30, (), generator=generator))
        members.append(torch.cat([torch.tensor([i]), others[others != i][:size]]))
    return pl.from_lists(members, torch.arange(n), n_points)


def test_a_minibatch_holds_the_center_and_a_choice_of_each_neighborhoods_members(generator):
    everything = hoods(generator)
    index = torch.tensor([7, 3, 31, 12])
    batch = pl.sample_minibatch(everything, index, share=0.5, max_members=6, generator=generator)
    assert batch.centers.tolist() == [7, 3, 31, 12]
    assert batch.hoods.selected.tolist() == [7, 3]
    assert len(batch.points.unique()) == len(batch.points)
    for k, i in enumerate(batch.hoods.selected.tolist()):
        inside = batch.points[batch.hoods.members_of(k)].tolist()
        whole = everything.members_of(i).tolist()
        assert set(inside) <= set(whole)
        assert len(inside) == min(len(whole), 6)
        assert i in inside
        assert int(batch.points[batch.hoods.centers[k]]) == i


@pytest.mark.parametrize("most", [None, 1000])
def test_all_members_are_taken_where_there_are_few(most, generator):
    everything = hoods(generator)
    batch = pl.sample_minibatch(everything, torch.arange(40), max_members=most, generator=generator)
    for i in range(40):
        assert sorted(batch.points[batch.hoods.members_of(i)].tolist()) == sorted(everything.members_of(i).tolist())


@pytest.mark.slow
def test_every_other_member_is_equally_likely(generator):
    everything = pl.from_lists([torch.arange(11)], torch.tensor([4]), 11)
    seen = torch.zeros(11)
    for _ in range(2000):
        batch = pl.sample_minibatch(everything, [0], max_members=4, generator=generator)
        seen[batch.points[batch.hoods.members]] += 1
    assert seen[4] == 2000
    others = seen[torch.arange(11) != 4] / 2000
    np.testing.assert_allclose(others, 0.3, atol=0.05)  # 3 of 10; five standard deviations


def test_neighborhoods_choose_their_common_members_together(generator):
    everything = pl.from_lists([torch.arange(100)] * 5, torch.arange(5), 100)
    batch = pl.sample_minibatch(everything, torch.arange(5), max_members=20, generator=generator)
    # The five centers, and about 20 others at most: chosen one by one they would be some 60.
    assert len(batch.centers) + len(batch.others) <= 5 + 20


def test_the_same_random_numbers_give_the_same_minibatch(generator):
    everything = hoods(generator)
    one, two = (
        pl.sample_minibatch(everything, torch.arange(8), max_members=5, generator=torch.Generator().manual_seed(3))
        for _ in range(2)
    )
    assert torch.equal(one.others, two.others)
    assert torch.equal(one.hoods.members, two.hoods.members)


def test_the_overlap_order_brings_neighborhoods_together_that_share_members(generator):
    # Four families of ten neighborhoods each, one beside the other and shuffled.
    family = torch.randperm(40, generator=generator) % 4
    members = [torch.cat([torch.tensor([i]), 40 + 50 * family[i] + torch.arange(50)]) for i in range(40)]
    everything = pl.from_lists(members, torch.arange(40), 240)
    order = pl.overlap_order(everything, generator=generator)
    assert sorted(order.tolist()) == list(range(40))
    together = (family[order][1:] == family[order][:-1]).sum()
    assert together >= 30  # 36 if nothing came between; at random about 9
    assert not torch.equal(order, pl.overlap_order(everything, generator=generator))


GAMES = {
    "symmetric": lambda: pl.SymmetricGame(pl.LinearFamily(ridge=0.1), weight=0.7),
    "asymmetric": lambda: pl.AsymmetricGame(pl.TreeFamily(depth=2), weight=0.7, deviation=pl.absolute_error),
    "uniform": lambda: pl.UniformGame(pl.LinearFamily(ridge=0.1), margin=0.1, n_neighborhoods=40, initial=2.0),
}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("kind", ["lists", "windows", "query"])
def test_a_minibatch_of_all_members_is_the_game_on_the_selected_neighborhoods(game, kind, generator):
    x = torch.randn(200, 2, generator=generator, dtype=torch.float64)
    everything = {
        "lists": lambda: hoods(generator),
        "windows": lambda: pl.windows([20, 180], radius=4).select(torch.arange(40)),
        "query": lambda: pl.nearest(x[:160], k=9, query=x[160:]),  # centers that are no members
    }[kind]()
    index = torch.tensor([12, 3, 30, 7])
    played = GAMES[game]()
    f = torch.randn(200, 1, generator=generator, dtype=torch.float64, requires_grad=True)
    expected = played(f, x, everything.select(index))
    batch = pl.sample_minibatch(everything, index, generator=generator)
    assert batch.centers.tolist() == everything.centers[index].tolist()
    assert len(batch.points) < 200
    outcome = played(f[batch.points], x[batch.points], batch.hoods)
    torch.testing.assert_close(outcome.penalty, expected.penalty)
    torch.testing.assert_close(outcome.deviations, expected.deviations)
    moved = [f, *(played.parameters() if played.has_multipliers else [])]
    pairs = zip(*(torch.autograd.grad(o.penalty, moved) for o in (outcome, expected)), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)
        assert theirs.abs().max() > 1e-3


def test_a_minibatch_of_a_selection_keeps_the_original_numbers(generator):
    part = hoods(generator).select([30, 20, 10, 5])
    batch = pl.sample_minibatch(part, [3, 1], max_members=5, generator=generator)
    assert batch.hoods.selected.tolist() == [5, 20]
    assert batch.centers.tolist() == [5, 20]
    moved = batch.to("cpu")
    assert isinstance(moved, pl.Minibatch)
    assert moved.hoods.selected.tolist() == [5, 20]


def test_a_batch_may_hold_a_neighborhood_twice(generator):
    everything = hoods(generator)
    batch = pl.sample_minibatch(everything, [4, 4], generator=generator)
    for k in range(2):
        assert sorted(batch.points[batch.hoods.members_of(k)].tolist()) == sorted(everything.members_of(4).tolist())


@pytest.mark.parametrize(("share", "count"), [(1.0, 10), (0.25, 2), (0.01, 1)])
def test_the_first_share_of_a_batch_plays_and_at_least_one_neighborhood(share, count, generator):
    batch = pl.sample_minibatch(hoods(generator), torch.arange(30, 40), share=share, generator=generator)
    assert batch.hoods.selected.tolist() == list(range(30, 30 + count))
    assert len(batch.centers) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"share": 0}, "`share` of sample_minibatch must be above 0 and at most 1. Got 0"),
        ({"share": 1.5}, "`share` of sample_minibatch must be above 0 and at most 1. Got 1.5"),
        ({"share": "all"}, "`share` of sample_minibatch must be a finite number"),
        ({"max_members": 0}, "`max_members` must be a whole number >= 1. Got 0"),
        ({"index": [40]}, "Every index must lie between 0 and 39"),
        ({"index": []}, "at least one neighborhood"),
        ({"hoods": [[0, 1]]}, "`hoods` must be neighborhoods. Got list"),
    ],
)
def test_a_minibatch_that_makes_no_sense_is_refused(arguments, message, generator):
    with pytest.raises(pl.InputError, match=message):
        pl.sample_minibatch(**{"hoods": hoods(generator), "index": [0], **arguments})


def test_the_sampler_gives_every_epoch_an_order_of_its_own_that_can_be_had_again(generator):
    everything = hoods(generator)

    def epochs(seed, which):
        sampler = pl.OverlapSampler(everything, seed=seed)
        assert len(sampler) == 40
        loader = DataLoader(range(40), batch_size=16, sampler=sampler)
        orders = []
        for epoch in which:
            sampler.set_epoch(epoch)
            batches = list(loader)
            assert [len(batch) for batch in batches] == [16, 16, 8]
            orders.append(torch.cat(batches).tolist())
        return orders

    first = epochs(0, range(3))
    assert all(sorted(order) == list(range(40)) for order in first)
    assert len({tuple(order) for order in first + epochs(1, range(3))}) == 6
    assert epochs(0, [2]) == first[2:]  # as a run that goes on after two epochs
    with pytest.raises(pl.InputError, match="`epoch` must be a whole number >= 0. Got -1"):
        pl.OverlapSampler(everything).set_epoch(-1)
    with pytest.raises(pl.InputError, match="`hoods` must be neighborhoods"):
        pl.OverlapSampler(range(3))
