"""Sparse linear witnesses against brute force: the choice of terms, merged columns, the ridge, values and text."""

import itertools
import json
import warnings

import numpy as np
import pytest
import torch
from helpers import best_linear, random_hoods
from sklearn.linear_model import OrthogonalMatchingPursuit, Ridge

import pellucid as pl
from pellucid.witnesses._ridge import RIDGES


def bits(generator, n_points=60, p=12, share=0.4):
    """Bits of which the second half repeats the first, up to a few exchanges: often equal in a neighborhood."""
    x = (torch.rand(n_points, p // 2, generator=generator) < share).to(torch.uint8)
    other = x ^ (torch.rand(x.shape, generator=generator) < 0.03).to(torch.uint8)
    return torch.cat([x, other], dim=1)


def groups_of(x):
    """By definition: lists of columns of x (m, P) that are equal; columns without variation are in none."""
    groups = []
    for a in range(x.shape[1]):
        if (x[:, a] == x[0, a]).all():
            continue
        equal = [group for group in groups if (x[:, group[0]] == x[:, a]).all()]
        if equal:
            equal[0].append(a)
        else:
            groups.append([a])
    return groups


def missed(z, f):
    """The sum of squares that least squares on the columns z leaves of f."""
    z, f = z - z.mean(0), f - f.mean(0)
    return float(np.square(f - z @ np.linalg.lstsq(z, f, rcond=None)[0]).sum())


def greedy_terms(x, f, most):
    """By definition: at each step the column of the best least-squares fit, the lowest of equal ones."""
    chosen = []
    groups = groups_of(x)
    total = missed(x[:, :0], f)
    while len(chosen) < min(most, len(x) - 2):
        before = missed(x[:, chosen], f)
        if before <= 1e-20 * total:
            break
        left = [missed(x[:, [*chosen, group[0]]], f) for group in groups]
        if not left or min(left) >= before * (1 - 1e-12):
            break
        chosen.append(
            next(group[0] for group, rest in zip(groups, left, strict=True) if rest <= min(left) + 1e-9 * before)
        )
    return [next(group for group in groups if group[0] == column) for column in chosen]


def ridge_fit(z, f, ridge):
    theta, intercept = best_linear(z, f, ridge)
    return lambda new: new @ theta + intercept


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int64, torch.float32, torch.float64])
@pytest.mark.parametrize("k", [1, 3])
def test_terms_are_the_greedy_ones_and_equal_columns_are_one(dtype, k, generator):
    x = bits(generator)
    f = torch.randn(60, k, generator=generator, dtype=torch.float64)
    hoods = random_hoods(40, 60, generator, largest=25)
    witnesses = pl.SparseLinearFamily(terms=5, ridge=0.0).best_response(x.to(dtype), f, hoods)
    merged = 0
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        z, targets = x[own].double().numpy(), f[own].numpy()
        expected = greedy_terms(z, targets, 5)
        assert [list(columns) for columns in witnesses.laws.columns_of(i)] == expected
        count = len(expected)
        assert witnesses.laws.columns[i].tolist() == [group[0] for group in expected] + [-1] * (5 - count)
        assert (witnesses.laws.weights[i, count:] == 0).all()
        merged += sum(len(group) > 1 for group in expected)
        gaps = targets - witnesses.evaluate(torch.full_like(own, i), x[own].to(dtype)).numpy()
        assert np.square(gaps).sum() == pytest.approx(
            missed(z[:, [group[0] for group in expected]], targets), abs=1e-10
        )
    assert merged > 20  # the problem is about something


