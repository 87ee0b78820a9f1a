import pytest
import torch

import pellucid as pl


def bilinear_problem():
    """min_w max_xi of w^2/2 + xi (w - 1), a saddle that plain descent-ascent circles around."""
    w = torch.nn.Parameter(torch.tensor([3.0], dtype=torch.float64))
    game = pl.UniformGame(pl.ConstantFamily(), margin=0.0, n_neighborhoods=1, initial=0.5)
    return w, game


@pytest.mark.parametrize("mirror_map", ["euclidean", "entropic"])
def test_one_step_is_the_extragradient_update_by_hand(mirror_map):
    w, game = bilinear_problem()
    prox = pl.MirrorProx(torch.optim.SGD([w], lr=0.1), game, multiplier_lr=0.2, mirror_map=mirror_map)

    def lagrangian():
        return (w.square() / 2 + game.multipliers * (w - 1)).sum()

    def mirror(multiplier, violation):
        if mirror_map == "euclidean":
            return max(multiplier + 0.2 * violation, 0.0)
        return multiplier * torch.exp(torch.tensor(0.2 * violation, dtype=torch.float64)).item()

    w0, m0 = 3.0, 0.5
    w1, m1 = w0 - 0.1 * (w0 + m0), mirror(m0, w0 - 1)
    w2, m2 = w0 - 0.1 * (w1 + m1), mirror(m0, w1 - 1)
    loss = prox.step(lagrangian)
    assert loss.item() == pytest.approx(w0**2 / 2 + m0 * (w0 - 1))
    assert w.item() == pytest.approx(w2, abs=1e-12)
    assert game.multipliers.item() == pytest.approx(m2, abs=1e-12)


def test_entropic_multipliers_neither_vanish_nor_overflow():
    w, game = bilinear_problem()
    prox = pl.MirrorProx(torch.optim.SGD([w], lr=1e-9), game, multiplier_lr=1e4, mirror_map="entropic")
    for target in (1e6, -1e6):
        for _ in range(50):
            prox.step(lambda target=target: (0 * w + game.multipliers * target).sum())
        assert game.multipliers.item() == (1e12 if target > 0 else 1e-12)


def network_problem(generator):
    x = torch.randn(40, 2, generator=generator)
    y = torch.sin(3 * x[:, :1])
    hoods = pl.nearest(x, k=8)
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    game = pl.UniformGame(pl.LinearFamily(), margin=0.01, n_neighborhoods=40)
    prox = pl.MirrorProx(torch.optim.Adam(network.parameters(), lr=0.01), game, multiplier_lr=10.0)
    return x, y, hoods, network, game, prox


def train(problem, batches):
    x, y, hoods, network, game, prox = problem
    for index in batches:
        part = hoods.select(index)

        def closure(index=index, part=part):
            f = network(x)
            return (f - y)[index].square().mean() + game(f, x, part).penalty

        prox.step(closure)


def test_minibatches_move_only_their_own_multipliers(generator):
    problem = network_problem(generator)
    multipliers = problem[4].multipliers
    with torch.no_grad():
        multipliers.fill_(1.0)
    index = torch.tensor([3, 30, 7])
    train(problem, [index] * 5)
    others = torch.ones(40, dtype=torch.bool)
    others[index] = False
    assert (multipliers[others] == 1).all()
    assert (multipliers[index] != 1).all()


@pytest.mark.slow
def test_training_with_minibatches_meets_the_margin_where_deep_does_not(generator):
    problem = network_problem(generator)
    x, y, hoods, network, game, _ = problem

    def worst():
        return game(network(x), x, hoods).deviations.max().item()

    deep = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(300):
        deep.zero_grad()
        (network(x) - y).square().mean().backward()
        deep.step()
    assert worst() > 0.05
    train(problem, [b for _ in range(150) for b in torch.randperm(40, generator=generator).split(10)])
    assert worst() < 0.02


