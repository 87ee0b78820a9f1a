"""Tables of molecules on disk, and those that come with RDKit."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rdkit import RDConfig, rdBase

from pellucid.errors import InputError, Parameter
from pellucid.molecules import datasets
from pellucid.molecules._smiles import parse
from pellucid.molecules.preparing import collect, prepare
from pellucid.molecules.table import Molecules
from pellucid.tables import (
    ID_NAMES,
    LARGEST,
    SMILES_NAMES,
    Table,
    normalized,
    read_table,
    require_column,
    row_names,
    smiles_index,
    value_of,
)


def read(
    path: str | Path | Table,
    *,
    smiles: str | None = None,
    targets: str | Sequence[str] | None = None,
    names: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Molecules:
    """Molecules and their measured values from a text file with a line of names; see `prepare`.

    Cells are separated by commas, semicolons (then numbers may have a decimal comma) or tabs, whichever the line of
    names has most. Blank lines do not count as rows, but keep their numbers. A file that ends in .smi has no line of
    names, and on each line a SMILES, a blank or tab, and a name.

    Parameters
    ----------
    path : str, Path or Table
        The file, or what `pellucid.tables.read_table` made of it.
    smiles : str, optional
        The column of SMILES; by default it is found by its name.
    targets : str or sequence of str, optional
        The columns of measured values; by default all others that hold numbers and blanks only, but no column that is
        named like a numbering (id, ..._id, index, number, ...), none of whole numbers that are all different, and none
        that is constant. The summary names the targets, and the ignored columns with the reason.
    names : str, optional
        The column that says what the molecules are called; by default one called id, name or the like, if there is
        one.
    on_error : {"raise", "skip"}
        As in `prepare`. A cell of a target that is neither a number nor blank, such as ">10", is an error of its row,
        too; "skip" leaves only this cell blank if another target of the row has a value, and lists it in `rejected`.
    """
    table = read_table(path)
    header, numbers, comma, source = table.header, table.numbers, table.comma, table.source
    column = smiles_column(header, smiles, source)
    columns = dict(zip(header, zip(*table.rows, strict=True), strict=True))
    others = {title: _Cells(title, columns[title], numbers, comma) for title in header if title != column}
    if targets is None:
        chosen = [title for title, cells in others.items() if not cells.flaw()]
    else:
        chosen = [targets] if isinstance(targets, str) else list(dict.fromkeys(targets))
        for title in chosen:
            require_column(title, header, source, "Every target", parameter="targets")
            if title == column:
                raise InputError(
                    "A target must hold measured values", got=f"{title!r}, the column of SMILES", parameter="targets"
                )
            others[title].refuse_text(source)
    values = [others[title].values for title in chosen]
    flaws: dict[int, list[str]] = {}
    for title, column_values in zip(chosen, values, strict=True):
        for i, value in enumerate(column_values):
            if value is None:
                flaws.setdefault(i, []).append(f"{title!r} is {columns[title][i].strip()!r}, not a number")
            elif abs(value) > LARGEST:
                flaw = f"{title!r} is {columns[title][i].strip()!r}, beyond {LARGEST:g}"
                flaws.setdefault(i, []).append(flaw)
    y = np.array([[np.nan if value is None else value for value in row] for row in values], dtype=np.float64)
    y[np.abs(y) > LARGEST] = np.nan
    ignored = {title: cells.flaw() for title, cells in others.items() if title not in chosen}
    return collect(
        list(columns[column]),
        y.reshape(len(chosen), len(table.rows)).T,
        tuple(chosen),
        on_error=on_error,
        numbers=numbers,
        names=row_names(table, names),
        flaws=flaws,
        ignored=tuple(f"{title} ({flaw})" if flaw else title for title, flaw in ignored.items()),
    )


class _Cells:
    """A column that may hold measured values."""

    def __init__(self, title: str, cells: Sequence[str], numbers: Sequence[int], comma: bool) -> None:
        self.title, self.cells, self.numbers = title, cells, numbers
        self.values = [value_of(cell, comma) for cell in cells]
        self.measured = [value for value in self.values if value is not None and not math.isnan(value)]

    def flaw(self) -> str:
        """Why it is not taken for a target by default; "" if it is."""
        for cell, number, value in zip(self.cells, self.numbers, self.values, strict=True):
            if value is None:
                return f"{cell.strip()[:20]!r} in row {number}"
        if not self.measured:
            return "blank"
        if normalized(self.title) in ID_NAMES or normalized(self.title).endswith("_id"):
            return "a name or number of the rows"
        if len(self.measured) >= _MIN_VALUES and len(set(self.measured)) == 1:
            return f"always {self.measured[0]:g}"
        if (
            len(self.measured) >= _MIN_VALUES
            and len(set(self.measured)) == len(self.measured)
            and _are_integers(self.measured)
        ):
            return "whole numbers, all different; name it among the targets if it is measured"
        return ""

    def refuse_text(self, source: str) -> None:
        """Refuse a target that hardly holds any number."""
        texts = [i for i, value in enumerate(self.values) if value is None]
        if texts and len(self.measured) < _MIN_NUMBERS * (len(self.measured) + len(texts)):
            raise InputError(
                "Every target must hold numbers",
                got=(
                    f"{self.title!r} of {source}, a column of text: row {self.numbers[texts[0]]} is "
                    f"{self.cells[texts[0]].strip()[:40]!r}"
                ),
                cure="choose another column",
                parameter="targets",
            )


# Fewer values do not show that they are all different, or always the same.
_MIN_VALUES = 3
# A column with a smaller share of numbers is one of text.
_MIN_NUMBERS = 0.1


def _are_integers(values: Sequence[float]) -> bool:
    return all(value == round(value) for value in values)


def tox21() -> Molecules:
    """The Tox21 data of MoleculeNet: toxicity in 12 assays, blanks where a molecule was not measured.

    Of its 7,831 rows those that cannot be used are listed in `rejected`. Looked for as
    `molecules/tox21.csv` in `$PELLUCID_DATA`, then in the cache, and otherwise downloaded.
    """
    return read(datasets.TOX21.fetch(), targets=datasets.TOX21_TARGETS, on_error="skip")


def moses(part: Literal["train", "test"] = "train") -> Path:
    """The file of MOSES (Polykovskiy et al. 2020), 1,584,663 or 176,074 SMILES of ZINC; see `vae.Corpus.build`.

    Looked for as `molecules/moses_<part>.csv.gz` in `$PELLUCID_DATA`, then in the cache, and otherwise downloaded.
    """
    if part not in datasets.MOSES:
        raise InputError(f'{Parameter("part")} of MOSES must be "train" or "test"', got=f"{part!r}", parameter="part")
    return datasets.MOSES[part].fetch()


def nav17() -> Molecules:
    """The series that comes with RDKit: 1,017 sulfonamides with their measured activity against the channel Nav1.7.

    ChEMBL document 2321810; the activity is a negative decimal logarithm of a molar concentration.
    """
    folder = Path(RDConfig.RDContribDir) / "FreeWilson" / "data"
    if not folder.is_dir():
        raise InputError(
            "RDKit's folder of examples must be installed", got=f"none at {folder}", cure="install rdkit with pip"
        )
    with (folder / "CHEMBL2321810_act.csv").open(newline="") as stream:
        activity = {row["Name"]: float(row["Act"]) for row in csv.DictReader(stream)}
    lines = (folder / "CHEMBL2321810.smi").read_text().split("\n")
    pairs = [line.split() for line in lines if line.strip()]
    return prepare(
        [smiles for smiles, name in pairs if name in activity],
        [activity[name] for _, name in pairs if name in activity],
        targets=["activity"],
        on_error="skip",
    )


def smiles_column(header: Sequence[str], name: str | None, source: str) -> str:
    """The column of SMILES: the one with this name, or by default the one whose name says so."""
    if name is not None:
        require_column(name, header, source, f"{Parameter('smiles'):=}", parameter="smiles")
        return name
    index = smiles_index(header)
    if index is not None:
        return header[index]
    if any(_is_data(cell) for cell in header):
        raise InputError(
            f"{source} must begin with a line of names",
            got=f"{', '.join(header[:4])}",
            cure=(
                'write one above it, such as "smiles,name,pIC50", or call the file .smi if each line is '
                "a SMILES, a blank or tab, and a name"
            ),
        )
    raise InputError(
        f"{source} must have a column of SMILES, named {', '.join(SMILES_NAMES[:3])} or the like",
        got=f"{', '.join(header)}",
        cure=f"say which one it is with {Parameter('smiles'):=}",
        parameter="smiles",
    )


def _is_data(cell: str) -> bool:
    """Whether a name of a column is a number or a molecule instead."""
    value = value_of(cell, False)
    if value is not None:
        return not math.isnan(value)
    with rdBase.BlockLogs():
        return len(cell) > 2 and parse(cell)[0] is not None
