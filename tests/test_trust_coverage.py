"""What the bound promises, tried as it is meant: a witness of all m members, and one truly fresh point.

Each trial draws 60 independent neighborhoods of m iid members to calibrate on, and 50 others with a further point each.
All trials are neighborhoods over one set of points, so that the kernels fit them at once.
"""

import sys

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid.trust import Calibration, HeldOut, held_out

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning"),  # few members on purpose
]

TRIALS, HELD, FRESH = 40, 60, 50
LEVELS = (0.8, 0.9, 0.95)


def bits(rng, count, size):
    x = rng.random((count, size, 12)) < 0.4
    return x, x @ np.linspace(1.0, 0.1, 12)[:, None] + 0.5 * rng.standard_normal((count, size, 1))


def noise(rng, count, size):
    """A linear trend in noise, the amount of which differs from neighborhood to neighborhood."""
    x = rng.standard_normal((count, size, 2))
    amount = np.exp(0.7 * rng.standard_normal((count, 1, 1)))
    return x, x[..., :1] + amount * rng.standard_normal((count, size, 1))


def smooth(rng, count, size):
    """Two outputs of different units."""
    x = rng.random((count, 1, 2)) + 0.1 * rng.standard_normal((count, size, 2))
    outputs = [np.sin(9 * x[..., 0]) * x[..., 1], 1e3 * np.exp(2 * x[..., 0]) + np.cos(7 * x[..., 1])]
    return x, np.stack(outputs, axis=-1)


def coin(rng, count, size):
    """0/1 predictions that the features say nothing of."""
    return rng.standard_normal((count, size, 2)), rng.integers(0, 2, (count, size, 1)).astype(float)


def switched(rng, count, size):
    """0/1 predictions that follow a bit, but for one in ten."""
    x = rng.random((count, size, 12)) < 0.4
    return x, (x[..., :1] ^ (rng.random((count, size, 1)) < 0.1)).astype(float)


def ties(rng, count, size):
    return rng.standard_normal((count, size, 2)), rng.integers(0, 3, (count, size, 1)) * 0.1


def exact(rng, count, size):
    """Seven neighborhoods in ten are constant, up to the last bit."""
    odd = rng.random((count, 1, 1)) < 0.3
    f = rng.integers(0, 9, (count, 1, 1)) * 0.1 + odd * rng.standard_normal((count, size, 1))
    return rng.standard_normal((count, size, 2)), f


def outliers(rng, count, size):
    f = (rng.random((count, size, 1)) < 0.05) + 0.01 * rng.standard_normal((count, size, 1))
    return rng.standard_normal((count, size, 2)), f


