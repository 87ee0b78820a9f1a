"""The bound on the distance between witness and predictor: its formula, and its coverage on fresh neighborhoods."""

import json

import numpy as np
import pytest
import torch
from helpers import drawn

import pellucid as pl
from pellucid.trust import Calibration, HeldOut, held_out, known_bounds, median_bounds, no_bound_reason


@pytest.mark.slow
@pytest.mark.parametrize("family", [pl.LinearFamily(), pl.TreeFamily(depth=2)], ids=["linear", "tree"])
@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_coverage_on_fresh_neighborhoods_is_the_level(family, level):
    fresh = [held_out(*drawn(100, 2 * seed + 1), family, draws=1) for seed in range(60)]
    exact = [pl.calibrate(*drawn(59, 2 * k), family, draws=1).coverage(f, level) for k, f in enumerate(fresh)]
    # With 59 scores the bound holds with probability ceil(60 level) / 60 = level exactly. The share of one trial has a
    # standard deviation of about sqrt(level (1 - level) (1/60 + 1/100)); four of those of their mean are allowed.
    allowed = 4 * np.sqrt(level * (1 - level) * (1 / 60 + 1 / 100) / 60)
    np.testing.assert_allclose(np.mean(exact, axis=0), level, atol=allowed)
    pooled = [pl.calibrate(*drawn(59, 2 * k), family).coverage(f, level) for k, f in enumerate(fresh)]
    # Several draws make the bound steadier, and a little too wide rather than too narrow.
    assert (np.mean(pooled, axis=0) > level - allowed).all()
    assert (np.mean(pooled, axis=0) < level + 0.02 + allowed).all()
    assert (np.std(pooled, axis=0) < np.std(exact, axis=0)).all()


def test_a_bound_on_the_members_themselves_would_be_too_small():
    # What the calibration is for: the deviation over the members says too little of a further point.
    f, x, hoods = drawn(200, 0, size=5)
    gaps, deviations, *_ = held_out(f, x, hoods, pl.LinearFamily())
    assert (gaps <= 2 * deviations).mean() < 0.5
    assert pl.calibrate(*drawn(200, 1, size=5), pl.LinearFamily()).coverage(
        held_out(f, x, hoods, pl.LinearFamily())
    ) == pytest.approx([0.9, 0.9], abs=0.06)


@pytest.mark.parametrize(
    ("count", "level", "enough"), [(8, 0.9, False), (9, 0.9, True), (98, 0.99, False), (99, 0.99, True)]
)
def test_a_level_needs_enough_neighborhoods(count, level, enough):
    gaps = np.random.default_rng(0).random((count, 1, 2))
    calibration = Calibration.of(HeldOut(gaps, gaps / 2, gaps, np.ones(2), np.full(2, 100.0)))
    assert calibration.knows(level) is enough
    assert np.isfinite(calibration.bound([0.0, 0.0], level)).all() == enough


def test_a_bound_that_is_not_known_covers_nothing():
    calibration = pl.calibrate(*drawn(5, 0), pl.LinearFamily())
    assert np.isnan(calibration.coverage(held_out(*drawn(5, 1), pl.LinearFamily()))).all()


def test_small_neighborhoods_say_nothing():
    hoods = pl.from_lists([[0, 1], [2, 3], [4, 5, 6]])
    assert len(pl.calibrate(torch.rand(7), torch.rand(7, 1), hoods, pl.ConstantFamily())) == 1
    nothing = pl.calibrate(torch.rand(4), torch.rand(4, 1), pl.from_lists([[0, 1], [2, 3]]), pl.ConstantFamily())
    assert len(nothing) == 0
    assert nothing.bound([1.0]) == [np.inf]
    assert np.isnan(nothing.coverage(HeldOut(*[np.zeros((0, 1, 1))] * 3, np.ones(1)))).all()


def test_where_witnesses_are_exact_rounding_is_not_taken_for_distance():
    _, x, hoods = drawn(50, 0)
    calibration = pl.calibrate(3 * x[:, 0] - x[:, 1], x, hoods, pl.LinearFamily())
    assert calibration.bound([0.0]) < 1e-4
    constant = pl.calibrate(torch.full((600,), 2.0), x, hoods, pl.ConstantFamily())
    assert constant.bound([0.0]) == 0


def test_a_gap_that_equals_the_bound_but_for_rounding_is_covered():
    # All gaps and all deviations are the same, as those of tied predictions are: every one equals the bound.
    rng = np.random.default_rng(0)

    missed = 0
    for gap in rng.random(100):
        tied = np.full((20, 1, 1), gap)
        found = HeldOut(tied, tied / 3, tied, np.ones(1), np.full(1, 9.0))
        calibration = Calibration.of(found)
        assert calibration.coverage(found, 0.8) == 1
        # As the formula is written, the bound is less than the gap by a bit in some of these.
        missed += float(gap / (gap / 3 + calibration.floor[0]) * (gap / 3 + calibration.floor[0])) < gap
    assert missed > 5
    # The same at 0/1 predictions and single precision, where a mean is a third.
    x, f = torch.zeros(900, 1), torch.tensor([0.0, 0.0, 1.0]).repeat(300)
    thirds = pl.from_lists([range(3 * i, 3 * i + 3) for i in range(300)])
    calibration = pl.calibrate(f, x, thirds.select(range(0, 100)), pl.ConstantFamily())
    assert calibration.coverage(held_out(f, x, thirds.select(range(100, 300)), pl.ConstantFamily()), 0.6) >= 0.6


