"""Most of the nearest points: how many is measured, and those are in the order of the exact search."""

import sys

import numpy as np
import pytest

import pellucid as pl
from pellucid import _near_approximate
from pellucid.errors import InputError, PellucidWarning


def test_without_the_index_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    message = r"`approximate=True` needs pynndescent, which must be installed; pip install 'pellucid\[approximate\]'"
    with pytest.raises(InputError, match=message):
        pl.nearest(np.zeros((3, 2)), k=1, approximate=True)


@pytest.fixture
def index(monkeypatch):
    pytest.importorskip("pynndescent")
    monkeypatch.setattr(_near_approximate, "FEWEST", 10)


@pytest.fixture
def curved():
    """1,200 points near a surface of four dimensions in thirty."""
    rng = np.random.default_rng(0)
    return np.tanh(rng.normal(size=(1200, 4)) @ rng.normal(size=(4, 30))) + 0.02 * rng.normal(size=(1200, 30))


def shares(members, exact):
    return np.mean([len({*a} & {*b}) / len(b) for a, b in zip(members.tolist(), exact.tolist(), strict=True)])


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_nearly_all_of_the_nearest_are_found_in_their_order(curved):
    exact = pl.nearest(curved, k=10).members.reshape(-1, 10)
    members = pl.nearest(curved, k=10, approximate=True).members.reshape(-1, 10)
    assert shares(members, exact) > 0.99
    assert (members[:, 0] == exact[:, 0]).all()  # each point itself
    distances = np.square(curved[members] - curved[:, None]).sum(2)
    assert (np.diff(distances, axis=1) >= 0).all()
    again = pl.nearest(curved, k=10, approximate=True).members.reshape(-1, 10)
    np.testing.assert_array_equal(members, again)
    new = curved[:50] + 0.01
    exact = pl.nearest(curved, k=10, query=new).members.reshape(-1, 10)
    assert shares(pl.nearest(curved, k=10, query=new, approximate=True).members.reshape(-1, 10), exact) > 0.99


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_coinciding_points_are_all_found(curved):
    x = np.repeat(curved[:200], 6, axis=0)
    exact, members = (pl.nearest(x, k=12, approximate=a).members.reshape(-1, 12) for a in (False, True))
    assert shares(members, exact) > 0.99
    assert (members[:, :6] // 6 == np.arange(1200)[:, None] // 6).all()


def test_few_points_are_searched_exactly(curved):
    pytest.importorskip("pynndescent")
    exact, members = (pl.nearest(curved, k=4, approximate=a).members for a in (False, True))
    np.testing.assert_array_equal(members, exact)


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_what_the_index_misses_is_warned_of_and_what_it_lacks_is_searched_exactly(curved, monkeypatch):
    class Blind:
        """Proposes the same points to all, and too few to one."""

        neighbor_graph = (np.tile(np.arange(30), (1200, 1)), None)

    Blind.neighbor_graph[0][700] = -1
    monkeypatch.setattr(_near_approximate.ApproximateIndex, "_index", lambda *_: Blind)
    with pytest.warns(PellucidWarning, match=r"has found 1?\d % of the nearest points, judged by 200 of 1,200"):
        members = pl.nearest(curved, k=5, approximate=True).members.reshape(-1, 5)
    np.testing.assert_array_equal(members[700], pl.nearest(curved, k=5).members_of(700))
    assert (members[100:700, 1:] < 30).all()
