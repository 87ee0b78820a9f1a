"""Properties of molecules, each prediction with the law of substructures that the network follows there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, final

import numpy as np
from torch import Tensor, nn

from pellucid.errors import InputError
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
from pellucid.molecules.certainty import (
    Certainty,
    NearestMolecule,
    certainties,
    learn_certainty,
    nearest_training,
    require_certainty,
)
from pellucid.molecules.explaining import explain_each
from pellucid.molecules.explanation import MoleculeExplanation
from pellucid.molecules.fitted import FittedProperties
from pellucid.molecules.fitting import PropertyFit
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.network import outputs_of
from pellucid.molecules.play import MoleculePoints, featurize
from pellucid.molecules.property_settings import WITNESSES, PropertySettings, WitnessName
from pellucid.molecules.scores import PropertyScores, score
from pellucid.molecules.table import Molecules, Rejection, canonicals
from pellucid.molecules.tasks import Task
from pellucid.molecules.tree_explanation import bit_names
from pellucid.training.hardware import Hardware
from pellucid.trust import LEVEL, Calibration, HeldOut, check_level, held_out
from pellucid.witnesses import Witnesses, WitnessFamily

__all__ = ["WITNESSES", "PropertyModel", "WitnessName"]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class PropertyModel(PropertySettings):
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
    explained_groups, explained_members : int
        Of these analogs: the number of groups of each kind that are exchanged, the most frequent ones, and the most
        members that a neighborhood may have. More groups make explanations that hold better, and take longer.
    margin : float
        Margin of the uniform game, in probabilities or standard deviations summed over the targets.
    multiplier_rate : float
        Step size of the uniform game's multipliers.
    criterion : {"absolute", "squared"}
        "absolute", the total variation, with medians in the leaves; or "squared", with means.
    delta : int
        Trees on m members have at most max(ceil(log2 m) - 1 + delta, 1) levels of splits; a negative one makes them
        smaller.
    shrinkage : float or {"auto"}
        Of trees: about the members that a node needs for its split to count half; see `TreeFamily`. 0 leaves the values
        of leaves as they are, which follows the members and fails at the next molecule.
    min_leaf : int
        Of trees: the least number of members on each side of a split.
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
    intervals_ = FittedAttribute[PredictionIntervals | None]()
    probabilities_ = FittedAttribute[ProbabilityCalibration | None]()

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
        devices: int = 1,
        nodes: int = 1,
        strategy: Literal["auto", "ddp"] = "auto",
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
        devices, nodes : int
            Processes on each machine, each with a core or a GPU of its own, and machines; see `Hardware`. The result is
            that of one process, up to rounding.
        strategy : {"auto", "ddp"}
            How processes average gradients; see `Hardware`.
        """
        hardware = Hardware(device=device, devices=devices, nodes=nodes, strategy=strategy)
        molecules = molecules_of(smiles, y, targets, on_error)
        learned, held_out = hold_out_validation(molecules, validation, self.seed, on_error)
        labeled = set(molecules.smiles)
        unlabeled = tuple(t for t in dict.fromkeys(canonicals(pool, "pool", least=0)) if t not in labeled)
        fit = PropertyFit(
            self, molecules, learned, held_out, pool=unlabeled, groups=groups, network=network, progress=progress
        )
        return self._train(fit, held_out, folder=folder, resume=resume, progress=progress, hardware=hardware)

    # -- use ---------------------------------------------------------------------------------------------------

    def predict(self, smiles: str | Iterable[str] | Molecules) -> np.ndarray:
        """(N, K) probabilities, or values in the units of the data."""
        task = self.task_
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return task.natural(self._values(featurize(tuple(texts), self.morgan, False)))

    def certainty(self, smiles: str | Iterable[str] | Molecules, *, level: float = LEVEL) -> list[Certainty]:
        """How sure the prediction of each molecule is: interval or calibrated probability, and the nearest molecule of
        the training data. This is about prediction and measurement; the bound of an explanation is about witness and
        network.

        Parameters
        ----------
        smiles : str, iterable of str or Molecules
            The molecules.
        level : float
            The confidence of the intervals.
        """
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return certainties(self.fitted_, texts, self.predict(texts), self.morgan, level=check_level(level))

    def nearest(self, smiles: str | Iterable[str] | Molecules) -> list[NearestMolecule]:
        """For each molecule the most similar one of those that the model was trained on, itself not counted: far from
        all of them, a model can only guess.
        """
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return nearest_training(self.fitted_, texts, self.morgan)

    def predict_interval(self, smiles: str | Iterable[str] | Molecules, *, level: float = LEVEL) -> np.ndarray:
        """(N, K, 2) between which values the measured one lies with this confidence; NaN where that is not known.

        For regression. Learned from the validation molecules of `fit`, or those of `calibrate`, in bins by the
        similarity to the nearest training molecule.

        Parameters
        ----------
        smiles : str, iterable of str or Molecules
            The molecules.
        level : float
            The confidence.
        """
        require_certainty(self.intervals_, self.task, "regression")
        return np.array([certainty.interval for certainty in self.certainty(smiles, level=level)])

    def predict_probability(self, smiles: str | Iterable[str] | Molecules) -> np.ndarray:
        """(N, K) probabilities that mean what they say, for classification: calibrated on held-out labels."""
        require_certainty(self.probabilities_, self.task, "classification")
        return np.array([certainty.probability for certainty in self.certainty(smiles)])

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
        level = check_level(level)
        neighborhoods = self.neighborhoods(smiles, progress=progress)
        witnesses = self.witnesses(neighborhoods, delta=delta, progress=progress)
        calibration = self.calibration_ if delta is None or delta == self.delta else None
        measured = dict(zip(self.smiles_, self.y_, strict=True))
        centers = neighborhoods.points[: len(neighborhoods)]
        return explain_each(
            witnesses,
            neighborhoods,
            task=self.task_,
            morgan=self.morgan,
            calibration=calibration,
            level=level,
            measured=measured,
            analogs=self.similar.analogs,
            certainties=certainties(
                self.fitted_, centers, self.task_.natural(witnesses.f[: len(centers)]), self.morgan, level=level
            ),
        )

    def calibrated(self, data: Iterable[str] | Molecules, *, progress: bool = False) -> FittedProperties:
        """The record, with a calibration on these molecules; they also choose the witness, if it is "auto"."""
        neighborhoods = self.neighborhoods(calibration_sample(data, 0), progress=progress)
        names: tuple[WitnessName, ...] = ("contributions", "tree") if self.witness == "auto" else (self.witness_,)
        parts = {name: self._held_out(neighborhoods, self.family_named(name), progress=progress) for name in names}
        # Where nothing varies there is nothing to choose by: the first.
        best = max(parts, key=lambda name: float(np.nan_to_num(parts[name].explained(), nan=-np.inf).mean()))
        record = replace(
            self.fitted_,
            calibration=Calibration.of(parts[best]),
            witness="tree" if best == "tree" else "contributions",
        )
        if not isinstance(data, Molecules) or data.targets != self.targets_:
            return record  # without measured values there is nothing new to know of the predictions
        return learn_certainty(record, data, self.predict(data), self.morgan)

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
        return self._scores(molecules, self._witnesses_of(molecules, delta=delta, progress=progress))

    def evaluate_held_out(
        self, molecules: Molecules, *, seed: int = 0, progress: bool = False
    ) -> tuple[PropertyScores, HeldOut]:
        """What `evaluate` and `held_out` say of the same molecules, with one pass of their members through the network.

        Parameters
        ----------
        molecules : Molecules
            Molecules and their measured values.
        seed : int
            Chooses the members that are left out.
        progress : bool
            Show progress bars.
        """
        witnesses = self._witnesses_of(molecules, progress=progress)
        left_out = held_out(witnesses.f, witnesses.x, witnesses.hoods, self.family(), seed=seed)
        return self._scores(molecules, witnesses), left_out

    def _witnesses_of(self, molecules: Molecules, *, delta: int | None = None, progress: bool = False) -> Witnesses:
        require_targets(molecules, self.targets_)
        return self.witnesses(self.neighborhoods(molecules.smiles, progress=progress), delta=delta, progress=progress)

    def _scores(self, molecules: Molecules, witnesses: Witnesses) -> PropertyScores:
        return score(witnesses, molecules.y, self.task_, self.targets_)

    def _values(self, points: MoleculePoints) -> Tensor:
        return self.task_.values(outputs_of(self.network_, points.graphs, exact=True))

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
        return cls._load(Path(folder), None if network is None else lambda *_: network)
