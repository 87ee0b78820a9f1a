"""Batches: every item once an epoch."""

import torch

from pellucid.training import Batches


def test_batches_are_a_new_permutation_every_epoch():
    batches = Batches(lambda i, _: i, 10, size=4, seed=0)
    assert len(batches) == 3
    first, second = (list(batches) for _ in range(2))
    assert [count for _, count in first] == [4, 4, 2]
    assert sorted(items(first)) == list(range(10))
    assert items(first) != items(second)
    again = Batches(lambda i, _: i, 10, size=4, seed=0)
    again.load_state_dict({"epoch": 1, "position": 1})
    assert items(again) == items(second[1:])
    assert items(Batches(lambda i, _: i, 5, size=2, seed=None)) == list(range(5))


def items(batches):
    return torch.cat([batch for batch, _ in batches]).tolist()
