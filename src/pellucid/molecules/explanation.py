"""One molecule explained, by whatever witness: its prediction, its neighborhood, and what would change it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isabstract
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.explanations import Explanation
from pellucid.molecules import explanation_text
from pellucid.molecules._plain import plain
from pellucid.molecules.certainty import Certainty
from pellucid.molecules.exchanges import Exchange, GroupPair, exchanged_groups
from pellucid.numbers import decimals
from pellucid.schemas import LARGEST, Between, Size, as_written, checked
from pellucid.stored_arrays import array_of
from pellucid.trust import LEVEL, check_level
from pellucid.writing import write_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The most targets that texts and pictures show by default.
_MAX_TARGETS = 3
WITNESS_NOUNS = {"tree": "tree", "contributions": "law"}
"""What a witness is called in words, by its name in `PropertyModel.witness_`."""


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
    """(K,) the witness's values."""
    leaf: int | None = None
    """Of a tree: the node that it ends in."""
    measured: np.ndarray | None = None
    """(K,) measured values, NaN where there is none; None if it is not among the labeled molecules."""
    held_out: np.ndarray | None = None
    """(K,) what a witness says of this member that was fitted without it; None in files of earlier versions."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MoleculeExplanation(Explanation):
    """The prediction of one molecule and its witness; K targets, values in the units of the data. Prints as text."""

    kind: ClassVar[str]
    """The name of the witness: "tree" or "contributions"."""

    smiles: str
    targets: tuple[str, ...]
    prediction: np.ndarray
    """(K,) the predictor's values of the molecule."""
    members: tuple[Member, ...] = field(repr=False)
    """The neighborhood: the molecule itself, then the most similar first."""
    deviation: np.ndarray
    """(K,) mean over the members of |predictor - witness|."""
    local_auc: np.ndarray
    """(K,) generalized AUC between witness and predictor over the members; NaN where no two predictions differ."""
    level: float = LEVEL
    """The confidence of the bound."""
    bound: np.ndarray | None = None
    """(K,) what |predictor - witness| does not exceed, with this confidence, at a further molecule of the neighborhood,
    which the witness was not fitted to; None if that is not known. See `pellucid.trust`."""
    calibrated: int = 0
    """The number of held-out neighborhoods that the bound was learned from."""
    calibrated_sizes: tuple[int | None, int | None] = (None, None)
    """The least and the most members that these have; None: any number."""
    held_out_deviation: np.ndarray | None = None
    """(K,) mean over the members of |predictor - witness|, where the witness was fitted without the member (a law), or
    without a fifth of the members (a tree); None in files of earlier versions."""
    held_out_explained: np.ndarray | None = None
    """(K,) the share of the predictor's variance in the neighborhood that these witnesses account for: 0 is no better
    than the mean of the others; NaN where nothing varies."""
    analogs: bool = False
    """Whether analogs were made of the molecule, beside similar ones of the pool; False in files of earlier versions,
    which do not know."""
    unbounded: str | None = None
    """Why there can be no bound, in one sentence, where it is not for want of held-out neighborhoods in general."""
    certainty: Certainty | None = None
    """How sure the prediction itself is: about prediction and measurement, not about witness and network. None in files
    of earlier versions, and for representations, which cannot be measured."""

    @property
    def noun(self) -> str:
        """What the witness is called: "tree" or "law"."""
        return WITNESS_NOUNS[self.kind]

    @property
    def witnessed(self) -> np.ndarray:
        """(K,) the witness's values of the molecule."""
        return self.members[0].witness

    @property
    @abstractmethod
    def spread(self) -> np.ndarray:
        """(K,) how much the witness differs within the neighborhood, in each target."""

    @cached_property
    def decimals(self) -> list[int]:
        """(K,) the number of decimals that tell values of each target apart."""
        values = np.array([member.witness for member in self.members])
        return [decimals(column) for column in values.T.tolist()]

    def target(self, name: str | int | None) -> list[int]:
        """The index of a target, as a list; by default those of the targets that differ most in the neighborhood."""
        if name is None:
            return sorted(np.argsort(-self.spread, kind="stable")[:_MAX_TARGETS].tolist())
        if isinstance(name, str) and name in self.targets:
            return [self.targets.index(name)]
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(self.targets):
            return [name]
        raise InputError(
            f"{Parameter('target')} must be one of {', '.join(self.targets)}", got=f"{name!r}", parameter="target"
        )

    def trust(self, targets: Sequence[int] | None = None) -> str:
        """One sentence on how far the witness can be trusted near the molecule, for the targets at these indices."""
        return explanation_text.trust(self, targets)

    # -- what would change it ----------------------------------------------------------------------------------

    @cached_property
    def _groups(self) -> dict[int, GroupPair]:
        return exchanged_groups([member.smiles for member in self.members])

    def exchanges(self, target: str | int | None = None) -> list[Exchange]:
        """Members in which one group of the molecule is exchanged for another, and what that does.

        Sorted by the change of the prediction: what raises it most comes first, what lowers it most comes last.

        Parameters
        ----------
        target : str or int, optional
            The target to sort by; by default the one that differs most in the neighborhood.
        """
        k = int(np.argmax(self.spread)) if target is None else self.target(target)[0]
        center = self.members[0]
        result = [
            Exchange(
                pair.out,
                pair.into,
                self.members[j].prediction - center.prediction,
                self.members[j].witness - center.witness,
                self.members[j],
            )
            for j, pair in self._groups.items()
        ]
        return sorted(result, key=lambda e: (-e.predicted_change[k], e.member.smiles))

    def exchange_rows(self, target: str | int | None = None) -> Iterator[list[Any]]:
        """The exchanges as a table: the names of the columns, then the rows, in the order of `exchanges`."""
        columns = [*self._change_columns(), *self._measured_cells(self.members[0])]
        yield ["exchange out", "exchange in", *columns, "similarity", "origin", "smiles"]
        for e in self.exchanges(target):
            measured = self._measured_cells(e.member).values()
            yield [e.out, e.into, *e.predicted_change.tolist(), *e.witness_change.tolist(), *measured,
                   e.member.similarity, e.member.origin, e.member.smiles]  # fmt: skip

    def exchanges_to_csv(self, path: str | Path, target: str | int | None = None) -> None:
        """Write `exchange_rows` as a CSV file: what raises the prediction most comes first.

        Parameters
        ----------
        path : str or Path
            The file to write.
        target : str or int, optional
            The target to sort by; by default the one that differs most in the neighborhood.
        """
        write_rows(path, self.exchange_rows(target))

    def _measured_cells(self, member: Member) -> dict[str, float | None]:
        """What was measured of a member, by the names of columns; none of representations."""
        if self.certainty is None and all(each.measured is None for each in self.members):
            return {}
        return {f"measured: {name}": _number(member.measured, k) for k, name in enumerate(self.targets)}

    def _change_columns(self) -> list[str]:
        kinds = ("predicted change", f"change of the {self.noun}")
        return [f"{kind}: {name}" for kind in kinds for name in self.targets]

    # -- numbers and files -------------------------------------------------------------------------------------

    def table(self) -> list[dict[str, Any]]:
        """The neighborhood, one row per member: SMILES, similarity, origin, values of predictor and witness, and the
        groups that are exchanged where a single one is.
        """
        return [
            {
                "smiles": member.smiles,
                "similarity": member.similarity,
                "origin": member.origin,
                **({} if member.leaf is None else {"leaf": member.leaf}),
                **{f"predicted: {name}": float(member.prediction[k]) for k, name in enumerate(self.targets)},
                **{f"{self.noun}: {name}": float(member.witness[k]) for k, name in enumerate(self.targets)},
                **({} if member.held_out is None else {
                    f"{self.noun}, held out: {name}": _number(member.held_out, k) for k, name in enumerate(self.targets)
                }),
                **self._measured_cells(member),
                "exchange out": self._groups[j].out if j in self._groups else None,
                "exchange in": self._groups[j].into if j in self._groups else None,
            }
            for j, member in enumerate(self.members)
        ]  # fmt: skip

    def rows(self) -> Iterator[list[Any]]:
        """The neighborhood as in `table`: the names of the columns, then a row for each member.

        Where a single group is exchanged, the changes of predictor and witness follow.
        """
        table, columns = self.table(), self._change_columns()
        changes = {
            e.member.smiles: [*e.predicted_change.tolist(), *e.witness_change.tolist()] for e in self.exchanges()
        }
        yield [*table[0], *columns]
        for row in table:
            yield [*row.values(), *changes.get(row["smiles"], [None] * len(columns))]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        return {
            "kind": self.kind,
            "smiles": self.smiles,
            "targets": list(self.targets),
            "prediction": self.prediction.tolist(),
            f"{self.noun}_prediction": self.witnessed.tolist(),
            "deviation": self.deviation.tolist(),
            "local_auc": plain(self.local_auc),
            "level": self.level,
            "bound": None if self.bound is None else plain(self.bound),
            "calibrated": self.calibrated,
            "calibrated_sizes": list(self.calibrated_sizes),
            "analogs": self.analogs,
            "unbounded": self.unbounded,
            "held_out_deviation": None if self.held_out_deviation is None else plain(self.held_out_deviation),
            "held_out_explained": None if self.held_out_explained is None else plain(self.held_out_explained),
            "certainty": None if self.certainty is None else self.certainty.to_dict(),
            "members": self.table(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The explanation that `to_dict` was called on, also by way of JSON: of whatever kind, if this is
        `MoleculeExplanation`. Files of earlier versions do not name their kind, and hold trees.
        """
        # The module `explaining`, which the package takes this class from, has imported every kind.
        kinds = {kind.kind: kind for kind in (cls, *cls.__subclasses__()) if not isabstract(kind)}
        name = content.get("kind", "tree")
        kind = kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise InputError(
                f"The explanation must be a {cls.__name__}, one of {', '.join(kinds)}",
                got=f"{name!r}",
                cure="use `MoleculeExplanation.from_dict`, or a later version",
            )
        with as_written("An explanation must be as it was written", where="one", cure="explain the molecule again"):
            return kind(**common_fields(content, kind), **kind._fields_from(content))

    @classmethod
    @abstractmethod
    def _fields_from(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that this kind has beside those that all have, from `to_dict`."""

    def to_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write it as one HTML file that needs nothing else: witness, pictures, what would change it, neighbors.

        Parameters
        ----------
        path : str or Path
            The HTML file.
        title : str, optional
            The title of the page, for instance the name of a file; by default the molecule.
        """
        from pellucid.molecules.explanation_page import write_one

        write_one(self, path, title=title)

    @abstractmethod
    def plot(self, target: str | int | None = None, *, title: str | None = None) -> Figure:
        """The explanation as a picture, to be saved as .svg or .png.

        Parameters
        ----------
        target : str or int, optional
            The target to draw, by name or position; by default the main ones.
        title : str, optional
            Text above the picture; by default the prediction.
        """

    def _repr_html_(self) -> str:
        from pellucid.molecules.explanation_page import fragment

        return str(fragment(self))


def common_fields(content: Mapping[str, Any], kind: type[MoleculeExplanation]) -> dict[str, Any]:
    """The fields that all explanations have, from `to_dict`."""
    targets, noun = (
        checked(Annotated[tuple[str, ...], Between(1)], content["targets"], "targets"),
        WITNESS_NOUNS[kind.kind],
    )
    outputs = [len(targets)]

    def numbers_of(row: Mapping[str, Any], part: str, *, blanks: bool = False) -> np.ndarray:
        values = [row.get(f"{part}: {name}") if blanks else row[f"{part}: {name}"] for name in targets]
        return array_of(values, outputs, f"members.{part}", blanks=blanks)

    members = []
    for row in checked(Annotated[tuple[dict[str, Any], ...], Between(1)], content["members"], "members"):
        has_held_out = any(f"{noun}, held out: {name}" in row for name in targets)
        measured = numbers_of(row, "measured", blanks=True)
        members.append(
            Member(
                checked(str, row["smiles"], "members.smiles"),
                checked(float, row["similarity"], "members.similarity"),
                checked(str, row["origin"], "members.origin"),
                numbers_of(row, "predicted"),
                numbers_of(row, noun),
                None if row.get("leaf") is None else checked(int, row["leaf"], "members.leaf"),
                None if np.isnan(measured).all() else measured,
                numbers_of(row, f"{noun}, held out", blanks=True) if has_held_out else None,
            )
        )

    def optional(name: str, *, low: float = -LARGEST) -> np.ndarray | None:
        return None if content.get(name) is None else array_of(content[name], outputs, name, low=low, blanks=True)

    certainty = content.get("certainty")
    return {
        "smiles": checked(str, content["smiles"], "smiles"),
        "targets": targets,
        "prediction": array_of(content["prediction"], outputs, "prediction"),
        "members": tuple(members),
        "deviation": array_of(content["deviation"], outputs, "deviation", low=0.0),
        "local_auc": array_of(content["local_auc"], outputs, "local_auc", low=0.0, blanks=True),
        "level": check_level(content.get("level", LEVEL)),
        "bound": optional("bound", low=0.0),
        "calibrated": checked(Size, content.get("calibrated", 0), "calibrated"),
        "calibrated_sizes": checked(
            tuple[Size | None, Size | None], content.get("calibrated_sizes", (None, None)), "calibrated_sizes"
        ),
        "analogs": checked(bool, content.get("analogs", False), "analogs"),
        "unbounded": checked(str | None, content.get("unbounded"), "unbounded"),
        "held_out_deviation": optional("held_out_deviation", low=0.0),
        "held_out_explained": optional("held_out_explained"),
        "certainty": None if certainty is None else Certainty.from_dict(certainty, outputs=len(targets)),
    }


def _number(values: np.ndarray | None, k: int) -> float | None:
    return None if values is None or not np.isfinite(values[k]) else float(values[k])
