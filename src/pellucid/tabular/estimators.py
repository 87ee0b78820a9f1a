"""Estimators of scikit-learn for tables, each prediction with the law that the network follows around its row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pellucid.errors import InputError
from pellucid.schemas import SchemaError, checked, json_of
from pellucid.splitting import hold_out
from pellucid.storage import as_saved
from pellucid.tabular.encoding import check_share
from pellucid.tabular.fitting import LabeledRows, NetworkFactory
from pellucid.tabular.frames import Frame, frame_of, is_data_frame
from pellucid.tabular.model import TableModel
from pellucid.tabular.presets import settings_for
from pellucid.trust import LEVEL
from pellucid.writing import write_text

if TYPE_CHECKING:
    from pellucid.auditing import Audit
    from pellucid.tabular.columns import Column
    from pellucid.tabular.explanations import RowExplanations

_FILE = "estimator.json"
# Parameters that are those of `TableModel`.
_SHARED = (
    "game", "weight", "witness", "held_out_game", "ridge", "neighbors", "members", "explained_members", "sampler",
    "play", "share", "width", "depth", "ensemble", "dropout", "embedding", "weight_decay", "learning_rate",
)  # fmt: skip
_CHOSEN = ("epochs", "batch_size", "patience")
# Rows below which more are held out: bounds and intervals need a few dozen.
_SMALL = 1000


class _TransparentEstimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share; their parameters are described there."""

    _task: ClassVar[Literal["regression", "classification"]]

    model_: TableModel

    def __init__(
        self,
        *,
        game: str | None = "symmetric",
        weight: float = 3.0,
        witness: str = "auto",
        held_out_game: bool = True,
        ridge: float = 0.1,
        neighbors: int = 16,
        members: int = 32,
        explained_members: int = 64,
        sampler: Any = "mixed",
        play: str = "fresh",
        share: float = 0.125,
        network: NetworkFactory | None = None,
        width: int = 128,
        depth: int = 2,
        ensemble: int = 8,
        dropout: float = 0.0,
        embedding: int = 0,
        weight_decay: float = 0.01,
        learning_rate: float = 1e-3,
        epochs: int | None = None,
        batch_size: int | None = None,
        patience: int | None = None,
        validation: float | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.game = game
        self.weight = weight
        self.witness = witness
        self.held_out_game = held_out_game
        self.ridge = ridge
        self.neighbors = neighbors
        self.members = members
        self.explained_members = explained_members
        self.sampler = sampler
        self.play = play
        self.share = share
        self.network = network
        self.width = width
        self.depth = depth
        self.ensemble = ensemble
        self.dropout = dropout
        self.embedding = embedding
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.patience = patience
        self.validation = validation
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # -- training ----------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,  # noqa: N803 - as scikit-learn calls it
        y: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from rows and what was measured there.

        Parameters
        ----------
        X : array_like
            (N, C) rows, as a table of pandas or polars or an array: numbers, texts, booleans, dates, blanks.
        y : array_like
            (N,) numbers or classes.
        sample_weight : array_like, optional
            (N,) what each row counts in the loss.
        validation : tuple, optional
            Rows and their measured values, to stop by and to calibrate on, instead of a share of `X`.
        folder : str or Path, optional
            The folder of the checkpoints; None writes none.
        resume : bool
            Go on from the checkpoint in `folder`, if there is one; the result is that of a run without a break.
        """
        frame = self._frame(X, reset=True)
        values = self._targets(y)
        check_consistent_length(np.empty(len(frame)), values)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, np.empty((len(frame), 1)), ensure_non_negative=True)
            weights = weights / weights.mean() if weights.sum() > 0 else weights
        seed = self._seed()
        rows = LabeledRows(frame, values, weights)
        learned, held_out = self._parts(rows, validation, seed)
        model = self._new_model(len(learned.frame), seed)
        target = getattr(y, "name", None)
        model.fit(
            learned.frame,
            learned.y,
            weights=learned.weights,
            numbers=learned.numbers,
            validation=held_out,
            target="y" if target is None else str(target),
            network=self.network,
            folder=folder,
            resume=resume,
            progress=bool(self.verbose),
            device=self.device,
        )
        if self.verbose:
            print(*(column.describe() for column in model.columns_), sep="\n")  # noqa: T201 - it was asked for
        self._keep(model)
        return self

    def _keep(self, model: TableModel) -> None:
        self.model_ = model
        self.columns_: tuple[Column, ...] = model.columns_
        self.n_iter_ = len(model.history_)
        self.history_ = model.history_
        self.witness_ = model.witness_

    def _new_model(self, rows: int, seed: int) -> TableModel:
        chosen = settings_for(rows)
        chosen |= {name: getattr(self, name) for name in _CHOSEN if getattr(self, name) is not None}
        shared = {name: getattr(self, name) for name in _SHARED}
        return TableModel(task=self._task, seed=seed, **shared, **chosen)

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _parts(
        self, rows: LabeledRows, validation: tuple[Any, Any] | None, seed: int
    ) -> tuple[LabeledRows, LabeledRows | None]:
        """The rows to learn from, and those held out."""
        if validation is not None:
            others = LabeledRows(self._frame(validation[0], reset=False), self._targets(validation[1]))
            return rows, others
        count = len(rows.frame)
        share = (
            (0.15 if count < _SMALL else 0.1) if self.validation is None else check_share(self.validation, "validation")
        )
        if count < 5 or not share:
            return rows, None
        learned, held_out = hold_out(count, share, seed=seed)
        learned, held_out = self._with_all_classes(rows.y, learned, held_out)
        if not len(learned) or not len(held_out):
            return rows, None
        return rows.select(learned), rows.select(held_out)

    def _with_all_classes(
        self, y: np.ndarray, learned: np.ndarray, held_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return learned, held_out

    def _frame(self, x: Any, *, reset: bool) -> Frame:
        """The rows as columns, checked as scikit-learn does."""
        if not is_data_frame(x):
            x = check_array(
                x,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
                estimator=self,
            )
        validate_data(self, x, reset=reset, skip_check_array=True)
        if is_data_frame(x):
            if len(x) < (2 if reset else 1):
                raise InputError(
                    f"There must be at least {2 if reset else 1} row{'s' if reset else ''}",
                    got=f"{len(x)} sample(s)",
                    cure="pass more",
                    parameter="X",
                )
            if not x.shape[1]:
                raise InputError("There must be columns to learn from", got=f"0 feature(s) (shape={x.shape})")
        return frame_of(x)

    def _targets(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    # -- use -------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """(N,) the predictions of rows."""
        check_is_fitted(self)
        return self.model_.predict(self._frame(X, reset=False))

    def explain(
        self,
        X: Any,  # noqa: N803
        *,
        level: float = LEVEL,
        changeable: Sequence[str] | None = None,
        wanted: Any = None,
        labels: Sequence[str] | None = None,
    ) -> RowExplanations:
        """The predictions of rows, and the laws that the network follows around them.

        Parameters
        ----------
        X : array_like
            The rows.
        level : float
            The confidence of bounds and intervals.
        changeable : sequence of str, optional
            Columns that counterfactuals may change; by default all.
        wanted : object, optional
            What counterfactuals are to reach: a class, by default the likeliest other one; or for a regression a pair
            of numbers, between which the prediction is to be, either of which may be None.
        labels : sequence of str, optional
            What the rows are called.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        return self.model_.explain(frame, level=level, changeable=changeable, wanted=wanted, labels=labels)

    def audit(self, X: Any) -> Audit:  # noqa: N803
        """How well the laws match the network in the neighborhoods of these rows; see `pellucid.audit`."""
        check_is_fitted(self)
        return self.model_.audit(self._frame(X, reset=False))

    # -- on disk -------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the estimator as a folder of plain files; nothing is pickled."""
        check_is_fitted(self)
        self.model_.save(folder)
        parameters = {
            name: value for name, value in self.get_params(deep=False).items()
            if name not in ("network", "random_state") and isinstance(value, str | int | float | bool | None)
        }  # fmt: skip
        content = {"parameters": parameters, "columns": self.n_features_in_}
        names = getattr(self, "feature_names_in_", None)
        content["names"] = None if names is None else list(names)
        write_text(Path(folder) / _FILE, json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path, *, network: NetworkFactory | None = None) -> Self:
        """Read what `save` or a run wrote. Nothing in the folder can run code.

        Parameters
        ----------
        folder : str or Path
            The folder.
        network : NetworkFactory, optional
            If the estimator was trained with a predictor of your own, what makes it; it gets the saved weights.
        """
        model = TableModel.load(folder, network=network)
        if model.task != cls._task:
            raise InputError(
                f"A {cls.__name__} must be of a {cls._task}",
                got=f"a {model.task}",
                cure="load it with the other estimator",
            )
        with as_saved(Path(folder)):
            estimator = cls._with_parameters(Path(folder) / _FILE, model)
        estimator.set_params(network=network, random_state=model.seed)
        estimator._keep(model)
        return estimator

    @classmethod
    def _with_parameters(cls, path: Path, model: TableModel) -> Self:
        """An estimator with the parameters of a file; without one, which runs do not write, with those of the model."""
        names = [column.name for column in model.columns_]
        if not path.is_file():
            estimator = cls(**{name: getattr(model, name) for name in (*_SHARED, *_CHOSEN)})
            estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)
            return estimator
        content = checked(dict[str, Any], json_of(path))
        kinds = dict[str, str | bool | int | float | None]
        parameters: dict[str, Any] = checked(kinds, content["parameters"], "parameters")
        unknown = {*parameters} - {*cls().get_params(deep=False)}
        if unknown or checked(int, content["columns"], "columns") != len(names):
            raise SchemaError("its parameters or columns are not those of the model")
        estimator = cls(**parameters)
        estimator.n_features_in_ = len(names)
        if content.get("names") is not None:
            if list(checked(tuple[str, ...], content["names"], "names")) != names:
                raise SchemaError("its names are not those of the model's columns")
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return estimator


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
    share : float
        The share of a batch whose neighborhoods play.
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
class TransparentRegressor(RegressorMixin, _TransparentEstimator):  # type: ignore[misc]
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

    def _targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                cure="pass what was measured",
                parameter="y",
            )
        return np.asarray(column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True))

    def predict_interval(self, X: Any, *, level: float = LEVEL) -> np.ndarray:  # noqa: N803
        """(N, 2) between which numbers the measured one lies with this confidence; NaN where that is not known."""
        check_is_fitted(self)
        return self.model_.predict_interval(self._frame(X, reset=False), level=level)


@final
class TransparentClassifier(ClassifierMixin, _TransparentEstimator):  # type: ignore[misc]
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

    def _targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                cure="pass the classes",
                parameter="y",
            )
        classes = np.asarray(column_or_1d(y, warn=True))
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
