"""The consensus of linear witnesses as a fixed sparse matrix, against witnesses that are fitted."""

import numpy as np
import pytest
import torch
from helpers import random_hoods

import pellucid as pl
from pellucid.witnesses import fixed_map
from pellucid.witnesses.fixed_map import consensus_map, unit_responses
from pellucid.witnesses.scaled import ScaledLinearFamily

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose

STEP = np.array([0.5, 2.0, 30.0])
FAMILIES = [
    pl.ConstantFamily(),
    pl.LinearFamily(),
    pl.LinearFamily(intercept=False),
    pl.LinearFamily(ridge=0.3),
    pl.LinearFamily(ridge=0.3, intercept=False),
    ScaledLinearFamily(step=STEP),
    ScaledLinearFamily(step=STEP, ridge=0.2),
]


def problem(kind):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64) * torch.from_numpy(STEP)
    f = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    if kind == "windows":
        return x, f, pl.windows([17, 20, 3], radius=4)
    if kind == "nearest":
        return x, f, pl.nearest(x, k=9)
    if kind == "dependent":  # a column that says nothing, and one that says what another does
        x[:, 1], x[:, 2] = 7.0, 2 * x[:, 0]
    # Ragged, of 1 to 12 members, centers that need not be among them, and points that nobody covers.
    lists = [random_hoods(1, 35, generator, 12).members.tolist() for _ in range(25)]
    return x, f, pl.from_lists([*lists, [4], [1, 2]], torch.arange(27).tolist(), 40)


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("kind", ["windows", "nearest", "ragged", "dependent"])
def test_the_map_gives_the_consensus_of_fitted_witnesses(kind, family, held_out):
    x, f, hoods = problem(kind)
    matrix = consensus_map(family, x, hoods, held_out=held_out)
    witnesses = family.best_response(x, f, hoods)
    expected = (witnesses.held_out() if held_out else witnesses).consensus()
    torch.testing.assert_close(torch.from_numpy(matrix @ f.numpy()), expected, rtol=1e-10, atol=1e-10)
    together = hoods.n_points - int((hoods.coverage > 0).sum())  # one entry for a point that nobody covers
    pairs = {
        (j, k) for i in range(len(hoods)) for j in hoods.members_of(i).tolist() for k in hoods.members_of(i).tolist()
    }
    assert matrix.nnz == len(pairs) + together


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_many_features(dtype, held_out):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(60, 300, generator=generator) < 0.2).to(dtype)
    f = torch.randn(60, 3, generator=generator, dtype=torch.float64)
    hoods, family = pl.nearest(x.float(), k=11), pl.LinearFamily(ridge=3.0)
    witnesses = family.best_response(x, f, hoods)
    expected = (witnesses.held_out() if held_out else witnesses).consensus()
    matrix = consensus_map(family, x, hoods, held_out=held_out)
    torch.testing.assert_close(torch.from_numpy(matrix @ f.numpy()), expected, rtol=1e-10, atol=1e-10)


def test_values_of_units_are_hat_matrices_by_numpy():
    x, _, hoods = problem("ragged")
    seen = []
    for which, witnesses in unit_responses(pl.LinearFamily(ridge=0.3), x, hoods):
        m = witnesses.f.shape[1]
        maps, at_centers = witnesses.at_members().view(-1, m, m), witnesses.at_centers()
        for i, matrix, row in zip(which.tolist(), maps, at_centers, strict=True):
            own = x[hoods.members_of(i)].numpy()
            centered = own - own.mean(0)
            solver = np.linalg.solve(centered.T @ centered + 0.3 * np.eye(3), centered.T)
            np.testing.assert_allclose(matrix, centered @ solver + 1 / m, atol=1e-9)
            center = x[hoods.centers[i]].numpy() - own.mean(0)
            np.testing.assert_allclose(row, center @ solver + 1 / m, atol=1e-9)
            seen.append(i)
    assert sorted(seen) == list(range(len(hoods)))


def test_families_that_are_not_linear_and_matrices_that_are_too_large_have_none(monkeypatch):
    x, _, hoods = problem("nearest")
    for family in (pl.LinearFamily(ridge="auto"), pl.TreeFamily(), pl.BestOf(pl.ConstantFamily(), pl.LinearFamily())):
        assert consensus_map(family, x, hoods) is None
    monkeypatch.setattr(fixed_map, "MOST_ENTRIES", 40 * 81)
    assert consensus_map(pl.LinearFamily(), x, hoods) is not None
    monkeypatch.setattr(fixed_map, "MOST_ENTRIES", 40 * 81 - 1)
    assert consensus_map(pl.LinearFamily(), x, hoods) is None
