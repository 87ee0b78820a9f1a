"""Estimators of scikit-learn for tables, each prediction with the law that the network follows around its row."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pellucid.errors import InputError
from pellucid.tabular.base_estimator import TransparentEstimator
from pellucid.tabular.columns import number_in
from pellucid.tabular.model import TableModel
from pellucid.trust import LEVEL

_PARAMETERS = """

    Parameters
    ----------
    game : {"symmetric", "asymmetric", "uniform"}, optional
        The game that the network plays; None trains it without one.
    weight : float
        Weight of the game: 0 is no game, a large one makes the network follow its laws at the expense of accuracy.
    witness : {"auto", "linear", "sparse", "tree"}
        What explains predictions: a linear law of all columns, one of at most eight terms, a small tree, or whichever
        of them holds best at held-out points.
    held_out_game : bool
        Whether the network pays at each point for the law that was fitted without it.
    ridge : float
        Ridge of the laws in the game.
    neighbors : int
        The number of nearest rows in a neighborhood.
    members, explained_members : int
        The number of members of a neighborhood in the game, and in explanations; sampled rows fill them.
    sampler : {"mixed", "between", "around"} or callable
        Which rows are sampled; see `Sampler`.
    play : {"fresh", "banked"}
        Whether the network is asked about fresh rows in every step, or each row of the table once an epoch.
    share : float, optional
        The share of a batch whose neighborhoods play; by default what suits the number of rows.
    network : callable, optional
        Makes a predictor of your own: from the numbers of features P and outputs K to a module from (B, P) to (B, K).
    width, depth, ensemble, dropout, embedding : int or float
        Settings of the network; see `TableNetwork`.
    weight_decay, learning_rate : float
        Settings of the optimiser, AdamW with a one-cycle rate.
    epochs, batch_size, patience : int, optional
        By default what suits the number of rows.
    validation : float, optional
        The share of the rows that are held out to stop by and to calibrate on; by default 0.15 of fewer than a thousand
        rows, otherwise 0.1.
    random_state : int, optional
        Fixes the held-out rows, the initial weights and the order of batches; or a generator of scikit-learn's kind.
    device : str
        "cpu", "gpu", "auto" or another accelerator that Lightning knows.
    devices : int
        Processes to train in, each with a core or a GPU of its own; the result is that of one, up to rounding.
    verbose : bool
        Show a progress bar, and print what was decided about each column.

    Attributes
    ----------
    columns_ : tuple of Column
        What was decided about each column: its kind, levels, blanks; and whether it is constant, names the rows or
        gives the answer away.
    model_ : TableModel
        The trained model.
    witness_ : str
        "linear", "sparse" or "tree": what explains predictions.
    history_ : list of dict of str to float
        One record of losses per epoch.
    n_iter_ : int
        The number of epochs.
    n_features_in_, feature_names_in_ : int or ndarray
        The columns of the table.
"""


@final
class TransparentRegressor(RegressorMixin, TransparentEstimator):  # type: ignore[misc]
    __doc__ = f"""A network for a number that follows, around every row, a law that a person can read.
{_PARAMETERS}
    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from pellucid.tabular import TransparentRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TransparentRegressor(epochs=5, random_state=0).fit(X, y)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    _task = "regression"

    def _checked_targets(self, y: Any) -> np.ndarray:
        try:
            checked = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        except ValueError as error:
            raise _refused_numbers(y, error) from None
        return np.asarray(column_or_1d(checked, warn=True))

    def predict_interval(self, X: Any, *, level: float = LEVEL) -> np.ndarray:  # noqa: N803
        """(N, 2) between which numbers the measured one lies with this confidence; NaN where that is not known."""
        check_is_fitted(self)
        return self.model_.predict_interval(self._frame(X, reset=False), level=level)


@final
class TransparentClassifier(ClassifierMixin, TransparentEstimator):  # type: ignore[misc]
    __doc__ = f"""A network for two or more classes that follows, around every row, a law that a person can read.
{_PARAMETERS}
    classes_ : ndarray
        The classes in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from pellucid.tabular import TransparentClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = TransparentClassifier(epochs=5, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _task = "classification"

    def _checked_targets(self, y: Any) -> np.ndarray:
        classes = np.asarray(column_or_1d(y, warn=True))
        blank = np.array([value is None or value != value for value in classes.tolist()], dtype=bool)
        if blank.any():
            raise InputError(
                "Every row must have a class (Input y contains NaN)",
                got=f"a blank in row {int(blank.argmax()) + 1}",
                cure="leave such rows out",
                parameter="y",
            )
        assert_all_finite(classes, input_name="y")
        check_classification_targets(classes)
        return classes

    def _with_all_classes(
        self, y: np.ndarray, learned: np.ndarray, held_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        # A class that only the held-out rows have could not be learned.
        lost = held_out[~np.isin(y[held_out], y[learned])]
        return np.sort(np.concatenate([learned, lost])), np.setdiff1d(held_out, lost)

    def _keep(self, model: TableModel) -> None:
        super()._keep(model)
        self.classes_ = model.classes

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """(N, classes) the network's probabilities, which its laws follow; see `predict_calibrated`."""
        check_is_fitted(self)
        values = self.model_.predict_values(self._frame(X, reset=False))
        return self.model_.task_.probabilities(values)

    def predict_calibrated(self, X: Any) -> np.ndarray:  # noqa: N803
        """(N, classes) probabilities that mean what they say: calibrated on held-out rows."""
        check_is_fitted(self)
        return self.model_.predict_calibrated(self._frame(X, reset=False))


def _refused_numbers(y: Any, error: ValueError) -> ValueError:
    """An error that says in which row there is no number, where that is what is wrong."""
    values = np.asarray(y).ravel()
    numbers = np.array([number_in(value.item() if isinstance(value, np.generic) else value) for value in values])
    if not (wrong := ~np.isfinite(numbers)).any():
        return error
    place = int(wrong.argmax())
    value, number = values[place], numbers[place]
    text = isinstance(value, str) and np.isnan(number)
    return InputError(
        "Every row must have a number to learn" + ("" if text else f" ({str(error).splitlines()[0].rstrip('.')})"),
        got=f"{str(value)!r} in row {place + 1}" if text else f"{number:g} in row {place + 1}",
        cure="correct them, or learn classes with a TransparentClassifier" if text else "leave such rows out",
        parameter="y",
    )
