"""Settings of a property model, and what follows from them: its network, its game, and its families of witnesses."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from torch import nn

from pellucid.deviations import absolute_error, squared_error
from pellucid.errors import InputError, Parameter
from pellucid.games import Game
from pellucid.models import FittedAttribute, new_with_seed, unsaved_network
from pellucid.molecules.explanation import WITNESS_NOUNS
from pellucid.molecules.fitted import FittedProperties
from pellucid.molecules.models import MoleculeModel
from pellucid.molecules.neighborhoods import SimilarityRule
from pellucid.molecules.network import MAX_DEPTH, GraphNetwork
from pellucid.molecules.tasks import TASKS
from pellucid.named_games import GAMES, GameName, check_play, named_game
from pellucid.witnesses import LinearFamily, TreeFamily, WitnessFamily

WitnessName: TypeAlias = Literal["tree", "contributions", "auto"]
WITNESSES = ("tree", "contributions", "auto")


@dataclass(frozen=True, kw_only=True, eq=False)
class PropertySettings(MoleculeModel[FittedProperties], ABC):
    """The settings of a `PropertyModel`, which says what each of them means."""

    task: Literal["classification", "regression"] = "classification"
    game: GameName | None = "symmetric"
    margin: float = 0.1
    multiplier_rate: float = 1.0
    criterion: Literal["absolute", "squared"] = "absolute"
    witness: WitnessName = "tree"
    held_out_game: bool = False
    ridge: float = 3.0
    shrinkage: float | Literal["auto"] = 10.0
    min_leaf: int = 3
    explain_with_analogs: bool = True
    explained_groups: int = 60
    explained_members: int = 600
    play: Literal["fresh", "banked"] = "fresh"
    refit: int = 5
    width: int = 300
    depth: int = 3
    dropout: float = 0.0
    epochs: int = 30

    witness_ = FittedAttribute[Literal["tree", "contributions"]]()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(TASKS, "task")
        self._require_one_of((*GAMES, None), "game")
        self._require_one_of(("absolute", "squared"), "criterion")
        self._require_one_of(WITNESSES, "witness")
        self._require_type(bool, "held_out_game")
        self._require_type(bool, "explain_with_analogs")
        self._require_whole(1, "explained_groups")
        self._require_whole(3, "explained_members")
        self._require_number(1e-9, "ridge")
        self._trees(None)  # they say themselves which shrinkage and leaves they can have
        self._require_one_of(("fresh", "banked"), "play")
        check_play(self.play, self.game)
        self._require_whole(1, "refit")
        self._require_size("width")
        self._require_whole(1, "depth", most=MAX_DEPTH)
        self._require_number(0, "margin")
        self._require_number(1e-9, "multiplier_rate")
        self._require_share("share", least=1e-9)
        self._require_share("dropout", below_one=True)

    def new_network(self, *, targets: Sequence[str], own_network: bool = False, **_: Any) -> nn.Module:
        """An untrained graph network for these targets."""
        if own_network:
            raise unsaved_network("pass a module of the same kind as `network=`")
        return new_with_seed(
            self.seed, lambda: GraphNetwork(len(targets), width=self.width, depth=self.depth, dropout=self.dropout)
        )

    def new_game(self, neighborhoods: int) -> Game | None:
        """The game that is played in this number of neighborhoods."""
        trees = self.witness == "tree"
        return named_game(
            self.game,
            self._trees(None) if trees else LinearFamily(ridge=self.ridge),
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
            return self._trees(delta)
        if delta is not None:
            raise InputError(
                f"{Parameter('delta')} is the size of trees", got="contributions as witnesses", cure="leave it out"
            )
        return LinearFamily(ridge="auto")

    def _trees(self, delta: int | None) -> TreeFamily:
        return TreeFamily(
            depth=self._depth_rule(delta),
            criterion=self.criterion,
            min_leaf=self.min_leaf,
            shrinkage=self.shrinkage,
        )

    @property
    def witness_noun(self) -> str:
        """What the witness of an explanation is called: "tree" or "law"."""
        witness = self.witness if self._fitted is None else self.witness_
        return WITNESS_NOUNS["tree" if witness == "tree" else "contributions"]

    @property
    def explaining(self) -> SimilarityRule:
        """Which molecules are neighbors in explanations."""
        if not self.explain_with_analogs:
            return self.similar
        return replace(self.similar, analogs=True, groups_per_kind=self.explained_groups, most=self.explained_members)

    @property
    def exchanging(self) -> SimilarityRule:
        """The rule by which groups are collected: enough of them for explanations and for the game."""
        most = max(self.explaining.groups_per_kind, self.similar.groups_per_kind)
        return replace(self.explaining, groups_per_kind=most)
