"""One molecule explained: its prediction, the tree that the network follows around it, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from torch import Tensor

from pellucid.builders import from_lists
from pellucid.errors import InputError, Parameter
from pellucid.explanations import Explanation
from pellucid.metrics import local_generalized_auc
from pellucid.molecules import explanation_text
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.substructures import Substructure, find_substructures
from pellucid.molecules.tasks import Task
from pellucid.numbers import decimals
from pellucid.trust import FEWEST, LEVEL, Calibration, check_level, known_bounds
from pellucid.witnesses import Witnesses
from pellucid.witnesses.tree import TreeWitnesses
from pellucid.witnesses.tree_witness import TreeWitness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The most targets that texts and pictures show by default.
_MAX_TARGETS = 3


class Member(NamedTuple):
    """One molecule of the neighborhood."""

    smiles: str
    similarity: float
    """Tanimoto similarity to the molecule that is explained."""
    origin: str
    """"itself", "given", "pool" or "analog"."""
    prediction: np.ndarray
    """(K,) the predictor's values."""
    witness: np.ndarray
    """(K,) the tree's values."""
    leaf: int
    """The node of the tree that it ends in."""
    measured: np.ndarray | None = None
    """(K,) measured values, NaN where there is none; None if it is not among the labeled molecules."""


class Change(NamedTuple):
    """The nearest member in another leaf: what would have to be different, and what it would do."""

    member: Member
    split: int
    """The bit of the split at which its path leaves that of the molecule."""
    gains: bool
    """Whether it has the substructure of this split, which the molecule has not; or the other way round."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MoleculeExplanation(Explanation):
    """The prediction of one molecule and its witness; K targets, values in the units of the data. Prints as text."""

    smiles: str
    targets: tuple[str, ...]
    prediction: np.ndarray
    """(K,) the predictor's values of the molecule."""
    witness: TreeWitness = field(repr=False)
    """The tree, over the bits of the fingerprint."""
    path: tuple[int, ...]
    """The nodes that the molecule passes, from the root to its leaf."""
    members: tuple[Member, ...] = field(repr=False)
    """The neighborhood: the molecule itself, then the most similar first."""
    deviation: np.ndarray
    """(K,) mean over the members of |predictor - tree|."""
    local_auc: np.ndarray
    """(K,) generalized AUC between tree and predictor over the members; NaN where no two predictions differ."""
    substructures: dict[int, Substructure] = field(repr=False)
    """What the bits of the splits stand for in this neighborhood."""
    divergence: float | None = None
    """Of a representation: mean over the members of KL(tree || network), in nats."""
    level: float = LEVEL
    """The confidence of the bound."""
    bound: np.ndarray | None = None
    """(K,) what |predictor - tree| does not exceed, with this confidence, at a further molecule of the neighborhood,
    which the tree was not fitted to; None if that is not known. See `pellucid.trust`."""
    calibrated: int = 0
    """The number of held-out neighborhoods that the bound was learned from."""

    @property
    def witnessed(self) -> np.ndarray:
        """(K,) the tree's values of the molecule."""
        return np.asarray(self.witness.nodes["value"][self.path[-1]])

    @cached_property
    def decimals(self) -> list[int]:
        """(K,) the number of decimals that tell the leaves apart in each target."""
        leaves = self.witness.root.leaves()
        return [decimals(leaf.value[k] for leaf in leaves) for k in range(len(self.targets))]

    def target(self, name: str | int | None) -> list[int]:
        """The index of a target, as a list; by default those of the targets that differ most between the leaves."""
        if name is None:
            nodes = self.witness.nodes
            leaves = nodes["feature"] < 0
            spread = np.ptp(nodes["value"][leaves], axis=0)
            return sorted(np.argsort(-spread, kind="stable")[:_MAX_TARGETS].tolist())
        if isinstance(name, str) and name in self.targets:
            return [self.targets.index(name)]
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(self.targets):
            return [name]
        raise InputError(
            f"{Parameter('target')} must be one of {', '.join(self.targets)}", got=f"{name!r}", parameter="target"
        )

    def changes(self) -> list[Change]:
        """For every other leaf its member that is most like the molecule; nearest first."""
        nearest: dict[int, Member] = {}
        for member in self.members:
            nearest.setdefault(member.leaf, member)
        result = []
        for node in self.witness.root.walk():
            for branch, gains in zip(node.branches, (False, True), strict=False):
                if node.index in self.path and branch.index not in self.path:
                    others = [nearest[leaf.index] for leaf in branch.leaves() if leaf.index in nearest]
                    result += [Change(member, node.feature, gains) for member in others]
        return sorted(result, key=lambda change: (-change.member.similarity, change.member.smiles))

    def text(self, target: str | int | None = None) -> str:
        """The explanation in words: of one target, or of those that differ most between the leaves."""
        return explanation_text.text(self, target)

    def trust(self, targets: Sequence[int] | None = None) -> str:
        """One sentence on how far the tree can be trusted near the molecule, for the targets at these indices."""
        return explanation_text.trust(self, targets)

    def table(self) -> list[dict[str, Any]]:
        """The neighborhood, one row per member: SMILES, similarity, origin, leaf, and values of predictor and tree."""
        return [
            {
                "smiles": member.smiles,
                "similarity": member.similarity,
                "origin": member.origin,
                "leaf": member.leaf,
                **{f"predicted: {name}": float(member.prediction[k]) for k, name in enumerate(self.targets)},
                **{f"tree: {name}": float(member.witness[k]) for k, name in enumerate(self.targets)},
                **{f"measured: {name}": _number(member.measured, k) for k, name in enumerate(self.targets)},
            }
            for member in self.members
        ]

    def rows(self) -> Iterator[list[Any]]:
        """The neighborhood as in `table`: the names of the columns, then a row for each member."""
        table = self.table()
        yield list(table[0])
        yield from (list(row.values()) for row in table)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        return {
            "smiles": self.smiles,
            "targets": list(self.targets),
            "prediction": self.prediction.tolist(),
            "tree_prediction": self.witnessed.tolist(),
            "deviation": self.deviation.tolist(),
            "local_auc": [None if np.isnan(value) else float(value) for value in self.local_auc],
            "divergence": self.divergence,
            "level": self.level,
            "bound": None if self.bound is None else [_number(self.bound, k) for k in range(len(self.targets))],
            "calibrated": self.calibrated,
            "bits": len(self.witness.feature_names),
            "path": list(self.path),
            "tree": {name: values.tolist() for name, values in self.witness.nodes.items()},
            "substructures": [
                {"bit": s.bit, "smiles": s.smiles, "radius": s.radius, "molecule": s.molecule, "atom": s.atom,
                 "others": list(s.others)}
                for s in self.substructures.values()
            ],
            "members": self.table(),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> MoleculeExplanation:
        """The explanation that `to_dict` was called on, also by way of JSON."""
        targets, rows = tuple(content["targets"]), content["members"]
        nodes = {name: np.array(values) for name, values in content["tree"].items()}
        structures = [Substructure(**{**item, "others": tuple(item["others"])}) for item in content["substructures"]]
        members = tuple(
            Member(
                row["smiles"],
                row["similarity"],
                row["origin"],
                np.array([row[f"predicted: {name}"] for name in targets]),
                np.array([row[f"tree: {name}"] for name in targets]),
                row["leaf"],
                _measurements([row.get(f"measured: {name}") for name in targets]),
            )
            for row in rows
        )
        gaps = np.array([member.prediction - member.witness for member in members])
        return cls(
            smiles=content["smiles"],
            targets=targets,
            prediction=np.array(content["prediction"]),
            witness=TreeWitness(
                center=0,
                size=len(rows),
                rmse=float(np.sqrt(np.square(gaps).mean())),
                feature_names=bit_names(content["bits"]),
                output_names=list(targets),
                place=content["smiles"],
                nodes=nodes,
            ),
            path=tuple(content["path"]),
            members=members,
            deviation=np.array(content["deviation"]),
            local_auc=np.array([np.nan if value is None else value for value in content["local_auc"]]),
            substructures={structure.bit: structure for structure in structures},
            divergence=content.get("divergence"),
            level=content.get("level", LEVEL),
            bound=None if content.get("bound") is None else np.array(content["bound"], dtype=np.float64),
            calibrated=content.get("calibrated", 0),
        )

    def to_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write it as one HTML file that needs nothing else: tree, pictures, what would change it, neighbors.

        Parameters
        ----------
        path : str or Path
            The HTML file.
        title : str, optional
            The title of the page, for instance the name of a file; by default the molecule.
        """
        from pellucid.molecules.explanation_page import write_one

        write_one(self, path, title=title)

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

    def _repr_html_(self) -> str:
        from pellucid.molecules.explanation_page import fragment

        return str(fragment(self))


def _number(values: np.ndarray | None, k: int) -> float | None:
    return None if values is None or not np.isfinite(values[k]) else float(values[k])


def _measurements(values: Sequence[float | None]) -> np.ndarray | None:
    if all(value is None for value in values):
        return None
    return np.array([np.nan if value is None else value for value in values])


def bit_names(size: int) -> list[str]:
    """Names of the features of the trees."""
    return [f"bit {i}" for i in range(size)]


def explain(
    witnesses: Witnesses,
    neighborhoods: MoleculeNeighborhoods,
    task: Task,
    morgan: Morgan,
    calibration: Calibration | None = None,
    *,
    level: float = LEVEL,
    index: int = 0,
    measured: Mapping[str, np.ndarray] | None = None,
) -> MoleculeExplanation:
    """The explanation of one of the molecules whose neighborhoods these are.

    Parameters
    ----------
    witnesses : Witnesses
        The trees, fitted on the neighborhoods.
    neighborhoods : MoleculeNeighborhoods
        The neighborhoods of the molecules.
    task : Task
        How the witnesses' values become those of the data.
    morgan : Morgan
        The fingerprints that the trees read.
    calibration : Calibration, optional
        The calibration that bounds are computed from; without one there are none.
    level : float
        The confidence of the bound.
    index : int
        The index of the molecule.
    measured : mapping of str to ndarray, optional
        (K,) measured values by SMILES.
    """
    measured = measured or {}
    neighbors, hoods = neighborhoods.neighbors(index), neighborhoods.hoods
    entries = slice(*hoods.offsets[index : index + 2].tolist())
    f, g = witnesses.f[hoods.members[entries]], witnesses.at_members()[entries]
    tree = witnesses[index]
    level, bound = check_level(level), None
    if calibration is not None and len(neighbors) >= FEWEST:
        bound = known_bounds(calibration.bound((f - g).abs().double().mean(0).numpy(), level) * task.scale)
    if not (isinstance(tree, TreeWitness) and isinstance(witnesses, TreeWitnesses)):
        raise InputError("Molecules are explained by trees", got=f"{type(tree).__name__}")
    natural = replace(tree, nodes=tree.nodes | {"value": task.natural(tree.nodes["value"])}, place=neighbors[0].smiles)
    values, tree_values = task.natural(f), task.natural(g)
    leaves = np.asarray(witnesses.trees.leaf[entries]) - int(witnesses.trees.node_offsets[index])
    return MoleculeExplanation(
        smiles=neighbors[0].smiles,
        targets=tuple(tree.output_names),
        prediction=values[0],
        witness=natural,
        path=tuple(tree.path(witnesses.x[int(hoods.centers[index])])),
        members=tuple(
            Member(*neighbor, values[j], tree_values[j], int(leaves[j]), measured.get(neighbor.smiles))
            for j, neighbor in enumerate(neighbors)
        ),
        deviation=np.abs(values - tree_values).mean(0),
        local_auc=_local_auc(f, g),
        substructures=find_substructures(
            [int(bit) for bit in tree.nodes["feature"] if bit >= 0], [n.smiles for n in neighbors], morgan
        ),
        level=level,
        bound=bound,
        calibrated=0 if calibration is None else len(calibration),
    )


def _local_auc(f: Tensor, g: Tensor) -> np.ndarray:
    """(K,) generalized AUC of one neighborhood."""
    return np.asarray(local_generalized_auc(f, g, from_lists([range(len(f))], centers=[0]))[0].numpy())
