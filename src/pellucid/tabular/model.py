"""A column of a table, each prediction with the law that the network follows around its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import InputError
from pellucid.games import Game
from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.models import FittedAttribute, Model
from pellucid.named_games import GAMES, GameName, named_game
from pellucid.schemas import checked
from pellucid.tabular.columns import Column
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.fitted import FittedTable
from pellucid.tabular.fitting import LabeledRows, NetworkFactory, TableFit
from pellucid.tabular.frames import frame_of
from pellucid.tabular.neighborhoods import RowNeighborhoods, regular
from pellucid.tabular.network import TableNetwork
from pellucid.tabular.sampling import SAMPLERS, RowSampler, Sampler, SamplerName
from pellucid.tabular.tasks import TableTask
from pellucid.trust import LEVEL, MOST, Calibration, HeldOut, check_level, held_out
from pellucid.witnesses import LinearFamily, SparseLinearFamily, TreeFamily, Witnesses, WitnessFamily

if TYPE_CHECKING:
    from pellucid.auditing import Audit
    from pellucid.tabular.explanations import RowExplanations

WitnessName: TypeAlias = Literal["linear", "sparse", "tree", "auto"]
WITNESSES = ("linear", "sparse", "tree", "auto")
# Rows that pass through the network at once.
_PIECE = 8192
# Members of a neighborhood for each feature, so that a law of all features is determined; and the most.
_PER_FEATURE, _MOST_MEMBERS = 3, 256
# What settings may be at most: more would fill the memory before it was of use.
_MOST_LAYERS, _MOST_NETWORKS, _LARGEST_NEIGHBORHOOD = 100, 1024, 10_000


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TableModel(Model[FittedTable]):
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

    task: Literal["regression", "classification"] = "regression"
    game: GameName | None = "symmetric"
    weight: float = 3.0
    margin: float = 0.01
    multiplier_rate: float = 1.0
    witness: WitnessName = "auto"
    held_out_game: bool = True
    ridge: float = 0.1
    neighbors: int = 16
    members: int = 32
    explained_members: int = 64
    sampler: SamplerName | RowSampler = "mixed"
    play: Literal["fresh", "banked"] = "fresh"
    share: float = 0.125
    width: int = 128
    depth: int = 2
    ensemble: int = 8
    dropout: float = 0.0
    embedding: int = 0
    weight_decay: float = 0.01
    learning_rate: float = 1e-3

    file: ClassVar[str] = "transparent_table"
    record_type = FittedTable

    columns_ = FittedAttribute[tuple[Column, ...]]("encoding.columns")
    encoding_ = FittedAttribute[Encoding]()
    task_ = FittedAttribute[TableTask]()
    network_ = FittedAttribute[nn.Module]()
    witness_ = FittedAttribute[str]()
    calibration_ = FittedAttribute[Calibration | None]()
    intervals_ = FittedAttribute[PredictionIntervals | None]()
    probabilities_ = FittedAttribute[ProbabilityCalibration | None]()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(("regression", "classification"), "task")
        self._require_one_of((*GAMES, None), "game")
        self._require_one_of(WITNESSES, "witness")
        self._require_type(bool, "held_out_game")
        if not callable(self.sampler):
            self._require_one_of(SAMPLERS, "sampler")
        self._require_one_of(("fresh", "banked"), "play")
        if self.play == "banked" and self.game not in (None, "symmetric"):
            raise InputError(
                "Only the symmetric game can be played with a bank", got=f"game={self.game!r}", cure='use play="fresh"'
            )
        self._require_size("width")
        self._require_whole(1, "neighbors")
        self._require_whole(1, "depth", most=_MOST_LAYERS)
        self._require_whole(1, "ensemble", most=_MOST_NETWORKS)
        self._require_whole(0, "embedding", most=_MOST_NETWORKS)
        self._require_whole(3, "members", "explained_members", most=_LARGEST_NEIGHBORHOOD)
        self._require_number(0, "weight", "margin", "weight_decay")
        self._require_number(1e-9, "ridge", "multiplier_rate")
        self._require_share("share", least=1e-9)
        self._require_share("dropout", below_one=True)

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
        """
        learned = LabeledRows(frame_of(x), np.asarray(y), weights, numbers)
        fit = TableFit(self, learned, validation, target=target, network=network)
        return self._train(fit, validation, folder=folder, resume=resume, progress=progress, device=device)

    def new_network(
        self,
        *,
        encoding: Encoding,
        task: TableTask,
        factory: NetworkFactory | None = None,
        own_network: bool = False,
        **_: Any,
    ) -> nn.Module:
        """An untrained network for this table."""
        if own_network:
            raise InputError(
                "This model was trained with a network of your own, which is code and was not saved",
                got="none",
                cure="pass the function that makes it as `network=`",
            )
        inputs, outputs = len(encoding.shift), task.width
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            if factory is not None:
                return factory(inputs, outputs)
            return TableNetwork(
                inputs,
                outputs,
                width=self.width,
                depth=self.depth,
                ensemble=self.ensemble,
                dropout=self.dropout,
                embedding=self.embedding,
            )

    def new_game(self, neighborhoods: int) -> Game | None:
        """The game that is played in this number of neighborhoods."""
        family = TreeFamily(min_leaf=3) if self.witness == "tree" else LinearFamily(ridge=self.ridge)
        return named_game(
            self.game,
            family,
            weight=self.weight,
            margin=self.margin,
            neighborhoods=neighborhoods,
            held_out=self.held_out_game,
        )

    def new_sampler(self, encoding: Encoding) -> Sampler:
        """What draws the sampled rows of neighborhoods."""
        return Sampler(how=self.sampler, column_of=encoding.column_of, copied=encoding.copied)

    # -- predictions -------------------------------------------------------------------------------------------

    def predict_values(self, x: Any) -> np.ndarray:
        """(N, K) numbers in the units of the data, or log-odds."""
        return self.task_.natural(self._exact_values(self._read(x)))

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
        return self.intervals_at(self._read(x), level)

    def intervals_at(self, scaled: Tensor, level: float) -> np.ndarray:
        """(N, 2) intervals at scaled features (N, P); NaN where they are not known."""
        if self.intervals_ is None:
            return np.full((len(scaled), 2), np.nan)
        _, distances = self.fitted_.nearest(scaled, 1)
        widths = self.intervals_.half_widths(-distances[:, 0], check_level(level))
        widths[np.isinf(widths)] = np.nan
        values = self.task_.natural(self._exact_values(scaled))
        return np.concatenate([values - widths, values + widths], axis=1)

    def predict_calibrated(self, x: Any) -> np.ndarray:
        """(N, classes) probabilities that mean what they say: calibrated on held-out rows."""
        return self.calibrated_probabilities(self.predict_values(x))

    def calibrated_probabilities(self, values: np.ndarray) -> np.ndarray:
        """(N, classes) from the log-odds (N, K) of the network; without held-out rows as they are."""
        probabilities = self.task_.probabilities(values)
        if self.probabilities_ is None:
            return probabilities
        if len(self.task_.classes) == 2:
            second = self.probabilities_(probabilities[:, 1:])
            return np.concatenate([1 - second, second], axis=1)
        calibrated = self.probabilities_(probabilities)
        return np.asarray(calibrated / calibrated.sum(1, keepdims=True))

    def _read(self, x: Any) -> Tensor:
        return self.encoding_.read(frame_of(x))

    def _exact_values(self, scaled: Tensor) -> np.ndarray:
        network = self.fitted_.exact_network
        with torch.no_grad():
            parts = [self.task_.values(network(part)) for part in scaled.double().split(_PIECE)]
        return torch.cat(parts).numpy()

    def values_at(self, scaled: Tensor) -> Tensor:
        """(N, K) values of the network, in standard deviations or quarter log-odds, at scaled features (N, P)."""
        with torch.no_grad():
            parts = [self.task_.values(self.network_(part)) for part in scaled.float().split(_PIECE)]
        return torch.cat(parts)

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

    def family(self, witness: str | None = None) -> WitnessFamily:
        """The witnesses of explanations."""
        name = self.witness_ if witness is None else witness
        families: dict[str, WitnessFamily] = {
            "linear": LinearFamily(ridge="auto"),
            "sparse": SparseLinearFamily(terms=8),
            "tree": TreeFamily(min_leaf=3, shrinkage="auto"),
        }
        return families[name]

    def witnesses(self, neighborhoods: RowNeighborhoods, witness: str | None = None) -> Witnesses:
        """The witnesses of the predictor, in scaled features and in standard deviations or quarter log-odds."""
        f = self.values_at(neighborhoods.points).double()
        fitted = self.family(witness).best_response(neighborhoods.points, f, neighborhoods.hoods)
        return fitted.named(self.encoding_.feature_names, self.task_.outputs)

    def held_out(self, x: Any, *, seed: int = 0, witness: str | None = None) -> HeldOut:
        """Witnesses at a member of each neighborhood that they were not fitted to; of many rows, a thousand."""
        scaled = self._sample(self._read(x), seed)
        neighborhoods = self.neighborhoods(scaled)
        f = self.values_at(neighborhoods.points).double()
        return held_out(f, neighborhoods.points, neighborhoods.hoods, self.family(witness), seed=seed)

    @staticmethod
    def _sample(scaled: Tensor, seed: int) -> Tensor:
        if len(scaled) <= MOST:
            return scaled
        return scaled[np.sort(np.random.default_rng(seed).permutation(len(scaled))[:MOST])]

    def calibrated(self, data: LabeledRows, *, progress: bool = False) -> FittedTable:
        """The record, with a calibration on these rows; they also choose the witness, if it is "auto"."""
        names = WITNESSES[:3] if self.witness == "auto" else (self.witness_,)
        parts = {name: self.held_out(data.frame, witness=name) for name in names}
        # Where nothing varies there is nothing to choose by: the first.
        best = max(parts, key=lambda name: float(np.nan_to_num(parts[name].explained(), nan=-np.inf).mean()))
        changes: dict[str, Any] = {"calibration": Calibration.of(parts[best]), "witness": best}
        return replace(self.fitted_, **changes, **self._certainty(data))

    def _certainty(self, data: LabeledRows) -> dict[str, Any]:
        """Intervals or probabilities, learned from rows that the fit did not see."""
        values = self.predict_values(data.frame)
        if self.task == "classification":
            places = self.task_.inner(data.y).numpy()
            labels = np.eye(len(self.task_.classes))[places]
            first = int(labels.shape[1] == 2)
            probabilities = self.task_.probabilities(values)
            return {"probabilities": ProbabilityCalibration.of(labels[:, first:], probabilities[:, first:])}
        _, distances = self.fitted_.nearest(self._read(data.frame), 1)
        familiarity = -distances[:, 0]
        edges = np.unique(np.quantile(familiarity, (0.25, 0.75))).tolist()
        y = data.y.astype(np.float64)[:, None]
        return {"intervals": PredictionIntervals.of(y, values, familiarity, edges)}

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
        """How well the laws match the network in the neighborhoods of these rows; see `pellucid.audit`."""
        from pellucid.auditing import audit

        neighborhoods = self.neighborhoods(self._read(x))
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
        from pellucid import storage

        tensors = ["network", *cls.record_type.tensor_files()]
        saved = storage.load(Path(folder), cls.file, tensors=tensors, texts=[])
        with storage.as_saved(Path(folder)):
            record: Mapping[str, Any] = cls.record_type.read(saved)
            untrained = cls.from_settings(checked(dict[str, Any], saved.content["settings"], "settings"))
        made = untrained.new_network(encoding=record["encoding"], task=record["task"], factory=network)
        return cls._load(Path(folder), made)
