"""Bounds in bins by the number of members: kept in each of them, and not only on average."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid.bins import FEWEST_IN_BIN, SIZE_EDGES, SizeBin, join_bins
from pellucid.trust import Calibration, HeldOut, held_out

SIZES = (5, 60)


def mixed(count, seed):
    """Neighborhoods of 5 and of 60 members in turn; f is linear in two features, but for noise that five follow."""
    generator = torch.Generator().manual_seed(seed)
    sizes = [SIZES[i % 2] for i in range(count)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    x = torch.randn(int(starts[-1]), 2, generator=generator, dtype=torch.float64)
    f = x.sum(1, keepdim=True) + torch.randn(len(x), 1, generator=generator, dtype=torch.float64)
    return f, x, pl.from_lists([range(a, b) for a, b in pairwise(starts)])


FAMILY = pl.LinearFamily()


def coverage_by_size(calibration, fresh, *, binned):
    bounds = calibration.bound(fresh.deviations, 0.9, fresh.sizes if binned else None)
    return [float((fresh.gaps <= bounds)[fresh.sizes == size].mean()) for size in SIZES]


@pytest.mark.slow
def test_the_promise_is_kept_in_small_and_in_large_neighborhoods():
    trials = [(held_out(*mixed(120, 2 * k), FAMILY, draws=1), held_out(*mixed(200, 2 * k + 1), FAMILY, draws=1))
              for k in range(20)]  # fmt: skip
    calibrations = [Calibration.of(learned) for learned, _ in trials]
    assert all(calibration.edges == (50,) for calibration in calibrations)
    by_size = [coverage_by_size(c, fresh, binned=True) for c, (_, fresh) in zip(calibrations, trials, strict=True)]
    # 60 scores in a bin hold with probability ceil(61 * 0.9) / 61; four standard deviations of the mean are allowed.
    expected = np.ceil(61 * 0.9) / 61
    allowed = 4 * np.sqrt(0.09 * (1 / 61 + 1 / 100) / 20)
    np.testing.assert_allclose(np.mean(by_size, axis=0), expected, atol=allowed)
    together = [coverage_by_size(c, fresh, binned=False) for c, (_, fresh) in zip(calibrations, trials, strict=True)]
    small, large = np.mean(together, axis=0)
    # Without bins large neighborhoods pay for small ones, of which too many are missed.
    assert small < expected - allowed
    assert large > expected + allowed


def test_a_small_neighborhood_has_a_wider_bound():
    calibration = pl.calibrate(*mixed(200, 0), FAMILY)
    small, large = (calibration.bound([0.1], sizes=size)[0] for size in SIZES)
    assert small > 1.3 * large
    # Sizes on either side of the edge, as an array: each gets the bound of its bin.
    np.testing.assert_array_equal(
        calibration.bound(np.full((4, 1), 0.1), sizes=[3, 49, 50, 10**6])[:, 0], [small, small, large, large]
    )
    assert large < calibration.bound([0.1])[0] < small


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_bins_are_those_of_mondrian_conformal_regression(level):
    crepes = pytest.importorskip("crepes")
    learned, fresh = (held_out(*mixed(120, seed), FAMILY, draws=1) for seed in (0, 1))
    calibration = Calibration.of(learned)
    sigmas, asked = (part.deviations[:, 0, 0] + calibration.floor[0] for part in (learned, fresh))
    oracle = crepes.ConformalRegressor().fit(learned.gaps[:, 0, 0], sigmas=sigmas, bins=learned.sizes[:, 0])
    intervals = oracle.predict_int(np.zeros(120), sigmas=asked, bins=fresh.sizes[:, 0], confidence=level)
    bounds = calibration.bound(fresh.deviations, level, fresh.sizes)[:, 0, 0]
    known = np.isfinite(bounds)
    assert known.sum() > 100
    np.testing.assert_allclose(bounds[known], intervals[known, 1], rtol=2e-6)


def test_bins_survive_json_and_earlier_files_have_none():
    calibration = pl.calibrate(*mixed(100, 0), FAMILY)
    content = json.loads(json.dumps(calibration.to_dict(), allow_nan=False))
    again = Calibration.from_dict(content)
    deviations = np.linspace(0, 1, 7)[:, None]
    for size in (3, 60, None):
        np.testing.assert_array_equal(again.bound(deviations, 0.9, size), calibration.bound(deviations, 0.9, size))
    assert [again.size_bin(size) for size in (5, 49, 50, 200)] == [SizeBin(50, None, 49)] * 2 + [SizeBin(50, 50)] * 2
    old = Calibration.from_dict({name: content[name] for name in ("scores", "floor", "extent", "usual")})
    np.testing.assert_array_equal(old.bound(deviations, 0.9, 5), calibration.bound(deviations, 0.9))
    assert old.size_bin(5) == SizeBin(100)


def test_a_level_that_a_bin_does_not_know_is_left_to_all_sizes():
    calibration = pl.calibrate(*mixed(120, 0), FAMILY)
    assert calibration.size_bin(5, 0.98) == SizeBin(60, None, 49)
    assert calibration.size_bin(5, 0.99) == SizeBin(120)
    assert calibration.bound([0.1], 0.99, 60) == calibration.bound([0.1], 0.99)
    assert calibration.bound([0.1], 0.98, 60) < calibration.bound([0.1], 0.98)


def test_few_neighborhoods_of_a_size_share_a_bin():
    assert pl.calibrate(*mixed(2 * FEWEST_IN_BIN - 2, 0), FAMILY).edges == ()
    assert pl.calibrate(*mixed(2 * FEWEST_IN_BIN, 0), FAMILY).edges == (50,)
    assert join_bins([1, 1, 1, 40, 40, 1], SIZE_EDGES, 30) == (100,)
    assert join_bins([40, 3, 40], [1.5, 2.5], 30) == (2.5,)
    assert join_bins([40], [], 30) == ()


def test_draws_of_several_sizes_count_where_they_belong():
    # Recordings: one window of each sequence in each draw, at the end of the sequence a smaller one.
    rng = np.random.default_rng(0)
    sizes = np.tile([5, 5, 60], (80, 1))
    gaps = rng.random((80, 3, 1)) * np.where(sizes == 5, 1.0, 0.1)[..., None]
    found = HeldOut(gaps, np.full_like(gaps, 0.1), gaps, np.ones(1), np.full(1, 9.0), None, sizes)
    calibration = Calibration.of(HeldOut.joined([found, found]))
    assert [calibration.size_bin(size).count for size in SIZES] == [160, 160]
    shares = [(gaps[sizes == s] <= calibration.bound([0.1], 0.9, s)).mean() for s in (5, 60)]
    assert shares == pytest.approx([0.91, 0.91], abs=0.02)


@pytest.mark.parametrize(
    ("which", "text"),
    [((5, None, None), ""), ((5, None, 9), " of up to 9 members"), ((5, 10, 19), " of 10 to 19 members"),
     ((5, 200, None), " of 200 members or more")],
)  # fmt: skip
def test_bins_in_words(which, text):
    assert SizeBin(*which).text == text


def test_an_audit_bounds_each_neighborhood_by_its_size():
    f, x, hoods = mixed(200, 0)
    report = pl.audit(f, x, hoods, FAMILY)
    small, large = (report.distances[hoods.sizes.numpy() == size].mean(0) for size in SIZES)
    for i, size in enumerate(SIZES):
        expected = report.calibration.bound(report.distances[i], 0.9, size)
        assert report.bound()[i] == pytest.approx(expected)
        assert report[i].bound == pytest.approx(expected)
    assert report.calibration.bound(small, 0.9, 5) > report.calibration.bound(large, 0.9, 60)
