"""Settings of a model of tables, and what follows from them: its network, its game, its sampler, its families."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from torch import nn

from pellucid.games import Game
from pellucid.models import FittedAttribute, Model, new_with_seed, unsaved_network
from pellucid.named_games import GAMES, GameName, check_play, named_game
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.fitted import FittedTable
from pellucid.tabular.network import NetworkFactory, TableNetwork
from pellucid.tabular.sampling import SAMPLERS, RowSampler, Sampler, SamplerName
from pellucid.tabular.tasks import TASKS, TableTask
from pellucid.witnesses import LinearFamily, SparseLinearFamily, TreeFamily, WitnessFamily

WitnessName: TypeAlias = Literal["linear", "sparse", "tree", "auto"]
WITNESSES = ("linear", "sparse", "tree", "auto")
# What settings may be at most: more would fill the memory before it was of use.
_MOST_LAYERS, _MOST_NETWORKS, _LARGEST_NEIGHBORHOOD = 100, 1024, 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class TableModelSettings(Model[FittedTable], ABC):
    """The settings of a `TableModel`, which says what each of them means."""

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

    record_type = FittedTable

    witness_ = FittedAttribute[str]()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(TASKS, "task")
        self._require_one_of((*GAMES, None), "game")
        self._require_one_of(WITNESSES, "witness")
        self._require_type(bool, "held_out_game")
        if not callable(self.sampler):
            self._require_one_of(SAMPLERS, "sampler")
        self._require_one_of(("fresh", "banked"), "play")
        check_play(self.play, self.game)
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

    def new_network(
        self,
        *,
        encoding: Encoding,
        task: TableTask,
        factory: NetworkFactory | None = None,
        own_network: bool = False,
        **_: Any,
    ) -> nn.Module:
        """An untrained network for this table, or the one that a function of the user's makes."""
        inputs, outputs = len(encoding.shift), task.width
        if factory is not None:
            return new_with_seed(self.seed, lambda: factory(inputs, outputs))
        if own_network:
            raise unsaved_network("pass the function that makes it as `network=`")
        return new_with_seed(
            self.seed,
            lambda: TableNetwork(
                inputs,
                outputs,
                width=self.width,
                depth=self.depth,
                ensemble=self.ensemble,
                dropout=self.dropout,
                embedding=self.embedding,
            ),
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

    def family(self, witness: str | None = None) -> WitnessFamily:
        """The witnesses of explanations."""
        name = self.witness_ if witness is None else witness
        families: dict[str, WitnessFamily] = {
            "linear": LinearFamily(ridge="auto"),
            "sparse": SparseLinearFamily(terms=8),
            "tree": TreeFamily(min_leaf=3, shrinkage="auto"),
        }
        return families[name]
