import math

import pytest
import torch
from helpers import random_hoods
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import pellucid as pl
from pellucid import metrics


def double_sum(y, g):
    """The definition, O(N^2)."""
    known = ~torch.isnan(y)
    y, g = y[known], g[known]
    above = y[:, None] > y[None]
    if not above.any():
        return math.nan
    return ((g[:, None] > g[None]) & above).sum().item() / above.sum().item()


values = st.lists(
    st.tuples(st.one_of(st.integers(-3, 3), st.just(math.nan), st.floats(-1, 1)), st.integers(-3, 3)), max_size=30
)


@pytest.mark.slow
@given(values)
def test_generalized_auc_equals_the_double_sum_with_ties_and_missing_references(pairs):
    y = torch.tensor([float(a) for a, _ in pairs], dtype=torch.float64)
    g = torch.tensor([float(b) for _, b in pairs], dtype=torch.float64)
    assert metrics.generalized_auc(y, g).item() == pytest.approx(double_sum(y, g), nan_ok=True)


@pytest.mark.parametrize("n", [500, 5000])
def test_for_binary_references_it_is_the_usual_auc(n, generator):
    y = (torch.rand(n, generator=generator) < 0.2).double()
    g = torch.randn(n, generator=generator, dtype=torch.float64) + y
    assert metrics.generalized_auc(y, g).item() == pytest.approx(roc_auc_score(y, g))


@pytest.fixture(params=["every pair", "sorted"])
def counting(request, monkeypatch):
    """Pairs of short segments are counted one by one, those of long ones by sorting."""
    monkeypatch.setattr(metrics, "_SHORT", 100 if request.param == "every pair" else 0)


@pytest.mark.usefixtures("counting")
def test_columns_and_neighborhoods_are_scored_each_by_itself(generator):
    y = torch.randint(0, 5, (30, 3), generator=generator).double()
    y[torch.rand(30, 3, generator=generator) < 0.2] = math.nan
    hoods = random_hoods(20, 30, generator)
    g = torch.randint(0, 5, (len(hoods.members), 3), generator=generator).double()
    local = metrics.local_generalized_auc(y, g, hoods)
    for i in range(20):
        own = slice(*hoods.offsets[i : i + 2].tolist())
        for k in range(3):
            expected = double_sum(y[hoods.members[own], k], g[own, k])
            assert local[i, k].item() == pytest.approx(expected, nan_ok=True)
    table = metrics.generalized_auc(y, torch.nan_to_num(y) ** 3)
    torch.testing.assert_close(table, torch.ones(3, dtype=torch.float64))


def test_deviation_rmse_and_parameter_variation_follow_their_definitions(generator):
    x = torch.randn(12, 2, generator=generator, dtype=torch.float64)
    f = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    hoods = pl.windows([5, 7], radius=2)
    witnesses = pl.LinearFamily(ridge=1.0).best_response(x, f, hoods)
    gaps = f - torch.stack([witnesses[i](x[i : i + 1])[0] for i in range(12)])
    assert metrics.deviation_rmse(f, witnesses) == pytest.approx(gaps.square().mean().sqrt().item())
    theta = witnesses.parameters
    steps = [(theta[i + 1] - theta[i]).abs().sum().item() for i in range(11)]
    assert metrics.parameter_variation(theta) == pytest.approx(sum(steps) / 11)
    del steps[4]  # from the last point of the first sequence to the first of the second
    assert metrics.parameter_variation(theta, [5, 7]) == pytest.approx(sum(steps) / 10)


def test_one_witness_for_all_does_not_vary():
    x = torch.randn(20, 2, dtype=torch.float64)
    witnesses = pl.LinearFamily().best_response(x, x.sum(1), pl.windows([20], radius=19))
    assert metrics.parameter_variation(witnesses.parameters) < 1e-12


def fitted():
    return pl.ConstantFamily().best_response(torch.zeros(3, 1), torch.zeros(3, 2), pl.windows([3], radius=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.generalized_auc(torch.zeros(3), torch.zeros(4)), r"one shape.*Got \(3,\) and \(4,\)"),
        (lambda: metrics.generalized_auc(torch.zeros(2), torch.tensor([0.0, math.nan])), "`prediction` must be finite"),
        (
            lambda: metrics.local_generalized_auc(torch.zeros(3), torch.zeros(3), pl.windows([3], radius=1)),
            "one for each of the 7 members",
        ),
        (lambda: metrics.parameter_variation(torch.zeros(3, 2), [2, 2]), "sum to the 3 witnesses. Got a sum of\\s+4"),
        (lambda: metrics.parameter_variation(torch.zeros(3, 2), [0, 3]), "a least length of 0"),
        (lambda: metrics.parameter_variation(torch.zeros(3)), "a row for each witness"),
        (lambda: metrics.parameter_variation(torch.zeros(1, 2)), "at least two consecutive points"),
        (lambda: metrics.generalized_auc(torch.zeros(3, 0), torch.zeros(3, 0)), "two vectors or two tables"),
        (lambda: metrics.deviation_rmse(torch.zeros(4, 1), fitted()), "one row for each of the 3 points"),
        (lambda: metrics.deviation_rmse(torch.zeros(3, 1), fitted()), "the 2 outputs of the witnesses. Got 1"),
    ],
)
def test_bad_arguments_say_what_must_hold(call, message):
    with pytest.raises(pl.PellucidError, match=message):
        call()


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("kind", ["different", "tied"])
def test_pairs_closer_than_the_gap_are_ignored(kind, generator):
    hoods = pl.from_lists([[0, 1, 2, 3, 4, 5], [2, 3], [6, 7, 8, 9, 10, 11, 1]], n_points=12, centers=[0, 2, 6])
    y, g = torch.randn(12, 2, generator=generator), torch.randn(15, 2, generator=generator)
    if kind == "tied":
        y, g = y.mul(2).round(), g.mul(2).round()
    y[4, 1] = torch.nan
    gap = torch.tensor([[0.0, 0.5], [1.0, 2.0], [1.5, torch.nan]])
    result = metrics.local_generalized_auc(y, g, hoods, gap=gap)
    for i in range(3):
        part = slice(int(hoods.offsets[i]), int(hoods.offsets[i + 1]))
        for k in range(2):
            a, b = y[hoods.members[part], k].double(), g[part, k].double()
            apart = a[:, None] - a[None] > gap[i, k].double()
            alike = apart & (b[:, None] > b[None])
            expected = alike.sum() / apart.sum() if apart.any() else torch.tensor(torch.nan)
            assert result[i, k].item() == pytest.approx(expected.item(), nan_ok=True)
    every = metrics.local_generalized_auc(y, g, hoods)
    assert torch.allclose(metrics.local_generalized_auc(y, g, hoods, gap=0.0), every, equal_nan=True)


def test_gaps_are_numbers_from_zero_on(generator):
    hoods = pl.from_lists([[0, 1], [1, 0]], n_points=2, centers=[0, 1])
    y, g = torch.randn(2, 1, generator=generator), torch.randn(4, 1, generator=generator)
    with pytest.raises(pl.InputError, match="`gap` must be a number from 0 on, or .2, 1. of them. Got -1"):
        metrics.local_generalized_auc(y, g, hoods, gap=-1.0)
