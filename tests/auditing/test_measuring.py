"""Audits of more neighborhoods than are in memory at a time: the same answers as of all at once."""

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid import _capacity, errors
from pellucid.auditing import measuring
from pellucid.errors import InputError, PellucidWarning
from pellucid.witnesses import refitted

FAMILIES = {
    "linear": pl.LinearFamily(),
    "chosen ridges": pl.LinearFamily(ridge="auto"),
    "constant": pl.ConstantFamily(),
    "tree": pl.TreeFamily(),
    "best of two": pl.BestOf(pl.LinearFamily(), pl.TreeFamily(depth=2)),
}


@pytest.fixture
def in_parts(monkeypatch):
    """Whoever calls it divides neighborhoods into parts of 40 members."""

    def divide():
        monkeypatch.setattr(refitted, "KEPT", 10)
        monkeypatch.setattr(refitted, "ENTRIES", 40)
        monkeypatch.setattr(measuring, "ENTRIES", 40)

    return divide


def case(windows=False):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    f = np.stack([np.sin(2 * x[:, 0]) + x[:, 1], rng.normal(size=60)], axis=1)
    hoods = pl.windows([25, 35], radius=6) if windows else pl.nearest(x, k=11)
    return f, x, hoods


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_an_audit_in_parts_is_the_audit_of_all(name, windows, in_parts):
    f, x, hoods = case(windows)
    whole = pl.audit(f, x, hoods, FAMILIES[name], features=["a", "b", "c"], deviation=pl.absolute_error)
    text, laws = str(whole), [w.text() for w in whole.witnesses]
    bound = whole.bound()
    in_parts()
    apart = pl.audit(f, x, hoods, FAMILIES[name], features=["a", "b", "c"], deviation=pl.absolute_error)
    assert isinstance(apart.witnesses, refitted.RefittedWitnesses)
    exact = {"rtol": 1e-12, "atol": 1e-12}
    for part in ("deviations", "held_out_deviations", "local_auc", "global_auc"):
        torch.testing.assert_close(getattr(apart, part), getattr(whole, part), equal_nan=True, **exact)
    for part in ("distances", "rmse_by_output"):
        np.testing.assert_allclose(getattr(apart, part), getattr(whole, part), **exact)
    np.testing.assert_allclose(apart.bound(), bound, equal_nan=True, **exact)
    assert str(apart) == text
    assert [w.text() for w in apart.witnesses] == laws
    assert apart.witnesses[7].text() == laws[7]
    assert apart[7].bound == pytest.approx(whole[7].bound, rel=1e-12)
    torch.testing.assert_close(apart.witnesses.at_members(), whole.witnesses.at_members(), **exact)
    torch.testing.assert_close(apart.witnesses.at_centers(), whole.witnesses.at_centers(), **exact)
    torch.testing.assert_close(apart.witnesses.saturated(), whole.witnesses.saturated())
    torch.testing.assert_close(apart.witnesses.saturated(torch.tensor([5, 2])), whole.witnesses.saturated()[[5, 2]])
    torch.testing.assert_close(apart.witnesses.held_out_values(), whole.witnesses.held_out_values(), **exact)
    which, points = torch.tensor([50, 3, 3, 17, 50]), torch.from_numpy(x[:5])
    torch.testing.assert_close(
        apart.witnesses.evaluate(which, points), whole.witnesses.evaluate(which, points).double(), **exact
    )


def test_parts_are_all_neighborhoods_in_turn_and_none_is_divided():
    hoods = pl.from_lists([[0], [1, 2, 3, 4, 5], [0, 1], [2], [3, 4], [5]], centers=[0] * 6)
    assert [(p.start, p.stop) for p in refitted.parts(hoods, 3)] == [(0, 1), (1, 2), (2, 4), (4, 6)]
    assert [(p.start, p.stop) for p in refitted.parts(hoods, 100)] == [(0, 6)]


def test_no_more_than_a_part_is_fitted_at_a_time(in_parts):
    f, x, hoods = case()
    in_parts()
    members = []

    class Watched(pl.WitnessFamily):
        def best_response(self, x, f, hoods):
            members.append(len(hoods.members))
            return pl.ConstantFamily().best_response(x, f, hoods)

    str(pl.audit(f, x, hoods, Watched()))
    at_once = [m for m in members if m > 40]
    assert members[:20] == [33] * 20
    assert all(m >= 60 * 11 for m in at_once)  # the sample of neighborhoods that bounds come from


def test_small_neighborhoods_are_warned_of_once_and_all_counted(in_parts, monkeypatch):
    f, x, _ = case()
    hoods = pl.nearest(x, k=5)
    in_parts()
    for family in (pl.LinearFamily(), pl.BestOf(pl.ConstantFamily(), pl.LinearFamily())):
        monkeypatch.setattr(errors, "_warned", set())  # one line, two families
        with pytest.warns(PellucidWarning, match="60 of 60 neighborhoods have fewer members") as warned:
            pl.audit(f, x, hoods, family)
        assert len(warned) == 1


def test_a_long_audit_says_so_and_one_that_does_not_fit_is_refused(in_parts, monkeypatch):
    f, x, hoods = case()
    in_parts()
    monkeypatch.setattr(_capacity, "LONG", 0.0)
    with pytest.warns(PellucidWarning, match=r"The audit of 60 neighborhoods takes about 0 seconds and 0 MB of memory"):
        audit = pl.audit(f, x, hoods, pl.ConstantFamily())
    with pytest.warns(PellucidWarning, match="The held-out part of the audit of 60 neighborhoods takes about"):
        _ = audit.held_out_deviations
    monkeypatch.setattr(_capacity, "available_memory", lambda: 1000.0)
    message = r"The audit of 60 neighborhoods with 660 members needs about 0 MB .* audit a part of them"
    with pytest.raises(InputError, match=message):
        pl.audit(f, x, hoods, pl.ConstantFamily())
