import copy
import subprocess
import sys

import pytest
import torch
from helpers import dense, random_hoods

import pellucid as pl


def both_kinds(generator):
    windows = pl.windows([5, 1, 7], radius=2)
    return [
        random_hoods(6, 9, generator),
        windows,
        windows.select([12, 0, 3]),
        pl.Windows(torch.tensor([2, 0]), torch.tensor([5, 1]), torch.tensor([0, 4]), 6),
        pl.Windows(torch.tensor([0, 2, 2]), torch.tensor([6, 4, 5]), torch.tensor([0, 4, 4]), 6),  # nested
    ]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_sum_and_spread_equal_dense_products_and_gradients(kind, shape, generator):
    hoods = both_kinds(generator)[kind]
    matrix = dense(hoods)
    v = torch.randn(hoods.n_points, *shape, dtype=torch.float64, generator=generator, requires_grad=True)
    u = torch.randn(len(hoods), *shape, dtype=torch.float64, generator=generator, requires_grad=True)
    torch.testing.assert_close(hoods.sum(v), torch.einsum("ij,j...->i...", matrix, v))
    torch.testing.assert_close(hoods.spread(u), torch.einsum("ij,i...->j...", matrix, u))
    # The transpose: d <u, S v> / dv = S'u and d <v, S'u> / du = S v.
    (by_v,) = torch.autograd.grad((u.detach() * hoods.sum(v)).sum(), v)
    (by_u,) = torch.autograd.grad((v.detach() * hoods.spread(u)).sum(), u)
    torch.testing.assert_close(by_v, torch.einsum("ij,i...->j...", matrix, u.detach()))
    torch.testing.assert_close(by_u, torch.einsum("ij,j...->i...", matrix, v.detach()))


@pytest.mark.parametrize("kind", range(5))
def test_entries_agree_with_the_matrix(kind, generator):
    hoods = both_kinds(generator)[kind]
    matrix = dense(hoods)
    assert hoods.sizes.tolist() == matrix.sum(1).int().tolist()
    assert (hoods.offsets.diff() == hoods.sizes).all()
    assert len(hoods.members) == len(hoods.rows) == int(hoods.offsets[-1])
    assert (matrix[hoods.rows, hoods.members] == 1).all()
    torch.testing.assert_close(hoods.coverage, matrix.T @ (1 / matrix.sum(1)))
    order, starts = hoods.by_point
    for j in range(hoods.n_points):
        assert (
            sorted(hoods.rows[order[starts[j] : starts[j + 1]]].tolist()) == matrix[:, j].nonzero().flatten().tolist()
        )
    w = torch.randn(len(hoods.members), 2, dtype=torch.float64, generator=generator)
    by_entry = torch.zeros(len(hoods), hoods.n_points, 2, dtype=torch.float64)
    by_entry[hoods.rows, hoods.members] = w
    torch.testing.assert_close(hoods.sum_members(w), by_entry.sum(1))
    torch.testing.assert_close(hoods.spread_members(w), by_entry.sum(0))


@pytest.mark.parametrize("kind", range(5))
def test_selection_takes_rows_of_the_matrix(kind, generator):
    hoods = both_kinds(generator)[kind]
    matrix = dense(hoods)
    mask = torch.zeros(len(hoods), dtype=torch.bool)
    mask[-1] = True
    for index in ([1, 0], torch.tensor([1]), slice(0, 2), mask):
        chosen = hoods.select(index)
        torch.testing.assert_close(dense(chosen), matrix[index])
        torch.testing.assert_close(chosen.centers, hoods.centers[index])
        assert chosen.n_points == hoods.n_points
        assert type(chosen) is type(hoods)


def test_moving_between_devices_keeps_everything(generator):
    for hoods in both_kinds(generator):
        moved = hoods.to("meta")
        assert moved.device.type == "meta"
        assert (len(moved), moved.n_points) == (len(hoods), hoods.n_points)
        torch.testing.assert_close(dense(hoods.to("cpu")), dense(hoods))


def test_running_sums_of_float32_do_not_drift():
    hoods = pl.windows([200_000], radius=1)
    v = torch.full((200_000,), 1000.1)
    torch.testing.assert_close(hoods.sum(v)[-2], torch.tensor(3000.3), rtol=1e-6, atol=0)


def test_infinity_stays_infinity():
    v = torch.tensor([1.0, float("inf"), 2.0, 3.0, 4.0])
    assert pl.windows([5], radius=1).sum(v).tolist() == [float("inf")] * 3 + [9.0, 7.0]


