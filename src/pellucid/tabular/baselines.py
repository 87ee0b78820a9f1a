"""What a user would train instead: models of scikit-learn, with its own settings, on the same rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.splitting import Parts
from pellucid.summaries import BaselineSummary
from pellucid.tabular.measures import prediction_scores
from pellucid.tabular.tasks import TableTask

if TYPE_CHECKING:
    from pellucid.tabular.rows import TableRows


def baselines(task: str, parts: Parts[TableRows]) -> list[BaselineSummary]:
    """A linear model and boosted trees, learned from the rows to train on and tested on those to test on.

    Parameters
    ----------
    task : {"regression", "classification"}
        What is learned.
    parts : Parts of TableRows
        The rows.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LinearRegression, LogisticRegression
    except ImportError:
        return []
    numbers = task == "regression"
    linear, name = (LinearRegression(), "Linear") if numbers else (LogisticRegression(max_iter=1000), "Logistic")
    boosted = (HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier)(random_state=0)
    return [
        BaselineSummary(
            title=f"{name} regression",
            about="one law for all rows, of scikit-learn with its own settings",
            scores=_scores(linear, task, parts),
        ),
        BaselineSummary(
            title="Boosted trees",
            about="gradient boosting of scikit-learn with its own settings, which has no laws",
            scores=_scores(boosted, task, parts),
        ),
    ]


def _scores(model: Any, task: str, parts: Parts[TableRows]) -> dict[str, Any]:
    from pellucid.tabular.deciding import decide
    from pellucid.tabular.encoding import Encoding

    train, test = parts.train, parts.test
    encoding = Encoding.of(decide(train.frame, train.y), train.frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a solver that has not converged: it is compared with as it is
        model.fit(encoding.read(train.frame).numpy(), _plain(train.y))
    x = encoding.read(test.frame).numpy()
    labels = TableTask.of("regression" if task == "regression" else "classification", _plain(train.y), train.target)
    prediction = model.predict(x)[:, None] if task == "regression" else labels.log_odds(model.predict_proba(x))
    return prediction_scores(labels, _plain(test.y), prediction)


def _plain(y: np.ndarray) -> np.ndarray:
    return np.array(y.tolist())
