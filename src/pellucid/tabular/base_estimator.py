"""What the estimators of tables share: the habits of scikit-learn around a `TableModel`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pellucid.errors import InputError
from pellucid.schemas import SchemaError, checked, json_of
from pellucid.splitting import hold_out
from pellucid.storage import as_saved
from pellucid.tabular.encoding import check_share
from pellucid.tabular.fitting import LabeledRows
from pellucid.tabular.frames import Frame, frame_of, is_data_frame
from pellucid.tabular.model import TableModel
from pellucid.tabular.network import NetworkFactory
from pellucid.tabular.presets import settings_for
from pellucid.text_tables import printable
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
    "play", "width", "depth", "ensemble", "dropout", "embedding", "weight_decay", "learning_rate",
)  # fmt: skip
_CHOSEN = ("epochs", "batch_size", "patience", "share")
# Rows below which more are held out: bounds and intervals need a few dozen.
_SMALL = 1000


class TransparentEstimator(BaseEstimator):  # type: ignore[misc]
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
        share: float | None = None,
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
        devices: int = 1,
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
        self.devices = devices
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
            (N,) what each row counts in the loss, also in that of the rows to stop by. Rows of weight 0 are left out
            of everything; intervals and bounds count all others alike.
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
        seed = self._seed()
        rows = _weighted(LabeledRows(frame, values, weights))
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
            devices=self.devices,
        )
        if self.verbose:
            print(*(printable(column.describe()) for column in model.columns_), sep="\n")  # noqa: T201 - it was asked for
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
        frame = frame_of(x)
        validate_data(self, x, reset=reset, skip_check_array=True)
        if len(frame) < (2 if reset else 1):
            raise InputError(
                f"There must be at least {'2 rows' if reset else '1 row'}",
                got=f"{len(frame)} sample(s)",
                cure="pass more",
                parameter="X",
            )
        if not frame.columns:
            raise InputError("There must be columns to learn from", got=f"0 feature(s) (shape={x.shape})")
        return frame

    def _targets(self, y: Any) -> np.ndarray:
        """(N,) numbers or classes, checked."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                cure="pass what was measured",
                parameter="y",
            )
        return self._checked_targets(y)

    def _checked_targets(self, y: Any) -> np.ndarray:
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
        """The predictions of rows, and the laws that the network follows around them; see `TableModel.explain`."""
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


def _weighted(rows: LabeledRows) -> LabeledRows:
    """The rows that count, with weights whose mean is 1."""
    if rows.weights is None or not rows.weights.sum() > 0:
        return rows
    counting = rows.select(np.flatnonzero(rows.weights))
    weights = np.asarray(counting.weights)
    return counting._replace(weights=weights / weights.mean())
