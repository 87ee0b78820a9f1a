"""One molecule explained by the tree that the network follows around it, and by what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, cast, final

import numpy as np

from pellucid.molecules import explanation_text, tree_explanation_text
from pellucid.molecules.explanation import Member, MoleculeExplanation
from pellucid.molecules.fingerprints import MOST_BITS
from pellucid.molecules.substructures import Substructure, find_substructures
from pellucid.numbers import decimals
from pellucid.schemas import Between, SchemaError, checked
from pellucid.witnesses.stored_trees import nodes_of, path_of
from pellucid.witnesses.tree import TreeWitnesses
from pellucid.witnesses.tree_witness import TreeWitness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.molecules.explained_neighborhood import ExplainedNeighborhood


class Change(NamedTuple):
    """The nearest member in another leaf: what would have to be different, and what it would do."""

    member: Member
    split: int
    """The bit of the split at which its path leaves that of the molecule."""
    gains: bool
    """Whether it has the substructure of this split, which the molecule has not; or the other way round."""


class Reason(NamedTuple):
    """A split that the molecule passes, and what it does to the tree's values."""

    split: int
    """The bit of the split."""
    present: bool
    """Whether the molecule has its substructure."""
    change: np.ndarray
    """(K,) the value behind the split minus that before it: of the members behind, and of all that come to it."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TreeExplanation(MoleculeExplanation):
    """The prediction of one molecule and the tree that the network follows around it. Prints as text.

    There are K targets, and values are in the units of the data.
    """

    kind: ClassVar[str] = "tree"

    witness: TreeWitness = field(repr=False)
    """The tree, over the bits of the fingerprint."""
    path: tuple[int, ...]
    """The nodes that the molecule passes, from the root to its leaf."""
    substructures: dict[int, Substructure] = field(repr=False)
    """What the bits of the splits stand for in this neighborhood."""
    divergence: float | None = None
    """Of a representation: mean over the members of KL(tree || network), in nats."""

    @property
    def witnessed(self) -> np.ndarray:
        """(K,) the tree's values of the molecule."""
        return np.asarray(self.witness.nodes["value"][self.path[-1]])

    @property
    def spread(self) -> np.ndarray:
        """(K,) the difference between the highest and the lowest leaf."""
        nodes = self.witness.nodes
        return np.asarray(np.ptp(nodes["value"][nodes["feature"] < 0], axis=0))

    @cached_property
    def decimals(self) -> list[int]:
        """(K,) the number of decimals that tell the leaves apart in each target."""
        leaves = self.witness.root.leaves()
        return [decimals(leaf.value[k] for leaf in leaves) for k in range(len(self.targets))]

    def changes(self) -> list[Change]:
        """For every other leaf its member that is most like the molecule; nearest first."""
        nearest: dict[int | None, Member] = {}
        for member in self.members:
            nearest.setdefault(member.leaf, member)
        result = []
        for node in self.witness.root.walk():
            for branch, gains in zip(node.branches, (False, True), strict=False):
                if node.index in self.path and branch.index not in self.path:
                    others = [nearest[leaf.index] for leaf in branch.leaves() if leaf.index in nearest]
                    result += [Change(member, node.feature, gains) for member in others]
        return sorted(result, key=lambda change: (-change.member.similarity, change.member.smiles))

    def reasons(self) -> list[Reason]:
        """The splits that the molecule passes, from the root on. Their changes add up from the value of the root, which
        is that of the whole neighborhood, to the tree's value of the molecule.
        """
        nodes = self.witness.nodes
        return [
            Reason(int(nodes["feature"][a]), bool(b == nodes["right"][a]), nodes["value"][b] - nodes["value"][a])
            for a, b in pairwise(self.path)
        ]

    def text(self, target: str | int | None = None) -> str:
        """The explanation in words: of one target, or of those that differ most between the leaves."""
        return tree_explanation_text.text(self, target)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        return {
            **super().to_dict(),
            "divergence": self.divergence,
            "bits": len(self.witness.feature_names),
            "path": list(self.path),
            "tree": {name: values.tolist() for name, values in self.witness.nodes.items()},
            "substructures": [s.to_dict() for s in self.substructures.values()],
        }

    @classmethod
    def _fields_from(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        targets = list(content["targets"])
        bits = checked(Annotated[int, Between(1, MOST_BITS)], content["bits"], "bits")
        nodes = nodes_of(content["tree"], features=bits, outputs=len(targets))
        splits = {int(feature) for feature in nodes["feature"] if feature >= 0}
        structures = {s.bit: s for s in map(Substructure.from_dict, content["substructures"])}
        if splits - structures.keys():
            raise SchemaError(f"the substructure of bit {min(splits - structures.keys())} is absent")
        gaps = [[row[f"predicted: {name}"] - row[f"tree: {name}"] for name in targets] for row in content["members"]]
        return {
            "witness": TreeWitness(
                center=0,
                size=len(gaps),
                rmse=float(np.sqrt(np.square(gaps).mean())),
                feature_names=bit_names(bits),
                output_names=targets,
                place=content["smiles"],
                nodes=nodes,
            ),
            "path": path_of(content["path"], nodes),
            "substructures": structures,
            "divergence": checked(float | None, content.get("divergence"), "divergence"),
        }

    def plot(self, target: str | int | None = None, *, title: str | None = None) -> Figure:
        """The tree, each split drawn as its substructure, the molecule's path marked; save it as .svg or .png."""
        from pellucid.molecules.drawing import plot_tree

        return plot_tree(
            self.witness,
            self.substructures,
            path=self.path,
            title=explanation_text.title(self, self.target(target)) if title is None else title,
            molecule=self.smiles,
            outputs=self.target(target),
        )


def bit_names(size: int) -> list[str]:
    """Names of the features of the witnesses."""
    return list(_bit_names(size))


@lru_cache(maxsize=2)
def _bit_names(size: int) -> tuple[str, ...]:
    return tuple(f"bit {i}" for i in range(size))


def explain_by_tree(witnesses: TreeWitnesses, around: ExplainedNeighborhood) -> TreeExplanation:
    """The explanation of the molecule of a neighborhood, by its tree.

    Parameters
    ----------
    witnesses : TreeWitnesses
        The trees, fitted on the neighborhoods.
    around : ExplainedNeighborhood
        The neighborhood.
    """
    i, task = around.index, around.task
    tree = cast("TreeWitness", witnesses[i])
    leaves = np.asarray(witnesses.trees.leaf[around.entries]) - int(witnesses.trees.node_offsets[i])
    return TreeExplanation(
        **around.fields([{"leaf": int(leaf)} for leaf in leaves]),
        witness=replace(tree, nodes=tree.nodes | {"value": task.natural(tree.nodes["value"])}, place=around.smiles[0]),
        path=tuple(tree.path(witnesses.x[int(witnesses.hoods.centers[i])])),
        substructures=find_substructures(
            [int(bit) for bit in tree.nodes["feature"] if bit >= 0], around.smiles, around.morgan
        ),
    )
