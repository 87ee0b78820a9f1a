"""The bound on the distance between witness and predictor: its formula, and its coverage on fresh neighborhoods."""

import json

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

import pellucid as pl
from pellucid.trust import HeldOut, held_out, percent, unknown, without_one


def drawn(count, seed, size=12):
    """Neighborhoods that are drawn alike: points around random centers, and a predictor that is no simple function."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.rand(count, 2, generator=generator)
    x = (centers[:, None] + 0.1 * torch.randn(count, size, 2, generator=generator)).flatten(0, 1)
    f = torch.stack([torch.sin(9 * x[:, 0]) * x[:, 1], torch.exp(2 * x[:, 0]) + torch.cos(7 * x[:, 1])], 1)
    members = [range(i * size, (i + 1) * size) for i in range(count)]
    return f, x, pl.from_lists(members, centers=[own[0] for own in members])


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


def test_scores_are_their_definition():
    f, x, hoods = drawn(30, 3, size=6)
    found = held_out(f, x, hoods, pl.LinearFamily(), seed=5, draws=2)
    rest, left = without_one(hoods, torch.Generator().manual_seed(5))  # not the same draw: it follows another one
    assert len(rest.members) == 30 * 5
    for i, out in enumerate(left.tolist()):
        assert sorted([*rest.members_of(i).tolist(), out]) == hoods.members_of(i).tolist()
    generator = torch.Generator().manual_seed(5)
    torch.randperm(30, generator=generator)
    for r, (rest, left) in enumerate([without_one(hoods, generator), without_one(hoods, generator)]):
        check_draw(found, r, rest, left, f, x)
    calibration = pl.Calibration.of(found)
    floor = np.median(found.deviations, axis=(0, 1))
    np.testing.assert_allclose(calibration.scores, found.gaps / (found.deviations + floor))
    # Of 30 neighborhoods the ceil(31 * 0.9) = 28th is meant: of 60 scores the 56th.
    worst = np.sort(calibration.scores.reshape(60, 2), axis=0)[55]
    np.testing.assert_allclose(calibration.bound([0.1, 0.2]), worst * (np.array([0.1, 0.2]) + floor))
    np.testing.assert_allclose(calibration.bound([[0.1, 0.2]] * 3)[2], worst * (np.array([0.1, 0.2]) + floor))


def check_draw(found, r, rest, left, f, x):
    for i, out in enumerate(left.tolist()):
        own = rest.members_of(i)
        fit = LinearRegression().fit(x[own].numpy(), f[own].numpy())
        gap = np.abs(f[out].numpy() - fit.predict(x[out][None].numpy())[0])
        np.testing.assert_allclose(found.gaps[i, r], gap, rtol=1e-3, atol=1e-6)
        misses = np.abs(f[own].numpy() - fit.predict(x[own].numpy()))
        np.testing.assert_allclose(found.deviations[i, r], misses.mean(0), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("count", "level", "enough"), [(8, 0.9, False), (9, 0.9, True), (98, 0.99, False), (99, 0.99, True)]
)
def test_a_level_needs_enough_neighborhoods(count, level, enough):
    calibration = pl.calibrate(*drawn(count, 0), pl.ConstantFamily())
    assert calibration.knows(level) is enough
    assert np.isfinite(calibration.bound([0.0, 0.0], level)).all() == enough


def test_variance_that_is_explained_at_members_left_out():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(400, 3, generator=generator, dtype=torch.float64)
    hoods, noise = pl.nearest(x, k=15), torch.randn(400, 1, generator=generator, dtype=torch.float64)
    # Witnesses explain noise at the members that they were fitted to, and nothing of it elsewhere.
    report = pl.audit(noise, x, hoods, pl.TreeFamily())
    assert report.explained > 0.7
    assert report.left_out.explained() < 0
    found = held_out(x @ torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64), x, hoods, pl.LinearFamily())
    assert found.explained() == pytest.approx([1.0])
    mean = held_out(noise, x, hoods, pl.ConstantFamily())
    np.testing.assert_allclose(mean.alone, mean.gaps, rtol=1e-6)
    assert mean.explained() == pytest.approx([0.0])
    assert np.isnan(held_out(torch.ones(400), x, hoods, pl.ConstantFamily()).explained())


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


def test_of_very_many_neighborhoods_a_thousand_are_chosen():
    x = torch.rand(1500, 1)
    calibration = pl.calibrate(x[:, 0], x, pl.windows([1500], radius=2), pl.ConstantFamily())
    assert len(calibration) == 1000


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


def test_a_family_is_needed():
    with pytest.raises(pl.InputError, match="`family` must be a witness family"):
        pl.calibrate(*drawn(3, 0), "linear")


def test_what_is_not_known_is_said_with_its_reason():
    assert "fewer than 3 members" in unknown(0.9, 50, enough=False)
    assert "not calibrated" in unknown(0.9, 0)
    assert unknown(0.99, 50).startswith("how far it can be trusted with 99 % confidence is not known: 50 held-out")
    assert percent(0.95) == "95 %"
