"""Sums and means over the parts of a batch that several processes hold."""

import pytest
import torch
from torch import distributed

from pellucid import _processes
from pellucid.training.workers import run_together

WORLD = 3


def everywhere(check, folder):
    """Run a check in each of three processes that train together; what it asserts is raised here."""

    def work(rank):
        meeting = (folder / "meeting").as_uri()
        distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=WORLD)
        with _processes.together(rank, WORLD):
            check(rank)
        distributed.destroy_process_group()

    run_together(work, WORLD)


def test_one_process_has_everything():
    values = torch.arange(4.0)
    assert torch.equal(_processes.part(values), values)
    assert _processes.part_size(4) == 4
    assert _processes.mean(values) == 1.5
    assert _processes.mean(values[:0]) == 0
    assert _processes.means({"a": values}) == {"a": torch.tensor(1.5)}
    assert _processes.mean_of_sum(values.sum(), 4) == 1.5
    assert _processes.total(values[1]) == 1
    assert _processes.gathered(values) is values
    assert _processes.decision_of_first(True)
    with _processes.counting(0):
        assert not _processes.current().is_idle


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_means_and_their_gradients_are_those_of_the_whole_batch(tmp_path, count):
    batch = torch.randn(count, dtype=torch.float64, generator=torch.Generator().manual_seed(count))

    def loss(w, values):
        first = _processes.mean((w * values).square())
        second = _processes.means({"a": values * w, "b": values.exp() * w.sin()})
        return first.clamp(min=0.1) * second["b"] + second["a"].cos() + _processes.total((w * values).sum())

    whole = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    expected = loss(whole, batch)
    expected.backward()

    def check(rank):
        w, unused, partly = (torch.tensor(0.7, dtype=torch.float64, requires_grad=True) for _ in range(3))
        with _processes.counting(count):
            value = loss(w, _processes.part(batch))
        value.backward()
        if rank == 1:
            partly.grad = torch.tensor(6.0, dtype=torch.float64)
        _processes.average_gradients([w, unused, partly])
        assert abs(value - expected) < 1e-14
        assert abs(w.grad - whole.grad) < 1e-14
        assert unused.grad is None
        assert partly.grad == 2

    everywhere(check, tmp_path)


def test_rows_are_gathered_and_the_first_process_decides(tmp_path):
    rows = torch.arange(10).reshape(5, 2)

    def check(rank):
        for count in (5, 2):
            with _processes.counting(count):
                parts = _processes.gathered(_processes.part(rows[:count]))
            order = [i for r in range(WORLD) for i in range(r, count, WORLD)]
            assert torch.equal(parts, rows[order])
        assert _processes.part_size(1) == _processes.part_size(5) - (rank < 2) == 1
        assert _processes.decision_of_first(rank == 0)
        assert not _processes.decision_of_first(rank == 1)

    everywhere(check, tmp_path)


def test_the_first_share_of_a_batch_has_fewer_items(tmp_path):
    def check(rank):
        with _processes.counting(8), _processes.counting_share(0.2):  # 2 of 8
            assert _processes.current().is_idle == (rank == 2)
            assert _processes.mean(torch.tensor([float(rank)])) == 0.5
        with _processes.counting(8), _processes.counting_share(0.01):  # at least 1
            assert _processes.current().is_idle == (rank > 0)

    everywhere(check, tmp_path)
