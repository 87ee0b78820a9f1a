"""What models of molecules share: neighborhoods of similar molecules, and trees over fingerprints as witnesses."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pellucid.models import FittedT, Model
from pellucid.molecules._arguments import checked_delta
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, SimilarityRule
from pellucid.witnesses import effective_depth

# The neighborhoods of fewer molecules are neither shared among processes nor cached.
_MIN_PARALLEL = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class MoleculeModel(Model[FittedT], ABC):
    """A model whose witnesses are trees over fingerprints, in neighborhoods of similar molecules.

    Parameters
    ----------
    weight : float
        Weight of the game.
    delta : int
        Trees on m members have at most max(ceil(log2 m) - 1 + delta, 1) levels of splits.
    similar : SimilarityRule
        Which molecules are neighbors.
    share : float
        The number of neighborhoods that play in a step, per molecule in its batch.
    members : int
        The number of members of a neighborhood that take part in a step, chosen at random.
    """

    weight: float = 0.2
    delta: int = 0
    similar: SimilarityRule = field(default_factory=SimilarityRule)
    share: float = 0.25
    members: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_type(SimilarityRule, "similar")
        self._require_whole(3, "members")
        self._require_number(0, "weight")
        self._require_number(1e-9, "share")
        self._check(lambda delta, _: checked_delta(delta), "delta")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The untrained model with these `settings`."""
        return cls(**{**settings, "similar": SimilarityRule.from_dict(settings["similar"])})

    @property
    def morgan(self) -> Morgan:
        """The fingerprints that witnesses read."""
        return self.similar.fingerprints

    def _depth_rule(self, delta: int | None) -> Callable[[int], int]:
        """The depth of trees by the number of members; `delta` overrides that of the model."""
        return effective_depth(self.delta if delta is None else checked_delta(delta))

    def _find_neighborhoods(
        self,
        smiles: Sequence[str],
        given: Sequence[str],
        groups: RGroups,
        *,
        rule: SimilarityRule | None = None,
        pool: Sequence[str] = (),
        progress: bool = False,
    ) -> MoleculeNeighborhoods:
        """The neighborhoods of the different molecules: labeled molecules, those of a pool, and analogs."""
        few = len(smiles) < _MIN_PARALLEL
        return (rule or self.similar).neighborhoods(
            list(dict.fromkeys(smiles)),
            given,
            groups,
            pool=pool,
            jobs=1 if few else None,
            progress=progress,
            cache="none" if few else "default",
        )
