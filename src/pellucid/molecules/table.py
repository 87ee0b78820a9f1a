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
from pellucid.schemas import shown

# The most targets that a summary lists.
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
    flattened: int = 0
    """Rows whose stereochemistry was dropped, where a model does not see it."""
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
        """The molecules at these indices, or those of a mask; the selection has no rejected rows."""
        chosen = np.asarray(index)
        if chosen.dtype == bool and chosen.shape != (len(self),):
            raise InputError(f"A mask must have one entry for each of the {len(self)} molecules", got=f"{chosen.shape}")
        indices = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64).reshape(-1)
        if len(indices) and not -len(self) <= indices.min() <= indices.max() < len(self):
            raise InputError(
                f"Indices must be those of {len(self)} molecules",
                got=f"{indices.min()} to {indices.max()}",
                cure="the first is 0",
            )
        return replace(
            self,
            smiles=tuple(self.smiles[i] for i in indices),
            y=self.y[indices],
            rows=tuple(self.rows[i] for i in indices),
            names=tuple(self.names[i] for i in indices),
            rejected=(),
            stripped=0,
            flattened=0,
        )

    def labels(self) -> list[str]:
        """What each molecule is called and where it stands in the source, such as "aspirin (row 3)" or "row 3, 7"."""
        rows = [f"row {', '.join(map(str, numbers))}" for numbers in self.rows]
        return [f"{name} ({row})" if name else row for name, row in zip(self.names, rows, strict=True)]

    def rejection_text(self) -> str | None:
        """How many rows were rejected and cells left blank, and why the first was; None if there are none."""
        if not self.rejected:
            return None
        kept = {row for rows in self.rows for row in rows}
        cells = [rejection for rejection in self.rejected if rejection.row in kept]
        rows = len({rejection.row for rejection in self.rejected} - kept)
        parts = [f"{rows:,} of {counted(len(kept) + rows, 'row')} cannot be used"] if rows else []
        parts += [f"{counted(len(cells), 'cell')} {'is' if len(cells) == 1 else 'are'} left blank"] if cells else []
        first = min(self.rejected)
        return f"{' and '.join(parts)}; the first is row {first.row}: {first.reason}"

    def summary(self) -> str:
        """One line on what was kept and what was not."""
        merged = sum(len(rows) - 1 for rows in self.rows)
        named = ", ".join(self.targets[:_LISTED]) + (", ..." if len(self.targets) > _LISTED else "")
        parts = [f"{counted(len(self), 'molecule')} with {counted(len(self.targets), 'target')}"]
        parts[0] += f" ({named})" if named else ""
        parts += [f"{counted(merged, 'row')} merged with others of the same molecule"] if merged else []
        salts = counted(self.stripped, "salt or mixture", "salts or mixtures")
        parts += [f"{salts} reduced to the largest organic fragment"] if self.stripped else []
        kept = {row for rows in self.rows for row in rows}
        cells = sum(r.row in kept for r in self.rejected)
        rejections = [counted(len(self.rejected) - cells, "rejected row")] if len(self.rejected) > cells else []
        rejections += [f"{counted(cells, 'cell')} left blank"] if cells else []
        parts += [" and ".join(rejections)] if rejections else []
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


def largest_fragment(text: str) -> str | None:
    """Canonical SMILES of the largest organic fragment of a salt or a mixture; None if the text is of neither.

    Examples
    --------
    >>> largest_fragment("[Na+].CC(=O)O"), largest_fragment("CC(=O)O"), largest_fragment("[Na+].[Cl-]")
    ('CC(=O)O', None, None)
    """
    if "." not in text:
        return None
    with rdBase.BlockLogs():
        molecule, _ = parse(text.strip())
        if molecule is None or len(Chem.GetMolFrags(molecule)) < 2:
            return None
        smiles, reason = canonical(text)
    return None if reason else smiles


def canonicals(texts: Iterable[str] | Molecules, name: str, *, least: int = 1) -> list[str]:
    """Canonical SMILES, one for each text, repetitions included."""
    if isinstance(texts, str):
        raise InputError(
            f"{Parameter(name)} must be a list of SMILES", got="one text", cure="put it into a list", parameter=name
        )
    if isinstance(texts, Molecules):
        return list(texts.smiles)
    try:
        items = list(texts)
    except TypeError:
        raise InputError(
            f"{Parameter(name)} must be SMILES",
            got=f"{type(texts).__name__}",
            cure="pass a list of texts",
            parameter=name,
        ) from None
    result = []
    with rdBase.BlockLogs():
        for i, text in enumerate(items):
            smiles, reason = canonical(text) if isinstance(text, str) else ("", "not a text")
            if reason:
                raise InputError(
                    "Every molecule must be an organic one, as a valid SMILES",
                    got=f"{shown(text)}{f' at position {i + 1}' if len(items) > 1 else ''}: {reason}",
                    cure="remove it, or fix it",
                )
            result.append(smiles)
    if len(result) < least:
        raise InputError(f"{Parameter(name)} must name at least one molecule", got="none", parameter=name)
    return result
