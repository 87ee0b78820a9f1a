"""Witnesses at members that they were not fitted to."""

import numpy as np
import pytest
import torch
from helpers import drawn
from sklearn.linear_model import LinearRegression

import pellucid as pl
from pellucid.held_out import one_left_out
from pellucid.trust import Calibration, held_out


def test_scores_are_their_definition():
    f, x, hoods = drawn(30, 3, size=6)
    found = held_out(f, x, hoods, pl.LinearFamily(), seed=5, draws=2)
    generator = torch.Generator().manual_seed(5)
    torch.randperm(30, generator=generator)
    for r in range(2):
        check_draw(found, r, *one_left_out(hoods, generator), f, x)
    calibration = Calibration.of(found)
    floor = np.median(found.gaps, axis=(0, 1))
    np.testing.assert_allclose(calibration.floor, floor)
    np.testing.assert_allclose(calibration.scores, found.gaps / (found.deviations + floor))
    np.testing.assert_allclose(calibration.extent, np.ptp(f.double().numpy(), axis=0))
    # Of 30 neighborhoods the ceil(31 * 0.9) = 28th is meant: of 60 scores the 56th.
    worst = np.sort(calibration.scores.reshape(60, 2), axis=0)[55]
    expected = worst * (np.array([0.1, 0.2]) + floor)
    np.testing.assert_allclose(calibration.bound([0.1, 0.2]), expected, rtol=2e-6)
    np.testing.assert_allclose(calibration.bound([[0.1, 0.2]] * 3)[2], expected, rtol=2e-6)


def check_draw(found, r, others, left, copied, f, x):
    x, f = (torch.cat([values, values[copied]]) for values in (x, f))
    for i, out in enumerate(left.tolist()):
        own = others.members_of(i)
        fit = LinearRegression().fit(x[own].numpy(), f[own].numpy())
        gap = np.abs(f[out].numpy() - fit.predict(x[out][None].numpy())[0])
        np.testing.assert_allclose(found.gaps[i, r], gap, rtol=1e-3, atol=1e-6)
        misses = np.abs(f[own].numpy() - fit.predict(x[own].numpy()))
        np.testing.assert_allclose(found.deviations[i, r], misses.mean(0), rtol=1e-3, atol=1e-6)
        alone = (f[out] - f[own].mean(0)).abs().numpy()
        np.testing.assert_allclose(found.alone[i, r], alone, rtol=1e-4, atol=1e-6)


def test_a_copy_of_another_takes_the_place_of_the_member_left_out():
    _, _, hoods = drawn(400, 3, size=4)
    others, left, copied = one_left_out(hoods, torch.Generator().manual_seed(5))
    counts = torch.zeros(4, 4)
    for i, (out, twice) in enumerate(zip(left.tolist(), copied.tolist(), strict=True)):
        own = hoods.members_of(i).tolist()
        assert sorted(others.members_of(i).tolist()) == [*(j for j in own if j != out), 1600 + i]
        counts[own.index(out), own.index(twice)] += 1
    assert (counts.diagonal() == 0).all()
    # Each of the 12 pairs has its share of 400, to within four standard deviations.
    pairs = counts[~torch.eye(4, dtype=torch.bool)]
    assert ((pairs - 400 / 12).abs() < 4 * (400 / 12) ** 0.5).all()


def test_variance_that_is_explained_at_members_left_out():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(400, 3, generator=generator, dtype=torch.float64)
    hoods, noise = pl.nearest(x, k=15), torch.randn(400, 1, generator=generator, dtype=torch.float64)
    # Witnesses explain noise at the members that they were fitted to, and nothing of it elsewhere.
    report = pl.audit(noise, x, hoods, pl.TreeFamily())
    assert report.explained > 0.7
    assert report.held_out.explained() < 0
    found = held_out(x @ torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64), x, hoods, pl.LinearFamily())
    assert found.explained() == pytest.approx([1.0])
    mean = held_out(noise, x, hoods, pl.ConstantFamily())
    assert mean.telling.all()
    np.testing.assert_allclose(mean.alone, mean.gaps, rtol=1e-6)
    assert mean.explained() == pytest.approx([0.0])
    assert np.isnan(held_out(torch.ones(400), x, hoods, pl.ConstantFamily()).explained())


def test_of_very_many_neighborhoods_a_thousand_are_chosen():
    x = torch.rand(1500, 1)
    calibration = pl.calibrate(x[:, 0], x, pl.windows([1500], radius=2), pl.ConstantFamily())
    assert len(calibration) == 1000


def test_a_family_is_needed():
    with pytest.raises(pl.InputError, match="`family` must be a witness family"):
        pl.calibrate(*drawn(3, 0), "linear")