def test_a_saved_state_goes_on_to_the_same_result(generator, tmp_path):
    batches = [torch.randperm(40, generator=generator)[:10] for _ in range(12)]
    whole = network_problem(torch.Generator().manual_seed(1))
    train(whole, batches)
    first = network_problem(torch.Generator().manual_seed(1))
    train(first, batches[:5])
    torch.save({"network": first[3].state_dict(), "prox": first[5].state_dict()}, tmp_path / "state.pt")
    second = network_problem(torch.Generator().manual_seed(1))
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    second[3].load_state_dict(state["network"])
    second[5].load_state_dict(state["prox"])
    train(second, batches[5:])
    for a, b in zip(whole[3].parameters(), second[3].parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(whole[4].multipliers, second[4].multipliers)


def test_mistakes_are_explained():
    w, game = bilinear_problem()
    sgd = torch.optim.SGD([w], lr=0.1)

    def backward_inside():
        loss = (w * game.multipliers).sum()
        loss.backward(retain_graph=True)
        return loss

    with pytest.raises(pl.PellucidError, match='must be "euclidean" or "entropic"'):
        pl.MirrorProx(sgd, game, mirror_map="other")
    with pytest.raises(pl.PellucidError, match="`multiplier_lr` of MirrorProx"):
        pl.MirrorProx(sgd, game, multiplier_lr=-1)
    with pytest.raises(pl.PellucidError, match="initial=1.0"):
        pl.MirrorProx(sgd, pl.UniformGame(pl.ConstantFamily(), margin=1, n_neighborhoods=2), mirror_map="entropic")
    with pytest.raises(pl.PellucidError, match="must not hold the multipliers"):
        pl.MirrorProx(torch.optim.SGD([w, game.multipliers], lr=0.1), game)
    with pytest.raises(pl.PellucidError, match="`multiplier_lr` of MirrorProx must be above 0"):
        pl.MirrorProx(sgd, game, multiplier_lr=0)
    with pytest.raises(pl.PellucidError, match="must be a UniformGame. Got SymmetricGame"):
        pl.MirrorProx(sgd, pl.SymmetricGame(pl.ConstantFamily()))
    with pytest.raises(pl.PellucidError, match="such as SGD or Adam. Got LBFGS"):
        pl.MirrorProx(torch.optim.LBFGS([w]), game)
    prox = pl.MirrorProx(sgd, game)
    before = w.item()
    with pytest.raises(pl.PellucidError, match="Got None; return"):
        prox.step(lambda: None)
    with pytest.raises(pl.PellucidError, match="must not call `backward`"):
        prox.step(backward_inside)
    with pytest.raises(pl.PellucidError, match="without .'mirror_map', 'multiplier_lr', 'multipliers', 'optimizer'."):
        prox.load_state_dict({})
    with pytest.raises(pl.PellucidError, match="lacks the game's penalty"):
        prox.step(lambda: w.square().sum())
    assert w.item() == before  # nothing moves before all is well
    other = pl.MirrorProx(sgd, pl.UniformGame(pl.ConstantFamily(), margin=1, n_neighborhoods=2))
    with pytest.raises(pl.PellucidError, match="saved state is of a game with 2 neighborhoods. This one has 1"):
        prox.load_state_dict(other.state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_rule_for_margin_and_step_reaches_the_margin_and_the_equilibrium(unit, share, generator):
    x = 6 * torch.rand(40, 1, generator=generator, dtype=torch.float64)
    y = unit * (torch.sin(2 * x) + 0.3 * torch.randn(40, 1, generator=generator, dtype=torch.float64))
    hoods, family = pl.nearest(x, k=7), pl.LinearFamily()
    deep = pl.audit(y, x, hoods, family).deviations  # free numbers learn the targets by heart
    margin = float(deep.quantile(share))
    assert deep.max() > 2 * margin
    f = y.clone().requires_grad_()
    game = pl.UniformGame(family, margin=margin, n_neighborhoods=40)
    prox = pl.MirrorProx(torch.optim.SGD([f], lr=4.0), game)
    assert prox.multiplier_lr == pytest.approx(0.1 / margin)
    for _ in range(600):
        prox.step(lambda: (f - y).square().mean() + game(f, x, hoods).penalty)
    assert game(f, x, hoods).deviations.max() <= 1.01 * margin
    exact = pl.equilibrium.uniform(y, x, hoods, family, margin=margin)
    torch.testing.assert_close(f.detach() / unit, exact / unit, rtol=0, atol=0.02)


def test_without_a_margin_the_step_is_one():
    game = pl.UniformGame(pl.ConstantFamily(), margin=0, n_neighborhoods=2)
    assert pl.MirrorProx(torch.optim.SGD([torch.zeros(1, requires_grad=True)]), game).multiplier_lr == 1.0