def test_numbers_are_chosen_greedily_whatever_their_units(generator):
    x = torch.randn(60, 9, generator=generator, dtype=torch.float64)
    x[:, 7] = x[:, 0] + 1e-5 * x[:, 7]  # what the first leaves of it must be told exactly
    f = torch.randn(60, 2, generator=generator, dtype=torch.float64)
    f[:, 0] += 3 * x[:, 0] + 1e5 * (x[:, 7] - x[:, 0])
    hoods = random_hoods(30, 60, generator, largest=25)
    units = 10.0 ** torch.arange(-20, 25, 5, dtype=torch.float64)
    plain, other = (
        pl.SparseLinearFamily(terms=6, ridge=0.0).best_response(features, f, hoods)
        for features in (x, x * units + 3 * units)
    )
    both = 0
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        expected = [group[0] for group in greedy_terms(x[own].numpy(), f[own].numpy(), 6)]
        assert [column for (column,) in plain.laws.columns_of(i)] == expected
        both += {0, 7} <= set(expected)
        gaps = (f[own] - plain.at_members()[hoods.rows == i]).square().sum()
        assert float(gaps) == pytest.approx(missed(x[own][:, expected].numpy(), f[own].numpy()), rel=1e-7, abs=1e-16)
    assert both > 10
    assert torch.equal(plain.laws.columns, other.laws.columns)
    torch.testing.assert_close(other.at_members(), plain.at_members(), rtol=0, atol=1e-7)


def test_one_output_agrees_with_scikit_learn_on_orthogonal_columns(generator):
    # There scikit-learn's criterion, the product with what is left, is the reduction of the sum of squares.
    q, _ = torch.linalg.qr(torch.randn(40, 21, generator=generator, dtype=torch.float64))
    x = torch.linalg.qr(torch.cat([torch.ones(40, 1, dtype=torch.float64), q], dim=1))[0][:, 1:]
    f = torch.randn(40, generator=generator, dtype=torch.float64)
    witness = pl.SparseLinearFamily(terms=7, ridge=0.0).best_response(x, f, pl.from_lists([range(40)]))[0]
    model = OrthogonalMatchingPursuit(n_nonzero_coefs=7).fit(x.numpy(), f.numpy())
    np.testing.assert_allclose(witness.coefficients[:, 0], model.coef_, atol=1e-12)
    assert float(witness.intercept) == pytest.approx(model.intercept_)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 50.0])
def test_a_ridge_is_that_of_scikit_learn_on_the_terms(ridge, generator):
    x, f = bits(generator), torch.randn(60, 2, generator=generator, dtype=torch.float64)
    hoods = random_hoods(30, 60, generator, largest=25)
    witnesses = pl.SparseLinearFamily(terms=4, ridge=ridge).best_response(x, f, hoods)
    assert (witnesses.ridges == ridge).all()
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        terms = greedy_terms(x[own].double().numpy(), f[own].numpy(), 4)
        if not terms:
            continue
        z = x[own][:, [group[0] for group in terms]].double().numpy()
        model = Ridge(alpha=ridge, solver="svd").fit(z, f[own].numpy())
        np.testing.assert_allclose(witnesses.laws.weights[i, : len(terms)].T, model.coef_, atol=1e-10)
        np.testing.assert_allclose(witnesses.intercepts[i], model.intercept_, atol=1e-10)
        hat = z - z.mean(0)
        hat = hat @ np.linalg.solve(hat.T @ hat + ridge * np.eye(len(terms)), hat.T)
        assert float(witnesses.freedom[i]) == pytest.approx(len(own) - 1 - np.trace(hat))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("real", [False, True])
