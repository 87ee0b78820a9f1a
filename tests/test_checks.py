"""Arguments that are no numbers to compute with."""

import pytest
import torch

import pellucid as pl
from pellucid import InputError, _checks
from pellucid.choosing import choose
from pellucid.series import simulate_rig

X = torch.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (X.to_sparse(), "Got a sparse one; convert it with `.to_dense\\(\\)`"),
        (X.to(torch.float8_e4m3fn), "Got one of torch.float8_e4m3fn; convert it with `.float\\(\\)`"),
        (X.to("meta"), "Got one on the device meta, which holds no numbers"),
    ],
    ids=["sparse", "float8", "meta"],
)
def test_tensors_without_numbers_are_refused(values, message):
    hoods = pl.nearest(X, k=3)
    calls = {
        "nearest": lambda: pl.nearest(values, k=2),
        "within": lambda: pl.within(values, radius=1.0),
        "game": lambda: pl.SymmetricGame(pl.LinearFamily(), weight=1.0)(values, X, hoods),
        "audit": lambda: pl.audit(X[:, :1], values, hoods, pl.LinearFamily()),
    }
    for call in calls.values():
        with pytest.raises(InputError, match=f"must be an ordinary tensor. {message}"):
            call()


def test_seeds_are_such_as_all_generators_take():
    assert _checks.seed(2**31 - 1) == 2**31 - 1
    x = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    refusal = "`seed` must be a whole number between 0 and 2147483647. Got 1180591620717411303424"
    with pytest.raises(InputError, match=refusal):
        choose(x[:, 0], x, pl.nearest(x, k=12), neighbors=(10,), seed=2**70)
    with pytest.raises(InputError, match=refusal):
        simulate_rig(files=1, rows=100, bearings=1, seed=2**70)


def test_predictions_whose_squares_overflow_are_refused():
    hoods = pl.nearest(X, k=3)
    with pytest.raises(InputError, match="`f` must hold numbers of at most 1e\\+150: squares would overflow. Got 1.1e"):
        pl.audit(X.double() * 1e200, X, hoods, pl.LinearFamily())
