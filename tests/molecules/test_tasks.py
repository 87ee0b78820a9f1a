import numpy as np
import pytest
import torch

from pellucid import InputError
from pellucid.molecules.tasks import Task

NAN = float("nan")


def test_cross_entropy_leaves_blanks_out():
    y = np.array([[0.0, 1.0], [1.0, NAN], [0.0, 0.0]])
    task = Task.of("classification", y, ("a", "b"))
    outputs = torch.tensor([[0.3, -1.0], [2.0, 50.0], [-0.5, 0.1]])
    p = 1 / (1 + np.exp(-outputs.numpy().astype(float)))
    terms = [-np.log(1 - p[0, 0]), -np.log(p[0, 1]), -np.log(p[1, 0]), -np.log(1 - p[2, 0]), -np.log(1 - p[2, 1])]
    assert float(task.loss(outputs, task.inner(y))) == pytest.approx(np.mean(terms), rel=1e-5)
    np.testing.assert_allclose(task.natural(task.values(outputs)), p, rtol=1e-5)


def test_squared_error_is_in_standard_deviations():
    y = np.array([[1.0, 100.0], [3.0, NAN], [5.0, 300.0]])
    task = Task.of("regression", y, ("a", "b"))
    np.testing.assert_allclose(task.scale, [np.std([1, 3, 5]), 100.0])
    outputs = torch.zeros(3, 2)
    spread = [(1 - 3) ** 2 / task.scale[0] ** 2, 0, (5 - 3) ** 2 / task.scale[0] ** 2, 1.0, 1.0]
    assert float(task.loss(outputs, task.inner(y))) == pytest.approx(np.mean(spread), rel=1e-5)
    np.testing.assert_allclose(task.natural(task.inner(y))[[0, 2]], y[[0, 2]], rtol=1e-6)


def test_a_batch_without_any_value_costs_nothing_and_can_still_be_differentiated():
    task = Task.of("classification", np.array([[0.0], [1.0]]), ("a",))
    outputs = torch.ones(2, 1, requires_grad=True)
    task.loss(outputs, torch.full((2, 1), NAN)).backward()
    assert outputs.grad.tolist() == [[0.0], [0.0]]


def test_labels_that_are_none_are_refused():
    with pytest.raises(InputError, match="must be 0, 1 or blank. Got 2 for 'b'"):
        Task.of("classification", np.array([[0.0, 1.0], [1.0, 2.0]]), ("a", "b"))
    with pytest.raises(InputError, match="at least two different values to learn from. Got 1 for 'b'"):
        Task.of("classification", np.array([[0.0, 1.0], [1.0, NAN]]), ("a", "b"))
    with pytest.raises(InputError, match="Got 0 for 'a'"):
        Task.of("regression", np.array([[NAN], [NAN]]), ("a",))


def test_targets_whose_spread_cannot_be_computed_are_refused():
    with pytest.raises(
        InputError, match="Got 0 for 'a', whose values are too close to each other; pass them in another"
    ):
        Task.of("regression", np.array([[0.0], [1e-200]]), ("a",))
    with pytest.raises(InputError, match="Got inf for 'a', whose values are too large; pass them in another unit"):
        Task.of("regression", np.array([[0.0], [1e308]]), ("a",))
    task = Task.of("regression", np.array([[-1e30], [1e30]]), ("a",))
    assert task.inner(np.array([[1e30]])).item() == 1.0
