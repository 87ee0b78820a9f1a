import numpy as np
import pytest
import torch

from pellucid import InputError
from pellucid.tabular import TableTask


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_values_of_classes_are_log_odds_of_the_mean_logits(classes):
    task = TableTask.of("classification", np.arange(classes), "y")
    outputs = 5 * torch.randn(20, 4, task.width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean = outputs.mean(1)
    p = torch.cat([1 - mean.sigmoid(), mean.sigmoid()], dim=1) if classes == 2 else mean.softmax(1)
    asked = p[:, 1:] if classes == 2 else p
    log_odds = task.natural(task.values(outputs))
    np.testing.assert_allclose(log_odds, (asked / (1 - asked)).log(), rtol=1e-6)
    np.testing.assert_allclose(task.probabilities(log_odds), p, atol=1e-12)
    np.testing.assert_allclose(task.log_odds(p.numpy()), np.clip(log_odds, -16.2, 16.2), rtol=1e-3)


def test_log_odds_do_not_level_off_where_the_network_is_certain():
    task = TableTask.of("classification", np.array(["no", "yes"]), "y")
    logits = torch.tensor([[[30.0]], [[31.0]]])
    assert np.diff(task.natural(task.values(logits)), axis=0).item() == pytest.approx(1)


def test_a_single_class_is_certain():
    task = TableTask.of("classification", np.array(["all"] * 3), "y")
    values = task.values(torch.zeros(3, 2, task.width))
    assert task.probabilities(task.natural(values)).tolist() == [[1.0]] * 3


def test_numbers_are_learned_in_standard_deviations():
    y = np.array([1.0, 2.0, 6.0])
    task = TableTask.of("regression", y, "y")
    np.testing.assert_allclose(task.inner(y), (y - 3) / y.std(), rtol=1e-6)
    np.testing.assert_allclose(task.natural(task.inner(y)[:, None].numpy())[:, 0], y, rtol=1e-6)
    with pytest.raises(
        InputError,
        match=r"The target must hold finite numbers up to 1e\+100. Got 1e\+300; correct it",
    ):
        TableTask.of("regression", np.array([1e300, -1e300]), "y")
