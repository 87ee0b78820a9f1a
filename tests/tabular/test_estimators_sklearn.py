"""The estimators under the checks of scikit-learn, all of them."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pellucid.tabular import TransparentClassifier, TransparentRegressor

pytestmark = pytest.mark.slow

SMALL = {
    "epochs": 40, "learning_rate": 0.02, "width": 32, "ensemble": 2, "dropout": 0.0, "witness": "linear", "members": 8,
    "explained_members": 16, "neighbors": 6,
}  # fmt: skip
ROWS = "batches and the held-out part are made of rows, so that a row of weight 2 is not the same as two rows"


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": ROWS,
    }


@parametrize_with_checks(
    [TransparentRegressor(**SMALL), TransparentClassifier(**SMALL)], expected_failed_checks=expected_failures
)
def test_scikit_learn_finds_nothing_wrong(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it one check is skipped
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        check(estimator)
