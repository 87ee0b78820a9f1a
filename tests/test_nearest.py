"""The search for nearest points: every way through it gives what comparing all pairs gives, to the last tie."""

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid import _nearest


def oracle(x, k, query=None):
    """By all pairs: sums of squared differences in float64, feature by feature; ties by self, then by index."""
    queries = x if query is None else query
    ranked = []
    for i, q in enumerate(queries):
        distances = np.zeros(len(x))
        for a in range(x.shape[1]):
            distances += (x[:, a] - q[a]) ** 2
        others = np.arange(len(x)) != i if query is None else np.zeros(len(x))
        ranked.append(np.lexsort((np.arange(len(x)), others, distances))[:k])
    return np.array(ranked)


def clouds(width, rng):
    return np.concatenate([10 * rng.normal(size=30) + width * rng.normal(size=(200, 30)) for _ in range(5)])


rng = np.random.default_rng(0)
CASES = {
    "normal": rng.normal(size=(1500, 10)),
    "many features": rng.normal(size=(1300, 100)),
    "one feature": rng.normal(size=(700, 1)),
    "whole numbers": rng.integers(0, 4, (900, 4)).astype(float),
    "bits": (rng.random((700, 64)) < 0.3).astype(float),
    "grid": np.stack(np.meshgrid(*[0.1 * np.arange(9)] * 3), -1).reshape(-1, 3),
    "each point fifty times": rng.permutation(np.repeat(rng.normal(size=(20, 5)), 50, axis=0)),
    "one place": np.ones((600, 4)),
    "two zeros": np.where(rng.random((300, 3)) < 0.5, 0.0, -0.0),
    "offset": 1e8 + rng.normal(size=(900, 30)),
    "offsets that differ": 10.0 ** np.arange(12) + rng.normal(size=(800, 12)),
    "clouds": clouds(1e-5, rng),
    "clouds too small for float32": clouds(1e-12, rng),
    "one far point": np.concatenate([rng.normal(size=(600, 20)), np.full((1, 20), 1e6)]),
    "few": rng.normal(size=(33, 3)),
    "one point": rng.normal(size=(1, 3)),
}


@pytest.fixture(params=["as it chooses", "walk", "products"])
def way(request, monkeypatch):
    if request.param != "as it chooses":
        monkeypatch.setattr(_nearest.Tree, "_walking_pays", lambda *_: request.param == "walk")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("way")
def test_members_are_those_of_all_pairs_to_the_last_tie(name):
    x = CASES[name]
    for k in (1, 2, 7, 60):
        if k <= len(x):
            np.testing.assert_array_equal(pl.nearest(x, k=k).members.reshape(-1, k), oracle(x, k))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("way")
def test_new_points_have_the_nearest_of_the_old(name):
    x = CASES[name]
    new = np.concatenate([x[::7], 1.001 * x[::11]])
    k = min(9, len(x))
    hoods = pl.nearest(x, k=k, query=new)
    np.testing.assert_array_equal(hoods.members.reshape(-1, k), oracle(x, k, new))
    assert hoods.centers.tolist() == list(range(len(x), len(x) + len(new)))
    assert hoods.n_points == len(x) + len(new)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000, 1e-310])
@pytest.mark.parametrize("p", [3, 30])
@pytest.mark.usefixtures("way")
def test_no_square_overflows_or_vanishes(unit, p):
    x = np.random.default_rng(1).integers(-2000, 2000, (300, p)) / 1000.0
    scaled = x * unit
    # The smallest numbers that there are have few digits; those count, in a unit in which they can be squared.
    expected = oracle(scaled / 1e-310 if unit == 1e-310 else x, 6)
    np.testing.assert_array_equal(pl.nearest(scaled, k=6).members.reshape(-1, 6), expected)
    extreme = np.array([[-1.7e308], [1.7e308], [1.6e308], [0.0]])
    assert pl.nearest(extreme, k=2).members.tolist() == [0, 3, 1, 2, 2, 1, 3, 2]


def test_threads_change_nothing(monkeypatch):
    x = CASES["normal"]
    expected = pl.nearest(x, k=8).members
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    for walks in (True, False):
        monkeypatch.setattr(_nearest.Tree, "_walking_pays", lambda *_, walks=walks: walks)
        assert torch.equal(pl.nearest(x, k=8).members, expected)


@pytest.mark.slow
def test_torch_in_low_precision_changes_nothing(monkeypatch):
    monkeypatch.setattr(_nearest.Tree, "_walking_pays", lambda *_: False)
    x = CASES["many features"]
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            members = pl.nearest(x, k=9).members.reshape(-1, 9)
    finally:
        torch.set_float32_matmul_precision(before)
    np.testing.assert_array_equal(members, oracle(x, 9))
    assert torch.backends.mkldnn.enabled


def test_two_places_with_one_key_are_told_apart(monkeypatch):
    monkeypatch.setattr(_nearest.kernel, "fingerprints", lambda x: np.zeros(len(x), dtype=np.uint64))
    for name in ("normal", "each point fifty times"):
        x = CASES[name][:300]
        np.testing.assert_array_equal(pl.nearest(x, k=5).members.reshape(-1, 5), oracle(x, 5))


def test_coinciding_points_are_searched_for_once(monkeypatch):
    searched = []
    plain = _nearest.Tree.__init__
    monkeypatch.setattr(_nearest.Tree, "__init__", lambda self, x: (searched.append(len(x)), plain(self, x))[1])
    x = np.repeat(np.arange(3.0), 20_000)[:, None]
    hoods = pl.nearest(x, k=4)
    assert searched == [3]
    assert hoods.members_of(0).tolist() == [0, 1, 2, 3]
    assert hoods.members_of(59_999).tolist() == [59_999, 40_000, 40_001, 40_002]


@pytest.mark.slow
def test_the_walk_is_chosen_for_few_features_and_products_for_many(monkeypatch):
    walks = []
    plain = _nearest.Tree._walking_pays
    monkeypatch.setattr(_nearest.Tree, "_walking_pays", lambda *a: walks.append(plain(*a)) or walks[-1])
    for p in (2, 5, 200):
        pl.nearest(np.random.default_rng(0).normal(size=(5000, p)), k=5)
    assert walks == [True, True, False]
