"""Properties of molecules, each prediction with the law of substructures that the network follows there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.deviations import absolute_error, squared_error
from pellucid.errors import InputError, Parameter
from pellucid.games import Game
from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.models import FittedAttribute
from pellucid.molecules._arguments import (
    LabeledMolecules,
    calibration_sample,
    hold_out_validation,
    molecules_of,
    require_targets,
)
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.certainty import SIMILARITIES, NearestMolecule, nearest_molecules
from pellucid.molecules.explaining import explain_each
from pellucid.molecules.explanation import WITNESS_NOUNS, MoleculeExplanation
from pellucid.molecules.fitted import FittedProperties
from pellucid.molecules.fitting import PropertyFit
from pellucid.molecules.models import MoleculeModel
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, SimilarityRule
from pellucid.molecules.network import GraphNetwork, outputs_of
from pellucid.molecules.play import MoleculePoints, featurize
from pellucid.molecules.scores import PropertyScores, score
from pellucid.molecules.table import Molecules, Rejection, canonicals
from pellucid.molecules.tasks import TASKS, Task
from pellucid.molecules.tree_explanation import bit_names
from pellucid.named_games import GAMES, GameName, named_game
from pellucid.trust import LEVEL, Calibration, HeldOut, check_level, held_out
from pellucid.witnesses import LinearFamily, TreeFamily, Witnesses, WitnessFamily

WitnessName: TypeAlias = Literal["tree", "contributions", "auto"]
WITNESSES = ("tree", "contributions", "auto")
_CALIBRATE = "call `calibrate` with such molecules"


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class PropertyModel(MoleculeModel[FittedProperties]):
    """A graph network that follows, around every molecule, a simple law over substructures.

    The predictor f gives probabilities (classification) or values (regression) of K targets. Around a molecule M
    it is witnessed by a function g_M of Morgan fingerprints, fitted jointly to all targets on the neighborhood B(M):
    similar molecules among the labeled ones and from a pool, and analogs. It is a small decision tree, or the sum of
    contributions of substructures (a ridge regression). Training minimises

        mean over measured values of L(f, y)  +  weight * mean over neighborhoods of D_M,
        D_M = mean over members M' of sum_k |f(M')_k - sg(g_M(M')_k)|

    with L cross-entropy, or the squared error in standard deviations of each target; `criterion="squared"`, and
    contributions always, replace |.| by its square; with `held_out_game` the witness of a member was not fitted to it;
    the asymmetric game looks at the center alone, and the uniform one demands D_M <= margin of every neighborhood
    (mirror-prox with one multiplier each). `game=None` trains the same predictor without a game.

    Parameters
    ----------
    task : {"classification", "regression"}
        "classification" for labels 0 and 1, "regression" for measured values. Blanks (NaN) are allowed.
    game : {"symmetric", "asymmetric", "uniform"}, optional
        The game that the predictor plays; None trains it without one.
    weight : float
        Weight of the symmetric or asymmetric game: 0 is no game, a large one makes the predictor follow its witnesses
        at the expense of its accuracy.
    witness : {"tree", "contributions", "auto"}
        What predictions are explained by: a small tree of substructures; the sum of contributions of all substructures;
        or, with "auto", the one of them with the higher held-out variance explained on the validation molecules
        (contributions where there are none), while contributions take part in the game.
    held_out_game : bool
        Whether the predictor pays at each member for the witness that was fitted without it; see `SymmetricGame`.
    ridge : float
        Ridge of contributions in the game. Explanations choose their own by leave-one-out.
    explain_with_analogs : bool
        Whether neighborhoods of explanations are filled with analogs, about which the network is asked, whatever played
        in training: many members determine a witness that holds at the next molecule.
    margin : float
        Margin of the uniform game, in probabilities or standard deviations summed over the targets.
    multiplier_rate : float
        Step size of the uniform game's multipliers.
    criterion : {"absolute", "squared"}
        "absolute", the total variation, with medians in the leaves; or "squared", with means.
    delta : int
        Trees on m members have at most max(ceil(log2 m) - 1 + delta, 1) levels of splits; a negative one makes them
        smaller.
    similar : SimilarityRule
        Which molecules are neighbors.
    play : {"fresh", "banked"}
        "fresh" evaluates the members of the neighborhoods that play in a step; "banked" (symmetric game only)
        evaluates every point once an epoch and pulls it towards the witnesses fitted to the latest predictions of all
        points. Banked play is the cheaper one where neighbors are mostly labeled molecules.
    share, members : float or int
        Fresh play: the share of a batch's neighborhoods that play in a step, and the number of their members that are
        evaluated then, chosen at random. Explanations and scores always use all members.
    refit : int
        Banked play: the number of steps after which witnesses are fitted again.
    width, depth, dropout : int or float
        Settings of the network, see `GraphNetwork`.
    epochs, batch_size, learning_rate : int or float
        Training settings: Adam with a one-cycle rate that peaks at `learning_rate`.
    patience : int
        Stop after this many epochs without a better loss on the validation data.
    seed : int
        Seed of the initial weights, the order of batches, and the choice of members and of validation data.

    Attributes
    ----------
    targets_ : tuple of str
        Names of the targets.
    smiles_, y_ : tuple of str or ndarray
        The labeled molecules, those held out included, and their measured values (N, K).
    pool_ : tuple of str
        Unlabeled molecules. Neighbors are looked for among both.
    rejected_ : tuple of Rejection
        Rejected rows, with the reason.
    groups_ : RGroups
        The groups that analogs are made with.
    task_ : Task
        How outputs become values.
    network_ : Module
        The trained predictor.
    history_ : list of dict of str to float
        One record of losses per epoch.
    calibration_ : Calibration, optional
        How far witnesses can be trusted, learned from held-out molecules; see `calibrate`.
    witness_ : str
        "tree" or "contributions": what predictions are explained by.
    intervals_ : PredictionIntervals, optional
        Of measured values, for regression; see `predict_interval`.
    probabilities_ : ProbabilityCalibration, optional
        For classification; see `predict_probability`.

    Examples
    --------
    >>> from pellucid.molecules import PropertyModel, SimilarityRule, nav17
    >>> series = nav17().select(range(60))
    >>> model = PropertyModel(task="regression", similar=SimilarityRule(analogs=False), width=16, epochs=2)
    >>> model.fit(series, progress=False).predict("CCS(=O)(=O)Nc1ccccc1").shape
    (1, 1)
    """

    task: Literal["classification", "regression"] = "classification"
    game: GameName | None = "symmetric"
    margin: float = 0.1
    multiplier_rate: float = 1.0
    criterion: Literal["absolute", "squared"] = "absolute"
    witness: WitnessName = "tree"
    held_out_game: bool = False
    ridge: float = 3.0
    explain_with_analogs: bool = True
    play: Literal["fresh", "banked"] = "fresh"
    refit: int = 5
    width: int = 300
    depth: int = 3
    dropout: float = 0.0
    epochs: int = 30

    file: ClassVar[str] = "property_model"
    record_type = FittedProperties

    targets_ = FittedAttribute[tuple[str, ...]]()
    smiles_ = FittedAttribute[tuple[str, ...]]()
    y_ = FittedAttribute[np.ndarray]()
    rejected_ = FittedAttribute[tuple[Rejection, ...]]()
    pool_ = FittedAttribute[tuple[str, ...]]()
    groups_ = FittedAttribute[RGroups]()
    task_ = FittedAttribute[Task]()
    network_ = FittedAttribute[nn.Module]()
    calibration_ = FittedAttribute[Calibration | None]()
    witness_ = FittedAttribute[Literal["tree", "contributions"]]()
    intervals_ = FittedAttribute[PredictionIntervals | None]()
    probabilities_ = FittedAttribute[ProbabilityCalibration | None]()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(TASKS, "task")
        self._require_one_of((*GAMES, None), "game")
        self._require_one_of(("absolute", "squared"), "criterion")
        self._require_one_of(WITNESSES, "witness")
        self._require_type(bool, "held_out_game")
        self._require_type(bool, "explain_with_analogs")
        self._require_number(1e-9, "ridge")
        self._require_one_of(("fresh", "banked"), "play")
        if self.play == "banked" and self.game not in (None, "symmetric"):
            raise InputError(
                "Only the symmetric game can be played with a bank", got=f"game={self.game!r}", cure='use play="fresh"'
            )
        self._require_whole(1, "refit", "width", "depth")
        self._require_number(0, "margin")
        self._require_number(1e-9, "multiplier_rate")
        self._require_share("share", least=1e-9)
        self._require_share("dropout", below_one=True)

    # -- training ----------------------------------------------------------------------------------------------

    def fit(
        self,
        smiles: Iterable[str] | Molecules,
        y: Any = None,
        *,
        targets: Sequence[str] | None = None,
        validation: float | LabeledMolecules = 0.1,
        pool: Sequence[str] = (),
        groups: RGroups | None = None,
        network: nn.Module | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
        device: str = "auto",
    ) -> PropertyModel:
        """Learn from molecules and their measured values.

        Parameters
        ----------
        smiles : iterable of str or Molecules
            SMILES, one for each row; or a table from `read`, without `y`.
        y : array_like
            (N,) or (N, K) measured values, NaN or None where there is none.
        targets : sequence of str, optional
            Names of the K targets.
        validation : float or LabeledMolecules
            The share of the molecules to hold out, at random, for early stopping and for `calibrate`; or other
            molecules, as (smiles, y) or a table from `read`; 0 trains all epochs on everything.
        pool : sequence of str
            Unlabeled molecules, among which neighbors are looked for too.
        groups : RGroups, optional
            The groups that analogs are made with, such as `RGroups.seen_in(other_molecules)`; by default those seen in
            the molecules to learn from, as `similar` says.
        network : Module, optional
            A predictor of your own: a module from a `GraphBatch` of B molecules, which also holds their SMILES, to (B,
            K) outputs: logits, or values in standard deviations. It is trained in place.
        on_error : {"raise", "skip"}
            Whether rows that cannot be used are refused or rejected; see `prepare`.
        folder : str or Path, optional
            The folder of the checkpoints, about one a minute; None writes none.
        resume : bool
            Go on from the checkpoint in `folder`, if there is one. An interrupted and resumed run gives the same model
            as an uninterrupted one.
        progress : bool
            Show progress bars.
        device : str
            "auto", "cpu", "gpu" or another accelerator that Lightning knows.
        """
        molecules = molecules_of(smiles, y, targets, on_error)
        learned, held_out = hold_out_validation(molecules, validation, self.seed, on_error)
        labeled = set(molecules.smiles)
        unlabeled = tuple(t for t in dict.fromkeys(canonicals(pool, "pool", least=0)) if t not in labeled)
        fit = PropertyFit(
            self, molecules, learned, held_out, pool=unlabeled, groups=groups, network=network, progress=progress
        )
        return self._train(fit, held_out, folder=folder, resume=resume, progress=progress, device=device)

    def new_network(self, *, targets: Sequence[str], own_network: bool = False, **_: Any) -> nn.Module:
        """An untrained graph network for these targets."""
        if own_network:
            raise InputError(
                "This model was trained with a network of your own, which is code and was not saved",
                got="none",
                cure="pass a module of the same kind as `network=`",
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return GraphNetwork(len(targets), width=self.width, depth=self.depth, dropout=self.dropout)

    def new_game(self, neighborhoods: int) -> Game | None:
        """The game that is played in this number of neighborhoods."""
        trees = self.witness == "tree"
        return named_game(
            self.game,
            TreeFamily(depth=self._depth_rule(None), criterion=self.criterion)
            if trees
            else LinearFamily(ridge=self.ridge),
            weight=self.weight,
            deviation=absolute_error if trees and self.criterion == "absolute" else squared_error,
            margin=self.margin,
            neighborhoods=neighborhoods,
            held_out=self.held_out_game,
        )

    def family(self, delta: int | None = None) -> WitnessFamily:
        """The witnesses of explanations; trees may have another size."""
        return self.family_named(self.witness if self._fitted is None else self.witness_, delta)

    def family_named(self, witness: WitnessName, delta: int | None = None) -> WitnessFamily:
        """The witnesses of this name: trees, otherwise contributions."""
        if witness == "tree":
            return TreeFamily(depth=self._depth_rule(delta), criterion=self.criterion)
        if delta is not None:
            raise InputError(
                f"{Parameter('delta')} is the size of trees", got="contributions as witnesses", cure="leave it out"
            )
        return LinearFamily(ridge="auto")

    @property
    def witness_noun(self) -> str:
        """What the witness of an explanation is called: "tree" or "law"."""
        witness = self.witness if self._fitted is None else self.witness_
        return WITNESS_NOUNS["tree" if witness == "tree" else "contributions"]

    @property
    def explaining(self) -> SimilarityRule:
        """Which molecules are neighbors in explanations."""
        return replace(self.similar, analogs=True) if self.explain_with_analogs else self.similar

    # -- use ---------------------------------------------------------------------------------------------------

    def predict(self, smiles: str | Iterable[str] | Molecules) -> np.ndarray:
        """(N, K) probabilities, or values in the units of the data."""
        task = self.task_
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return task.natural(self._values(featurize(tuple(texts), self.morgan, False)))

    def nearest(self, smiles: str | Iterable[str] | Molecules) -> list[NearestMolecule]:
        """For each molecule the most similar labeled one, itself not counted: far from all, a model can only guess."""
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return nearest_molecules(texts, self.smiles_, self.y_, self.morgan)

    def predict_interval(self, smiles: str | Iterable[str] | Molecules, *, level: float = LEVEL) -> np.ndarray:
        """(N, K, 2) between which values the measured one lies with this confidence; NaN where that is not known.

        For regression. Learned from the validation molecules of `fit`, or those of `calibrate`, in bins by the
        similarity to the nearest labeled molecule. This is about prediction and measurement; the bound of an
        explanation is about witness and network.

        Parameters
        ----------
        smiles : str, iterable of str or Molecules
            The molecules.
        level : float
            The confidence.
        """
        if self.task != "regression" or self.intervals_ is None:
            raise InputError(
                "Intervals are learned from held-out measured values of a regression",
                got="a classification" if self.task != "regression" else "no held-out molecules with measured values",
                cure="use `predict_probability`"
                if self.task != "regression"
                else "call `calibrate` with such molecules",
            )
        predictions = self.predict(smiles)
        similarity = np.array([molecule.similarity for molecule in self.nearest(smiles)])
        widths = self.intervals_.half_widths(similarity, check_level(level))
        widths[np.isinf(widths)] = np.nan
        return np.stack([predictions - widths, predictions + widths], axis=2)

    def predict_probability(self, smiles: str | Iterable[str] | Molecules) -> np.ndarray:
        """(N, K) probabilities that mean what they say, for classification: calibrated on held-out labels."""
        if self.task != "classification" or self.probabilities_ is None:
            raise InputError(
                "Probabilities are calibrated on held-out labels of a classification",
                got="a regression" if self.task != "classification" else "no held-out molecules with labels",
                cure="use `predict_interval`"
                if self.task != "classification"
                else "call `calibrate` with such molecules",
            )
        return self.probabilities_(self.predict(smiles))

    def neighborhoods(
        self, smiles: str | Iterable[str] | Molecules, *, progress: bool = False
    ) -> MoleculeNeighborhoods:
        """The neighborhoods of molecules: labeled molecules, those of the pool, and analogs."""
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return self._find_neighborhoods(
            texts, self.smiles_, self.groups_, rule=self.explaining, pool=self.pool_, progress=progress
        )

    def witnesses(
        self, neighborhoods: MoleculeNeighborhoods, *, delta: int | None = None, progress: bool = False
    ) -> Witnesses:
        """The witnesses of the predictor in these neighborhoods, in probabilities or standard deviations.

        Parameters
        ----------
        neighborhoods : MoleculeNeighborhoods
            The neighborhoods, as `neighborhoods` returns them.
        delta : int, optional
            Another size of trees than the one trained for.
        progress : bool
            Show progress bars.
        """
        points = featurize(neighborhoods.points, self.morgan, progress)
        f = self._values(points)
        witnesses = self.family(delta).best_response(points.fingerprints.dense(), f, neighborhoods.hoods)
        return witnesses.named(bit_names(self.morgan.size), self.targets_)

    def explain(self, smiles: str, *, delta: int | None = None, level: float = LEVEL) -> MoleculeExplanation:
        """The prediction of one molecule, and the tree of substructures, or the law of their contributions, that the
        network follows around it.

        Parameters
        ----------
        smiles : str
            The molecule.
        delta : int, optional
            Another size of tree than the one trained for; it has no bound.
        level : float
            The confidence of the bound.

        Returns
        -------
        MoleculeExplanation
            A `TreeExplanation` or a `ContributionExplanation`, as `witness_` says.
        """
        if not isinstance(smiles, str):
            raise InputError(
                "One molecule is explained at a time",
                got=f"{type(smiles).__name__}",
                cure="use `explain_many` for several",
            )
        (explanation,) = self.explain_many([smiles], delta=delta, level=level)
        return explanation

    def explain_many(
        self,
        smiles: Iterable[str] | Molecules,
        *,
        delta: int | None = None,
        level: float = LEVEL,
        progress: bool = False,
    ) -> list[MoleculeExplanation]:
        """The explanations of several molecules, of each different one once; see `explain`."""
        neighborhoods = self.neighborhoods(smiles, progress=progress)
        witnesses = self.witnesses(neighborhoods, delta=delta, progress=progress)
        calibration = self.calibration_ if delta is None or delta == self.delta else None
        measured = dict(zip(self.smiles_, self.y_, strict=True))
        return explain_each(
            witnesses,
            neighborhoods,
            task=self.task_,
            morgan=self.morgan,
            calibration=calibration,
            level=level,
            measured=measured,
        )

    def calibrated(self, data: Iterable[str] | Molecules, *, progress: bool = False) -> FittedProperties:
        """The record, with a calibration on these molecules; they also choose the witness, if it is "auto"."""
        neighborhoods = self.neighborhoods(calibration_sample(data, 0), progress=progress)
        names: tuple[WitnessName, ...] = ("contributions", "tree") if self.witness == "auto" else (self.witness_,)
        parts = {name: self._held_out(neighborhoods, self.family_named(name), progress=progress) for name in names}
        # Where nothing varies there is nothing to choose by: the first.
        best = max(parts, key=lambda name: float(np.nan_to_num(parts[name].explained(), nan=-np.inf).mean()))
        return replace(
            self.fitted_,
            calibration=Calibration.of(parts[best]),
            witness="tree" if best == "tree" else "contributions",
            **self._certainty(data),
        )

    def _certainty(self, data: Iterable[str] | Molecules) -> dict[str, Any]:
        """Intervals or probabilities learned from molecules with measured values; nothing new where there are none."""
        if not isinstance(data, Molecules) or data.targets != self.targets_:
            return {}
        predictions = self.predict(data)
        if self.task == "classification":
            return {"probabilities": ProbabilityCalibration.of(data.y, predictions)}
        # As if they were not labeled: some models keep the molecules that they held out among those.
        asked = set(data.smiles)
        others = [i for i, text in enumerate(self.smiles_) if text not in asked]
        nearest = nearest_molecules(data.smiles, [self.smiles_[i] for i in others], self.y_[others], self.morgan)
        similarity = np.array([molecule.similarity for molecule in nearest])
        return {"intervals": PredictionIntervals.of(data.y, predictions, similarity, SIMILARITIES)}

    def held_out(self, smiles: Iterable[str] | Molecules, *, seed: int = 0, progress: bool = False) -> HeldOut:
        """Witnesses at a member of each neighborhood that they were not fitted to; of many molecules, a thousand."""
        neighborhoods = self.neighborhoods(calibration_sample(smiles, seed), progress=progress)
        return self._held_out(neighborhoods, self.family(), seed=seed, progress=progress)

    def _held_out(
        self, neighborhoods: MoleculeNeighborhoods, family: WitnessFamily, *, seed: int = 0, progress: bool = False
    ) -> HeldOut:
        points = featurize(neighborhoods.points, self.morgan, progress)
        return held_out(self._values(points), points.fingerprints.dense(), neighborhoods.hoods, family, seed=seed)

    def evaluate(
        self, smiles: Iterable[str] | Molecules, y: Any = None, *, delta: int | None = None, progress: bool = False
    ) -> PropertyScores:
        """Accuracy and transparency on molecules with measured values.

        Parameters
        ----------
        smiles, y : iterable of str or Molecules or object
            Molecules and their measured values, as in `fit`.
        delta : int, optional
            Another size of trees than the one trained for.
        progress : bool
            Show progress bars.
        """
        molecules = molecules_of(smiles, y, self.targets_, "raise")
        require_targets(molecules, self.targets_)
        neighborhoods = self.neighborhoods(molecules.smiles, progress=progress)
        witnesses = self.witnesses(neighborhoods, delta=delta, progress=progress)
        return score(witnesses, molecules.y, self.task_, self.targets_)

    def _values(self, points: MoleculePoints) -> Tensor:
        return self.task_.values(outputs_of(self.network_, points.graphs))

    # -- on disk -------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: str | Path, *, network: nn.Module | None = None) -> PropertyModel:
        """Read what `save` wrote. Nothing in the folder can run code.

        Parameters
        ----------
        folder : str or Path
            The folder that `save` wrote.
        network : Module, optional
            If the model was trained with a predictor of your own, a module of the same kind; it gets the saved
            weights.
        """
        return cls._load(Path(folder), network)
