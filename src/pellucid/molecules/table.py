"""Molecules with measured values, from tables of SMILES: every rejected row is listed, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize

from pellucid.errors import InputError, Parameter
from pellucid.molecules._smiles import parse
from pellucid.numbers import counted

# Rows that an error message lists.
_LISTED = 5


class Rejection(NamedTuple):
    """A rejected row, or a cell that was left blank, and why."""

    row: int
    """As in the source, where a line of names counts as row 1."""
    smiles: str
    reason: str


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Molecules:
    """Different molecules, each with its measured values; N molecules, K targets."""

    smiles: tuple[str, ...] = field(repr=False)
    """Canonical, of the largest organic fragment."""
    y: np.ndarray = field(repr=False)
    """(N, K) with NaN where nothing was measured."""
    targets: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...] = field(repr=False)
    """The rows of the source that each molecule comes from: several where it was listed more than once."""
    rejected: tuple[Rejection, ...] = ()
    """Rejected rows; and cells, such as ">10", that were left blank."""
    stripped: int = 0
    """Rows of salts and mixtures, of which the largest organic fragment was kept."""
    ignored: tuple[str, ...] = ()
    """Columns of the source that were not read as targets."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """What each molecule is called, "" where it has no name; several names of one molecule are joined by commas."""

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", ("",) * len(self.smiles))

    def __len__(self) -> int:
        return len(self.smiles)

    def __repr__(self) -> str:
        return f"Molecules({self.summary()})"

    def select(self, index: Sequence[int] | np.ndarray) -> Molecules:
        """Some of the molecules, by their places or by a mask; rejected rows are forgotten."""
        chosen = np.asarray(index)
        if chosen.dtype == bool and chosen.shape != (len(self),):
            raise InputError(f"A mask must have one entry for each of the {len(self)} molecules", got=f"{chosen.shape}")
        places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64).reshape(-1)
        if len(places) and not -len(self) <= places.min() <= places.max() < len(self):
            raise InputError(
                f"Places must be those of {len(self)} molecules",
                got=f"{places.min()} to {places.max()}",
                cure="the first is 0",
            )
        return replace(
            self,
            smiles=tuple(self.smiles[i] for i in places),
            y=self.y[places],
            rows=tuple(self.rows[i] for i in places),
            names=tuple(self.names[i] for i in places),
            rejected=(),
            stripped=0,
        )

    def labels(self) -> list[str]:
        """What each molecule is called and where it stands in the source, such as "aspirin (row 3)" or "row 3, 7"."""
        places = [f"row {', '.join(map(str, rows))}" for rows in self.rows]
        return [f"{name} ({place})" if name else place for name, place in zip(self.names, places, strict=True)]

    def summary(self) -> str:
        """In one line what was kept and what was not."""
        merged = sum(len(rows) - 1 for rows in self.rows)
        named = ", ".join(self.targets[:_LISTED]) + (", ..." if len(self.targets) > _LISTED else "")
        parts = [f"{counted(len(self), 'molecule')} with {counted(len(self.targets), 'target')}"]
        parts[0] += f" ({named})" if named else ""
        parts += [f"{counted(merged, 'row')} merged with others of the same molecule"] if merged else []
        salts = counted(self.stripped, "salt or mixture", "salts or mixtures")
        parts += [f"{salts} reduced to the largest organic fragment"] if self.stripped else []
        kept = {row for rows in self.rows for row in rows}
        cells = sum(r.row in kept for r in self.rejected)
        left = [counted(len(self.rejected) - cells, "rejected row")] if len(self.rejected) > cells else []
        left += [f"{counted(cells, 'cell')} left blank"] if cells else []
        parts += [f"{' and '.join(left)}, see `rejected`"] if left else []
        parts += [f"columns that are not targets: {', '.join(self.ignored)}"] if self.ignored else []
        return "; ".join(parts)


def canonical(text: str) -> tuple[str, str]:
    """Canonical SMILES of the largest organic fragment, or why there is none."""
    molecule, reason = parse(text.strip())
    if molecule is None:
        return "", reason
    if "." in text:
        molecule = rdMolStandardize.LargestFragmentChooser(preferOrganic=True).choose(molecule)
    if not any(atom.GetAtomicNum() == 6 for atom in molecule.GetAtoms()):
        return "", "no carbon in the largest fragment"
    return Chem.MolToSmiles(molecule), ""


def canonicals(texts: Iterable[str] | Molecules, name: str, *, least: int = 1) -> list[str]:
    """Canonical SMILES, one for each text; twice where it was given twice."""
    if isinstance(texts, str):
        raise InputError(
            f"{Parameter(name)} must be a list of SMILES", got="one text", cure="put it into a list", parameter=name
        )
    if isinstance(texts, Molecules):
        return list(texts.smiles)
    try:
        given = list(texts)
    except TypeError:
        raise InputError(
            f"{Parameter(name)} must be SMILES",
            got=f"{type(texts).__name__}",
            cure="give a list of texts",
            parameter=name,
        ) from None
    found = []
    with rdBase.BlockLogs():
        for i, text in enumerate(given):
            smiles, reason = canonical(text) if isinstance(text, str) else ("", "not a text")
            if reason:
                raise InputError(
                    "Every molecule must be an organic one, as a valid SMILES",
                    got=f"{text!r} in place {i + 1} of {Parameter(name)}: {reason}",
                    cure="leave it out, or mend it",
                )
            found.append(smiles)
    if len(found) < least:
        raise InputError(f"{Parameter(name)} must name at least one molecule", got="none", parameter=name)
    return found
