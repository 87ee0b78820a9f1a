"""What a job needs is said before it starts, and one that does not fit is refused."""

import numpy as np
import pytest

import pellucid as pl
from pellucid import _capacity, _nearest, errors
from pellucid.errors import InputError, PellucidWarning


def test_memory_is_the_smaller_of_the_system_and_the_container(tmp_path, monkeypatch):
    assert _capacity.available_memory() > 1e6
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    assert _capacity._container(tmp_path) == 3000
    (tmp_path / "memory.max").write_text("max\n")
    assert _capacity._container(tmp_path) == np.inf
    monkeypatch.setattr(_capacity, "_system", lambda: 7.0)
    assert _capacity.available_memory() == 7.0


def test_a_search_that_does_not_fit_is_refused_with_the_cure(monkeypatch):
    monkeypatch.setattr(_capacity, "available_memory", lambda: 3e5)
    x = np.random.default_rng(0).normal(size=(1000, 10))
    message = (
        "The search for the 5 nearest of 1,000 points with 10 features needs about 1 MB of memory, which must be free. "
        "Got 0 MB; lower `k`, or pass parts of the points one after the other as `query=`."
    )
    with pytest.raises(InputError) as error:
        pl.nearest(x, k=5)
    assert str(error.value) == message
    assert len(pl.nearest(x[:100], k=5)) == 100


def test_the_memory_of_a_search_is_what_it_takes():
    """Four copies of the points and two of the results, all of which exist at the same time."""
    assert _nearest.memory(1000, 10, 5) == 1000 * (4 * 80 + 2 * 16 * 5 + 56)
    assert _nearest.memory(1000, 10, 5, 10) == 1000 * (4 * 80 + 48) + 10 * (3 * 80 + 2 * 16 * 5 + 8)


@pytest.mark.parametrize("walks", [True, False])
def test_a_long_search_says_so_before_it_starts(monkeypatch, walks):
    monkeypatch.setattr(errors, "_warned", set())  # one line, two ways
    monkeypatch.setattr(_nearest, "_FEWEST_LONG", 100)
    monkeypatch.setattr(_nearest.Tree, "_walking_pays", lambda *_: walks)
    x = np.random.default_rng(0).normal(size=(2000, 5))
    pl.nearest(x, k=3)  # takes no minutes, and says nothing
    monkeypatch.setattr(_capacity, "LONG", 0.0)
    with pytest.warns(PellucidWarning, match=r"nearest of 2,000 points with 5 features takes about 0 seconds and 1 MB"):
        pl.nearest(x, k=3)
