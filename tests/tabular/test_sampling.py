import numpy as np
import pytest
import torch

from pellucid import InputError
from pellucid.tabular import Sampler

COLUMNS = np.array([0, 1, 2, 2, 2])
COPIED = np.array([False, True, True, True, True])


def rows(how, size=200):
    generator = torch.Generator().manual_seed(0)
    levels = torch.eye(3, dtype=torch.float64)
    center = torch.cat([torch.tensor([[0.0, 5.0]], dtype=torch.float64), levels[:1]], 1)
    near = torch.tensor([[1.0, 6.0], [2.0, 7.0], [-1.0, 5.0]], dtype=torch.float64)
    neighbors = torch.cat([near, levels[[1, 1, 2]]], 1)[None]
    sampler = Sampler(how=how, column_of=COLUMNS, copied=COPIED)
    return sampler(center, neighbors, size, generator)[0], neighbors[0]


@pytest.mark.parametrize("how", ["mixed", "between", "around"])
def test_sampled_rows_stay_in_the_neighborhood_and_copy_what_lies_apart(how):
    drawn, _ = rows(how)
    assert drawn[:, 0].min() >= -1
    assert drawn[:, 0].max() <= 2
    assert set(drawn[:, 1].tolist()) <= {5.0, 6.0, 7.0}
    assert set(map(tuple, drawn[:, 2:].tolist())) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_rows_between_lie_on_lines_to_the_neighbors_and_rows_around_do_not():
    generator = torch.Generator().manual_seed(1)
    neighbors = torch.tensor([[[1.0, 1.0], [2.0, -2.0]]])
    shared = {"column_of": np.array([0, 1]), "copied": np.array([False, False])}
    drawn = {
        how: Sampler(how=how, **shared)(torch.zeros(1, 2), neighbors, 100, generator)[0]
        for how in ("between", "around")
    }
    slopes = drawn["between"][:, 1] / drawn["between"][:, 0]
    assert torch.allclose(slopes.abs(), torch.ones(100), atol=1e-5)
    x = drawn["around"]
    assert np.linalg.matrix_rank(x.numpy()) == 2
    assert ((x[:, 1] / x[:, 0]).abs() - 1).abs().median() > 0.1


def test_a_row_gets_the_same_samples_in_any_company():
    sampler = Sampler(how="mixed", column_of=np.array([0, 1]), copied=np.array([False, False]))
    centers, neighbors = torch.randn(4, 2), torch.randn(4, 5, 2)
    together = sampler.alike(centers, neighbors, 7, seed=3)
    alone = sampler.alike(centers[2:3], neighbors[2:3], 7, seed=3)
    assert torch.equal(together[2:3], alone)


def test_a_function_samples_and_must_return_rows():
    shared = {"column_of": np.array([0]), "copied": np.array([False])}
    here = Sampler(how=lambda center, near, size, generator: center[:, None].expand(-1, size, -1), **shared)
    assert here.alike(torch.ones(2, 1), torch.zeros(2, 3, 1), 4, seed=0).tolist() == [[[1.0]] * 4] * 2
    with pytest.raises(
        InputError, match=r"`sampler` must return a tensor of rows, shape .* = \(2, 4, 1\). Got \(2, 1\)"
    ):
        Sampler(how=lambda center, *_: center, **shared)(torch.ones(2, 1), torch.zeros(2, 3, 1), 4, torch.Generator())
