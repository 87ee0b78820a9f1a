import numpy as np
import pytest
from sklearn.linear_model import Ridge

from pellucid.series.linear_law import Moments, choose, sequences_of


def autoregression(rows, seed, first, second):
    generator = np.random.default_rng(seed)
    z = np.zeros((rows, 2))
    for t in range(2, rows):
        z[t] = z[t - 1] @ first + z[t - 2] @ second + generator.normal(size=2)
    return z


FIRST, SECOND = np.array([[0.5, 0.2], [0.0, 0.4]]), np.array([[-0.6, 0.0], [0.1, -0.5]])


@pytest.mark.parametrize("lags", [1, 3])
def test_a_law_is_the_ridge_regression_of_scikit_learn(lags):
    tables = [1 + autoregression(rows, seed, FIRST, SECOND) for seed, rows in enumerate((200, 90, 3))]
    moments = Moments.of(tables, 3)
    x = np.concatenate(
        [[table[t - k] for k in range(3) for t in [i]] for table in tables for i in range(2, len(table) - 1)]
    )
    rows = [(np.concatenate([z[t - k] for k in range(lags)]), z[t + 1]) for z in tables for t in range(2, len(z) - 1)]
    x, y = (np.array(part) for part in zip(*rows, strict=True))
    expected = Ridge(alpha=0.1 * len(x)).fit(x, y)
    law = moments.law(lags, 0.1)
    assert moments.rows == len(x) == 197 + 87
    np.testing.assert_allclose(law.weights, expected.coef_.T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(law.offset, expected.intercept_, rtol=1e-8)
    missed = y - expected.predict(x)
    np.testing.assert_allclose(law.covariance, missed.T @ missed / len(x), rtol=1e-4, atol=2e-6)


def test_moments_of_parts_add_up():
    tables = [autoregression(100, seed, FIRST, SECOND) for seed in range(3)]
    whole = Moments.of(tables, 4).law(4, 0.01)
    parts = Moments.joined([Moments.of(tables[:1], 4), Moments.of(tables[1:], 4)]).law(4, 0.01)
    np.testing.assert_allclose(parts.weights, whole.weights, rtol=1e-8)


def test_errors_are_those_of_a_loop():
    z = autoregression(400, 0, FIRST, SECOND)
    law = Moments.of([z], 3).law(3, 0.01)
    sequences = sequences_of([z], 12, 12, most=100)
    assert sequences.shape == (33, 12, 2)
    near, far, alone = [], [], []
    for sequence in sequences:
        path = list(sequence[:7])
        for t in range(7, 12):
            near.append(sequence[t] - np.concatenate(sequence[t - 3 : t][::-1]) @ law.weights - law.offset)
            path.append(np.concatenate(path[-3:][::-1]) @ law.weights + law.offset)
            far.append(sequence[t] - path[-1])
            alone.append(sequence[t])
    found = law.errors(sequences, 5)
    assert found.one_step == pytest.approx(np.sqrt(np.square(near).mean() / np.square(alone).mean()))
    assert found.rolled_out == pytest.approx(np.sqrt(np.square(far).mean() / np.square(alone).mean()))


def test_a_planted_law_is_chosen():
    law = choose([autoregression(4000, 1, FIRST, SECOND)], 16, 4)
    assert law.lags == 2
    np.testing.assert_allclose(law.weights, np.concatenate([FIRST, SECOND]), atol=0.06)
    np.testing.assert_allclose(law.covariance, np.eye(2), atol=0.1)
    assert choose([autoregression(4000, 1, FIRST, SECOND)], 16, 4, lags=5).lags == 5


def test_a_law_is_chosen_from_a_recording_of_one_sequence_too():
    z = autoregression(20, 2, FIRST, SECOND)
    assert choose([z], 16, 4).lags <= 16