def test_one_huge_value_spoils_only_the_windows_that_hold_it(generator):
    hoods = pl.windows([100], radius=4)
    v = torch.randn(100, generator=generator, dtype=torch.float64)
    v[50] = 1e30
    far = (torch.arange(100) - 50).abs() > 4
    matrix = dense(hoods)[far]
    matrix[:, 50] = 0
    for result in (hoods.sum(v), hoods.spread(v)):
        torch.testing.assert_close(result[far], matrix @ torch.where(v < 1e30, v, 0.0))


def test_windows_never_cross_the_end_of_a_sequence():
    hoods = pl.windows([3, 1, 4], radius=2)
    ends = [(0, 3)] * 3 + [(3, 4)] + [(4, 7), (4, 8), (4, 8), (5, 8)]
    assert list(zip(hoods.lower.tolist(), hoods.upper.tolist(), strict=True)) == ends
    assert hoods.centers.tolist() == list(range(8))
    assert pl.windows([4], radius=0).members.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", range(5))
def test_a_selection_remembers_which_neighborhoods_it_holds(kind, generator, tmp_path):
    hoods = both_kinds(generator)[kind]
    before = torch.arange(len(hoods)) if hoods.selected is None else hoods.selected
    assert (hoods.selected is None) == (kind != 2)
    part = hoods.select([1, 0, 1])
    assert torch.equal(part.selected, before[[1, 0, 1]])
    assert torch.equal(part.select([2, 1]).selected, before[[1, 0]])
    mask = torch.zeros(len(hoods), dtype=torch.bool)
    mask[1] = True
    assert torch.equal(hoods.select(mask).selected, before[1:2])
    assert torch.equal(hoods.select(slice(1, None)).selected, before[1:])
    torch.save(part, tmp_path / "part.pt")
    for copied in (part.to("cpu"), copy.deepcopy(part), torch.load(tmp_path / "part.pt")):
        assert torch.equal(copied.selected, part.selected)
    assert (hoods.to("cpu").selected is None) == (kind != 2)


def test_repr_tells_the_sizes():
    assert repr(pl.windows([20] * 2, radius=9)) == (
        "Windows(40 neighborhoods over 40 points; sizes 10 to 19, median 14.5)"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.from_lists([[0], []]), "none in neighborhood 1"),
        (lambda: pl.from_lists([[0, 5]], n_points=3), "Every member must lie between 0 and 2.*Got 5 at position 1"),
        (lambda: pl.from_lists([[0, -1]]), "Every member must lie between.*Got -1"),
        (lambda: pl.from_lists([[0]], centers=[4], n_points=2), "Every center must lie between 0 and 1"),
        (lambda: pl.from_lists([[0], [1, 0, 1]]), "Point 1 is twice in neighborhood 1"),
        (lambda: pl.from_lists([[0], [1]], centers=[0]), "one center for each of the 2 neighborhoods"),
        (lambda: pl.from_lists([]), "at least one neighborhood"),
        (
            lambda: pl.Neighborhoods(torch.tensor([0]), torch.tensor([0, 2]), torch.tensor([0]), 1),
            "`offsets` must rise",
        ),
        (lambda: pl.windows([3, 0], radius=1), "each of length >= 1"),
        (lambda: pl.windows([3], radius=-1), "`radius` must be a whole number >= 0. Got -1"),
        (lambda: pl.Windows([1], [1], [0], 3), "`lower` must be below `upper`"),
        (lambda: pl.Windows([0], [4], [0], 3), "Every last member must lie between 0 and 2"),
        (lambda: pl.Windows([0], [1, 2], [0], 3), "must be equally long"),
        (lambda: pl.windows([3], radius=1).sum(torch.zeros(2)), "one row for each of the 3 points"),
        (lambda: pl.windows([3], radius=1).spread(torch.zeros(4)), "one row for each of the 3 neighborhoods"),
        (lambda: pl.windows([3], radius=1).select([3]), "Every index must lie between 0 and 2"),
        (lambda: pl.windows([3], radius=1).select([]), "at least one neighborhood"),
        (
            lambda: pl.Windows([0], [1], [0], 3, selected=[1, 2]),
            "`selected` must hold one index >= 0 for each of the 1",
        ),
        (
            lambda: pl.Neighborhoods([0], [0, 1], [0], 1, selected=[-1]),
            r"`selected` must hold one index >= 0 for each of the 1 neighborhoods. Got \[-1\]",
        ),
        (lambda: pl.windows([3], radius=1).select([0.5]), "`index` must hold whole numbers. Got torch.float32"),
        (lambda: pl.windows([3], radius=1).sum([1, 2, 3]), "one row for each of the 3 points. Got list"),
        (lambda: pl.windows([3], radius=1).sum(torch.ones(3, dtype=torch.bool)), "real numbers. Got torch.bool"),
        (lambda: pl.windows([2.5, 3.9], radius=1), "`lengths` must hold whole numbers"),
        (lambda: pl.from_lists([[0.7, 1.9]]), "`members` must hold whole numbers. Got torch.float32"),
        (lambda: pl.from_lists([[True, False]]), "`members` must hold whole numbers.*`.nonzero"),
        (lambda: pl.from_lists([[0]], centers=[0.9]), "`centers` must hold whole numbers"),
        (lambda: pl.from_lists([[0]], n_points=1.5), "`n_points` must be a whole number >= 1. Got 1.5"),
        (lambda: pl.from_lists([["a"]]), "`members` must be a tensor, an array or nested lists"),
    ],
)
def test_bad_neighborhoods_say_what_must_hold(make, message):
    with pytest.raises(pl.PellucidError, match=message):
        make()


