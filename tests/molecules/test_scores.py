import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import pellucid as pl
from pellucid.molecules.scores import auc, score
from pellucid.molecules.tasks import Task


@pytest.mark.parametrize("decimals", [1, 8])
def test_auc_is_scikit_learns_ties_and_blanks_included(decimals):
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 60).astype(float)
    values = random.random(60).round(decimals)
    labels[::7] = np.nan
    known = ~np.isnan(labels)
    assert auc(labels, values) == pytest.approx(roc_auc_score(labels[known], values[known]), abs=1e-12)


def test_auc_needs_both_labels():
    assert np.isnan(auc(np.array([1.0, 1.0, np.nan]), np.array([0.1, 0.2, 0.3])))


@pytest.fixture
def witnesses(generator):
    x = torch.randint(0, 2, (60, 12), generator=generator, dtype=torch.uint8)
    f = torch.rand(60, 2, generator=generator)
    hoods = pl.from_lists([[i, *range(20 + i, 20 + i + (i % 6) * 3)] for i in range(20)], torch.arange(20), 60)
    return pl.TreeFamily(criterion="absolute").best_response(x, f, hoods)


def test_scores_are_their_definitions(witnesses, generator):
    y = torch.randint(0, 2, (20, 2), generator=generator).double().numpy()
    y[3, 0] = np.nan
    task = Task(kind="classification", shift=np.zeros(2), scale=np.ones(2))
    found = score(witnesses, y, task, ("one", "two"))
    f = witnesses.f[:20].numpy()
    g = np.stack([witnesses[i](witnesses.x[i][None])[0].numpy() for i in range(20)])
    known = ~np.isnan(y[:, 0])
    assert found.accuracy[0] == pytest.approx(roc_auc_score(y[known, 0], f[known, 0]))
    assert found.witness_accuracy[1] == pytest.approx(roc_auc_score(y[:, 1], g[:, 1]))
    assert found.global_auc[1] == pytest.approx(pairs(f[:, 1], g[:, 1]))
    local, variations, left, total = [], [], 0.0, 0.0
    for i in range(20):
        members = witnesses.hoods.members_of(i)
        answers = witnesses[i](witnesses.x[members]).numpy()
        variations.append(np.abs(witnesses.f[members].numpy() - answers).sum(1).mean())
        if len(members) > 2:
            local.append(pairs(witnesses.f[members, 0].numpy(), answers[:, 0]))
            inside = witnesses.f[members].numpy()
            left += np.square(inside - answers).sum()
            total += np.square(inside - inside.mean(0)).sum()
    assert found.local_auc[0] == pytest.approx(np.mean(local))
    np.testing.assert_allclose(found.variations, variations, rtol=1e-5, atol=1e-7)
    assert found.variation == pytest.approx(np.mean(variations))
    assert found.explained == pytest.approx(1 - left / total)


def pairs(reference, prediction):
    above = reference[:, None] > reference
    return (above & (prediction[:, None] > prediction)).sum() / above.sum()


def test_errors_of_a_regression_are_in_the_units_of_the_data(witnesses):
    task = Task(kind="regression", shift=np.array([5.0, -1.0]), scale=np.array([2.0, 10.0]))
    y = task.natural(witnesses.f[:20]) + np.array([0.3, -4.0])
    found = score(witnesses, y, task, ("one", "two"))
    np.testing.assert_allclose(found.accuracy, [0.3, 4.0], rtol=1e-5)
    assert found.measure == "RMSE"
    text = str(found)
    assert "RMSE(f, y)" in text
    assert "0.300" in text
    assert "mean" in text
    assert found.to_dict()["each"]["accuracy"] == pytest.approx([0.3, 4.0], rel=1e-5)
