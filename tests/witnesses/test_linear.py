import json
import warnings

import numpy as np
import pytest
import torch
from helpers import best_linear, random_hoods
from sklearn.linear_model import LinearRegression, Ridge

import pellucid as pl
from pellucid.trust import held_out


def random_problem(generator, n_points=60, p=4, k=3, n=40, largest=20):
    x = torch.randn(n_points, p, generator=generator, dtype=torch.float64)
    f = torch.randn(n_points, k, generator=generator, dtype=torch.float64)
    return x, f, random_hoods(n, n_points, generator, largest)


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0, 100.0])
@pytest.mark.parametrize("windows", [True, False])
def test_every_witness_equals_its_own_least_squares_fit(ridge, intercept, windows, generator):
    x, f, hoods = random_problem(generator)
    if windows:
        hoods = pl.windows([25, 1, 2, 32], radius=7)
    fitted = pl.LinearFamily(ridge=ridge, intercept=intercept).best_response(x, f, hoods)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        theta, offset = best_linear(x[own], f[own], ridge, intercept)
        np.testing.assert_allclose(fitted.coefficients[i], theta, atol=1e-9)
        np.testing.assert_allclose(fitted.intercepts[i], offset, atol=1e-9)
        residual = f[own].numpy() - x[own].numpy() @ theta - offset
        np.testing.assert_allclose(fitted.deviations()[i], np.square(residual).sum(1).mean(), atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_ridge_agrees_with_scikit_learn(offset, generator):
    x, f, hoods = random_problem(generator)
    x = x + offset
    fitted = pl.LinearFamily(ridge=1.0).best_response(x, f, hoods)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        model = Ridge(alpha=1.0).fit(x[own], f[own])
        np.testing.assert_allclose(fitted.coefficients[i].T, model.coef_, atol=1e-6)
        np.testing.assert_allclose(fitted[i](x[own]), model.predict(x[own]), atol=1e-6)


def test_windows_that_slide_over_a_long_trend_stay_exact():
    t = torch.arange(3000, dtype=torch.float64)
    x = torch.stack([t, torch.sin(t)], dim=1)
    f = (1e6 + 3 * t + torch.cos(t / 7))[:, None]
    hoods = pl.windows([3000], radius=9)
    fitted = pl.LinearFamily().best_response(x, f, hoods)
    for i in range(0, 3000, 97):
        own = hoods.members_of(i)
        theta, _ = best_linear(x[own], f[own])
        np.testing.assert_allclose(fitted.coefficients[i], theta, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("spoil", ["outlier in x", "outlier in f", "step", "ramp"])
def test_windows_forget_what_has_left_them(spoil, ridge, generator):
    """The moments of sliding windows are updated; nothing must remain of a huge value that is gone."""
    x = torch.randn(300, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(300, 2, generator=generator, dtype=torch.float64)
    if spoil == "outlier in x":
        x[150, 1] = 1e8
    elif spoil == "outlier in f":
        f[150, 1] = 1e8
    elif spoil == "step":
        x[:, 2] = 1e-6 * x[:, 2] + (torch.arange(300) > 150)
    else:
        x[:, 2] = 1e3 * torch.arange(300) + x[:, 2]
    sliding = pl.windows([300], radius=9)
    ragged = pl.Neighborhoods(sliding.members, sliding.offsets, sliding.centers, 300)
    family = pl.LinearFamily(ridge=ridge)
    ours, exact = (family.best_response(x, f, hoods) for hoods in (sliding, ragged))
    np.testing.assert_allclose(ours.coefficients, exact.coefficients, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.deviations(), exact.deviations(), rtol=1e-7, atol=1e-12)
    for i in range(0, 300, 13):
        own = sliding.members_of(i)
        theta, _ = best_linear(x[own], f[own], ridge)
        np.testing.assert_allclose(exact.coefficients[i], theta, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("p", [3, 100])
@pytest.mark.parametrize("windows", [True, False])
def test_degenerate_neighborhoods_get_the_minimum_norm_solution(p, windows, generator):
    x = torch.randn(30, p, generator=generator, dtype=torch.float64)
    x[:, 1] = 2 * x[:, 0]  # dependent columns
    x[:15, 2] = 0.1  # constant in some neighborhoods, and 0.1 has no exact mean in floating point
    f = torch.randn(30, 2, generator=generator, dtype=torch.float64)
    hoods = pl.windows([30], radius=3) if windows else random_hoods(20, 30, generator, 12)
    fitted = pl.LinearFamily().best_response(x, f, hoods)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        model = LinearRegression().fit(x[own], f[own])
        np.testing.assert_allclose(fitted.coefficients[i].T, model.coef_, atol=1e-8)
        np.testing.assert_allclose(fitted.intercepts[i], model.intercept_, atol=1e-8)


def test_a_ridge_with_more_features_than_members_equals_scikit_learn(generator):
    x = torch.randn(40, 200, generator=generator, dtype=torch.float64)
    f = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    hoods = random_hoods(10, 40, generator, 12)
    fitted = pl.LinearFamily(ridge=0.5).best_response(x, f, hoods)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        model = Ridge(alpha=0.5).fit(x[own], f[own])
        np.testing.assert_allclose(fitted.coefficients[i].T, model.coef_, atol=1e-9)


def test_constant_witnesses_are_means(generator):
    x, f, hoods = random_problem(generator)
    fitted = pl.ConstantFamily().best_response(x, f, hoods)
    for i in range(len(hoods)):
        torch.testing.assert_close(fitted.intercepts[i], f[hoods.members_of(i)].mean(0))
    assert fitted.parameters.shape == (40, 1, 3)  # features are not read, however many there are
    assert fitted[0].text().splitlines()[0] == f"f0 = {fitted.intercepts[0, 0]:.4g}"


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
def test_values_at_centers_members_and_in_consensus_follow_their_definitions(generator):
    x, f, hoods = random_problem(generator)
    for family in (pl.LinearFamily(ridge=0.1), pl.ConstantFamily(), pl.LinearFamily(intercept=False)):
        fitted = family.best_response(x, f, hoods)

        def g(i, j, fitted=fitted):
            return x[j, : fitted.coefficients.shape[1]] @ fitted.coefficients[i] + fitted.intercepts[i]

        consensus, share = torch.zeros_like(f), torch.zeros(len(f), 1, dtype=torch.float64)
        for i in range(len(hoods)):
            for j in hoods.members_of(i).tolist():
                consensus[j] += g(i, j) / hoods.sizes[i]
                share[j] += 1 / hoods.sizes[i]
        consensus = torch.where(share > 0, consensus / share, f)
        torch.testing.assert_close(fitted.consensus(), consensus)
        centers = torch.stack([g(i, j) for i, j in enumerate(hoods.centers.tolist())])
        torch.testing.assert_close(fitted.at_centers(), centers)
        pairs = zip(hoods.rows.tolist(), hoods.members.tolist(), strict=True)
        torch.testing.assert_close(fitted.at_members(), torch.stack([g(i, j) for i, j in pairs]))


def test_a_planted_law_is_recovered_exactly(generator):
    x = torch.randn(100, 3, generator=generator, dtype=torch.float64)
    theta = torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)
    fitted = pl.LinearFamily().best_response(x, x @ theta + 4, pl.nearest(x, k=12))
    torch.testing.assert_close(fitted.coefficients, theta.expand(100, 3, 1))
    assert fitted.deviations().max() < 1e-25


def test_a_planted_autoregression_is_recovered_from_lags(generator):
    c, order, length = 2, 2, 60
    first, second = 0.9 * torch.eye(c).double(), torch.tensor([[-0.2, 0.3], [0.1, -0.4]]).double()
    series = [torch.randn(c, generator=generator, dtype=torch.float64) for _ in range(order)]
    for _ in range(length - order):
        series.append(first @ series[-1] + second @ series[-2] + 0.5 + 0.1 * torch.randn(c, generator=generator))
    series = torch.stack(series)
    x = pl.lagged(series, order=order)
    mean = series[1:] @ first.T + series[:-1] @ second.T + 0.5  # what a perfect predictor says of the next step
    fitted = pl.LinearFamily().best_response(x, mean, pl.windows([len(x)], radius=9))
    expected = torch.cat([first.T, second.T])
    torch.testing.assert_close(fitted.coefficients, expected.expand(len(x), -1, -1))


def test_lagged_puts_the_latest_value_first():
    series = torch.arange(8).reshape(4, 2)
    assert pl.lagged(series, order=2).tolist() == [[2, 3, 0, 1], [4, 5, 2, 3], [6, 7, 4, 5]]
    assert pl.lagged(series[None].expand(3, 4, 2), order=3).shape == (3, 2, 6)
    assert pl.lag_names(["a", "b"], order=2) == ["a[t]", "b[t]", "a[t-1]", "b[t-1]"]
    with pytest.raises(pl.PellucidError, match="`order` must be a whole number between 1 and 4. Got 5"):
        pl.lagged(series, order=5)
    with pytest.raises(pl.PellucidError, match="must have shape"):
        pl.lagged(torch.zeros(4), order=1)


def test_a_witness_reads_as_an_equation_and_converts_to_plain_values():
    x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]], dtype=torch.float64)
    f = 1.5 + x @ torch.tensor([[2.0], [-0.25]], dtype=torch.float64)
    hoods = pl.from_lists([[0, 1, 2, 3]], centers=[2])
    witness = pl.LinearFamily().best_response(x, f, hoods).named(["speed", "load"], ["wear"])[0]
    assert witness.text() == "wear = 1.5 + 2 speed - 0.25 load"
    assert str(witness).splitlines()[1].startswith("  around point 2: 4 members, rmse ")
    torch.testing.assert_close(witness([[10.0, 4.0]]), torch.tensor([[20.5]], dtype=torch.float64))
    plain = json.loads(json.dumps(witness.to_dict()))
    assert plain["features"] == ["speed", "load"]
    assert plain["outputs"] == ["wear"]
    np.testing.assert_allclose(plain["coefficients"], [[2.0], [-0.25]], atol=1e-12)
    assert (plain["kind"], plain["center"], plain["size"]) == ("linear", 2, 4)