def test_the_automatic_ridge_is_that_of_the_least_leave_one_out_error_by_refits(k, real, generator):
    x = (
        torch.randn(50, 12, generator=generator, dtype=torch.float64) * torch.linspace(1, 9, 12)
        if real
        else bits(generator)
    )
    f = torch.randn(len(x), k, generator=generator, dtype=torch.float64)
    f[:, 0] += x[:, 0] - x[:, 1]
    hoods = random_hoods(15, len(x), generator, largest=18)
    witnesses = pl.SparseLinearFamily(terms=4).best_response(x, f, hoods)
    numbers = set()
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        z, targets, m = x[own].double().numpy(), f[own].numpy(), len(own)
        if m < 3:
            continue
        path = [group[0] for group in greedy_terms(z, targets, 4)]
        errors = {}
        for t, c in itertools.product(range(len(path) + 1), RIDGES):
            part = z[:, path[:t]]
            ridge = c * np.square(part - part.mean(0)).sum() / m
            gaps = []
            for j in range(m):
                rest = np.arange(m) != j
                gaps.append(targets[j] - ridge_fit(part[rest], targets[rest], ridge)(part[j : j + 1])[0])
            errors[t, ridge] = np.square(gaps).sum()
        (t, ridge), least = min(errors.items(), key=lambda item: item[1])
        assert len(witnesses.laws.columns_of(i)) == t
        numbers.add(t)
        if t:
            assert float(witnesses.ridges[i]) == pytest.approx(ridge)
        expected = ridge_fit(z[:, path[:t]], targets, ridge)(z[:, path[:t]])
        np.testing.assert_allclose(witnesses.at_members()[hoods.rows == i], expected, atol=1e-9)
        assert np.isfinite(least)
    assert len(numbers) > 2  # short laws and long ones


def test_merged_columns_share_their_weight_where_they_differ():
    x = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]], dtype=torch.uint8)
    f = (1.0 + 3 * x[:, 0] + 0.5 * x[:, 3]).double()
    witnesses = pl.SparseLinearFamily(ridge=0.0).best_response(x, f, pl.from_lists([range(4)], n_points=5))
    law = witnesses.named(["a", "b", "c", "d"], ["y"])[0]
    assert law.columns == [(0, 1), (3,)]
    assert law.text() == "y = 1 + 3 (a = b) + 0.5 d"
    assert law.terms() == [(pytest.approx(1.0), ""), (pytest.approx(3.0), "(a = b)"), (pytest.approx(0.5), "d")]
    np.testing.assert_allclose(law.coefficients[:, 0], [1.5, 1.5, 0, 0.5])
    np.testing.assert_allclose(witnesses.coefficients[0, :, 0], [1.5, 1.5, 0, 0.5])
    np.testing.assert_allclose(law(x[4:])[0, 0], 2.5)  # one of the two is there
    np.testing.assert_allclose(witnesses.evaluate([0], x[4:])[0, 0], 2.5)


def test_parameters_are_those_of_a_linear_law(generator):
    x, f = bits(generator), torch.randn(60, 2, generator=generator, dtype=torch.float64)
    hoods = random_hoods(30, 60, generator, largest=25)
    witnesses = pl.SparseLinearFamily(terms=4).best_response(x, f, hoods)
    theta = witnesses.parameters
    assert theta.shape == (30, 13, 2)
    values = torch.einsum("mp,mpk->mk", x[hoods.members].double(), theta[hoods.rows][:, 1:]) + theta[hoods.rows][:, 0]
    torch.testing.assert_close(witnesses.at_members(), values)
    for i, witness in enumerate(witnesses):
        torch.testing.assert_close(witness.coefficients, witnesses.coefficients[i])
        torch.testing.assert_close(witness(x), x.double() @ theta[i, 1:] + theta[i, 0])


def test_a_law_is_data(generator):
    x = bits(generator)
    f = (2.0 + x[:, 2])[:, None].double() * torch.tensor([1.0, -2.0])
    witness = pl.SparseLinearFamily(terms=3, ridge=0.0).best_response(x, f, pl.from_lists([range(60)]))[0]
    content = json.loads(json.dumps(witness.to_dict()))
    assert content["kind"] == "sparse linear"
    assert content["ridge"] == 0.0
    assert content["intercept"] == pytest.approx([2.0, -4.0])
    assert [term["columns"] for term in content["terms"]] == [[2]]  # what is left is rounding
    assert content["terms"][0]["weights"] == pytest.approx([1.0, -2.0])
    assert witness.text() == "f0 = 2 + 1 x2\nf1 = -4 - 2 x2"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nothing_is_read_into_rounding(dtype, generator):
    x = torch.randn(40, 6, generator=generator, dtype=dtype)
    x[:, 1] = 0.1 + 1e-8 * (x[:, 1] if dtype == torch.float32 else x[:, 1] * 1e-8)  # constant up to rounding
    x[:, 2] = (x[:, 0] * 3 + 0.7) / 3  # the first again, up to rounding
    f = (1000 + 0.3 * x[:, 0] - 0.2 * x[:, 3]).to(dtype)
    f[0] += 1e-4 if dtype == torch.float32 else 1e-13  # a rounding or two
    hoods = pl.from_lists([range(40)])
    (terms,) = [w.laws.columns_of(0) for w in [pl.SparseLinearFamily(terms=6, ridge=0.0).best_response(x, f, hoods)]]
    assert sorted(terms) in ([(0,), (3,)], [(2,), (3,)])
    noise = torch.randn(40, generator=generator, dtype=dtype)
    terms = pl.SparseLinearFamily(terms=6, ridge=0.0).best_response(x, noise, hoods).laws.columns_of(0)
    assert len(terms) == 4
    assert (1,) not in terms
    assert len({(0,), (2,)} & set(terms)) == 1


