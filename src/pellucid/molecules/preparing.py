"""Tables of SMILES and measured values, parsed, cleaned and merged: every rejected row is listed, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from rdkit import Chem, rdBase

from pellucid.errors import InputError, Parameter
from pellucid.molecules.table import Molecules, Rejection, canonical
from pellucid.numbers import counted
from pellucid.schemas import shown
from pellucid.tables import LARGEST, value_of

# The most rows that an error message lists.
_LISTED = 5


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
        SMILES, one for each row.
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
    require_on_error(on_error)
    rejected: list[Rejection] = []
    groups: dict[str, list[int]] = {}
    stripped: set[int] = set()
    with rdBase.BlockLogs():
        for i, text in enumerate(texts):
            smiles, reason = canonical(text)
            empty = values.shape[1] > 0 and bool(np.isnan(values[i]).all())
            row_flaws = flaws.get(i, ())
            if not reason and row_flaws and (empty or on_error == "raise"):
                reason = row_flaws[0]
            if not reason and empty:
                reason = "no value for any target"
            if reason:
                rejected.append(Rejection(numbers[i], text, reason))
                continue
            groups.setdefault(smiles, []).append(i)
            if len(Chem.GetMolFrags(Chem.MolFromSmiles(text.strip()))) > 1:
                stripped.add(i)
    kept: dict[str, list[int]] = {}
    for smiles, rows in groups.items():
        contradiction = _contradiction(values[rows], targets)
        if contradiction:
            others = ", ".join(str(numbers[i]) for i in rows)
            rejected += [
                Rejection(
                    numbers[i], texts[i], f"{contradiction} contradicts itself in rows {others}, all of one molecule"
                )
                for i in rows
            ]
        else:
            kept[smiles] = rows
            blanks = [(i, flaw) for i in rows for flaw in flaws.get(i, ())]
            rejected += [Rejection(numbers[i], texts[i], f"{flaw}: left blank") for i, flaw in blanks]
    rejected.sort()
    if rejected and (on_error == "raise" or not kept):
        raise _rejection_error(rejected, len(texts), bool(kept))
    return Molecules(
        smiles=tuple(kept),
        y=np.array([_merge(values[rows]) for rows in kept.values()]).reshape(len(kept), values.shape[1]),
        targets=targets,
        names=tuple(", ".join(dict.fromkeys(names[i] for i in rows if names[i])) for rows in kept.values())
        if names
        else (),
        rows=tuple(tuple(numbers[i] for i in rows) for rows in kept.values()),
        rejected=tuple(rejected),
        stripped=sum(i in stripped for rows in kept.values() for i in rows),
        ignored=ignored,
    )


def require_on_error(on_error: Any) -> None:
    """Refuse anything but "raise" and "skip"."""
    if on_error not in ("raise", "skip"):
        raise InputError(
            f'{Parameter("on_error")} must be "raise" or "skip"',
            got=f"{on_error!r}",
            cure="choose one of these",
            parameter="on_error",
        )


def _names(targets: Sequence[str] | None, y: Any, count: int) -> tuple[str, ...]:
    """Names of the targets: those passed, else those of a table's columns, else numbers."""
    if targets is None:
        columns = getattr(y, "columns", None)
        name = getattr(y, "name", None)
        if columns is not None:
            targets = [str(column) for column in columns]
        elif isinstance(name, str):
            targets = [name]
        else:
            targets = [f"target {k + 1}" for k in range(count)]
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    if len(names) != count:
        raise InputError(
            f"There must be one name for each of the {counted(count, 'target')}",
            got=f"{', '.join(names)}",
            cure="pass as many as `y` has columns",
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            "Every target must have a name of its own", got=f"{repeated[0]!r} twice", cure="rename one of them"
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
            cure="pass (rows,) or (rows, targets)",
            parameter="y",
        )
    large = np.argwhere(np.abs(values) > LARGEST)
    if len(large) and not np.isinf(values).any():
        row, column = large[0]
        raise InputError(
            f"`y` must be numbers of at most {LARGEST:g}, or blank",
            got=f"{values[row, column]:g} for molecule {row + 1}, target {column + 1}",
            cure="fix it, or pass all values in another unit",
            parameter="y",
        )
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise InputError(
            "`y` must be finite, or blank",
            got=f"{values[row, column]} for molecule {row + 1}, target {column + 1}",
            cure="leave it blank, or pass the limit of the assay",
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


def _contradiction(values: np.ndarray, names: Sequence[str]) -> str:
    """The first target for which rows of one molecule disagree."""
    for k, name in enumerate(names):
        measured = values[~np.isnan(values[:, k]), k]
        if len(measured) and (measured != measured[0]).any():
            return repr(name)
    return ""


def _merge(values: np.ndarray) -> np.ndarray:
    """One row with the values that any of the rows has."""
    result: np.ndarray = values[0].copy()
    for row in values[1:]:
        result = np.where(np.isnan(result), row, result)
    return result


def _rejection_error(rejected: Sequence[Rejection], rows: int, can_skip: bool) -> InputError:
    first = "; ".join(f"row {r.row} ({shown(r.smiles)}): {r.reason}" for r in rejected[:_LISTED])
    more = f"; and {len(rejected) - _LISTED} more" if len(rejected) > _LISTED else ""
    return InputError(
        "Every row must hold a valid molecule with at least one value",
        got=f"{len(rejected)} of {rows} that do not: {first}{more}",
        cure=f"correct them, or reject them with {Parameter('on_error', 'skip')}" if can_skip else "correct them",
        parameter="on_error" if can_skip else None,
    )