def test_equations_show_small_and_large_numbers_and_no_empty_terms():
    def text(intercept, *weights):
        x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
        f = intercept + x @ torch.tensor([weights], dtype=torch.float64).T
        return pl.LinearFamily(intercept=bool(intercept)).best_response(x, f, pl.from_lists([range(4)]))[0].text()

    assert text(-2.5, 1e-7, -3e9).startswith("f = -2.5")
    assert text(0.0, -1.25, 0.5) == "f = -1.25 x0 + 0.5 x1"
    assert text(0.0, 0.0, 0.0) == "f = 0"


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
def test_results_come_in_the_dtype_of_the_predictions(generator):
    x, f, hoods = random_problem(generator)
    fitted = pl.LinearFamily().best_response(x.float(), f.float(), hoods)
    assert fitted.at_members().dtype == fitted.at_centers().dtype == fitted.consensus().dtype == torch.float32


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("windows", [True, False])
def test_the_number_of_threads_does_not_matter(windows, ridge, generator):
    x, f, hoods = random_problem(generator, n_points=500, n=500)
    if windows:
        hoods = pl.windows([70] * 6 + [80], radius=9)
    x[:, 3] = x[:, 1] + (torch.arange(500) > 200) * x[:, 3]  # dependent in some neighborhoods
    family = pl.LinearFamily(ridge=ridge)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(family.best_response(x, f, hoods).parameters)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_a_negative_ridge_is_refused():
    with pytest.raises(pl.PellucidError, match="`ridge` of LinearFamily must be a finite number >= 0. Got -1"):
        pl.LinearFamily(ridge=-1)