def test_zero_has_no_sign():
    x = torch.tensor([[0.0, -0.0], [1.0, 1.0], [0.0, 0.0], [2.0, 2.0]], dtype=torch.float64)
    witness = pl.SparseLinearFamily(ridge=0.0).best_response(x, x[:, 0], pl.from_lists([range(4)]))[0]
    assert witness.columns == [(0, 1)]


@pytest.mark.parametrize("ridge", ["auto", 0.0, 1.0])
def test_small_neighborhoods_get_fewer_terms(ridge, generator):
    x, f = bits(generator), torch.randn(60, 1, generator=generator, dtype=torch.float64)
    hoods = pl.from_lists([[3], [4, 5], [1, 2, 3], list(range(10)), list(range(60))], n_points=60)
    witnesses = pl.SparseLinearFamily(terms=8, ridge=ridge).best_response(x, f, hoods)
    counts = [len(witnesses.laws.columns_of(i)) for i in range(5)]
    assert counts[:2] == [0, 0]
    assert all(count <= most for count, most in zip(counts, [0, 0, 1, 8, 8], strict=True))
    torch.testing.assert_close(witnesses.at_members()[:3, 0], torch.stack([f[3, 0], *[f[[4, 5], 0].mean()] * 2]))
    assert witnesses.saturated().tolist() == [True, False, False, False, False]
    assert witnesses.saturated(torch.tensor([1, 0])).tolist() == [False, True]
    assert (witnesses.freedom >= hoods.sizes - 1 - torch.tensor(counts) - 1e-9).all()
    alone = pl.SparseLinearFamily(ridge=ridge).best_response(x, f, pl.from_lists([[3], [4, 5]], n_points=60))
    assert alone[0].text() == f"f = {float(f[3]):.4g}"
    assert alone.laws.columns.shape == (2, 0)


def test_what_does_not_vary_is_a_constant(generator):
    x = torch.ones(20, 3, dtype=torch.uint8)
    f = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    witnesses = pl.SparseLinearFamily().best_response(x, f, pl.from_lists([range(20)]))
    assert witnesses.laws.columns.tolist() == [[-1, -1, -1]]
    torch.testing.assert_close(witnesses.intercepts[0], f.mean(0))
    flat = pl.SparseLinearFamily().best_response(bits(generator), torch.full((60, 1), 0.1), pl.from_lists([range(60)]))
    assert flat[0].columns == []
    without = pl.SparseLinearFamily().best_response(torch.ones(20, 0), f, pl.from_lists([range(20)]))
    torch.testing.assert_close(without.at_members(), f.mean(0).expand(20, -1))


def test_neither_the_order_of_members_nor_the_number_of_threads_matters(generator):
    x, f = bits(generator, p=40), torch.randn(60, 2, generator=generator, dtype=torch.float64)
    hoods = random_hoods(50, 60, generator, largest=30)
    turned = pl.from_lists([hoods.members_of(i).flip(0) for i in range(50)], hoods.centers, 60)
    family = pl.SparseLinearFamily()
    expected = family.best_response(x, f, hoods)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        several = family.best_response(x, f, hoods)
    finally:
        torch.set_num_threads(threads)
    for other in (several, family.best_response(x, f, turned)):
        assert torch.equal(other.parameters, expected.parameters)
        assert torch.equal(other.laws.merged, expected.laws.merged)
        assert torch.equal(other.laws.starts, expected.laws.starts)


