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
        (lambda: pl.from_pairs([0, 0], [0, 1], n_points=2), "none in neighborhood 1"),
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


def test_standardized_columns_count_alike_and_constant_ones_not_at_all(generator):
    x = torch.randn(60, 3, generator=generator, dtype=torch.float64).numpy()
    plain = (x - x.mean(0)) / x.std(0)
    coin = np.random.default_rng(0).random(60) < 0.5
    noise = np.where(coin, 0.3, 0.1 + 0.2)  # constant up to rounding
    table = np.c_[1e200 * x[:, 0], 7.0 * np.ones(60), 1e-200 * x[:, 1] + 5e-200, noise, x[:, 2]]
    assert pl.nearest(table, k=7, standardize=True).members.tolist() == pl.nearest(plain, k=7).members.tolist()
    assert pl.nearest(x, k=7).members.tolist() != pl.nearest(plain, k=7).members.tolist()
    ours, theirs = pl.within(table, radius=0.8, standardize=True), pl.within(plain, radius=0.8)
    assert ours.members.tolist() == theirs.members.tolist()
    assert 1 < ours.sizes.double().mean() < 60
    single = np.c_[x, noise].astype(np.float32)
    single[:, 3] = np.where(coin, np.float32(0.3), np.nextafter(np.float32(0.3), np.float32(1)))
    members = pl.nearest(single[:, :3], k=7, standardize=True).members
    assert pl.nearest(single, k=7, standardize=True).members.tolist() == members.tolist()
    assert pl.nearest(np.ones((5, 2)), k=2, standardize=True).members.tolist() == [0, 1, 1, 0, 2, 0, 3, 0, 4, 0]


def test_new_points_are_measured_in_units_of_the_old(generator):
    x, new = torch.randn(50, 2, generator=generator) * torch.tensor([1.0, 1e4]), torch.tensor([[0.3, 4e4], [9.0, 0.0]])
    scaled, point = (x - x.mean(0)) / x.std(0, correction=0), (new - x.mean(0)) / x.std(0, correction=0)
    expected = pl.nearest(scaled, k=4, query=point).members
    assert pl.nearest(x, k=4, query=new, standardize=True).members.tolist() == expected.tolist()


def test_witnesses_of_new_points_answer_to_the_old_ones_only(generator):
    x, new = (torch.randn(n, 2, generator=generator, dtype=torch.float64) for n in (40, 5))
    hoods = pl.nearest(x, k=8, query=new)
    points = torch.cat([x, new])
    f = points.sin().sum(1, keepdim=True)
    f[40:] += 100.0  # no witness saw this
    witnesses = pl.LinearFamily().best_response(points, f, hoods)
    for i in range(5):
        own = (x - new[i]).norm(dim=1).argsort()[:8]
        design = torch.cat([torch.ones(8, 1, dtype=x.dtype), x[own]], dim=1)
        theta = torch.linalg.lstsq(design, f[own]).solution
        expected = theta[0] + new[i] @ theta[1:]
        torch.testing.assert_close(witnesses.at_centers()[i], expected)
    assert pl.audit(f, points, hoods, pl.LinearFamily()).deviations.max() < 1


def test_booleans_and_object_columns_are_numbers():
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(12, 2))
    flag = x[:, 0] > 0
    table = pandas.DataFrame({"a": x[:, 0].astype(object), "b": x[:, 1], "flag": flag})
    assert table.to_numpy().dtype == object
    assert pl.nearest(table, k=3).members.tolist() == pl.nearest(np.c_[x, flag], k=3).members.tolist()
    assert pl.nearest(flag, k=3).members.tolist() == pl.nearest(flag.astype(float), k=3).members.tolist()
    table["kind"] = ["ash", "oak"] * 6
    with pytest.raises(pl.InputError, match="`x` must hold numbers or booleans. Got 'ash' in row 0 of column 'kind'"):
        pl.nearest(table, k=3)
    table["kind"] = [1.0, None] * 6
    table["kind"] = table["kind"].astype(object).where(table["kind"].notna(), None)
    with pytest.raises(pl.InputError, match="no missing values. Got one in row 1 of column 'kind'"):
        pl.within(table, radius=1)
    with pytest.raises(pl.InputError, match="Got '3' in row 1 of column 0"):
        pl.nearest(np.array([[1.0], ["3"]], dtype=object), k=1)


def test_what_may_not_be_written_to_is_read_without_a_warning():  # warnings are errors here
    x = np.random.default_rng(0).normal(size=(12, 2))
    expected = pl.nearest(x, k=3).members.tolist()
    fixed = x.copy()
    fixed.flags.writeable = False
    arrow = pytest.importorskip("pyarrow").array(x[:, 0]).to_numpy()
    assert not arrow.flags.writeable
    for same in (fixed, x.astype(">f8"), x[::-1][::-1], np.asfortranarray(x)):
        assert pl.nearest(same, k=3).members.tolist() == expected
    assert pl.nearest(arrow, k=3).members.tolist() == pl.nearest(x[:, 0], k=3).members.tolist()
    reverse = pl.nearest(x[::-1], k=3).members.tolist()
    assert reverse == pl.nearest(x[::-1].copy(), k=3).members.tolist()


def test_masked_entries_are_missing_values():
    x = np.random.default_rng(0).normal(size=(12, 2))
    whole = np.ma.masked_array(x, mask=False)
    assert pl.nearest(whole, k=3).members.tolist() == pl.nearest(x, k=3).members.tolist()
    holes = np.ma.masked_array(x, mask=np.zeros((12, 2), dtype=bool))
    holes[4, 1] = holes[7, 0] = np.ma.masked
    message = "`x` must hold no missing values. Got 2 masked, first in row 4, column 1; fill them"
    with pytest.raises(pl.InputError, match=message):
        pl.nearest(holes, k=3)
    hoods = pl.nearest(x, k=3)
    with pytest.raises(pl.InputError, match="`f` must hold no missing values.*first in row 4"):
        pl.audit(np.ma.masked_array(x[:, 0], mask=holes.mask[:, 1]), x, hoods, pl.ConstantFamily())


def test_new_points_must_have_the_same_features():
    x = torch.zeros(3, 2)
    with pytest.raises(pl.InputError, match=r"the 2 features of `x`. Got shape \(2, 1\); pass the same columns"):
        pl.nearest(x, k=1, query=torch.zeros(2))
    with pytest.raises(pl.InputError, match="`query` must be finite"):
        pl.nearest(x, k=1, query=torch.full((1, 2), float("nan")))


@pytest.mark.parametrize("size", [1e-200, 1e100, 1e155, 1e200, 1e300])
def test_neighbors_are_the_same_in_any_unit(generator, size):
    x = torch.randn(200, 3, generator=generator, dtype=torch.float64)
    assert torch.equal(pl.nearest(size * x, k=7).members, pl.nearest(x, k=7).members)
    assert torch.equal(pl.within(size * x, radius=size).members, pl.within(x, radius=1.0).members)
