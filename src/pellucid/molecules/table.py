"""Molecules with measured values, from tables of SMILES: every rejected row is listed, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, final

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize

from pellucid.errors import InputError, Parameter
from pellucid.molecules._smiles import parse
from pellucid.numbers import counted
from pellucid.tables import LARGEST, value_of

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


def prepare(
    smiles: Iterable[str],
    y: Any = None,
    *,
    targets: Sequence[str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    first_row: int = 1,
) -> Molecules:
    """Parse, clean and merge a table.

    Of salts and mixtures the largest organic fragment is kept, and molecules without carbon are not for these models;
    charges, isotopes and stereochemistry stay as they are. Rows of one molecule are merged if their values agree
    wherever both have one.

    Parameters
    ----------
    smiles : iterable of str
        One for each row.
    y : array_like
        (rows,) or (rows, K) measured values, NaN or None where there is none; None for unlabeled molecules.
    targets : sequence of str, optional
        Names of the K targets.
    on_error : {"raise", "skip"}
        "raise" refuses the table if any row is invalid, has no value at all, or contradicts another row of the same
        molecule; "skip" rejects these rows and lists them in `rejected`.
    first_row : int
        The number of the first row, for messages.
    """
    if isinstance(smiles, str):
        raise InputError(
            f"{Parameter('smiles')} must be a list of SMILES",
            got="one text",
            cure="to read a file, use `read(path)`",
            parameter="smiles",
        )
    texts = [text if isinstance(text, str) else "" for text in smiles]
    values = np.zeros((len(texts), 0)) if y is None else _values(y, len(texts))
    return collect(
        texts,
        values,
        _names(targets, y, values.shape[1]),
        on_error=on_error,
        numbers=range(first_row, first_row + len(texts)),
    )


def collect(
    texts: Sequence[str],
    values: np.ndarray,
    targets: tuple[str, ...],
    *,
    on_error: Literal["raise", "skip"],
    numbers: Sequence[int],
    names: Sequence[str] = (),
    flaws: Mapping[int, Sequence[str]] = MappingProxyType({}),
    ignored: tuple[str, ...] = (),
) -> Molecules:
    """`prepare` for rows that were read: with their numbers and names, and flaws of their cells, NaN in `values`."""
    if on_error not in ("raise", "skip"):
        raise InputError(
            f'{Parameter("on_error")} must be "raise" or "skip"',
            got=f"{on_error!r}",
            cure="choose one of these",
            parameter="on_error",
        )
    rejected: list[Rejection] = []
    groups: dict[str, list[int]] = {}
    stripped: set[int] = set()
    with rdBase.BlockLogs():
        for i, text in enumerate(texts):
            found, reason = canonical(text)
            empty = values.shape[1] > 0 and bool(np.isnan(values[i]).all())
            own = flaws.get(i, ())
            if not reason and own and (empty or on_error == "raise"):
                reason = own[0]
            if not reason and empty:
                reason = "no value for any target"
            if reason:
                rejected.append(Rejection(numbers[i], text, reason))
                continue
            groups.setdefault(found, []).append(i)
            if len(Chem.GetMolFrags(Chem.MolFromSmiles(text.strip()))) > 1:
                stripped.add(i)
    kept: dict[str, list[int]] = {}
    for found, places in groups.items():
        clash = _clash(values[places], targets)
        if clash:
            others = ", ".join(str(numbers[i]) for i in places)
            rejected += [
                Rejection(numbers[i], texts[i], f"{clash} contradicts itself in rows {others}, all of one molecule")
                for i in places
            ]
        else:
            kept[found] = places
            blanks = [(i, flaw) for i in places for flaw in flaws.get(i, ())]
            rejected += [Rejection(numbers[i], texts[i], f"{flaw}: left blank") for i, flaw in blanks]
    rejected.sort()
    if rejected and (on_error == "raise" or not kept):
        raise _complaint(rejected, len(texts), bool(kept))
    return Molecules(
        smiles=tuple(kept),
        y=np.array([_merged(values[places]) for places in kept.values()]).reshape(len(kept), values.shape[1]),
        targets=targets,
        names=tuple(", ".join(dict.fromkeys(names[i] for i in places if names[i])) for places in kept.values())
        if names
        else (),
        rows=tuple(tuple(numbers[i] for i in places) for places in kept.values()),
        rejected=tuple(rejected),
        stripped=sum(i in stripped for places in kept.values() for i in places),
        ignored=ignored,
    )


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


def _names(targets: Sequence[str] | None, y: Any, count: int) -> tuple[str, ...]:
    """Names of the targets: those given, else those of a table's columns, else numbers."""
    if targets is None:
        columns = getattr(y, "columns", None)
        own = getattr(y, "name", None)
        if columns is not None:
            targets = [str(name) for name in columns]
        elif isinstance(own, str):
            targets = [own]
        else:
            targets = [f"target {k + 1}" for k in range(count)]
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    if len(names) != count:
        raise InputError(
            f"There must be one name for each of the {counted(count, 'target')}",
            got=f"{', '.join(names)}",
            cure="give as many as `y` has columns",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            "Every target must have a name of its own", got=f"{twice[0]!r} twice", cure="rename one of them"
        )
    return names


