"""Properties of molecules, each prediction with the small tree of substructures that the network follows there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid import _checks, storage
from pellucid.deviations import absolute_error, squared_error
from pellucid.errors import InputError, Parameter
from pellucid.games import AsymmetricGame, Game, SymmetricGame, UniformGame
from pellucid.molecules._inputs import digest_of, molecules_of, require_targets, some, tried, whole_delta
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.explanation import MoleculeExplanation, bit_names, explain
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.fitting import PropertyFit
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, SimilarityRule
from pellucid.molecules.network import GraphNetwork, outputs_of
from pellucid.molecules.play import Points, featurized
from pellucid.molecules.scores import PropertyScores, score
from pellucid.molecules.table import Molecules, Rejection, canonicals
from pellucid.molecules.tasks import TASKS, Task
from pellucid.numbers import counted
from pellucid.trust import LEVEL, Calibration, HeldOut, held_out
from pellucid.witnesses import TreeFamily, effective_depth
from pellucid.witnesses.tree import TreeWitnesses

GAMES = ("symmetric", "asymmetric", "uniform")
Labeled: TypeAlias = "Molecules | tuple[Sequence[str], Any]"
"""Molecules with measured values: a `Molecules`, or SMILES and y."""


@final
@dataclass(kw_only=True, eq=False)
class PropertyModel:
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
    game: Literal["symmetric", "asymmetric", "uniform"] | None = "symmetric"
    weight: float = 0.2
    margin: float = 0.1
    multiplier_rate: float = 1.0
    criterion: Literal["absolute", "squared"] = "absolute"
    delta: int = 0
    similar: SimilarityRule = field(default_factory=SimilarityRule)
    play: Literal["fresh", "banked"] = "fresh"
    share: float = 0.25
    members: int = 16
    refit: int = 5
    width: int = 300
    depth: int = 3
    dropout: float = 0.0
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 1e-3
    patience: int = 10
    seed: int = 0

    targets_: tuple[str, ...] = field(init=False, repr=False)
    smiles_: tuple[str, ...] = field(init=False, repr=False)
    y_: np.ndarray = field(init=False, repr=False)
    rejected_: tuple[Rejection, ...] = field(init=False, repr=False)
    pool_: tuple[str, ...] = field(init=False, repr=False)
    groups_: RGroups = field(init=False, repr=False)
    task_: Task = field(init=False, repr=False)
    network_: nn.Module = field(init=False, repr=False)
    history_: list[dict[str, float]] = field(init=False, repr=False)
    calibration_: Calibration | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, allowed in (
            ("task", TASKS),
            ("game", (None, *GAMES)),
            ("criterion", ("absolute", "squared")),
            ("play", ("fresh", "banked")),
        ):
            if getattr(self, name) not in allowed:
                listed = ", ".join("None" if value is None else f'"{value}"' for value in allowed)
                raise InputError(
                    f"{Parameter(name, of='PropertyModel')} must be one of {listed}",
                    got=f"{getattr(self, name)!r}",
                    parameter=name,
                )
        if self.play == "banked" and self.game not in (None, "symmetric"):
            raise InputError(
                "Only the symmetric game can be played with a bank", got=f"game={self.game!r}", cure='use play="fresh"'
            )
        if not isinstance(self.similar, SimilarityRule):
            raise InputError(
                "`similar` of PropertyModel must be a SimilarityRule", got=f"{self.similar!r}", parameter="similar"
            )
        for name in ("refit", "width", "depth", "epochs", "batch_size", "patience"):
            setattr(self, name, _checks.whole(getattr(self, name), 1, name))
        self.members = _checks.whole(self.members, 3, "members")
        self.seed = _checks.whole(self.seed, 0, "seed", 2**31 - 1)
        for name, low in (("weight", 0), ("margin", 0), ("multiplier_rate", 1e-9), ("learning_rate", 1e-9)):
            setattr(self, name, _checks.at_least(getattr(self, name), low, name, "PropertyModel"))
        for name, least, open_end in (("share", 1e-9, False), ("dropout", 0.0, True)):
            value = _checks.at_least(getattr(self, name), least, name, "PropertyModel")
            if value > 1 or (open_end and value == 1):
                raise InputError(
                    f"{Parameter(name, of='PropertyModel')} must be a share", got=f"{value!r}", parameter=name
                )
        self.delta = whole_delta(self.delta)

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
        from pellucid import training

        molecules = molecules_of(smiles, y, targets, on_error)
        learned, watched = self._split(molecules, validation, on_error)
        # A copy is trained, so that what was learned before survives an interruption.
        model = replace(self)
        model.targets_, model.smiles_, model.rejected_ = molecules.targets, molecules.smiles, molecules.rejected
        model.y_ = molecules.y
        Task.of(self.task, molecules.y, molecules.targets)
        model.task_ = Task.of(self.task, learned.y, learned.targets, part=" after molecules were held out")
        if watched is not None and self.task == "classification":
            Task.binary(watched.y, watched.targets)
        known = set(molecules.smiles)
        model.pool_ = tuple(t for t in dict.fromkeys(canonicals(pool, "pool", least=0)) if t not in known)
        model.groups_ = groups or self.similar.groups(learned.smiles, progress=progress)
        model.network_ = model._new_network() if network is None else tried(network, molecules)
        setting = PropertyFit(model, learned, watched, progress)
        self.history_ = training.train(
            model.network_,
            setting.loss,
            training.Batches(
                setting.take, setting.count, size=self.batch_size, seed=self.seed, arrange=setting.arrange
            ),
            None
            if watched is None
            else training.Batches(setting.take_watched, len(watched), size=self.batch_size, seed=None),
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            patience=self.patience,
            identity={
                "data": digest_of(learned, watched, model.pool_),
                **self.settings(),
                "network": None if network is None else repr(network),
            },
            folder=None if folder is None else Path(folder),
            resume=resume,
            progress=progress,
            device=device,
            companion=setting.play,
            stepper=setting.stepper,
        )
        for name in ("targets_", "smiles_", "y_", "rejected_", "pool_", "groups_", "task_", "network_"):
            setattr(self, name, getattr(model, name))
        self.calibration_ = None
        return self if watched is None else self.calibrate(watched.smiles, progress=progress)

    def _split(
        self, molecules: Molecules, validation: float | Labeled, on_error: Literal["raise", "skip"]
    ) -> tuple[Molecules, Molecules | None]:
        if isinstance(validation, Molecules | tuple):
            if isinstance(validation, tuple):
                validation = molecules_of(*validation, molecules.targets, on_error)
            require_targets(validation, molecules.targets)
            if not len(validation):
                raise InputError(
                    f"{Parameter('validation')} must have molecules",
                    got="none",
                    cure="0 trains all epochs on everything",
                    parameter="validation",
                )
            return molecules, validation
        if isinstance(validation, bool) or not isinstance(validation, int | float) or not 0 <= validation < 1:
            raise InputError(
                f"{Parameter('validation')} must be a share in [0, 1), a tuple (smiles, y), or Molecules",
                got=f"{validation if isinstance(validation, int | float) else type(validation).__name__}",
                cure="try 0.1",
                parameter="validation",
            )
        if not validation:
            return molecules, None
        held = max(round(validation * len(molecules)), 1)
        if held >= len(molecules):
            raise InputError(
                "There must be molecules left to learn from",
                got=f"{counted(len(molecules), 'molecule')}, of which {held} would be held out",
                cure=f"give more, or pass {Parameter('validation', 0)}",
                parameter="validation",
            )
        order = np.random.default_rng(self.seed).permutation(len(molecules))
        return molecules.select(np.sort(order[held:])), molecules.select(np.sort(order[:held]))

    def _new_network(self) -> GraphNetwork:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return GraphNetwork(len(self.targets_), width=self.width, depth=self.depth, dropout=self.dropout)

    def new_game(self, neighborhoods: int) -> Game:
        deviation = absolute_error if self.criterion == "absolute" else squared_error
        if self.game == "uniform":
            return UniformGame(self.family(), margin=self.margin, n_neighborhoods=neighborhoods, deviation=deviation)
        kind = SymmetricGame if self.game == "symmetric" else AsymmetricGame
        return kind(self.family(), weight=self.weight, deviation=deviation)

    def family(self, delta: int | None = None) -> TreeFamily:
        """The trees that are witnesses, or those of another size."""
        rule = effective_depth(self.delta if delta is None else whole_delta(delta))
        return TreeFamily(depth=rule, criterion=self.criterion)

    # -- use ---------------------------------------------------------------------------------------------------

    def predict(self, smiles: str | Iterable[str] | Molecules) -> np.ndarray:
        """(N, K) probabilities, or values in the units of the data."""
        _checks.fitted(self)
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return self.task_.natural(self._values(featurized(tuple(texts), self._morgan, False)))

    def surroundings(self, smiles: str | Iterable[str] | Molecules, *, progress: bool = False) -> MoleculeNeighborhoods:
        """The neighborhoods of molecules: those learned from, the pool's, and analogs."""
        _checks.fitted(self)
        texts = canonicals([smiles] if isinstance(smiles, str) else smiles, "smiles")
        return self.similar.around(
            list(dict.fromkeys(texts)),
            self.smiles_,
            self.groups_,
            pool=self.pool_,
            jobs=1 if len(texts) < 32 else None,
            progress=progress,
            cache="none" if len(texts) < 32 else "default",
        )

    def witnesses(
        self, around: MoleculeNeighborhoods, *, delta: int | None = None, progress: bool = False
    ) -> TreeWitnesses:
        """The trees that follow the predictor in these neighborhoods, in probabilities or standard deviations.

        Parameters
        ----------
        delta : int, optional
            Another size of trees than the one that was trained for.
        """
        _checks.fitted(self)
        points = featurized(around.points, self._morgan, progress)
        f = self._values(points)
        found = self.family(delta).best_response(points.fingerprints.dense(), f, around.hoods)
        return found.named(bit_names(self._morgan.size), self.targets_)

    def explain(self, smiles: str, *, delta: int | None = None, level: float = LEVEL) -> MoleculeExplanation:
        """The prediction of one molecule, and the tree of substructures that the network follows around it.

        Parameters
        ----------
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
        (found,) = self.explain_many([smiles], delta=delta, level=level)
        return found

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
        found = self.witnesses(around, delta=delta, progress=progress)
        calibration = self.calibration_ if delta is None or delta == self.delta else None
        measured = dict(zip(self.smiles_, self.y_, strict=True))
        return [
            explain(found, around, self.task_, self._morgan, calibration, level=level, which=i, measured=measured)
            for i in range(len(around))
        ]

    def calibrate(self, smiles: Iterable[str] | Molecules, *, progress: bool = False) -> PropertyModel:
        """Learn from molecules that were not learned from how far trees can be trusted; see `pellucid.calibrate`.

        `fit` does so by itself with the molecules that it holds out.
        """
        self.calibration_ = Calibration.of(self.held_out(smiles, progress=progress))
        return self

    def held_out(self, smiles: Iterable[str] | Molecules, *, seed: int = 0, progress: bool = False) -> HeldOut:
        """What trees say of a member of each neighborhood that they were not fitted to; of many, of a thousand."""
        around = self.surroundings(some(smiles, seed), progress=progress)
        points = featurized(around.points, self._morgan, progress)
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
        """
        _checks.fitted(self)
        molecules = molecules_of(smiles, y, self.targets_, "raise")
        require_targets(molecules, self.targets_)
        around = self.surroundings(molecules.smiles, progress=progress)
        return score(self.witnesses(around, delta=delta, progress=progress), molecules.y, self.task_, self.targets_)

    @property
    def _morgan(self) -> Morgan:
        return self.similar.fingerprints

    def _values(self, points: Points) -> Tensor:
        return self.task_.values(outputs_of(self.network_, points.graphs))

    # -- on disk -------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder of plain files: `property_model.json` and `network.safetensors`."""
        _checks.fitted(self)
        content = {
            "settings": self.settings(),
            "targets": list(self.targets_),
            **self.task_.to_dict(),
            "own_network": not isinstance(self.network_, GraphNetwork),
            "groups": {kind: list(texts) for kind, texts in self.groups_.by_kind.items()},
            "largest_group": self.groups_.largest,
            "smiles": list(self.smiles_),
            "y": [[None if np.isnan(value) else float(value) for value in row] for row in self.y_],
            "rejected": [list(row) for row in self.rejected_],
            "pool": list(self.pool_),
            "history": self.history_,
            "calibration": None if self.calibration_ is None else self.calibration_.to_dict(),
        }
        storage.save(Path(folder), "property_model", content, {"network": self.network_.state_dict()})

    @classmethod
    def load(cls, folder: str | Path, *, network: nn.Module | None = None) -> PropertyModel:
        """Read what `save` wrote. Nothing in the folder can run code.

        Parameters
        ----------
        network : Module, optional
            If the model was trained with a predictor of your own, a module of the same kind; it gets the saved
            weights.
        """
        content, weights = storage.load(Path(folder), "property_model", ("network",))
        with storage.as_saved(Path(folder)):
            model = cls(**content["settings"] | {"similar": SimilarityRule.from_dict(content["settings"]["similar"])})
            model.targets_ = tuple(str(name) for name in content["targets"])
            shift, scale = (np.array(content[name], dtype=np.float64) for name in ("shift", "scale"))
            model.task_ = Task(kind=model.task, shift=shift, scale=scale)
            model.groups_ = RGroups.from_lists(content["groups"], int(content["largest_group"]))
            model.smiles_, model.pool_ = tuple(content["smiles"]), tuple(content["pool"])
            empty = [[None] * len(model.targets_)] * len(model.smiles_)  # models saved by earlier versions
            model.y_ = np.array(content.get("y", empty), dtype=np.float64).reshape(len(model.smiles_), -1)
            model.rejected_ = tuple(Rejection(*row) for row in content["rejected"])
            model.history_ = content["history"]
            own = bool(content["own_network"])
            known = content.get("calibration")  # models saved by earlier versions have none
            model.calibration_ = None if known is None else Calibration.from_dict(known)
        if own and network is None:
            raise InputError(
                "This model was trained with a network of your own, which is code and was not saved",
                got="none",
                cure="pass a module of the same kind as `network=`",
            )
        with storage.as_saved(Path(folder)):
            model.network_ = model._new_network() if network is None else network
            model.network_.load_state_dict(weights["network"])
        model.network_.eval()
        return model

    def settings(self) -> dict[str, Any]:
        """What was given when the model was made, ready for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init} | {"similar": asdict(self.similar)}