def test_the_floor_is_in_the_units_of_the_data():
    # Most neighborhoods fit exactly, and some of these are far off at the member left out: 5 of 40 by one.
    gaps, deviations = np.zeros((40, 1, 1)), np.zeros((40, 1, 1))
    gaps[:5], gaps[5:15], deviations[5:15] = 1.0, 0.2, 0.3
    calibration = Calibration.of(HeldOut(gaps, deviations, gaps, np.full(1, 0.5), np.full(1, 3.0)))
    assert calibration.floor == pytest.approx([0.2])
    # The ceil(41 * 0.9) = 37th score is 1 / (0 + 0.2). It was 1 / 5e-7, and a bound of 0.3 / 5e-7 was promised.
    assert calibration.bound([0.0]) == pytest.approx([1.0], rel=2e-6)
    assert calibration.bound([0.3]) == pytest.approx([2.5], rel=2e-6)
    assert calibration.bound([0.4]) == [np.inf]
    # The same in other units, and with rounding in the place of nothing: the same bounds.
    gaps[15:] = 1e-9
    other = Calibration.of(HeldOut(1e3 * gaps, 1e3 * deviations, gaps, np.full(1, 500.0), np.full(1, 3000.0)))
    assert other.bound([300.0]) == pytest.approx([2500.0], rel=2e-6)
    # Of many small gaps and few large ones the mean counts: 30 of 0.001 and 10 of one.
    gaps[10:], gaps[:10] = 0.001, 1.0
    calibration = Calibration.of(HeldOut(gaps, deviations, gaps, np.full(1, 0.5), np.full(1, 2.0)))
    assert calibration.floor == pytest.approx([(30 * 0.001 + 10) / 40 / 4])


def test_a_bound_as_wide_as_the_predictions_range_is_not_known():
    gaps = np.linspace(0.1, 1.0, 99)[:, None, None] * np.ones(2)
    deviations = np.full((99, 1, 2), 0.1)
    extent = np.array([0.85, 9.0])
    calibration = Calibration.of(HeldOut(gaps, deviations, gaps, np.ones(2), extent))
    bounds = calibration.bound([0.1, 0.1], 0.8)
    np.testing.assert_allclose(bounds, np.sort(gaps[:, 0], axis=0)[79], rtol=2e-6)
    # The first output's range is passed at 90 %, in all of the held-out neighborhoods; the second one's never.
    assert np.isinf(calibration.bound([0.0, 0.0], 0.9)).tolist() == [True, False]
    assert np.isinf(calibration.bound([0.2, 0.2], 0.8)).tolist() == [True, False]
    held = HeldOut(gaps, deviations, gaps, np.ones(2), extent)
    coverage = calibration.coverage(held, 0.9)
    assert np.isnan(coverage[0])
    assert coverage[1] == pytest.approx(90 / 99)
    assert known_bounds(np.full(2, np.inf)) is None
    np.testing.assert_array_equal(known_bounds(np.array([1.0, np.inf])), [1.0, np.nan])
    np.testing.assert_array_equal(
        median_bounds(np.array([[1.0, np.inf], [3.0, np.inf], [np.nan, np.inf]])), [2.0, np.nan]
    )


def test_few_bounds_that_luck_makes_narrow_are_not_stated():
    # Where more than a tenth of the neighborhoods deviates so much that bounds are as wide as the range, none is left.
    gaps = np.random.default_rng(0).random((200, 1, 1))
    for count, known in ((18, True), (22, False)):
        deviations = np.where(np.arange(200) < count, 3.0, 0.1)[:, None, None]
        calibration = Calibration.of(HeldOut(gaps, deviations, gaps, np.ones(1), np.full(1, 2.0)))
        assert np.isfinite(calibration.bound([0.1])) == known
        assert np.isinf(calibration.bound([3.0]))


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
def test_a_saturated_witness_has_no_bound_and_says_why():
    rng = torch.Generator().manual_seed(0)
    x, f = torch.randn(300, 4, generator=rng), torch.randn(300, 1, generator=rng)
    hoods = pl.nearest(x, k=5)
    assert pl.LinearFamily().best_response(x, f, hoods).saturated().all()
    report = pl.audit(f, x, hoods, pl.LinearFamily())
    assert np.isnan(report.bound()).all()
    assert len(report.calibration) == 0
    assert not report.held_out.telling.any()
    assert np.isfinite(report.held_out.explained()).all()
    assert "use a ridge, fewer features or more members" in str(report[0])
    assert report[0].bound is None
    assert report.why_not().endswith("use a ridge, fewer features or more members")
    assert "not known" in report.text()
    # Neighborhoods of other sizes have theirs, and do not learn from those.
    both = pl.from_lists([hoods.members_of(i).tolist() for i in range(150)]
                         + [[j, *range(j + 1, j + 9)] for j in range(150)])  # fmt: skip
    mixed = pl.audit(f, x, both, pl.LinearFamily())
    assert len(mixed.calibration) == 150
    assert np.isnan(mixed.bound()).ravel().tolist() == [True] * 150 + [False] * 150


