"""A column of a table, each prediction with the law that the network follows around its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import InputError, warn_once
from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.models import FittedAttribute
from pellucid.tabular.certainty import calibrated_probabilities, certainty_of
from pellucid.tabular.columns import Column
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.fitted import FittedTable
from pellucid.tabular.fitting import LabeledRows, TableFit
from pellucid.tabular.frames import frame_of
from pellucid.tabular.model_settings import WITNESSES, TableModelSettings
from pellucid.tabular.neighborhoods import RowNeighborhoods, regular
from pellucid.tabular.network import NetworkFactory
from pellucid.tabular.tasks import TableTask
from pellucid.training.hardware import Hardware
from pellucid.trust import LEVEL, MOST, Calibration, HeldOut, check_level, held_out
from pellucid.witnesses import Witnesses

if TYPE_CHECKING:
    from pellucid.auditing import Audit
    from pellucid.tabular.explanations import RowExplanations

# Rows that pass through the network at once: what a layer makes of them stays in the cache.
_PIECE = 512
# Rows that an audit measures: more would not make its numbers more precise than they can be read.
_AUDITED = 10_000
# Members of a neighborhood for each feature, so that a law of all features is determined; and the most.
_PER_FEATURE, _MOST_MEMBERS = 3, 256


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TableModel(TableModelSettings):
    """A network for tables of mixed columns that follows, around every row, a law that a person can read.

    The predictor f gives a number, or the log-odds of classes, in which what columns do adds up. Around a row it is
    witnessed by a function g of the features of the table, fitted on a neighborhood B: the row, the nearest rows that
    were learned from, and rows sampled between and around them, about which the network is asked. Training minimises

        mean over rows of L(f, y)  +  weight * mean over neighborhoods of D,
        D = mean over members of |f - sg(g)|^2,

    with L the squared error in standard deviations, or cross-entropy. With `held_out_game` the witness of a member was
    not fitted to it. `game=None` trains the same predictor without a game. The estimators of scikit-learn,
    `TransparentRegressor` and `TransparentClassifier`, choose settings that suit the table; their parameters are these.

    Parameters
    ----------
    task : {"regression", "classification"}
        What is learned.
    game : {"symmetric", "asymmetric", "uniform"}, optional
        The game that the predictor plays; None trains it without one.
    weight : float
        Weight of the symmetric or asymmetric game.
    margin, multiplier_rate : float
        Margin of the uniform game, in squared standard deviations or quarter log-odds, and the step size of its
        multipliers.
    witness : {"linear", "sparse", "tree", "auto"}
        What predictions are explained by: a linear law of all columns, one of at most eight terms, or a small tree;
        "auto" takes the one with the highest held-out variance explained on the validation rows. In the game trees play
        if they are to explain, otherwise linear laws.
    held_out_game : bool
        Whether the predictor pays at each member for the witness that was fitted without it.
    ridge : float
        Ridge of the linear laws in the game, in scaled features. Explanations choose their own by leave-one-out.
    neighbors : int
        The number of nearest rows in a neighborhood.
    members : int
        The number of members that play for each neighborhood in a step: the row, some of its neighbors, sampled rows.
    explained_members : int
        The least number of members of the neighborhoods of explanations; where there are many features, three for each,
        up to 256.
    sampler : {"mixed", "between", "around"} or RowSampler
        Which rows are sampled; see `pellucid.tabular.Sampler`. A function cannot be saved.
    play : {"fresh", "banked"}
        "fresh" asks the network about new sampled rows in every step. "banked" (symmetric game only) plays with the
        rows of the table alone: each is evaluated once an epoch, and pulled towards the laws of the latest predictions.
    share : float
        Fresh play: the share of a batch whose neighborhoods play in a step.
    width, depth, ensemble, dropout, embedding : int or float
        Settings of the network; see `TableNetwork`.
    weight_decay : float
        By how much weights shrink in a step, as a multiple of the learning rate.
    epochs, batch_size, learning_rate, patience, seed : int or float
        Training settings; see `TrainingSettings`.

    Attributes
    ----------
    columns_ : tuple of Column
        What was decided about each column.
    task_ : TableTask
        How outputs become values.
    encoding_ : Encoding
        From rows to features.
    network_ : Module
        The trained predictor, of scaled features.
    witness_ : str
        "linear", "sparse" or "tree": what predictions are explained by.
    calibration_ : Calibration, optional
        How far witnesses can be trusted.
    intervals_ : PredictionIntervals, optional
        Of measured values, for regression.
    probabilities_ : ProbabilityCalibration, optional
        For classification.
    history_ : list of dict of str to float
        One record of losses per epoch.
    """

    file: ClassVar[str] = "transparent_table"

    columns_ = FittedAttribute[tuple[Column, ...]]("encoding.columns")
    encoding_ = FittedAttribute[Encoding]()
    task_ = FittedAttribute[TableTask]()
    network_ = FittedAttribute[nn.Module]()
    calibration_ = FittedAttribute[Calibration | None]()
    intervals_ = FittedAttribute[PredictionIntervals | None]()
    probabilities_ = FittedAttribute[ProbabilityCalibration | None]()

    # -- training ----------------------------------------------------------------------------------------------

    def fit(
        self,
        x: Any,
        y: Any,
        *,
        weights: np.ndarray | None = None,
        numbers: np.ndarray | None = None,
        validation: LabeledRows | None = None,
        target: str = "y",
        network: NetworkFactory | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
        device: str = "cpu",
        devices: int = 1,
        nodes: int = 1,
        strategy: Literal["auto", "ddp"] = "auto",
        warn: bool = True,
    ) -> TableModel:
        """Learn from rows and what was measured there.

        Parameters
        ----------
        x : Frame or array_like
            The rows to learn from.
        y : array_like
            (N,) numbers or classes.
        weights : ndarray, optional
            (N,) what each row counts.
        numbers : ndarray, optional
            (N,) the number of each row in its table, by which explanations name neighbors.
        validation : LabeledRows, optional
            Other rows, for early stopping and for `calibrate`.
        target : str
            Name of what is predicted.
        network : NetworkFactory, optional
            Makes a predictor of your own: from the numbers of scaled features P and of outputs K to a module from (B,
            P) to (B, K) outputs: values in standard deviations, or logits.
        folder, resume, progress, device : str or Path or bool
            Where checkpoints are written, whether to go on from one, whether to show a bar, and where to compute.
        devices, nodes : int
            Processes on each machine, each with a core or a GPU of its own, and machines; see `Hardware`. The result is
            that of one process, up to rounding.
        strategy : {"auto", "ddp"}
            How processes average gradients; see `Hardware`.
        warn : bool
            Warn, before training, of columns that give the answer away or look like numbers that were not read as such.
        """
        hardware = Hardware(device=device, devices=devices, nodes=nodes, strategy=strategy)
        learned = LabeledRows(frame_of(x), np.asarray(y), weights, numbers)
        fit = TableFit(self, learned, validation, target=target, network=network)
        for column in fit.encoding.columns if warn else ():
            if column.warning:
                warn_once(f"The column {column.name!r} {column.warning}.", column.name)
        return self._train(fit, validation, folder=folder, resume=resume, progress=progress, hardware=hardware)

    # -- predictions -------------------------------------------------------------------------------------------

    def predict_values(self, x: Any) -> np.ndarray:
        """(N, K) numbers in the units of the data, or log-odds."""
        return self.task_.natural(self.exact_values(self.read(x)))

    def predict(self, x: Any) -> np.ndarray:
        """(N,) numbers, or classes."""
        values = self.predict_values(x)
        if self.task == "regression":
            return values[:, 0]
        return np.asarray(self.classes[self.task_.probabilities(values).argmax(1)])

    @property
    def classes(self) -> np.ndarray:
        """The classes in their order."""
        return np.array(self.task_.classes)

    def predict_interval(self, x: Any, *, level: float = LEVEL) -> np.ndarray:
        """(N, 2) between which numbers the measured one lies with this confidence; NaN where that is not known.

        For regression. Learned from the validation rows, in bins by the distance to the nearest row that was learned
        from. This is about prediction and measurement; the bound of an explanation is about law and network.

        Parameters
        ----------
        x : array_like
            The rows.
        level : float
            The confidence.
        """
        if self.intervals_ is None:
            raise InputError(
                "Intervals are learned from held-out rows of a regression",
                got="a classification" if self.task == "classification" else "no held-out rows",
                cure="use `predict_calibrated`" if self.task == "classification" else "hold out some rows in `fit`",
            )
        return self.intervals_at(self.read(x), level)

    def intervals_at(self, scaled: Tensor, level: float) -> np.ndarray:
        """(N, 2) intervals at scaled features (N, P); NaN where they are not known."""
        if self.intervals_ is None:
            return np.full((len(scaled), 2), np.nan)
        widths = self.intervals_.half_widths(self.fitted_.familiarity(scaled), check_level(level))
        widths[np.isinf(widths)] = np.nan
        values = self.task_.natural(self.exact_values(scaled))
        return np.concatenate([values - widths, values + widths], axis=1)

    def predict_calibrated(self, x: Any) -> np.ndarray:
        """(N, classes) probabilities that mean what they say: calibrated on held-out rows."""
        return self.calibrated_probabilities(self.predict_values(x))

    def calibrated_probabilities(self, values: np.ndarray) -> np.ndarray:
        """(N, classes) from the log-odds (N, K) of the network; without held-out rows as they are."""
        return calibrated_probabilities(self.task_, self.probabilities_, values)

    def read(self, x: Any) -> Tensor:
        """(N, P) scaled features of rows."""
        return self.encoding_.read(frame_of(x))

    def values_at(self, scaled: Tensor) -> Tensor:
        """(N, K) values of the network, in standard deviations or quarter log-odds, at scaled features (N, P)."""
        with torch.no_grad():
            parts = [self.task_.values(self.network_(part)) for part in scaled.float().split(_PIECE)]
        return torch.cat(parts)

    def exact_values(self, scaled: Tensor) -> np.ndarray:
        """(N, K) the same in float64, which do not depend on which rows are predicted together."""
        network = self.fitted_.exact_network
        with torch.no_grad():
            parts = [self.task_.values(network(part)) for part in scaled.double().split(_PIECE)]
        return torch.cat(parts).numpy()

    # -- laws ----------------------------------------------------------------------------------------------------

    def neighborhoods(self, scaled: Tensor) -> RowNeighborhoods:
        """The neighborhoods of rows, given as scaled features (n, P); those of a row are the same in any company."""
        record = self.fitted_
        nearest, distances = record.nearest(scaled, self.neighbors)
        near = record.scaled[torch.from_numpy(nearest)]
        size = max(self.explained_members, min(_PER_FEATURE * scaled.shape[1] + 2, _MOST_MEMBERS))
        fresh = self.new_sampler(record.encoding).alike(
            scaled, near, max(size - 1 - nearest.shape[1], 0), seed=self.seed
        )
        members = torch.cat([scaled[:, None], near, fresh], dim=1)
        return RowNeighborhoods(
            points=members.flatten(0, 1),
            hoods=regular(len(members), members.shape[1]),
            nearest=nearest,
            distances=distances,
        )

    def witnesses(self, neighborhoods: RowNeighborhoods, witness: str | None = None) -> Witnesses:
        """The witnesses of the predictor, in scaled features and in standard deviations or quarter log-odds."""
        f = self.values_at(neighborhoods.points).double()
        fitted = self.family(witness).best_response(neighborhoods.points, f, neighborhoods.hoods)
        return fitted.named(self.encoding_.feature_names, self.task_.outputs)

    def held_out(self, x: Any, *, seed: int = 0, witness: str | None = None) -> HeldOut:
        """Witnesses at a member of each neighborhood that they were not fitted to; of many rows, a thousand."""
        scaled = self._sample(self.read(x), seed)
        neighborhoods = self.neighborhoods(scaled)
        f = self.values_at(neighborhoods.points).double()
        return held_out(f, neighborhoods.points, neighborhoods.hoods, self.family(witness), seed=seed)

    @staticmethod
    def _sample(scaled: Tensor, seed: int, most: int = MOST) -> Tensor:
        if len(scaled) <= most:
            return scaled
        return scaled[np.sort(np.random.default_rng(seed).permutation(len(scaled))[:most])]

    def calibrated(self, data: LabeledRows, *, progress: bool = False) -> FittedTable:
        """The record, with a calibration on these rows; they also choose the witness, if it is "auto"."""
        names = WITNESSES[:3] if self.witness == "auto" else (self.witness_,)
        parts = {name: self.held_out(data.frame, witness=name) for name in names}
        # Where nothing varies there is nothing to choose by: the first.
        best = max(parts, key=lambda name: float(np.nan_to_num(parts[name].explained(), nan=-np.inf).mean()))
        changes: dict[str, Any] = {"calibration": Calibration.of(parts[best]), "witness": best}
        return replace(self.fitted_, **changes, **certainty_of(self, data))

    def explain(
        self,
        x: Any,
        *,
        level: float = LEVEL,
        changeable: Sequence[str] | None = None,
        wanted: Any = None,
        labels: Sequence[str] | None = None,
    ) -> RowExplanations:
        """The predictions of rows, and the laws that the network follows around them; see `RowExplanations`.

        Parameters
        ----------
        x : array_like
            The rows.
        level : float
            The confidence of bounds and intervals.
        changeable : sequence of str, optional
            Columns that counterfactuals may change; by default all.
        wanted : object, optional
            What counterfactuals are to reach: a class, by default the likeliest other one; or for a regression a pair
            of numbers, between which the prediction is to be, either of which may be None. Without it a regression has
            no counterfactuals.
        labels : sequence of str, optional
            What the rows are called.
        """
        from pellucid.tabular.explanations import RowExplanations

        frame = frame_of(x)
        return RowExplanations.of(
            self, frame, level=check_level(level), changeable=changeable, wanted=wanted, labels=labels
        )

    def audit(self, x: Any) -> Audit:
        """How well the laws match the network in the neighborhoods of these rows; see `pellucid.audit`.

        Of more than 10,000 rows a random sample of so many is measured.
        """
        from pellucid.auditing import audit

        neighborhoods = self.neighborhoods(self._sample(self.read(x), 0, _AUDITED))
        f = self.values_at(neighborhoods.points).double()
        return audit(
            f,
            neighborhoods.points,
            neighborhoods.hoods,
            self.family(),
            features=self.encoding_.feature_names,
            outputs=self.task_.outputs,
        )

    # -- on disk -------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder of plain files: JSON, and weights and rows as safetensors."""
        if callable(self.sampler):
            raise InputError(
                "A model is saved without code", got="`sampler` as a function", cure='use "mixed", or pickle the model'
            )
        super().save(folder)

    @classmethod
    def load(cls, folder: str | Path, *, network: NetworkFactory | None = None) -> TableModel:
        """Read what `save` wrote. Nothing in the folder can run code.

        Parameters
        ----------
        folder : str or Path
            The folder that `save` wrote.
        network : NetworkFactory, optional
            If the model was trained with a predictor of your own, what makes it; it gets the saved weights.
        """
        if network is None:
            return cls._load(Path(folder))
        return cls._load(Path(folder), lambda model, record: model.new_network(**record, factory=network))
