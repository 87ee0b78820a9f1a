"""Properties of molecules, each prediction with the small tree of substructures that the network follows there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.deviations import absolute_error, squared_error
from pellucid.errors import InputError
from pellucid.games import Game
from pellucid.models import FittedAttribute
from pellucid.molecules._inputs import Labeled, held_out_from, molecules_of, require_targets, sample_of
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.explanation import MoleculeExplanation, bit_names, explain
from pellucid.molecules.fitted import FittedProperties
from pellucid.molecules.fitting import PropertyFit
from pellucid.molecules.models import MoleculeModel
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.network import GraphNetwork, outputs_of
from pellucid.molecules.play import Points, featurized
from pellucid.molecules.scores import PropertyScores, score
from pellucid.molecules.table import Molecules, Rejection, canonicals
from pellucid.molecules.tasks import TASKS, Task
from pellucid.named_games import GAMES, GameName, named_game
from pellucid.trust import LEVEL, Calibration, HeldOut, held_out
from pellucid.witnesses import TreeFamily
from pellucid.witnesses.tree import TreeWitnesses


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class PropertyModel(MoleculeModel[FittedProperties]):
    """A graph network that follows, around every molecule, a small decision tree over substructures.

    The predictor f gives probabilities (classification) or values (regression) of K targets. Around a molecule M
    it is witnessed by a tree g_M over Morgan fingerprints, fitted jointly to all targets on the neighborhood B(M):
    similar molecules among those given and from a pool, and analogs. Training minimises

        mean over measured values of L(f, y)  +  weight * mean over neighborhoods of D_M,
        D_M = mean over members M' of sum_k |f(M')_k - sg(g_M(M')_k)|

    with L cross-entropy, or the squared error in standard deviations of each target; `criterion="squared"`
    replaces |.| by its square, the asymmetric game looks at the center alone, and the uniform one demands
    D_M <= margin of every neighborhood (mirror-prox with one multiplier each). `game=None` trains the same predictor
    without a game.

    Parameters
    ----------
    task : {"classification", "regression"}
        "classification" for labels 0 and 1, "regression" for measured values. Blanks (NaN) are allowed.
    game : {"symmetric", "asymmetric", "uniform"}, optional
        "symmetric", "asymmetric", "uniform" or None.
    weight : float
        Of the symmetric or asymmetric game: 0 is no game, a large one makes the predictor follow its witnesses at the
        expense of its accuracy.
    margin : float
        Of the uniform game, in probabilities or standard deviations summed over the targets.
    multiplier_rate : float
        Step of the uniform game's multipliers.
    criterion : {"absolute", "squared"}
        "absolute", the total variation, with medians in the leaves; or "squared", with means.
    delta : int
        Trees on m members have at most max(ceil(log2 m) - 1 + delta, 1) levels of splits; a negative one makes them
        smaller.
    similar : SimilarityRule
        Who is whose neighbor.
    play : {"fresh", "banked"}
        "fresh" evaluates the members of the neighborhoods that play in a step; "banked" (symmetric game only)
        evaluates every point once an epoch and pulls it towards the witnesses fitted to the latest predictions of all
        points. Banked play is the cheap one where neighbors are mostly molecules that are given.
    share, members : float or int
        Fresh play: the share of a batch's neighborhoods that play in a step, and how many of their members are
        evaluated then, chosen at random. Explanations and scores always use whole neighborhoods.
    refit : int
        Banked play: witnesses are fitted anew every so many steps.
    width, depth, dropout : int or float
        Of the network, see `GraphNetwork`.
    epochs, batch_size, learning_rate : int or float
        Of the training: Adam with a one-cycle rate that peaks at `learning_rate`.
    patience : int
        Stop after so many epochs without a better loss on the validation data.
    seed : int
        Of initial weights, order of batches, choice of members and of validation data.

    Attributes
    ----------
    targets_ : tuple of str
        Names of the targets.
    smiles_, y_ : tuple of str or ndarray
        The molecules given, those held out included, and (N, K) what was measured.
    pool_ : tuple of str
        Unlabeled ones. Both are where neighbors come from.
    rejected_ : tuple of Rejection
        Rows of what was given that were left out, with the reason.
    groups_ : RGroups
        What is exchanged to make analogs.
    task_ : Task
        How outputs become values.
    network_ : Module
        The trained predictor.
    history_ : list of dict of str to float
        One record of losses per epoch.
    calibration_ : Calibration, optional
        How far trees can be trusted, learned from molecules held out; see `calibrate`.

    Examples
    --------
    >>> from pellucid.molecules import PropertyModel, SimilarityRule, nav17
    >>> series = nav17()
    >>> model = PropertyModel(task="regression", similar=SimilarityRule(analogs=False), width=16, epochs=2)
    >>> model.fit(series, progress=False).predict("CCS(=O)(=O)Nc1ccccc1").shape
    (1, 1)
    """

    task: Literal["classification", "regression"] = "classification"
    game: GameName | None = "symmetric"
    margin: float = 0.1
    multiplier_rate: float = 1.0
    criterion: Literal["absolute", "squared"] = "absolute"
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(TASKS, "task")
        self._require_one_of((*GAMES, None), "game")
        self._require_one_of(("absolute", "squared"), "criterion")
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
        validation: float | Labeled = 0.1,
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
            One for each row; or what `read` gave, and no y.
        y : array_like
            (N,) or (N, K), NaN or None where nothing was measured.
        targets : sequence of str, optional
            Names of the K targets.
        validation : float or Labeled
            The share of the molecules to hold out, at random, for early stopping and for `calibrate`; or other
            molecules, as (smiles, y) or what `read` gave; 0 trains all epochs on everything.
        pool : sequence of str
            Unlabeled molecules among which neighbors are looked for, too.
        groups : RGroups, optional
            What is exchanged to make analogs, such as `RGroups.seen_in(other_molecules)`; by default the groups seen in
            the molecules learned from, as `similar` says.
        network : Module, optional
            A predictor of your own: a module from a `GraphBatch` of B molecules, which also holds their SMILES, to (B,
            K) outputs: logits, or values in standard deviations. It is trained in place.
        on_error : {"raise", "skip"}
            "raise" or "skip", for rows that cannot be used; see `prepare`.
        folder : str or Path, optional
            Where checkpoints go, about one a minute; None keeps none.
        resume : bool
            Go on from the checkpoint in `folder`, if there is one. An interrupted and resumed run gives the same model
            as an uninterrupted one.
        progress : bool
            Show progress bars.
        device : str
            "auto", "cpu", "gpu" or another accelerator that Lightning knows.
        """
        molecules = molecules_of(smiles, y, targets, on_error)
        learned, held_out = held_out_from(molecules, validation, self.seed, on_error)
        given = set(molecules.smiles)
        unlabeled = tuple(t for t in dict.fromkeys(canonicals(pool, "pool", least=0)) if t not in given)
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
        """The game that is played with so many neighborhoods."""
        return named_game(
            self.game,
            self.family(),
            weight=self.weight,
            deviation=absolute_error if self.criterion == "absolute" else squared_error,
            margin=self.margin,
            neighborhoods=neighborhoods,
        )

    def family(self, delta: int | None = None) -> TreeFamily:
        """The trees that are witnesses, or those of another size."""
        return TreeFamily(depth=self._depth_rule(delta), criterion=self.criterion)

    # -- use ---------------------------------------------------------------------------------------------------

    def predict(self, smiles: str | Iterable[str] | Molecules) -> np.ndarray:
        """(N, K) probabilities, or values in the units of the data."""
        task = self.task_
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return task.natural(self._values(featurized(tuple(texts), self.morgan, False)))

    def surroundings(self, smiles: str | Iterable[str] | Molecules, *, progress: bool = False) -> MoleculeNeighborhoods:
        """The neighborhoods of molecules: those learned from, the pool's, and analogs."""
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return self._neighborhoods(texts, self.smiles_, self.groups_, pool=self.pool_, progress=progress)

    def witnesses(
        self, around: MoleculeNeighborhoods, *, delta: int | None = None, progress: bool = False
    ) -> TreeWitnesses:
        """The trees that follow the predictor in these neighborhoods, in probabilities or standard deviations.

        Parameters
        ----------
        around : MoleculeNeighborhoods
            The neighborhoods.
        delta : int, optional
            Another size of trees than the one that was trained for.
        progress : bool
            Whether to show a progress bar.
        """
        points = featurized(around.points, self.morgan, progress)
        f = self._values(points)
        witnesses = self.family(delta).best_response(points.fingerprints.dense(), f, around.hoods)
        return witnesses.named(bit_names(self.morgan.size), self.targets_)

    def explain(self, smiles: str, *, delta: int | None = None, level: float = LEVEL) -> MoleculeExplanation:
        """The prediction of one molecule, and the tree of substructures that the network follows around it.

        Parameters
        ----------
        smiles : str
            The molecule.
        delta : int, optional
            Another size of tree than the one that was trained for; there is no bound for it.
        level : float
            The confidence of the bound.
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
        around = self.surroundings(smiles, progress=progress)
        trees = self.witnesses(around, delta=delta, progress=progress)
        calibration = self.calibration_ if delta is None or delta == self.delta else None
        measured = dict(zip(self.smiles_, self.y_, strict=True))
        return [
            explain(trees, around, self.task_, self.morgan, calibration, level=level, which=i, measured=measured)
            for i in range(len(around))
        ]

    def calibrated(self, data: Iterable[str] | Molecules, *, progress: bool = False) -> FittedProperties:
        """The record, with a calibration on these molecules."""
        return replace(self.fitted_, calibration=Calibration.of(self.held_out(data, progress=progress)))

    def held_out(self, smiles: Iterable[str] | Molecules, *, seed: int = 0, progress: bool = False) -> HeldOut:
        """What trees say of a member of each neighborhood that they were not fitted to; of many, of a thousand."""
        around = self.surroundings(sample_of(smiles, seed), progress=progress)
        points = featurized(around.points, self.morgan, progress)
        return held_out(self._values(points), points.fingerprints.dense(), around.hoods, self.family(), seed=seed)

    def evaluate(
        self, smiles: Iterable[str] | Molecules, y: Any = None, *, delta: int | None = None, progress: bool = False
    ) -> PropertyScores:
        """Accuracy and transparency on molecules with measured values.

        Parameters
        ----------
        smiles, y : iterable of str or Molecules or object
            As in `fit`.
        delta : int, optional
            Another size of trees than the one that was trained for.
        progress : bool
            Whether to show a progress bar.
        """
        molecules = molecules_of(smiles, y, self.targets_, "raise")
        require_targets(molecules, self.targets_)
        around = self.surroundings(molecules.smiles, progress=progress)
        return score(self.witnesses(around, delta=delta, progress=progress), molecules.y, self.task_, self.targets_)

    def _values(self, points: Points) -> Tensor:
        return self.task_.values(outputs_of(self.network_, points.graphs))

    # -- on disk -------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: str | Path, *, network: nn.Module | None = None) -> PropertyModel:
        """Read what `save` wrote. Nothing in the folder can run code.

        Parameters
        ----------
        folder : str or Path
            What `save` wrote.
        network : Module, optional
            If the model was trained with a predictor of your own, a module of the same kind; it gets the saved
            weights.
        """
        return cls._load(Path(folder), network)
