"""Members that are held out together with those beside them: exact, against fits without the block."""

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid.witnesses.fixed_map import consensus_map

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose


def without_blocks(x, f, hoods, ridge, buffer, *, intercept=True):
    """Fit again without each block: the shortest solution of the others, with a ridge as further rows."""
    x, f = x.numpy(), f.numpy()
    values = []
    for i in range(len(hoods)):
        members = hoods.members_of(i).numpy()
        for place, j in enumerate(members):
            rest = members[np.abs(np.arange(len(members)) - place) > buffer]
            if not len(rest):
                values.append(f[j])
                continue
            mean, level = (x[rest].mean(0), f[rest].mean(0)) if intercept else (0.0, 0.0)
            rows = np.vstack([x[rest] - mean, ridge**0.5 * np.eye(x.shape[1])])
            targets = np.vstack([f[rest] - level, np.zeros((x.shape[1], f.shape[1]))])
            slope = np.linalg.lstsq(rows, targets, rcond=1e-12)[0]
            values.append(level + (x[j] - mean) @ slope)
    return torch.from_numpy(np.array(values))


def autoregressive(order, channels, lengths, *, seed=0, radius):
    generator = torch.Generator().manual_seed(seed)
    series = [torch.randn(n + order - 1, channels, generator=generator, dtype=torch.float64).cumsum(0) for n in lengths]
    x = torch.cat([pl.lagged(part, order=order) for part in series])
    f = torch.sin(x[:, :channels]) + 0.3 * x[:, -channels:] + 0.1
    return x, f, pl.windows(lengths, radius=radius)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.03, 5.0])
@pytest.mark.parametrize(("order", "channels"), [(1, 1), (2, 1), (2, 3), (4, 2)])
def test_values_are_those_of_fits_without_the_block(order, channels, ridge, intercept):
    x, f, hoods = autoregressive(order, channels, [24, 17], radius=11)
    family = pl.LinearFamily(ridge=ridge, buffer=order, intercept=intercept)
    expected = without_blocks(x, f, hoods, ridge, order, intercept=intercept)
    torch.testing.assert_close(family.held_out_values(x, f, hoods), expected, rtol=1e-6, atol=1e-7)
    alone = pl.LinearFamily(ridge=ridge, intercept=intercept).held_out_values(x, f, hoods)
    assert not torch.allclose(alone, expected, rtol=1e-3)


def test_without_a_buffer_a_member_is_left_out_alone():
    x, f, hoods = autoregressive(2, 2, [30], radius=8)
    expected = without_blocks(x, f, hoods, 0.1, 0)
    torch.testing.assert_close(pl.LinearFamily(ridge=0.1).held_out_values(x, f, hoods), expected)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("radius", [1, 2, 3, 4])
def test_of_short_windows_the_few_others_are_fitted(radius, ridge):
    """Too few rows for the coefficients: the minimum-norm or ridge law of those; no rows: the prediction itself."""
    x, f, hoods = autoregressive(2, 2, [9, 1, 4], radius=radius)
    values = pl.LinearFamily(ridge=ridge, buffer=2).held_out_values(x, f, hoods)
    assert values.isfinite().all()
    torch.testing.assert_close(values, without_blocks(x, f, hoods, ridge, 2), rtol=1e-6, atol=1e-8)
    sole = hoods.rows == 9  # the series of one position
    torch.testing.assert_close(values[sole], f[hoods.members[sole]], rtol=0, atol=0)


def test_members_with_too_few_others_keep_their_prediction():
    x, f, hoods = autoregressive(2, 2, [14, 5], radius=5)
    values = pl.LinearFamily(ridge=0.1, buffer=2, least_others=6).held_out_values(x, f, hoods)
    place = torch.arange(len(hoods.members)) - hoods.offsets[hoods.rows]
    sizes = hoods.sizes[hoods.rows]
    others = (place - 2).clamp(min=0) + (sizes - place - 3).clamp(min=0)
    expected = torch.where((others >= 6)[:, None], without_blocks(x, f, hoods, 0.1, 2), f[hoods.members])
    assert 0 < (others >= 6).sum() < len(others)
    torch.testing.assert_close(values, expected, rtol=1e-6, atol=1e-8)