def sizes_of(*sizes):
    return pl.from_lists([range(m) for m in sizes], n_points=20)


def test_fewer_members_than_twice_the_columns_are_warned_of(generator):
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(20, 1, generator=generator, dtype=torch.float64)
    message = (
        "^2 of 4 neighborhoods have fewer members than twice the 3 columns that their linear witnesses read: laws "
        "fitted without a ridge follow noise there. Take more members, fewer columns, or LinearFamily\\(ridge=...\\).$"
    )
    with pytest.warns(pl.PellucidWarning, match=message) as caught:
        pl.LinearFamily().best_response(x, f, sizes_of(6, 5, 20, 1))
    assert caught[0].filename == __file__  # not a line of the library
    with pytest.warns(pl.PellucidWarning, match="3 of 3 neighborhoods"):
        pl.audit(f, x, sizes_of(3, 4, 5), pl.LinearFamily())
    with pytest.warns(pl.PellucidWarning, match="1 of 1 neighborhoods") as caught:
        pl.UniformGame(pl.LinearFamily(), margin=0.1, n_neighborhoods=1)(f.requires_grad_(), x, sizes_of(5))
    assert caught[0].filename == __file__  # nor of torch


def test_nothing_is_warned_of_where_members_suffice_or_witnesses_are_held_back(generator):
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(20, 1, generator=generator, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pl.LinearFamily().best_response(x, f, sizes_of(6, 20))
        pl.LinearFamily().best_response(x[:, :0], f, sizes_of(1, 20))
        pl.LinearFamily(ridge=1e-3).best_response(x, f, sizes_of(1, 20))
        pl.ConstantFamily().best_response(x, f, sizes_of(1, 20))
        held_out(f, x, sizes_of(6, 6, 6), pl.LinearFamily())  # refits with 5 members are no choice of the user's


def test_a_loop_is_warned_once_whatever_its_batches(generator):
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(20, 1, generator=generator, dtype=torch.float64, requires_grad=True)
    game = pl.SymmetricGame(pl.LinearFamily())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for count in range(1, 5):
            game(f, x, sizes_of(*[4] * count, 20))
    assert len(caught) == 1
    for _ in range(2):  # who wants an error gets it every time
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(pl.PellucidWarning):
                game(f, x, sizes_of(4, 20))


def test_a_law_of_no_columns_is_a_mean(generator):
    f = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    fitted = pl.LinearFamily().best_response(torch.zeros(20, 0), f, sizes_of(4, 20))
    torch.testing.assert_close(fitted.parameters[:, 0], torch.stack([f[:4].mean(0), f.mean(0)]))


@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # small on purpose
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.02, 1.0])
def test_a_fit_that_leaves_no_degree_of_freedom_is_saturated(ridge, intercept, generator):
    x, f, hoods = random_problem(generator, p=6)
    x[:30, 4] = 2.0  # some neighborhoods hardly see this one vary
    x[:, 5] = x[:, 3]
    witnesses = pl.LinearFamily(ridge=ridge, intercept=intercept).best_response(x, f, hoods)
    left = []
    for i in range(len(hoods)):
        own = x[hoods.members_of(i)].numpy()
        own = own - own.mean(0) if intercept else own
        # The members less the trace of the hat matrix.
        inverse = np.linalg.pinv(own.T @ own + ridge * np.eye(6), rcond=1e-10, hermitian=True)
        left.append(len(own) - intercept - np.trace(own @ inverse @ own.T))
    expected = np.array(left) < 1 - 1e-6
    assert 0 < expected.sum() < len(hoods)
    np.testing.assert_array_equal(witnesses.saturated(), expected)
    np.testing.assert_array_equal(witnesses.saturated(torch.tensor([3, 1])), expected[[3, 1]])


def test_means_are_never_saturated(generator):
    x, f, hoods = random_problem(generator)
    assert not pl.ConstantFamily().best_response(x, f, hoods).saturated().any()
    assert not pl.TreeFamily().best_response(x, f, hoods).saturated().any()


def test_a_fit_in_standardized_features_is_saturated_in_their_units(generator):
    from pellucid.witnesses.scaled import ScaledLinearFamily

    x, f, hoods = random_problem(generator)
    scale = torch.tensor([1.0, 1e3, 1e-3, 10.0], dtype=torch.float64)
    family = ScaledLinearFamily(step=scale.numpy(), ridge=0.3)
    expected = pl.LinearFamily(ridge=0.3).best_response(x, f, hoods).saturated()
    assert 0 < expected.sum() < len(hoods)
    np.testing.assert_array_equal(family.best_response(x * scale, f, hoods).saturated(), expected)
