"""Tables of predictions as users have them: which columns are predictions, features, or neither, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from pellucid._capacity import require_memory
from pellucid.auditing import roles
from pellucid.auditing.columns import Column, read_column, read_numbers, reject_blanks
from pellucid.auditing.outcomes import OUTCOME, alike, revealing
from pellucid.auditing.predictions import Predictions, StructureFeatures
from pellucid.errors import InputError, Parameter
from pellucid.paths import kind_of
from pellucid.tables import Cells, StoredTable, Table, read_table, require_column, value_of
from pellucid.tables.parquet import is_parquet, parquet_cells

# Fewer rows have no neighborhoods to speak of.
_FEWEST = 3


# Bytes of memory for each byte of a text file, and for each cell of a Parquet file: measured, rounded up.
_PER_BYTE, _PER_CELL = 15, 150


def require_room(path: Path) -> None:
    """Refuse a table whose cells do not fit into memory, before it is read; what is no file is left to the reader."""
    if kind_of(path) != "file":
        return
    needed = parquet_cells(path) * _PER_CELL if is_parquet(path) else path.stat().st_size * _PER_BYTE
    require_memory(float(needed), f"The audit of {path.name}", cure="audit a sample of its rows: 100,000 say the same")


def read_predictions(
    path: str | Path | Table | StoredTable,
    *,
    prediction: Sequence[str] = (),
    features: Sequence[str] = (),
    truth: str | None = None,
    groups: str | None = None,
    smiles: str | None = None,
    blanks: Literal["fill", "drop"] = "fill",
    structures: Callable[[], StructureFeatures] | None = None,
) -> Predictions:
    """Read predictions and features from a text file with a line of names; see `pellucid.tables.read_table`.

    Columns of texts that repeat are categories, see `pellucid.auditing.columns.read_column`. Rows without a prediction
    or a group are rejected, and listed.

    Parameters
    ----------
    path : str, Path, Table or StoredTable
        The file, or what `pellucid.tables.read_table` or `pellucid.tables.store_table` made of it.
    prediction : sequence of str
        The columns of predictions; by default those whose name says so.
    features : sequence of str
        The columns that witnesses read: those that the model read. By default all others that hold numbers or
        categories, without names, numberings, dates, constants, columns that are mostly blank, what looks like
        measured values, and what gives itself away as an outcome, see `pellucid.auditing.outcomes`.
    truth : str, optional
        A column of measured values: no feature; the error of the predictions is reported.
    groups : str, optional
        A column that says which rows are a neighborhood.
    smiles : str, optional
        A column of molecules whose fingerprints are the features; used by default where there is one and there are no
        other features.
    blanks : {"fill", "drop"}
        What to do with blank features: "fill" puts the median of the column, and makes blanks of a category a level of
        their own; "drop" rejects these rows.
    structures : callable, optional
        Returns the features of molecules, as `pellucid.registry.structure_features` does; called if there are any.
    """
    if blanks not in ("fill", "drop"):
        raise InputError(f"{Parameter('blanks')} must be 'fill' or 'drop'", got=f"{blanks!r}", parameter="blanks")
    table: Cells = path if isinstance(path, StoredTable) else read_table(path)
    source = table.source
    for parameter, names in {
        "prediction": prediction,
        "features": features,
        "truth": [truth] if truth is not None else [],
        "groups": [groups] if groups is not None else [],
        "smiles": [smiles] if smiles is not None else [],
    }.items():
        for name in names:
            require_column(name, table.header, source, f"{Parameter(parameter):=}")
    outputs = list(dict.fromkeys(prediction)) or roles.find_predictions(table, source)
    others = [name for name in table.header if name not in (*outputs, truth, groups, smiles)]
    requested = list(dict.fromkeys(features))
    chosen, ignored = roles.choose_features(table, others, requested, smiles, outputs)
    clash = set(chosen) & {*outputs, truth, groups}
    if clash:
        raise InputError("A column must be one thing", got=f"{sorted(map(str, clash))[0]!r} twice", cure="name it once")
    if not chosen and smiles is None:
        smiles = roles.find_smiles(source, ignored)
        ignored = [(name, why) for name, why in ignored if name != smiles]
    rejected: dict[int, str] = {}
    f = read_numbers(table, outputs, source, rejected)
    measured_values = None if truth is None else read_numbers(table, [truth], source, None)[:, 0]
    if measured_values is not None and np.isnan(measured_values).all():
        raise InputError(
            f"{Parameter('truth'):=} must hold measured values",
            got=f"{truth!r}, which is blank",
            cure="choose another column",
            parameter="truth",
        )
    labels = None if groups is None else [cell.strip() for cell in table.column(groups)]
    for i, label in enumerate(labels or []):
        if not label:
            rejected.setdefault(i, f"{groups!r} is blank")
    reader = None if smiles is None else _reader(structures, smiles, source)
    molecules: list[str] = []
    if reader is not None and smiles is not None:
        molecules, reasons = reader.canonical(table.column(smiles))
        rejected |= {i: why for i, why in reasons.items() if i not in rejected}
    if blanks == "drop":
        reject_blanks(table, chosen, rejected)
    kept = [i for i in range(len(table.numbers)) if i not in rejected]
    if len(kept) < _FEWEST:
        raise InputError(
            f"{source} must have at least {_FEWEST} complete rows",
            got=f"{len(kept)} of {len(table.numbers)}"
            + "".join(f"; row {table.numbers[i]}: {why}" for i, why in sorted(rejected.items())[:1]),
            cure=_rows_cure(rejected, [*chosen] if blanks == "drop" else []),
        )
    rows = tuple(table.numbers[i] for i in kept)
    columns: list[Column] = []
    outcome_known = False  # whether it is clear which column was to be predicted
    if smiles is None:
        for name in chosen:
            cells = table.column(name)
            columns.append(read_column(name, [cells[i] for i in kept], rows, table.comma, source))
        if not requested:
            measured = _measured_column(table, truth, ignored, kept)
            outcome_known = measured is not None or any(why.startswith(OUTCOME) for _, why in ignored)
            columns, outcomes = _without_outcomes(columns, f[kept], measured)
            ignored += outcomes
            if not columns:
                roles.find_smiles(source, ignored)
    feature_names = tuple(feature for column in columns for feature in column.features)
    x = np.concatenate([column.values for column in columns], axis=1) if columns else np.empty((len(kept), 0))
    texts = None if reader is None else tuple(molecules[i] for i in kept)
    if reader is not None:
        bits = float(len(kept) * len(reader.names))  # a byte each
        require_memory(bits, f"The audit of {len(kept):,} molecules", cure="audit a sample: 100,000 say the same")
    return Predictions(
        source=source,
        outputs=tuple(outputs),
        f=f[kept],
        features=feature_names if reader is None else reader.names,
        x=x if reader is None or texts is None else reader.values(texts),
        rows=rows,
        truth=None if measured_values is None else measured_values[kept],
        truth_name=truth,
        groups=None if labels is None else tuple(labels[i] for i in kept),
        smiles=texts,
        structures=reader,
        named=bool(requested),
        notes=tuple((column.name, column.note) for column in columns if column.note),
        categories=_ranges(columns),
        alike=() if requested or outcome_known else tuple(alike(columns, f[kept]).items()),
        ignored=tuple(ignored),
        rejected=tuple((table.numbers[i], why) for i, why in sorted(rejected.items())),
    )


def _rows_cure(rejected: Mapping[int, str], dropped: Sequence[str]) -> str:
    """What to do about too few rows; those with a blank in the `dropped` columns can be kept."""
    blank = {f"{name!r} is blank" for name in dropped}
    if any(why in blank for why in rejected.values()):
        others = f"name the columns without blanks with {Parameter('features'):=}"
        return f"use {Parameter('blanks', 'fill')}, or {others}"
    return "correct these rows, or add others" if rejected else "add some"


def _reader(structures: Callable[[], StructureFeatures] | None, smiles: str, source: str) -> StructureFeatures:
    if structures is None:
        raise InputError(
            f"{Parameter('structures')} must say what is read of molecules",
            got=f"none for column {smiles!r} of {source}",
            cure="pass `pellucid.registry.structure_features`",
            parameter="structures",
        )
    return structures()


def _measured_column(
    table: Cells, truth: str | None, ignored: Sequence[tuple[str, str]], kept: Sequence[int]
) -> tuple[str, np.ndarray] | None:
    """A column of measured values, named or not, to hold the others against."""
    names = [truth] if truth is not None else [name for name, why in ignored if why == roles.measured_reason()]
    for name in names:
        values = [value_of(cell, table.comma) for cell in table.column(name)]
        if None not in values:
            return name, np.array(values, dtype=np.float64)[list(kept)]
    return None


def _without_outcomes(
    columns: list[Column], f: np.ndarray, measured: tuple[str, np.ndarray] | None
) -> tuple[list[Column], list[tuple[str, str]]]:
    """The columns that a model may have read, and the others with the reason."""
    if measured is None:
        return columns, []
    name, truth = measured
    reasons = revealing(columns, f, truth, name)
    return [column for column in columns if column.name not in reasons], list(reasons.items())


def _ranges(columns: Sequence[Column]) -> tuple[tuple[int, int], ...]:
    """Where the levels of each category begin and end."""
    ends = np.cumsum([len(column.features) for column in columns]).tolist()
    pairs = zip(columns, ends, strict=True)
    return tuple((end - len(column.features), end) for column, end in pairs if column.levels)
