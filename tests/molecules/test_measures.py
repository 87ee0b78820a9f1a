"""What a run on molecules compares."""

from types import SimpleNamespace

import numpy as np
import pytest

from pellucid.molecules import prepare
from pellucid.molecules.measures import measures, scores_of
from pellucid.molecules.scores import PropertyScores
from pellucid.molecules.tasks import Task


def test_errors_of_several_units_are_not_pooled():
    table = prepare(["CCO", "CCN", "CCC"], [[1.0, 100.0], [2.0, 300.0], [3.0, np.nan]], targets=["a", "b"])
    model = SimpleNamespace(task_=Task(kind="regression", shift=np.array([2.0, 100.0]), scale=np.ones(2)))
    scores = PropertyScores(
        targets=("a", "b"), measure="RMSE", loss=0.0, accuracy=np.array([0.5, 100.0]), witness_accuracy=np.ones(2),
        local_auc=np.ones(2), global_auc=np.ones(2), variations=np.zeros(3), explained=1.0, sizes=np.array([1, 2, 1]),
    )  # fmt: skip
    numbers = scores_of(scores, model, table)
    # Always predicting the mean misses a by sqrt(2/3) and b by sqrt(200^2 / 2).
    assert numbers["relative_error"] == pytest.approx((0.5 / np.sqrt(2 / 3) + 100 / np.sqrt(2e4)) / 2)
    assert numbers["accuracy of b"] == 100.0
    assert numbers["deviation"] is numbers["explained"] is numbers["global_auc"] is None  # nobody has neighbors
    titles = [row.title for row in measures("RMSE", table)]
    assert titles[:3] == ["relative error", "RMSE: a", "RMSE: b"]
    assert "RMSE of the network" not in titles
    assert "bound between tree and network" not in titles  # nor are bounds
    leading = [row.key for row in measures("RMSE", table.select([0]), noun="law")]
    assert "bound" not in leading
    assert [row.key for row in measures("AUC", noun="law")][:3] == ["accuracy", "held_out_variance_explained", "bound"]
