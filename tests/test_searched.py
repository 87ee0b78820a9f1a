"""Neighborhoods that are looked for when they are asked for: the same as those of all at once."""

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid._searched import PointSearch, SearchedNeighborhoods
from pellucid.choosing import prefix


@pytest.fixture(params=["distinct", "repeated", "few places", "one feature"])
def x(request):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 1 if request.param == "one feature" else 6)).round(1)
    if request.param == "distinct":
        return points + 1e-3 * rng.normal(size=points.shape)
    return points[rng.integers(0, 30 if request.param == "few places" else 300, 500)]


@pytest.mark.parametrize("k", [1, 7, 60])
def test_they_are_those_of_the_whole_search(x, k):
    whole, asked = pl.nearest(x, k=k), SearchedNeighborhoods(PointSearch(x), k)
    assert torch.equal(asked.select(slice(100, 180)).members, whole.select(slice(100, 180)).members)
    chosen = torch.tensor([499, 3, 250])
    part = asked.select(chosen).select([2, 0])
    assert part.selected.tolist() == [250, 499]
    assert torch.equal(part.members, whole.select([250, 499]).members)
    assert torch.equal(asked.members_of(17), whole.members_of(17))
    assert "members" not in vars(asked)
    assert torch.equal(prefix(asked, 1).members, torch.arange(500))
    assert torch.equal(asked.members, whole.members)
    assert torch.equal(asked.members_of(-1), whole.members_of(-1))


def test_sums_are_those_of_the_whole_search(x):
    whole, asked = pl.nearest(x, k=5), SearchedNeighborhoods(PointSearch(x), 5)
    v = torch.from_numpy(x)
    assert torch.equal(asked.sum(v), whole.sum(v))
    assert torch.equal(asked.spread(v), whole.spread(v))


def test_blocks_do_not_matter(x, monkeypatch):
    monkeypatch.setattr("pellucid._nearest._BLOCK", 64)
    assert torch.equal(SearchedNeighborhoods(PointSearch(x), 4).members, pl.nearest(x, k=4).members)


def test_more_members_than_there_are_points_are_refused(x):
    with pytest.raises(pl.errors.InputError, match="k"):
        SearchedNeighborhoods(PointSearch(x), 501)


def test_a_search_that_memory_cannot_hold_is_refused(x, monkeypatch):
    monkeypatch.setattr("pellucid._capacity.available_memory", lambda: 1e4)
    with pytest.raises(pl.errors.InputError, match="500 points with . features needs about"):
        SearchedNeighborhoods(PointSearch(x), 5).members_of(0)