@pytest.mark.parametrize("kind", range(5))
def test_sums_hold_what_the_type_of_the_values_could_not(kind, generator):
    hoods = both_kinds(generator)[kind]
    matrix = dense(hoods)
    counts, large = torch.full((hoods.n_points,), 200, dtype=torch.uint8), 2**53 + 1
    assert hoods.sum(counts).tolist() == (200 * matrix.sum(1)).tolist()  # 256 and more wrapped
    assert hoods.sum(counts).dtype == torch.int64
    assert hoods.spread(torch.full((len(hoods),), -100, dtype=torch.int8)).tolist() == (-100 * matrix.sum(0)).tolist()
    assert hoods.sum(torch.full((hoods.n_points,), large)).tolist() == [large * int(m) for m in hoods.sizes]
    entries = torch.full((len(hoods.members),), 30_000, dtype=torch.int16)
    assert hoods.sum_members(entries).tolist() == (30_000 * matrix.sum(1)).tolist()
    assert hoods.spread_members(entries).tolist() == (30_000 * matrix.sum(0)).tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_small_floats_are_summed_in_float32_and_keep_their_gradients(dtype):
    for hoods in (pl.windows([3000], radius=2999), pl.from_lists([range(3000)] * 2, n_points=3000)):
        v = torch.ones(3000, dtype=dtype, requires_grad=True)
        total = hoods.sum(v)
        assert total.dtype == torch.float32
        assert total[0].item() == 3000.0  # in float16 ones are lost from 2048 on
        total[0].backward()
        assert v.grad.dtype == dtype
        assert (v.grad == 1).all()


@pytest.mark.parametrize("kind", range(5))
def test_saved_neighborhoods_are_read_without_running_code(kind, generator, tmp_path):
    hoods = both_kinds(generator)[kind]
    assert len(hoods.by_point) == 2  # derived things are not stored
    torch.save({"hoods": hoods}, tmp_path / "hoods.pt")
    read = torch.load(tmp_path / "hoods.pt", weights_only=True)["hoods"]
    assert type(read) is type(hoods)
    assert torch.equal(read.members, hoods.members)
    assert torch.equal(read.centers, hoods.centers)
    assert (read.n_points, len(read)) == (hoods.n_points, len(hoods))
    assert set(vars(copy.deepcopy(hoods))) <= set(vars(hoods))


def test_a_file_with_impossible_neighborhoods_is_refused(tmp_path):
    hoods = pl.from_lists([[0, 1], [1]])
    hoods._members[1] = 77
    torch.save(hoods, tmp_path / "hoods.pt")
    with pytest.raises(pl.InputError, match="Every member must lie between 0 and 1"):
        torch.load(tmp_path / "hoods.pt")


@pytest.mark.slow
def test_importing_both_is_enough_to_load(tmp_path):
    torch.save(pl.windows([4], radius=1), tmp_path / "hoods.pt")
    code = f"import torch, pellucid; print(torch.load({str(tmp_path / 'hoods.pt')!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "Windows(4 neighborhoods over 4 points; sizes 2 to 3, median 2.5)\n"