def test_columns_that_depend_on_each_other_or_do_not_vary():
    x, f, hoods = autoregressive(2, 2, [30], radius=9)
    x = torch.cat([x, x[:, :1] + x[:, 1:2], torch.full((30, 1), 7.0, dtype=torch.float64)], dim=1)
    values = pl.LinearFamily(buffer=2).held_out_values(x, f, hoods)
    torch.testing.assert_close(values, without_blocks(x, f, hoods, 0.0, 2), rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_many_features():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 90, generator=generator, dtype=torch.float64)
    f = x[:, :2] ** 2
    hoods = pl.windows([40], radius=12)
    values = pl.LinearFamily(ridge=2.0, buffer=3).held_out_values(x, f, hoods)
    torch.testing.assert_close(values, without_blocks(x, f, hoods, 2.0, 3))


def test_float32_and_threads():
    x, f, hoods = autoregressive(2, 3, [200] * 3, radius=10)
    family = pl.LinearFamily(ridge=0.1, buffer=2)
    exact = family.held_out_values(x.float().double(), f.float().double(), hoods)
    single = family.held_out_values(x.float(), f.float(), hoods)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-5, atol=1e-5)
    torch.set_num_threads(3)
    torch.testing.assert_close(family.held_out_values(x.float().double(), f.float().double(), hoods), exact,
                               rtol=0, atol=0)  # fmt: skip


def test_the_game_pays_at_members_that_the_block_left_out():
    """The gradient is that of the definition with the held-out values kept constant."""
    x, f, hoods = autoregressive(1, 2, [12, 7], radius=4)
    values = without_blocks(x, f, hoods, 0.05, 1)

    def penalty(predictions):
        gaps = (predictions[hoods.members] - values).square().sum(1)
        return 0.7 * (hoods.sum_members(gaps) / hoods.sizes).mean()

    played = f.clone().requires_grad_()
    game = pl.SymmetricGame(pl.LinearFamily(ridge=0.05, buffer=1), weight=0.7, held_out=True)
    outcome = game(played, x, hoods)
    outcome.penalty.backward()
    torch.testing.assert_close(outcome.penalty.detach(), penalty(f))
    step = 1e-5
    for j, k in [(0, 0), (5, 1), (11, 0), (12, 1), (18, 0)]:
        shift = torch.zeros_like(f)
        shift[j, k] = step
        slope = (penalty(f + shift) - penalty(f - shift)) / (2 * step)
        torch.testing.assert_close(played.grad[j, k], slope, rtol=1e-6, atol=1e-9)


def test_the_consensus_is_a_fixed_map():
    x, f, hoods = autoregressive(2, 1, [15, 9], radius=5)
    family = pl.LinearFamily(ridge=0.2, buffer=2)
    matrix = consensus_map(family, x, hoods, held_out=True)
    consensus = family.best_response(x, f, hoods).held_out().consensus()
    np.testing.assert_allclose(matrix @ f.numpy(), consensus.numpy(), rtol=1e-8)


def test_the_setting_is_shown_and_checked():
    assert (
        repr(pl.LinearFamily(ridge=1.0, buffer=2))
        == "LinearFamily(ridge=1.0, intercept=True, buffer=2, least_others=1)"
    )
    assert repr(pl.LinearFamily()) == "LinearFamily(ridge=0.0, intercept=True)"
    with pytest.raises(pl.InputError, match="`buffer` must be a whole number >= 0. Got -1"):
        pl.LinearFamily(buffer=-1)
    with pytest.raises(pl.InputError, match="`ridge` of a LinearFamily with a `buffer` must be a number. Got 'auto'"):
        pl.LinearFamily(ridge="auto", buffer=1)