def test_held_out_values_are_those_of_laws_chosen_without_the_fold(generator):
    x, f = bits(generator), torch.randn(60, 1, generator=generator, dtype=torch.float64)
    hoods = pl.from_lists([range(20)], n_points=60)
    family = pl.SparseLinearFamily(terms=3, ridge=0.0)
    values = family.best_response(x, f, hoods).held_out_values(folds=4)
    for fold in range(4):
        others = torch.arange(20)[torch.arange(20) % 4 != fold]
        terms = greedy_terms(x[others].double().numpy(), f[others].numpy(), 3)
        z = np.stack([x[:20, group].double().numpy().mean(1) for group in terms], axis=1)
        expected = ridge_fit(z[others], f[others].numpy(), 0.0)(z[fold::4])
        np.testing.assert_allclose(values[fold::4], expected, atol=1e-9)


def test_many_columns_of_one_term_are_counted():
    x = torch.tensor([[0], [1], [0], [1]]).expand(-1, 6)
    witness = pl.SparseLinearFamily(ridge=0.0).best_response(x, 2.0 * x[:, 0], pl.from_lists([range(4)]))[0]
    assert witness.text() == "f = 2 (x0 = x1 = x2 = x3 = 2 more)"
    assert witness.to_dict()["terms"] == [{"columns": [0, 1, 2, 3, 4, 5], "weights": [2.0]}]


def test_effective_size():
    assert pl.SparseLinearFamily(terms=8).effective_size(2048) == 10
    assert pl.SparseLinearFamily(terms=8).effective_size(3) == 5
    assert pl.SparseLinearFamily(terms=1, ridge=1.0).effective_size(5) == 3
    with pytest.raises(pl.InputError, match="`n_features` must be a whole number >= 0. Got -1"):
        pl.SparseLinearFamily().effective_size(-1)


def test_a_law_with_as_many_terms_as_columns_is_the_linear_one(generator):
    x = torch.randn(60, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(60, 2, generator=generator, dtype=torch.float64)
    hoods = pl.nearest(x, k=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.PellucidWarning)
        expected = pl.LinearFamily().best_response(x, f, hoods)
    witnesses = pl.SparseLinearFamily(terms=3, ridge=0.0).best_response(x, f, hoods)
    torch.testing.assert_close(witnesses.parameters, expected.theta, rtol=0, atol=1e-9)
    torch.testing.assert_close(witnesses.deviations(), expected.deviations())


@pytest.mark.parametrize("terms", [0, -1, 2.5, True])
def test_terms_must_be_a_number_of_terms(terms):
    with pytest.raises(pl.InputError, match="`terms` must be a whole number >= 1"):
        pl.SparseLinearFamily(terms=terms)


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), "best", None])
def test_a_ridge_must_be_one(ridge):
    with pytest.raises(
        pl.InputError, match='`ridge` of SparseLinearFamily must be a finite number >= 0.*"auto" chooses it'
    ):
        pl.SparseLinearFamily(ridge=ridge)


@pytest.mark.parametrize("ridge", ["auto", 0.0, 1.0])
@pytest.mark.parametrize("unit", [1e-200, 1e-100, 1e100])
def test_tiny_and_huge_numbers_give_finite_laws(unit, ridge, generator):
    x = unit * torch.randn(20, 4, generator=generator, dtype=torch.float64)
    f = torch.randn(20, 1, generator=generator, dtype=torch.float64)
    witnesses = pl.SparseLinearFamily(ridge=ridge).best_response(x, f, pl.from_lists([range(20)]))
    assert witnesses.parameters.isfinite().all()
    assert (witnesses.at_members() - f).square().sum() <= (f - f.mean(0)).square().sum() * (1 + 1e-12)
