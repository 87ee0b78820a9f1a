"""Ridges chosen by leave-one-out, and fits with many features, against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge, RidgeCV

import pellucid as pl
from pellucid.witnesses._ridge import RIDGES
from pellucid.witnesses.scaled import ScaledLinearFamily


def points(p, *, bits=False, n=60, k=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, p, generator=generator, dtype=torch.float64)
    f = x[:, :1] + 0.5 * torch.randn(n, k, generator=generator, dtype=torch.float64)
    return ((x > 0.8).to(torch.uint8) if bits else x), f


HOODS = pl.from_lists([list(range(25)), list(range(10, 60)), list(range(3))], [0, 30, 1], 60)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("bits", [True, False])
@pytest.mark.parametrize("p", [3, 40, 200])
def test_the_ridge_is_that_of_ridge_cv(p, bits, intercept):
    x, f = points(p, bits=bits)
    witnesses = pl.LinearFamily(ridge="auto", intercept=intercept).best_response(x, f, HOODS)
    for i in range(2):  # in the third all ridges may be equally good
        own = HOODS.members_of(i)
        features, values = x[own].double().numpy(), f[own].numpy()
        centered = features - features.mean(0) if intercept else features
        unit = np.square(centered).sum() / len(own)
        model = RidgeCV(alphas=[c * unit for c in RIDGES], fit_intercept=intercept, scoring=None).fit(features, values)
        assert float(witnesses.ridges[i]) == pytest.approx(model.alpha_, rel=1e-9)
        np.testing.assert_allclose(witnesses.coefficients[i, :, 0], model.coef_.ravel(), atol=1e-9)
        np.testing.assert_allclose(witnesses.at_members()[HOODS.rows == i], model.predict(features).reshape(-1, 1))


@pytest.mark.parametrize("outputs", [1, 2])
def test_many_members_are_fitted_and_left_out_as_few_are(outputs):
    """More members than are solved for side by side."""
    x, f = points(7, n=300, k=outputs)
    hoods = pl.from_lists([list(range(300)), list(range(5, 134))], [0, 5], 300)
    family = pl.LinearFamily(ridge="auto")
    witnesses, values = family.best_response(x, f, hoods), family.held_out_values(x, f, hoods)
    for i in range(2):
        own, ridge = hoods.members_of(i).numpy(), float(witnesses.ridges[i])
        model = Ridge(alpha=ridge, solver="svd").fit(x[own].numpy(), f[own].numpy())
        np.testing.assert_allclose(witnesses.coefficients[i].T, np.atleast_2d(model.coef_), atol=1e-10)
        mine = values[hoods.rows == i]
        for j in (0, 100, 127, 128, len(own) - 1):  # without one of so many members the choice is the same
            others = np.delete(own, j)
            model = Ridge(alpha=ridge, solver="svd").fit(x[others].numpy(), f[others].numpy())
            np.testing.assert_allclose(mine[j], model.predict(x[own[j]][None].numpy()).ravel(), atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int64, torch.float32, torch.float64])
@pytest.mark.parametrize("outputs", [1, 3])
def test_many_features_are_fitted_as_ridge_fits_them(dtype, outputs):
    x, f = points(300, bits=True, k=outputs)
    x = x.to(dtype)
    witnesses = pl.LinearFamily(ridge=2.5).best_response(x, f, HOODS)
    for i in range(3):
        own = HOODS.members_of(i)
        model = Ridge(alpha=2.5, solver="svd").fit(x[own].double().numpy(), f[own].numpy())
        np.testing.assert_allclose(witnesses.coefficients[i].T, np.atleast_2d(model.coef_), atol=1e-10)
        np.testing.assert_allclose(witnesses.intercepts[i], np.atleast_1d(model.intercept_), atol=1e-10)
        expected = model.predict(x[own].double().numpy()).reshape(len(own), -1)
        np.testing.assert_allclose(witnesses.at_members()[HOODS.rows == i], expected, atol=1e-10)


def test_numbers_beyond_one_in_bytes_are_no_bits():
    x, f = points(100)
    x = (x.abs() * 40).to(torch.uint8)
    theta = pl.LinearFamily(ridge=2.5).best_response(x, f, HOODS).theta
    torch.testing.assert_close(theta, pl.LinearFamily(ridge=2.5).best_response(x.double(), f, HOODS).theta)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [4, 80])
@pytest.mark.parametrize("k", [1, 2])
def test_held_out_values_include_the_choice_without_the_member(p, k, intercept):
    x, f = points(p, bits=p > 4, k=k)
    hoods = pl.from_lists([list(range(12)), list(range(30, 36)), [0, 1, 2], [3, 4], [5]], [0, 30, 1, 3, 5], 60)
    values = pl.LinearFamily(ridge="auto", intercept=intercept).held_out_values(x, f, hoods)
    features = x.double().numpy()
    for e, (i, j) in enumerate(zip(hoods.rows.tolist(), hoods.members.tolist(), strict=True)):
        members = hoods.members_of(i).tolist()
        others = [member for member in members if member != j]
        if not others:
            assert torch.equal(values[e], f[j])
            continue
        centered = features[members] - features[members].mean(0) if intercept else features[members]
        unit = np.square(centered).sum() / len(members) or 1.0
        errors = [one_left_out(features[others], f[others].numpy(), c * unit, intercept) for c in RIDGES]
        if len(others) == 1:
            errors = [0.0]  # nothing to choose by: whatever the ridge, and without an intercept the one of all members
            if not intercept:
                continue
        best = max(r for r, error in enumerate(errors) if error <= min(errors) * (1 + 1e-8))
        model = Ridge(alpha=RIDGES[best] * unit, solver="svd", fit_intercept=intercept).fit(features[others], f[others])
        np.testing.assert_allclose(values[e], model.predict(features[j][None])[0], atol=1e-8)


def one_left_out(features, values, ridge, intercept):
    """Sum of squares of the errors at members that are left out, by a fit for each."""
    total = 0.0
    for j in range(len(features)):
        others = np.arange(len(features)) != j
        if others.any():
            model = Ridge(alpha=ridge, solver="svd", fit_intercept=intercept).fit(features[others], values[others])
            total += np.square(model.predict(features[~others]) - values[~others]).sum()
    return total


def test_the_choice_does_not_depend_on_the_unit_of_the_features():
    x, f = points(5)
    theta, scaled = (pl.LinearFamily(ridge="auto").best_response(unit * x, f, HOODS) for unit in (1.0, 1e5))
    torch.testing.assert_close(scaled.coefficients * 1e5, theta.coefficients)
    torch.testing.assert_close(scaled.ridges / 1e10, theta.ridges)


def test_noise_gets_a_large_ridge_and_a_law_a_small_one():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(60, 10, generator=generator, dtype=torch.float64)
    noise, law = torch.randn(60, 1, generator=generator, dtype=torch.float64), x[:, :1] - x[:, 1:2]
    hoods = pl.from_lists([list(range(60))], [0], 60)
    ridges = [float(pl.LinearFamily(ridge="auto").best_response(x, f, hoods).ridges) for f in (noise, law)]
    unit = float((x - x.mean(0)).square().sum() / 60)
    assert ridges[0] == pytest.approx(100 * unit)
    assert ridges[1] == pytest.approx(0.001 * unit)


def test_a_ridge_too_small_for_the_dual_is_solved_elsewhere():
    x, f = points(100)
    x = 1e6 * x
    family = pl.LinearFamily(ridge=1e-6)
    hoods = pl.from_lists([list(range(25))], [0], 60)
    witnesses = family.best_response(x, f, hoods)
    assert bool(witnesses.free.isnan().all())
    model = Ridge(alpha=1e-6, solver="svd").fit(x[:25].numpy(), f[:25, 0].numpy())
    np.testing.assert_allclose(witnesses.coefficients[0, :, 0], model.coef_, rtol=1e-5, atol=1e-15)
    torch.testing.assert_close(witnesses.at_members(), f[:25], atol=1e-6, rtol=0)


def test_large_offsets_cost_no_digits():
    x, f = points(100)
    near, far = (pl.LinearFamily(ridge=1.0).best_response(x + offset, f, HOODS) for offset in (0.0, 1e7))
    torch.testing.assert_close(near.coefficients, far.coefficients, atol=1e-6, rtol=0)
    torch.testing.assert_close(near.at_members(), far.at_members(), atol=1e-6, rtol=0)


def test_features_in_units_of_their_own_share_the_choice():
    x, f = points(3)
    step = np.array([1.0, 100.0, 0.01])
    scaled = ScaledLinearFamily(step=step, ridge="auto").best_response(x * torch.from_numpy(step), f, HOODS)
    plain = pl.LinearFamily(ridge="auto").best_response(x, f, HOODS)
    torch.testing.assert_close(scaled.coefficients * torch.from_numpy(step)[:, None], plain.coefficients)
    torch.testing.assert_close(scaled.held_out_values(), plain.held_out_values())


def test_saturation_is_told_from_the_degrees_of_freedom():
    x, f = points(200)
    tight, loose = (pl.LinearFamily(ridge=ridge).best_response(x, f, HOODS) for ridge in (1e-3, 300.0))
    assert tight.saturated().all()
    assert not loose.saturated()[:2].any()
    assert torch.equal(loose.saturated(torch.tensor([1])), loose.saturated()[1:2])


@pytest.mark.parametrize("ridge", ["best", -1.0, None])
def test_other_ridges_are_refused(ridge):
    with pytest.raises(pl.InputError, match='`ridge` of LinearFamily must be a finite number >= 0.*"auto" chooses it'):
        pl.LinearFamily(ridge=ridge)
