"""Analogs by matched molecular pairs: one small group of a molecule exchanged for one seen elsewhere in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, final

from rdkit import Chem, rdBase
from rdkit.Chem import rdMMPA

from pellucid import _checks
from pellucid._interrupts import restore_interrupts
from pellucid.molecules._parallel import in_chunks
from pellucid.molecules._smiles import parse
from pellucid.schemas import SchemaError, shown

# By default RDKit does not cut molecules with more than 20 bonds that could be cut.
_MAX_CUT_BONDS = 10_000


class Cut(NamedTuple):
    """A molecule in two parts, each with a mark [*:1] where the bond was."""

    rest: str
    """The part that is kept."""
    group: str
    """The part that is exchanged."""
    kind: str
    """The atom of the rest that the group hangs on: its element, whether aromatic, its number of neighbors."""


def cuts(molecule: Chem.Mol, *, largest: int) -> list[Cut]:
    """All single cuts whose smaller part, the group, has at most `largest` heavy atoms; each of them once, in order.

    Cuts are RDKit's: acyclic single bonds between heavy atoms, functional groups left whole.
    """
    result = set()
    for _, halves in rdMMPA.FragmentMol(molecule, maxCuts=1, maxCutBonds=_MAX_CUT_BONDS, resultsAsMols=False):
        parts = halves.split(".")
        if len(parts) != 2:
            continue
        for group, rest in (parts, parts[::-1]):
            part, kept = Chem.MolFromSmiles(group), Chem.MolFromSmiles(rest)
            size, other = part.GetNumHeavyAtoms() - 1, kept.GetNumHeavyAtoms() - 1  # without the mark
            if size <= largest and size <= other:
                result.add(Cut(rest, group, _kind(kept)))
    restore_interrupts()
    return sorted(result)


def _kind(rest: Chem.Mol) -> str:
    mark = next(atom for atom in rest.GetAtoms() if atom.GetAtomMapNum() == 1)
    atom = mark.GetNeighbors()[0]
    symbol = atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
    return f"{symbol}{atom.GetDegree()}"


@final
@dataclass(frozen=True, kw_only=True)
class RGroups:
    """Groups seen in a collection of molecules, by the kind of atom that they hang on, the most frequent first."""

    by_kind: Mapping[str, tuple[str, ...]] = field(repr=False)
    largest: int
    """The number of heavy atoms of the largest group."""

    @classmethod
    def from_lists(cls, by_kind: Mapping[str, Sequence[str]], largest: int) -> RGroups:
        """Groups as they are stored in JSON."""
        for text in {text for texts in by_kind.values() for text in texts}:
            _check_group(text)
        return cls(by_kind={kind: tuple(texts) for kind, texts in by_kind.items()}, largest=largest)

    @classmethod
    def seen_in(
        cls,
        smiles: Iterable[str],
        *,
        largest: int = 8,
        per_kind: int = 40,
        progress: bool = False,
        jobs: int | None = None,
    ) -> RGroups:
        """Collect them: groups of at most `largest` heavy atoms, the `per_kind` most frequent of every kind."""
        _checks.whole(largest, 1, "largest")
        _checks.whole(per_kind, 1, "per_kind")
        counts: dict[str, Counter[str]] = {}
        for part in in_chunks(
            count_groups, list(smiles), largest, jobs=jobs, title="collecting groups", progress=progress
        ):
            for (kind, group), count in part.items():
                counts.setdefault(kind, Counter())[group] += count
        return cls.most_frequent(counts, largest=largest, per_kind=per_kind)

    @classmethod
    def most_frequent(cls, counts: Mapping[str, Counter[str]], *, largest: int, per_kind: int) -> RGroups:
        """The `per_kind` most frequent groups of each kind, of what was counted."""
        by_kind = {
            kind: tuple(sorted(counter, key=lambda group: (-counter[group], group))[:per_kind])
            for kind, counter in sorted(counts.items())
        }
        return cls(by_kind=by_kind, largest=largest)

    def first(self, per_kind: int) -> RGroups:
        """The first `per_kind` of every kind, the most frequent ones."""
        return replace(self, by_kind={kind: groups[:per_kind] for kind, groups in self.by_kind.items()})

    def exchanged(self, smiles: str) -> Iterator[str]:
        """Canonical SMILES of all molecules in which one group is exchanged; each once, the molecule itself not."""
        return (text for text, _ in self.exchanged_molecules(smiles))

    def exchanged_molecules(self, smiles: str) -> Iterator[tuple[str, Chem.Mol]]:
        """The same with the molecules that the SMILES stand for."""
        molecule = Chem.MolFromSmiles(smiles)
        seen = {Chem.MolToSmiles(molecule)}
        with rdBase.BlockLogs():
            for cut in cuts(molecule, largest=self.largest):
                rest = Chem.MolFromSmiles(cut.rest)
                for group in self.by_kind.get(cut.kind, ()):
                    if group == cut.group:
                        continue
                    joined = Chem.molzip(rest, _molecule_of_group(group))
                    text = Chem.MolToSmiles(joined) if joined is not None else ""
                    if text and text not in seen and (made := Chem.MolFromSmiles(text)) is not None:
                        seen.add(text)
                        yield text, made


@lru_cache(maxsize=4096)
def _molecule_of_group(text: str) -> Chem.Mol:
    """Read once: the same groups hang on all molecules."""
    return Chem.MolFromSmiles(text)


def _check_group(text: str) -> None:
    """Refuse what does not hang on a molecule by one bond."""
    group, reason = parse(text)
    marks = [] if group is None else [atom for atom in group.GetAtoms() if atom.GetAtomMapNum()]
    if len(marks) != 1 or marks[0].GetAtomMapNum() != 1 or marks[0].GetAtomicNum() or marks[0].GetDegree() != 1:
        raise SchemaError(f"{shown(text)} is no group with one mark [*:1]{f': {reason}' if reason else ''}")


def count_groups(smiles: Iterable[str], largest: int) -> Counter[tuple[str, str]]:
    """How often each kind of atom carries each group."""
    with rdBase.BlockLogs():
        return Counter(
            (cut.kind, cut.group) for text in smiles for cut in cuts(Chem.MolFromSmiles(text), largest=largest)
        )