def test_calibrations_of_earlier_versions_are_read():
    old = {"scores": [[[1.0]], [[2.0]], [[4.0]]], "floor": [0.5]}
    calibration = Calibration.from_dict(json.loads(json.dumps(old)))
    assert calibration.bound([1.5], 0.75) == pytest.approx([8.0], rel=2e-6)
    assert calibration.bound([1e9], 0.75) == pytest.approx([4e9], rel=2e-6)  # they know no range of the predictions
    flat = Calibration.from_dict({"scores": [[1.0], [2.0]], "floor": [0.5]})
    assert flat.scores.shape == (2, 1, 1)


def test_draws_that_do_not_count_survive_json():
    gaps = np.random.default_rng(0).random((20, 2, 1))
    saturated = np.zeros((20, 2), dtype=bool)
    saturated[3, 1] = saturated[7] = True
    calibration = Calibration.of(HeldOut(gaps, gaps / 2, gaps, np.ones(1), np.full(1, 9.0), saturated))
    assert len(calibration) == 19
    again = Calibration.from_dict(json.loads(json.dumps(calibration.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(again.scores, calibration.scores)
    # Of 37 scores of 19 neighborhoods the ceil(ceil(20 * 0.9) / 19 * 37) = 36th is meant.
    np.testing.assert_allclose(again._worst(0.9), np.sort(calibration.scores[~np.isnan(calibration.scores)])[35:36])


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_the_bound_is_that_of_split_conformal_regression(level):
    crepes = pytest.importorskip("crepes")
    family = pl.LinearFamily(ridge=0.1)
    found = held_out(*drawn(80, 0), family, draws=1)
    calibration = Calibration.of(found)
    fresh = held_out(*drawn(30, 1), family, draws=1)
    for k in range(2):
        sigmas = found.deviations[:, 0, k] + calibration.floor[k]
        oracle = crepes.ConformalRegressor().fit(found.gaps[:, 0, k], sigmas=sigmas)
        own = fresh.deviations[:, 0, k] + calibration.floor[k]
        intervals = oracle.predict_int(np.zeros(30), sigmas=own, confidence=level)
        bounds = calibration.bound(fresh.deviations, level)[:, 0, k]
        assert np.isfinite(bounds).all()
        np.testing.assert_allclose(bounds, intervals[:, 1], rtol=2e-6)


def test_the_same_seed_gives_the_same_bound():
    args = (*drawn(40, 0), pl.TreeFamily(depth=1))
    first, again, other = (pl.calibrate(*args, seed=seed).scores for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_it_survives_json():
    calibration = pl.calibrate(*drawn(12, 0), pl.ConstantFamily())
    again = pl.Calibration.from_dict(json.loads(json.dumps(calibration.to_dict())))
    np.testing.assert_array_equal(again.scores, calibration.scores)
    np.testing.assert_array_equal(again.bound([0.1, 0.3]), calibration.bound([0.1, 0.3]))
    assert repr(again) == "Calibration(12 held-out neighborhoods, 2 outputs)"


@pytest.mark.parametrize("level", [0, 1, 90, -0.1, True, "0.9", None])
def test_a_level_is_a_confidence(level):
    with pytest.raises(pl.InputError, match="`level` must be a confidence between 0 and 1"):
        pl.calibrate(*drawn(10, 0), pl.ConstantFamily()).bound([0.0, 0.0], level)


def test_what_is_not_known_is_said_with_its_reason():
    assert "fewer than 3 members" in no_bound_reason(0.9, 50, enough=False)
    assert "not calibrated" in no_bound_reason(0.9, 0)
    assert "as wide as the predictions range" in no_bound_reason(0.9, 50)
    assert no_bound_reason(0.9, 50, saturated=True).endswith("use a ridge, fewer features or more members")
    assert no_bound_reason(0.99, 50).startswith(
        "how far it can be trusted with 99 % confidence is not known: 50 held-out"
    )


def test_a_few_gaps_beyond_the_range_do_not_decide_the_floor():
    gaps = np.full((200, 1, 1), 0.1)
    gaps[:3] = 1e8
    part = HeldOut(gaps, np.full_like(gaps, 0.05), gaps, np.array([1.0]), np.array([4.0]))
    calibration = Calibration.of(part)
    assert calibration.floor == pytest.approx([0.1])
    assert calibration.bound([0.05]) == pytest.approx([0.1], rel=1e-5)
    assert calibration.bound([0.5]) > calibration.bound([0.05])