def _values(y: Any, rows: int) -> np.ndarray:
    """(rows, K) floats, NaN where there is nothing."""
    try:
        values = np.asarray(_read_texts(np.asarray(y)), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "`y` must be numbers, or blank", got=f"something else: {error}", cure="convert it first", parameter="y"
        ) from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != rows:
        raise InputError(
            f"`y` must have one row for each of the {rows} SMILES",
            got=f"the shape {np.shape(y)}",
            cure="give (rows,) or (rows, targets)",
            parameter="y",
        )
    large = np.argwhere(np.abs(values) > LARGEST)
    if len(large) and not np.isinf(values).any():
        row, column = large[0]
        raise InputError(
            f"`y` must be numbers of at most {LARGEST:g}, or blank",
            got=f"{values[row, column]:g} for molecule {row + 1}, target {column + 1}",
            cure="mend it, or give all values in another unit",
            parameter="y",
        )
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise InputError(
            "`y` must be finite, or blank",
            got=f"{values[row, column]} for molecule {row + 1}, target {column + 1}",
            cure="leave it blank, or give the limit of the assay",
            parameter="y",
        )
    return values


def _read_texts(y: np.ndarray) -> Any:
    """Texts as numbers: NumPy would read them as Python does, 5_6 as 56."""
    if y.dtype.kind not in "OUST":
        return y
    cells = [value_of(cell, False) if isinstance(cell, str) else cell for cell in y.reshape(-1)]
    for cell, text in zip(cells, y.reshape(-1), strict=True):
        if cell is None and isinstance(text, str):
            raise ValueError(f"could not convert {str(text)!r} to a number")
    return np.array(cells, dtype=np.float64).reshape(y.shape)


def _clash(values: np.ndarray, names: Sequence[str]) -> str:
    """The first target for which rows of one molecule disagree."""
    for k, name in enumerate(names):
        known = values[~np.isnan(values[:, k]), k]
        if len(known) and (known != known[0]).any():
            return repr(name)
    return ""


def _merged(values: np.ndarray) -> np.ndarray:
    """What any of the rows knows."""
    result: np.ndarray = values[0].copy()
    for row in values[1:]:
        result = np.where(np.isnan(result), row, result)
    return result


def _complaint(rejected: Sequence[Rejection], rows: int, some: bool) -> InputError:
    listed = "; ".join(f"row {r.row} ({r.smiles!r}): {r.reason}" for r in rejected[:_LISTED])
    more = f"; and {len(rejected) - _LISTED} more" if len(rejected) > _LISTED else ""
    return InputError(
        "Every row must hold a valid molecule with at least one value",
        got=f"{len(rejected)} of {rows} that do not: {listed}{more}",
        cure=f"correct them, or leave them out with {Parameter('on_error', 'skip')}" if some else "correct them",
        parameter="on_error" if some else None,
    )
