"""One molecule explained by the contributions of its substructures: a Free-Wilson analysis of the network around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final

import numpy as np

from pellucid.molecules import contribution_text, explanation_text
from pellucid.molecules._plain import plain
from pellucid.molecules._smiles import molecule_of
from pellucid.molecules.contributions import Terms, atom_sums, terms_of
from pellucid.molecules.explanation import MoleculeExplanation
from pellucid.molecules.substructures import Substructure, find_substructures
from pellucid.numbers import decimals, listed
from pellucid.schemas import Between, Size, checked
from pellucid.stored_arrays import array_of
from pellucid.witnesses.linear import LinearWitnesses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.molecules.explained_neighborhood import ExplainedNeighborhood

# The terms whose substructures are named are the strongest in a target, so many with and without the substructure.
_NAMED = 12
# The most substructures that are named of a term.
_MOST = 3


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Term:
    """Substructures that occur in the same members of a neighborhood, and what they are worth there."""

    bits: tuple[int, ...]
    """The bits of the fingerprint that they set."""
    substructures: tuple[Substructure, ...] = field(repr=False)
    """Some of them, the largest first, those that share their bit with others last; of weak terms none."""
    value: np.ndarray
    """(K,) the coefficient of the law: the value of a member that has them, less that of one which has not."""
    error: np.ndarray
    """(K,) its standard error, from laws that are fitted without one of the members; see `contributions`."""
    contribution: np.ndarray
    """(K,) to the law's value of the molecule: the coefficient times 1 or 0, less the share of members with it."""
    count: int
    """The number of members that have them."""
    present: bool
    """Whether the molecule has them."""

    @property
    def name(self) -> str:
        """The first substructure as text."""
        if not self.substructures:
            return f"bit {listed([str(bit) for bit in self.bits], 1)}"
        first = self.substructures[0]
        return first.smiles + (f" (or others: bit {first.bit})" if first.others else "")


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ContributionExplanation(MoleculeExplanation):
    """The prediction of one molecule, and the law of contributions that the network follows around it. Prints as text.

    There are K targets, and values are in the units of the data. The law's value of the molecule is `base` plus the sum
    of the contributions of all `terms`.
    """

    kind: ClassVar[str] = "contributions"

    base: np.ndarray
    """(K,) the mean of the law over the members."""
    terms: tuple[Term, ...] = field(repr=False)
    """All terms of the law, the strongest contribution in any target first, in units of the targets' spread."""
    atoms: np.ndarray = field(repr=False)
    """(A, K) contributions of the terms that the molecule has, shared out over its atoms, in the order of the SMILES;
    see `contributions.atom_sums`."""

    @property
    def spread(self) -> np.ndarray:
        """(K,) the standard deviation of the law over the members."""
        return np.asarray(np.std([member.witness for member in self.members], axis=0))

    @cached_property
    def decimals(self) -> list[int]:
        """(K,) the number of decimals that tell the members apart in each target."""
        return [decimals(column) for column in np.array([m.prediction for m in self.members]).T.tolist()]

    def strongest(self, target: str | int | None = None, *, present: bool | None = None) -> list[Term]:
        """Terms by the size of their contribution to a target, the strongest first.

        Parameters
        ----------
        target : str or int, optional
            The target; by default the one that differs most in the neighborhood.
        present : bool, optional
            Only terms that the molecule has, or only those that it has not.
        """
        k = int(np.argmax(self.spread)) if target is None else self.target(target)[0]
        terms = [term for term in self.terms if present is None or term.present == present]
        return sorted(terms, key=lambda term: -abs(term.contribution[k]))

    def text(self, target: str | int | None = None) -> str:
        """The explanation in words: of one target, or of those that differ most in the neighborhood."""
        return contribution_text.text(self, target)

    def term_rows(self) -> Iterator[list[Any]]:
        """The terms as a table: the names of the columns, then a row for each."""
        kinds = ("contribution", "value", "standard error")
        yield ["substructure", "present", "count", "members", *(f"{k}: {name}" for k in kinds for name in self.targets),
               "bits"]  # fmt: skip
        for term in self.terms:
            yield [
                term.name, term.present, term.count, len(self.members), *term.contribution.tolist(),
                *term.value.tolist(), *term.error.tolist(), " ".join(map(str, term.bits)),
            ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        return {
            **super().to_dict(),
            "base": self.base.tolist(),
            "atoms": self.atoms.tolist(),
            "terms": [
                {"bits": list(t.bits), "substructures": [s.to_dict() for s in t.substructures],
                 "value": t.value.tolist(), "error": plain(t.error), "contribution": t.contribution.tolist(),
                 "count": t.count, "present": t.present}
                for t in self.terms
            ],
        }  # fmt: skip

    @classmethod
    def _fields_from(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        count = len(content["targets"])

        def values(part: Mapping[str, Any], name: str, *, blanks: bool = False) -> np.ndarray:
            return array_of(part[name], [count], name, blanks=blanks)

        atoms = molecule_of(content["smiles"]).GetNumAtoms()
        return {
            "base": values(content, "base"),
            "atoms": array_of(content["atoms"], [atoms, count], "atoms"),
            "terms": tuple(
                Term(
                    bits=checked(Annotated[tuple[Size, ...], Between(1)], item["bits"], "terms.bits"),
                    substructures=tuple(Substructure.from_dict(s) for s in item["substructures"]),
                    value=values(item, "value"),
                    error=values(item, "error", blanks=True),
                    contribution=values(item, "contribution"),
                    count=checked(Size, item["count"], "terms.count"),
                    present=checked(bool, item["present"], "terms.present"),
                )
                for item in content["terms"]
            ),
        }

    def plot(self, target: str | int | None = None, *, title: str | None = None) -> Figure:
        """The molecule with its atoms colored by their contributions, and the strongest terms as pictures, for each of
        the main targets or for one; save it as .svg or .png.
        """
        from pellucid.molecules.contribution_drawing import plot_contributions

        targets = self.target(target)
        return plot_contributions(
            self, targets, title=explanation_text.title(self, targets) if title is None else title
        )


def explain_by_contributions(witnesses: LinearWitnesses, around: ExplainedNeighborhood) -> ContributionExplanation:
    """The explanation of the molecule of a neighborhood, by its law.

    Parameters
    ----------
    witnesses : LinearWitnesses
        Linear functions of the bits, fitted on the neighborhoods with a ridge.
    around : ExplainedNeighborhood
        The neighborhood.
    """
    i, task, smiles = around.index, around.task, around.smiles
    x = witnesses.x[witnesses.hoods.members[around.entries]].cpu().numpy()
    f = around.f.double().cpu().numpy()
    ridge = witnesses.penalty if witnesses.ridges is None else witnesses.ridges[i]
    law = terms_of(x, witnesses.coefficients[i].cpu().numpy(), f, float(ridge))
    spread = np.where(f.std(0) > 0, f.std(0), 1.0)
    contributions = law.contributions * task.scale
    return ContributionExplanation(
        **around.fields(),
        base=task.natural(around.g.double().mean(0)),
        terms=_named(law, np.abs(law.contributions) / spread, around),
        atoms=atom_sums(smiles[0], around.morgan, [b for b, p in zip(law.bits, law.present, strict=True) if p],
                        contributions[law.present]),
    )  # fmt: skip


def _named(law: Terms, strength: np.ndarray, around: ExplainedNeighborhood) -> tuple[Term, ...]:
    """The terms in the units of the data, the strongest first, with the substructures of those that people look at."""
    scale = around.task.scale
    named: set[int] = set()
    for present in (True, False):
        rows = np.flatnonzero(law.present == present)
        for column in strength[rows].T:
            named |= set(rows[np.argsort(-column, kind="stable")[:_NAMED]].tolist())
    found = find_substructures(
        [bit for t in sorted(named) for bit in law.bits[t].tolist()], around.smiles, around.morgan
    )
    terms = []
    for t in np.argsort(-strength.max(1), kind="stable") if len(strength) else ():
        bits = tuple(law.bits[t].tolist())
        structures = sorted((found[bit] for bit in bits), key=_telling) if int(t) in named else []
        terms.append(
            Term(
                bits=bits,
                substructures=tuple(structures[:_MOST]),
                value=law.values[t] * scale,
                error=law.errors[t] * scale,
                contribution=law.contributions[t] * scale,
                count=int(law.counts[t]),
                present=bool(law.present[t]),
            )
        )
    return tuple(terms)


def _telling(substructure: Substructure) -> tuple[bool, int, int, int]:
    """The order in which the substructures of a term are named: unambiguous ones first, then the largest."""
    return bool(substructure.others), -substructure.radius, -len(substructure.smiles), substructure.bit