class NearestFamily(pl.WitnessFamily):
    """A family of somebody's own, which looks at the number of members: the mean of the nearest fifth of them."""

    def best_response(self, x, f, hoods):
        def fit(x, f):
            nearest = -(-len(x) // 5)

            def predict(points):
                distances = (points[:, None] != x[None]).sum(-1)
                return f[np.argsort(distances, axis=1, kind="stable")[:, :nearest]].mean(1)

            return predict

        return pl.fit_each(fit, x, f, hoods)


def tried(family, draw, m, monkeypatch, *, draws=1, trials=TRIALS):
    """Of all trials the coverage (levels, K) at fresh points, and the share of bounds that are known."""
    # Far more neighborhoods than a calibration wants are fitted at once, and handed out in parts.
    monkeypatch.setattr(sys.modules[held_out.__module__], "MOST", 10**9)
    count = trials * (HELD + FRESH)
    x, f = draw(np.random.default_rng(m), count, m + 1)
    x, f = (torch.from_numpy(np.ascontiguousarray(values)).flatten(0, 1) for values in (x, f))
    starts = (m + 1) * np.arange(count).reshape(trials, -1)

    def hoods(starts):
        members = torch.from_numpy((starts.reshape(-1, 1) + np.arange(m)).ravel())
        return pl.Neighborhoods(members, m * torch.arange(starts.size + 1), members[::m], len(x))

    learned = held_out(f, x, hoods(starts[:, :HELD]), family, draws=draws)
    shown = family.best_response(x, f, hoods(starts[:, HELD:]))
    misses = (f[shown.hoods.members].double() - shown.at_members().double()).abs()
    deviations = (shown.hoods.sum_members(misses) / m).numpy().reshape(trials, FRESH, -1)
    fresh = torch.from_numpy(starts[:, HELD:].ravel() + m)
    gaps = (f[fresh] - shown.evaluate(torch.arange(len(fresh)), x[fresh])).abs().numpy().reshape(trials, FRESH, -1)
    free = ~shown.saturated().numpy().reshape(trials, FRESH, 1)
    covered, known = [], []
    for trial in range(trials):
        own = slice(trial * HELD, (trial + 1) * HELD)
        part = HeldOut(*(v[own] for v in learned[:3]), learned.spread, learned.extent, learned.saturated[own])
        bounds = np.stack([Calibration.of(part).bound(deviations[trial], level) for level in LEVELS])
        known.append((np.isfinite(bounds) & free[trial]).mean(1))
        covered.append(((gaps[trial] <= bounds) | ~free[trial]).mean(1))
    return np.mean(covered, axis=0), np.mean(known, axis=0)


def least(level, trials=TRIALS):
    """The level less four standard deviations of the share: of the points that were tried, and of the quantiles."""
    return level - 4 * np.sqrt(level * (1 - level) * (1 / (trials * FRESH) + 1 / (trials * HELD)))


def kept(family, draw, m, monkeypatch, **settings):
    """Check that the coverage is what is promised, and give the share of bounds that are known."""
    coverage, known = tried(family, draw, m, monkeypatch, **settings)
    trials = settings.get("trials", TRIALS)
    for level, shares in zip(LEVELS, coverage, strict=True):
        assert shares.min() >= least(level, trials), f"{family}, {draw.__name__}, m = {m}: {shares} at {level:.0%}"
    return known


@pytest.mark.parametrize("m", range(3, 34))
@pytest.mark.parametrize("criterion", ["squared", "absolute"])
def test_trees_keep_the_promise_at_fresh_members_of_every_size(m, criterion, monkeypatch):
    # Where the depth rule takes a step, at m = 5, 9, 17 and 33, trees of m - 1 members are a level smaller. Calibrated
    # by those, coverage was 0.60 / 0.73 / 0.83 at 80 / 90 / 95 % for m = 5.
    known = kept(pl.TreeFamily(criterion=criterion), bits, m, monkeypatch)
    assert known.min() > 0.99


@pytest.mark.parametrize("m", range(3, 34))
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_linear_laws_keep_the_promise_at_fresh_members_of_every_size(m, ridge, monkeypatch):
    known = kept(pl.LinearFamily(ridge=ridge), noise, m, monkeypatch)
    if m == 3:  # three coefficients follow any three members; with a ridge they nearly do, in some neighborhoods
        assert known.max() < (0.9 if ridge else 1e-9)
    else:
        assert known[0].min() > 0.99


@pytest.mark.parametrize("m", range(3, 34))
@pytest.mark.parametrize("draw", [coin, ties], ids=["0/1", "ties"])
def test_means_keep_the_promise_at_fresh_members_of_every_size(m, draw, monkeypatch):
    # Means of m - 1 tied values are other numbers than those of m: coverage was 0.69 at 80 % for m = 4 and 0/1.
    known = kept(pl.ConstantFamily(), draw, m, monkeypatch)
    assert known[0].min() > (0.99 if m > 9 else 0.5 if m > 4 else 0.0)


FAMILIES = {
    "mean": pl.ConstantFamily(),
    "ridge": pl.LinearFamily(ridge=0.1),
    "law": pl.LinearFamily(),
    "shallow": pl.TreeFamily(depth=pl.effective_depth(-1), criterion="absolute"),
    "fixed": pl.TreeFamily(depth=2),
    "deep": pl.TreeFamily(depth=6),
    "best": pl.BestOf(pl.TreeFamily(), pl.LinearFamily(ridge=0.1)),
}


@pytest.mark.parametrize("m", [3, 4, 5, 6, 9, 17, 33])
@pytest.mark.parametrize("draw", [smooth, switched, exact, outliers])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_other_families_and_predictions_keep_the_promise(family, draw, m, monkeypatch):
    kept(family, draw, m, monkeypatch)


@pytest.mark.parametrize("m", [3, 5, 6, 11, 16])
def test_a_family_of_ones_own_keeps_the_promise(m, monkeypatch):
    assert kept(NearestFamily(), bits, m, monkeypatch, trials=8).min() > 0.99


@pytest.mark.parametrize("m", [4, 5, 9, 17])
def test_pooled_draws_keep_the_promise(m, monkeypatch):
    assert kept(pl.TreeFamily(), bits, m, monkeypatch, draws=5).min() > 0.99
    kept(pl.ConstantFamily(), ties, m, monkeypatch, draws=5)
