"""Linear witnesses of features that are hard on a solver, compared with exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import pellucid as pl
from pellucid.trust import held_out

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")  # few members on purpose

EPS = np.finfo(float).eps


def solve_exactly(matrix, right):
    """The shortest solution of consistent equations in fractions, by elimination; matrix P x P, right P x K."""
    p = len(matrix)
    rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
    pivots = []
    for column in range(p):
        rank = len(pivots)
        chosen = next((i for i in range(rank, p) if rows[i][column]), None)
        if chosen is None:
            continue
        rows[rank], rows[chosen] = rows[chosen], rows[rank]
        rows[rank] = [v / rows[rank][column] for v in rows[rank]]
        for i in range(p):
            if i != rank and rows[i][column]:
                rows[i] = [v - rows[i][column] * w for v, w in zip(rows[i], rows[rank], strict=True)]
        pivots.append(column)
    solution = [[Fraction(0)] * len(right[0]) for _ in range(p)]
    for rank, column in enumerate(pivots):
        solution[column] = rows[rank][p:]
    free = [c for c in range(p) if c not in pivots]
    if not free:
        return solution
    null = [[Fraction(int(c == a)) for a in range(p)] for c in free]
    for vector, c in zip(null, free, strict=True):
        for rank, column in enumerate(pivots):
            vector[column] = -rows[rank][c]
    normal = [[sum(a * b for a, b in zip(v, w, strict=True)) for w in null] for v in null]
    along = [[sum(v[a] * solution[a][k] for a in range(p)) for k in range(len(right[0]))] for v in null]
    shares = solve_exactly(normal, along)
    return [
        [solution[a][k] - sum(v[a] * s[k] for v, s in zip(null, shares, strict=True)) for k in range(len(right[0]))]
        for a in range(p)
    ]


def exact_law(x, f, ridge=0.0):
    """Coefficients (P,), intercept, in fractions: the shortest least-squares solution for columns x (m x P), f (m,)."""
    x, f = [[Fraction(v) for v in row] for row in x], [Fraction(float(v)) for v in f]
    m, p = len(x), len(x[0])
    means = [sum(row[a] for row in x) / m for a in range(p)]
    level = sum(f) / m
    centered = [[row[a] - means[a] for a in range(p)] for row in x]
    gram = [[sum(r[a] * r[b] for r in centered) for b in range(p)] for a in range(p)]
    right = [[sum(r[a] * (v - level) for r, v in zip(centered, f, strict=True))] for a in range(p)]
    for a in range(p):
        gram[a][a] += Fraction(ridge)
    theta = [row[0] for row in solve_exactly(gram, right)]
    return theta, level - sum(a * b for a, b in zip(theta, means, strict=True))


def exact_values(x, own, theta, offset):
    return np.array([float(offset + sum(t * Fraction(v) for t, v in zip(theta, x[j], strict=True))) for j in own])


def solvers(x, f, radius):
    """The same neighborhoods, fitted in every way: (n, P) coefficients, (n,) intercepts and deviations."""
    x, f = torch.as_tensor(x), torch.as_tensor(f)
    sliding = pl.windows([len(x)], radius=radius)
    ragged = pl.Neighborhoods(sliding.members, sliding.offsets, sliding.centers, len(x))
    many = torch.cat([x, torch.full((len(x), 65), 0.1, dtype=x.dtype)], dim=1)  # more than the kernel takes
    p = x.shape[1]
    for name, features, hoods in (("windows", x, sliding), ("ragged", x, ragged), ("many", many, ragged)):
        fitted = pl.LinearFamily().best_response(features, f, hoods)
        assert not fitted.coefficients[:, p:].any()
        yield name, fitted.coefficients[:, :p, 0].numpy(), fitted.intercepts[:, 0].numpy(), fitted.deviations().numpy()


class Bounds:
    """How far a fit may be from the exact one, from the conditioning of the neighborhood.

    Errors of a column are the share tau of its size, before centering. With columns of unit size, values at members are
    off by about tau (|D theta| + kappa |rest|), rest being what the law misses, and coefficients by kappa times it, in
    units of 1 / size. Where the compiled normal equations are used, for conditions below 1e4 of the centered columns,
    |f| takes the place of |rest|.
    """

    def __init__(self, x, f, theta):
        m, p = x.shape
        largest = np.abs(x).max(0)
        self.sizes = largest * np.linalg.norm(x / largest, axis=0)
        self.tau = np.sqrt(p) * (max(m, p) + 4) * EPS
        centered = (x - x.mean(0)) / self.sizes
        spread = np.linalg.norm(centered, axis=0)
        self.varying = spread > self.tau
        self.spread = (spread * self.sizes)[self.varying]
        kappa = self._condition(centered)
        self.own_kappa = self._condition(
            centered[:, self.varying] / spread[self.varying], self.tau / spread.min(where=self.varying, initial=1.0)
        )
        self.rest = np.linalg.norm(f - f.mean() - (x - x.mean(0)) @ theta)
        missed = self.own_kappa * np.linalg.norm(f - f.mean()) if self.own_kappa < 1e5 else 0.0
        self.values = 10 * self.tau * (self.sizes @ np.abs(theta) + kappa * self.rest + missed)
        self.coefficients = kappa * self.values

    def _condition(self, columns, least=0.0):
        singular = np.linalg.svd(columns, compute_uv=False) if columns.size else np.ones(1)
        return 1 / singular[singular > max(least, self.tau)].min(initial=1.0)

    def shortest(self, theta):
        """For dependent columns, in units of 1 / spread: how they depend is seen in what varies of them."""
        noise = self.tau * (self.sizes[self.varying] / self.spread).max(initial=1.0)
        size = self.spread @ np.abs(theta[self.varying])
        return 10 * self.own_kappa * noise * (size + self.own_kappa * self.rest)


def noise(generator, *shape):
    return generator.standard_normal(shape)


def resolved_cases(generator, n=40):
    a, b, c = noise(generator, 3, n)
    yield "plain", np.c_[a, b, c]
    for offset in (1e6, 1e9):
        yield f"offset {offset:g}", np.c_[a, b + offset, c]
        yield f"offset {offset:g}, little variation", np.c_[a, offset * (1 + 1e-10 * b), c - offset]
    yield "time stamps", np.c_[1.7e9 + np.arange(n), a, b]
    for unit in (1e-12, 1e12, 1e-150, 1e150):
        yield f"unit {unit:g}", np.c_[a, unit * b, c]
        yield f"unit {unit:g} and offset", np.c_[a, unit * (b + 1e6), c]
    yield "units far apart", np.c_[1e-12 * a, 1e12 * b, 1e6 + c]
    for angle in (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-12):
        yield f"collinear {angle:g}", np.c_[a, a + angle * b, c]
        yield f"collinear {angle:g}, units", np.c_[a, 1e8 * (a + angle * b), 1e-8 * c]
    yield "collinear 1e-6 and offset", np.c_[a + 1e3, a + 1e-6 * b, c]
    yield "three collinear", np.c_[a, b, a + b + 1e-9 * c]


RESOLVED = dict(resolved_cases(np.random.default_rng(5)))


@pytest.mark.parametrize("name", RESOLVED)
@pytest.mark.parametrize("target", ["law", "noise"])
def test_what_float64_resolves_is_resolved_as_exactly_as_its_condition_allows(name, target):
    x, radius = RESOLVED[name], 7
    generator = np.random.default_rng(1)
    spread = x.std(0)
    f = ((x - x.mean(0)) / spread) @ [1.0, -2.0, 0.5]
    f = f + 0.1 * noise(generator, len(x)) if target == "noise" else f
    hoods = pl.windows([len(x)], radius=radius)
    oracles = {i: exact_law(x[hoods.members_of(i)], f[hoods.members_of(i)]) for i in (0, 9, 20, 39)}
    for solver, coefficients, intercepts, deviations in solvers(x, f, radius):
        for i, (theta, offset) in oracles.items():
            own = hoods.members_of(i).numpy()
            exact = np.array([float(t) for t in theta])
            bounds = Bounds(x[own], f[own], exact)
            gaps = bounds.sizes * np.abs(coefficients[i] - exact)
            assert gaps.max() <= bounds.coefficients, (solver, i, gaps, bounds.coefficients)
            values = exact_values(x, own, theta, offset)
            witness = intercepts[i] + x[own] @ coefficients[i]
            assert np.abs(witness - values).max() <= bounds.values, (solver, i)
            rest = np.sqrt(np.square(f[own] - values).mean())
            assert abs(np.sqrt(deviations[i]) - rest) <= bounds.values, (solver, i)


def jitter(generator, column, ulps=1):
    """The same numbers, each some last digits up or down."""
    steps = generator.integers(-ulps, ulps + 1, len(column))
    return column + steps * np.spacing(np.abs(column))


def unresolved_cases(generator, n=40):
    """Columns that depend on each other but for rounding, as they are and as they are meant (in fractions)."""
    a, b, c = noise(generator, 3, n)
    coin = generator.random(n) < 0.5

    def exactly(*columns):
        return [[Fraction(v) for v in row] for row in zip(*columns, strict=True)]

    def times(factor, column):
        return [Fraction(factor) * Fraction(v) for v in column]

    def plus(first, second):
        return [Fraction(v) + Fraction(w) for v, w in zip(first, second, strict=True)]

    flat = np.full(n, 0.3)
    for unit in (1.0, 1e-12, 1e12):
        two_ways = unit * np.where(coin, 0.3, 0.1 + 0.2)
        yield f"constant in two ways, unit {unit:g}", np.c_[a, two_ways, b], exactly(a, unit * flat, b)
    logs = np.where(coin, np.log(1 + 94.95), np.log1p(94.95) * (1 + EPS))
    yield "logarithms in two ways", np.c_[logs, a, b], exactly(np.full(n, logs[0]), a, b)
    sums = np.where(coin, np.add.reduce([0.1] * 3 + [0.7]), sum([0.1] * 10))
    yield "sums in two ways", np.c_[a, sums, sums * a], exactly(a, np.ones(n), a)
    yield (
        "time stamps that stand still",
        np.c_[jitter(generator, np.full(n, 1.7e9), 2), a, b],
        exactly(1.7e9 + 0 * a, a, b),
    )
    yield "twins", np.c_[a, a, b], exactly(a, a, b)
    yield "a tenth", np.c_[a, 0.1 * a, b], exactly(a, times(0.1, a), b)
    yield "twins with an offset", np.c_[a, a + 1e6, b], exactly(a, plus(a, [10**6] * n), b)
    yield "twins up to rounding", np.c_[a + 3, jitter(generator, a + 3, 3), b], exactly(a + 3, a + 3, b)
    yield "a sum", np.c_[a, b, a + b], exactly(a, b, plus(a, b))
    yield "a sum with offsets", np.c_[a + 1e5, b - 1e5, a + b], exactly(a, b, plus(a, b))
    yield (
        "logarithms of a product",
        np.c_[np.log(9 + a), np.log(9 + b), np.log((9 + a) * (9 + b))],
        exactly(np.log(9 + a), np.log(9 + b), plus(np.log(9 + a), np.log(9 + b))),
    )
    hot = np.eye(3)[np.arange(n) % 3]
    yield "one hot", hot, exactly(*hot.T)
    yield (
        "one hot and a sum",
        np.c_[hot[:, :2], a, a - 2 * hot[:, 0]],
        exactly(hot[:, 0], hot[:, 1], a, plus(a, -2 * hot[:, 0])),
    )
    yield (
        "huge twins, tiny twins",
        np.c_[1e12 * a, 1e12 * a, 1e-12 * b, 2e-12 * b],
        exactly(1e12 * a, 1e12 * a, 1e-12 * b, times(2, 1e-12 * b)),
    )
    yield "twins in units far apart", np.c_[a, 1e9 * a, c], exactly(a, times(10**9, a), c)
    near = a + 1e-6 * b
    yield "collinear 1e-6, and their sum", np.c_[a, near, a + near], exactly(a, near, plus(a, near))
    yield (
        "mixture",
        np.c_[1e6 + a, b, a + b, np.where(coin, 0.3, 0.1 + 0.2), 1e-9 * c],
        exactly(a, b, plus(a, b), flat, 1e-9 * c),
    )
    yield "nothing varies", np.c_[np.where(coin, 0.3, 0.1 + 0.2), flat], exactly(flat, flat)


UNRESOLVED = {name: rest for name, *rest in unresolved_cases(np.random.default_rng(6))}


@pytest.mark.parametrize("name", UNRESOLVED)
def test_what_differs_by_rounding_alone_is_dependent_and_gets_the_shortest_law(name):
    x, meant = UNRESOLVED[name]
    generator = np.random.default_rng(2)
    f, radius = noise(generator, len(x)), 7
    hoods = pl.windows([len(x)], radius=radius)
    laws = {}
    for i in (0, 9, 20, 39):
        own = hoods.members_of(i).tolist()
        laws[i] = exact_law([meant[j] for j in own], f[own])
    for solver, coefficients, intercepts, deviations in solvers(x, f, radius):
        for i, (theta, _) in laws.items():
            own = hoods.members_of(i).numpy()
            exact = np.array([float(t) for t in theta])
            bounds = Bounds(x[own], f[own], exact)
            assert not coefficients[i][~bounds.varying].any()
            gaps = bounds.spread * np.abs(coefficients[i] - exact)[bounds.varying]
            assert gaps.max(initial=0.0) <= bounds.shortest(exact), (solver, i, gaps, bounds.shortest(exact))
            assert np.abs(coefficients[i]).max() <= 1.01 * np.abs(exact).max() + 1e-9, (solver, i)
            values = exact_values(meant, own, *laws[i])
            witness = intercepts[i] + x[own] @ coefficients[i]
            assert np.abs(witness - values).max() <= bounds.values, (solver, i)
            rest = np.sqrt(np.square(f[own] - values).mean())
            assert abs(np.sqrt(deviations[i]) - rest) <= bounds.values, (solver, i)


@pytest.mark.parametrize("windows", [True, False])
def test_a_column_that_is_constant_up_to_rounding_is_not_read(windows):
    generator = np.random.default_rng(0)
    x = np.c_[generator.normal(size=60), np.where(generator.random(60) < 0.5, 0.3, 0.1 + 0.2)]
    f = 0.7 * x[:, 0] + 0.1 * generator.normal(size=60)
    hoods = pl.windows([60], radius=59) if windows else pl.from_lists([range(60)])
    witness = pl.LinearFamily().best_response(torch.tensor(x), torch.tensor(f), hoods)[0]
    slope, level = np.polyfit(x[:, 0], f, 1)
    assert witness.text() == f"f = {level:.4g} + {slope:.4g} x0".replace("+ -", "- ")


@settings(max_examples=60, deadline=None)
@given(
    level=st.floats(1.0, 2.0),
    exponent=st.integers(-200, 200),
    m=st.integers(2, 40),
    p=st.sampled_from([1, 3, 70]),
    kind=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 2**20),
)
def test_three_last_digits_up_or_down_are_no_variation_in_any_unit(level, exponent, m, p, kind, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(m, p, generator=generator, dtype=kind)
    level = torch.tensor(level, dtype=kind)
    steps = torch.randint(-3, 4, (m,), generator=generator)
    x[:, p // 2] = (level + steps * torch.finfo(kind).eps) * 2.0 ** (
        exponent if kind == torch.float64 else exponent // 4
    )
    f = torch.randn(m, 1, generator=generator, dtype=torch.float64)
    fitted = pl.LinearFamily().best_response(x, f, pl.from_lists([range(m)]))
    assert float(fitted.coefficients[0, p // 2]) == 0
    others = torch.cat([x[:, : p // 2], x[:, p // 2 + 1 :]], dim=1)
    alone = pl.LinearFamily().best_response(others, f, pl.from_lists([range(m)]))
    torch.testing.assert_close(fitted.at_members(), alone.at_members(), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    exponents=st.lists(st.integers(-300, 300), min_size=3, max_size=3),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e7]),
    collinear=st.sampled_from([1.0, 1e-2, 1e-6, 1e-10]),
    windows=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_units_of_columns_do_not_change_the_values_of_witnesses(exponents, offset, collinear, windows, seed):
    """What counts as dependent does not depend on units: a column times 2^k has its coefficient divided by 2^k."""
    generator = np.random.default_rng(seed)
    x = noise(generator, 30, 3) + offset
    x[:, 1] = x[:, 0] + collinear * x[:, 1]
    f = torch.from_numpy(noise(generator, 30, 1))
    hoods = pl.windows([30], radius=6) if windows else pl.from_lists([range(15), range(10, 30)], n_points=30)
    units = 2.0 ** np.array(exponents)
    plain, scaled = (pl.LinearFamily().best_response(torch.from_numpy(v), f, hoods) for v in (x, x * units))
    mine, theirs = plain.coefficients.numpy(), scaled.coefficients.numpy() * units[:, None]
    for i in range(len(hoods)):
        own = hoods.members_of(i).numpy()
        bounds = Bounds(x[own], f[own, 0].numpy(), mine[i, :, 0])
        assert (bounds.sizes * np.abs(mine - theirs)[i, :, 0]).max() <= 2 * bounds.coefficients


def test_features_in_float32_are_resolved_to_their_own_precision_and_no_further():
    generator = np.random.default_rng(3)
    a, b, c = noise(generator, 3, 60)
    coin = generator.random(60) < 0.5
    f, hoods = torch.from_numpy(a + 0.1 * noise(generator, 60)), pl.from_lists([range(60)])

    def law(*columns, dtype=np.float32):
        x = np.stack([np.asarray(column, dtype=dtype) for column in columns], axis=1)
        return x, pl.LinearFamily().best_response(torch.from_numpy(x), f, hoods).coefficients[0, :, 0].numpy()

    third = np.float32(1) / np.float32(3)
    level = np.where(coin, third, np.nextafter(third, np.float32(1)))
    total = a.astype(np.float32) + b.astype(np.float32)  # rounded in float32
    # Rounding of float32 is not explained: a constant, and a sum of two columns.
    assert law(a, level)[1][1] == 0
    assert np.abs(law(a, b, total)[1]).max() < 1
    # The same numbers said to be float64 are taken at their word.
    assert abs(law(a, level, dtype=np.float64)[1][1]) > 1e3
    assert np.abs(law(a, b, total, dtype=np.float64)[1]).max() > 1e3
    # Small variations that float32 holds are resolved: a hundredth around a thousand, and columns 1e-4 apart.
    for columns in ((b, 1000 + 0.01 * a), (b, 20 + 0.1 * a, 1e-3 * c), (a, a + 1e-4 * b), (1e4 + a, 1e-9 * b)):
        x, theta = law(*columns)
        exact = np.array([float(t) for t in exact_law(x.astype(float), f.numpy())[0]])
        np.testing.assert_allclose(theta, exact, rtol=1e-5)
    # Whole numbers are exact.
    counts = torch.from_numpy(np.stack([2**40 + np.arange(60), generator.integers(0, 9, 60)], axis=1))
    theta = pl.LinearFamily().best_response(counts, f, hoods).coefficients[0, :, 0]
    exact = [float(t) for t in exact_law(counts.tolist(), f.numpy())[0]]
    np.testing.assert_allclose(theta, exact, rtol=1e-8)


RIDGES = [
    "plain",
    "offset 1e+06",
    "time stamps",
    "collinear 0.001",
    "collinear 1e-07",
    "collinear 1e-12",
    "units far apart",
]


@pytest.mark.parametrize("name", RIDGES)
@pytest.mark.parametrize("ridge", [1e-9, 1e-2, 1.0])
@pytest.mark.parametrize("many", [0, 65, 200], ids=["few features", "many features", "more features than members"])
def test_a_ridge_is_exact_in_every_solver(name, ridge, many):
    x = RESOLVED[name]
    f = noise(np.random.default_rng(4), len(x))
    own = slice(0, 15) if many != 65 else slice(0, 40)
    extra = 0.1 * noise(np.random.default_rng(8), len(x), 2) if many else np.zeros((len(x), 0))
    x = np.c_[x, extra, np.zeros((len(x), many))]
    kept = 3 + extra.shape[1]
    hoods = pl.from_lists([range(len(x))[own]], n_points=len(x))
    fitted = pl.LinearFamily(ridge=ridge).best_response(torch.from_numpy(x), torch.from_numpy(f), hoods)
    theta, offset = exact_law(x[own, :kept], f[own], ridge)
    values = exact_values(x[:, :kept], range(len(x))[own], theta, offset)
    exact = np.array([float(t) for t in theta])
    sizes = np.abs(x[own, :kept]).max(0)
    scale = (sizes * np.abs(exact)).sum() * EPS  # of the representation: intercept and terms cancel
    np.testing.assert_allclose(fitted.at_members()[:, 0], values, rtol=0, atol=1e-7 + 100 * scale)
    assert not fitted.coefficients[0, kept:].any()


def insurance(n):
    """A table like that of the RAND health insurance experiment: few levels, and logarithms that depend on each other.

    ln(1 + coinsurance) and the like are the same number up to rounding, as each row came to it in its own way.
    """
    generator = np.random.default_rng(9)
    rate = generator.choice([0, 25, 50, 95], n)
    incentive = generator.choice([150.0, 450.0, 600.0, 1000.0], n)
    coin = generator.random((2, n)) < 0.5
    coinsurance = np.where(coin[0], np.log(1.0 + rate), np.log1p(rate) * (1 - EPS))
    payment = np.where(coin[1], np.log(incentive), 3 * np.log(10) + np.log(incentive / 1000))
    ratio = np.where(coin[0], payment - coinsurance, np.log(incentive / (1 + rate)))
    deductible, limits = generator.integers(0, 2, n), generator.random(n).round(1)
    diseases = generator.gamma(2.0, 5.0, n)
    health = np.eye(4)[generator.choice(4, n, p=[0.55, 0.35, 0.08, 0.02])][:, 1:]
    x = np.c_[coinsurance, deductible, payment, ratio, limits, diseases, health]
    f = (
        np.tanh(0.1 * diseases)
        - 0.2 * coinsurance
        + 0.1 * payment
        + 0.5 * limits * deductible
        + health @ [0.1, 0.3, 0.6]
    )
    return x, f


@pytest.mark.parametrize("dependent", [True, False], ids=["with their ratio", "without"])
@pytest.mark.parametrize("form", ["own units", "standardized", "float32"])
def test_held_out_members_are_not_missed_by_astronomical_numbers(form, dependent):
    x, f = insurance(1500)
    x = x if dependent else np.delete(x, 3, axis=1)
    z = (x - x.mean(0)) / x.std(0)
    hoods = pl.nearest(z, k=30)
    x = {"own units": x, "standardized": z, "float32": x.astype(np.float32)}[form]
    fitted = pl.LinearFamily().best_response(torch.from_numpy(x), torch.from_numpy(f), hoods)
    assert fitted.coefficients.abs().max() < 20
    assert held_out(f, x, hoods, pl.LinearFamily()).explained() > 0.8
