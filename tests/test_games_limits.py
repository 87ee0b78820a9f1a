"""What the pages say does not work: how it says so."""

import subprocess
import sys

import pytest
import torch

import pellucid as pl

pytestmark = pytest.mark.slow

WORKER = """
import sys, torch, pellucid as pl
rank, where = int(sys.argv[1]), sys.argv[2]
x = torch.linspace(0, 1, 20)[:, None]
hoods = pl.nearest(x, k=5)
f = x.square().requires_grad_()
game = pl.UniformGame(pl.LinearFamily(), margin=0.1, n_neighborhoods=20)
bank = pl.Bank(pl.SymmetricGame(pl.LinearFamily()), x, hoods)
bank.update(f)
torch.distributed.init_process_group("gloo", init_method=f"file://{where}", rank=rank, world_size=2)
makes = (
    lambda: pl.UniformGame(pl.LinearFamily(), margin=0.1, n_neighborhoods=20),
    lambda: pl.Bank(pl.SymmetricGame(pl.LinearFamily()), x, hoods),
    lambda: game(f, x, hoods),
    lambda: bank.penalty(f[:4], [0, 1, 2, 3]),
    lambda: bank.refit(),
)
for make in makes:
    try:
        make()
        print("played")
    except pl.InputError as error:
        print(error)
penalty = pl.SymmetricGame(pl.LinearFamily())(f, x, hoods).penalty
penalty.backward()
torch.distributed.all_reduce(f.grad)
print("symmetric", bool(f.grad.abs().sum() > 0))
torch.distributed.destroy_process_group()
"""


def test_what_keeps_a_state_refuses_several_processes(tmp_path):
    command = [sys.executable, "-c", WORKER]
    workers = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meet")], stdout=subprocess.PIPE, text=True)  # noqa: S603
        for rank in range(2)
    ]
    for worker in workers:
        printed = worker.communicate(timeout=300)[0].splitlines()
        assert worker.returncode == 0
        uniform, bank, *later, symmetric = printed
        assert uniform == (
            "A UniformGame must be played in one process, since its multipliers would ascend by themselves in each. "
            "Got a process group of 2; play a SymmetricGame or an AsymmetricGame on the neighborhoods of each "
            "process's batch, or train in one process."
        )
        assert bank.startswith("A Bank must be played in one process, since predictions of the other processes")
        assert later == [uniform, bank, bank]
        assert symmetric == "symmetric True"


def test_a_group_of_one_process_is_no_matter(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meet'}", rank=0, world_size=1)
    try:
        pl.UniformGame(pl.LinearFamily(), margin=0.1, n_neighborhoods=20)
    finally:
        torch.distributed.destroy_process_group()


def problem():
    x = torch.linspace(0, 1, 30)[:, None]
    hoods, game = pl.nearest(x, k=6), pl.SymmetricGame(pl.LinearFamily())
    return x.square(), lambda f: game(f, x, hoods).penalty


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, torch.func.vmap])
def test_transformations_of_torch_func_are_refused(transform):
    f, play = problem()
    with pytest.raises(pl.InputError, match="`f` must be plain numbers.*torch.func.*use `backward`"):
        transform(play)(f[None] if transform is torch.func.vmap else f)


@pytest.mark.filterwarnings("ignore")  # torch's own, about itself
def test_compiled_loops_are_split_at_the_game_and_a_full_graph_is_refused():
    f, play = problem()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(play, backend="eager", fullgraph=True)(f)
    torch._dynamo.reset()
    f, play = problem()
    plain, compiled = (f.clone().requires_grad_() for _ in range(2))
    play(plain).backward()
    torch.compile(play, backend="eager")(compiled).backward()
    assert torch.equal(compiled.grad, plain.grad)
    assert plain.grad.abs().max() > 0
