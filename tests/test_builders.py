import numpy as np
import pytest
import torch
from helpers import dense

import pellucid as pl


def test_nearest_equals_brute_force_with_ties_by_index(generator):
    x = torch.randint(0, 3, (40, 2), generator=generator).double()  # many duplicates, many ties
    hoods = pl.nearest(x, k=5)
    distances = torch.cdist(x, x)
    for i in range(len(x)):
        ranked = sorted(range(len(x)), key=lambda j, i=i: (distances[i, j].item(), j != i, j))
        assert hoods.members_of(i).tolist() == ranked[:5]
    assert hoods.centers.tolist() == list(range(40))


@pytest.mark.parametrize("p", [1, 2, float("inf")])
def test_within_equals_brute_force(p, generator):
    x = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    expected = (torch.cdist(x, x, p=p) <= 0.9).double()
    torch.testing.assert_close(dense(pl.within(x, radius=0.9, p=p)), expected)


def test_within_a_radius_of_zero_leaves_each_point_alone_with_its_duplicates():
    assert pl.within([[0.0], [1.0], [0.0]], radius=0).sizes.tolist() == [2, 1, 2]


def test_lists_and_pairs_describe_the_same_neighborhoods():
    lists = pl.from_lists([[0, 2], [1], [0, 1, 2]])
    pairs = pl.from_pairs([2, 0, 0, 1, 2, 2], [1, 2, 0, 1, 0, 2], n_points=3)
    torch.testing.assert_close(dense(lists), dense(pairs))
    assert lists.centers.tolist() == pairs.centers.tolist() == [0, 1, 2]
    assert pl.from_lists([[3], [1]], centers=[7, 1]).n_points == 8


def test_sampled_points_surround_their_centers():
    centers = np.array([[0.0, 0.0], [10.0, 10.0]])

    def square(x, size, generator):
        return x[:, None] + torch.rand(len(x), size, 2, generator=generator, dtype=x.dtype) - 0.5

    def draw(seed):
        return pl.sampled(centers, square, size=30, generator=torch.Generator().manual_seed(seed))

    points, hoods = draw(1)
    assert hoods.sizes.tolist() == [31, 31]
    assert hoods.centers.tolist() == [0, 1]
    for i in range(2):
        assert hoods.members_of(i)[0] == i
        assert (points[hoods.members_of(i)] - torch.tensor(centers[i])).abs().max() <= 0.5
    torch.testing.assert_close(points, draw(1)[0], rtol=0, atol=0)
    assert not torch.equal(points, draw(2)[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.nearest(torch.zeros(3, 1), k=4), "`k` must be a whole number between 1 and 3. Got 4"),
        (lambda: pl.nearest(torch.tensor([[0.0], [float("nan")]]), k=1), "`x` must be finite.*first in row 1"),
        (lambda: pl.nearest(torch.zeros(0, 2), k=1), "at least one point"),
        (lambda: pl.nearest(torch.zeros(2, 0), k=1), "one feature"),
        (lambda: pl.nearest(torch.zeros(3, 1), k=True), "whole number between 1 and 3. Got True"),
        (lambda: pl.nearest(None, k=1), "`x` must be a tensor, an array or nested lists"),
        (lambda: pl.within(torch.zeros(3, 1), radius=1, p="2"), "`p` of within must be a finite number"),
        (lambda: pl.from_pairs([0.5, 1.5], [0, 1], n_points=2), "`rows` must hold whole numbers"),
        (lambda: pl.nearest(torch.zeros(2, 2, 2), k=1), "one row per point"),
        (lambda: pl.within(torch.zeros(3, 1), radius=-1), "`radius` of within must be a finite number >= 0. Got -1"),
        (lambda: pl.within(torch.zeros(3, 1), radius=1, p=0.5), "`p` of within must be a finite number >= 1"),
        (lambda: pl.from_pairs([0, 1], [0], n_points=2), "equally long. Got 2 and 1"),
        (lambda: pl.from_pairs([0, 2], [0, 1], n_points=2), "`rows` must lie between 0 and 1"),
        (lambda: pl.from_pairs([0, 0], [0, 1], n_points=2), "Neighborhood 1 has none"),
        (
            lambda: pl.sampled(torch.zeros(2, 1), lambda x, s, g: torch.zeros(2, s), size=3),
            r"\(2, 3, 1\).*Got \(2, 3\)",
        ),
        (lambda: pl.sampled(torch.zeros(2, 1), lambda x, s, g: x, size=0), "`size` must be a whole number >= 1"),
    ],
)
def test_bad_arguments_say_what_must_hold(make, message):
    with pytest.raises(pl.PellucidError, match=message):
        make()


def test_numpy_scalars_are_numbers_too():
    x = np.random.default_rng(0).normal(size=(9, 2))
    assert pl.nearest(x, k=np.int64(3)).sizes.tolist() == [3] * 9
    assert len(pl.within(x, radius=np.float32(0.5))) == 9
    assert pl.SymmetricGame(pl.ConstantFamily(), weight=np.float32(2)).weight == 2
