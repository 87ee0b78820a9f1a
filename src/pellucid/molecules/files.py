"""Tables of molecules on disk, and those that come with RDKit."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rdkit import RDConfig

from pellucid import datasets
from pellucid.errors import InputError
from pellucid.molecules.table import Molecules, collect, prepare
from pellucid.tables import SMILES_NAMES, read_table, value_of


def read(
    path: str | Path,
    *,
    smiles: str | None = None,
    targets: str | Sequence[str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Molecules:
    """Molecules and their measured values from a text file with a line of names; see `prepare`.

    Cells are separated by commas, semicolons (then numbers may have a decimal comma) or tabs, whichever the line of
    names has most. Blank lines do not count as rows, but keep their numbers.

    Parameters
    ----------
    smiles : the column of SMILES; by default it is found by its name.
    targets : the columns of measured values; by default all others that hold numbers and blanks only. The summary
        tells the targets, and the columns that are none.
    on_error : as in `prepare`. A cell of a target that is neither a number nor blank is an error of its row, too.
    """
    header, rows, numbers, comma = read_table(path)
    name = Path(path).name
    column = smiles_column(header, smiles, name)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    flawed = {title: _first_flaw(columns[title], numbers, comma) for title in header if title != column}
    if targets is None:
        chosen = [title for title, flaw in flawed.items() if not flaw]
    else:
        chosen = [targets] if isinstance(targets, str) else list(targets)
        for title in chosen:
            if title not in columns:
                raise InputError(
                    f"Every target must be a column of {name}. Got {title!r}; its columns are {', '.join(header)}."
                )
    y = np.array([[value_of(cell, comma) for cell in columns[title]] for title in chosen], dtype=object).T
    flaws = {
        i: f"{title!r} is {columns[title][i]!r}, not a number"
        for i in range(len(rows))
        for k, title in reversed(list(enumerate(chosen)))
        if y[i, k] is None
    }
    values = np.array([[np.nan if v is None else v for v in row] for row in y], dtype=np.float64)
    ignored = [f"{title} ({flaw})" if flaw else title for title, flaw in flawed.items() if title not in chosen]
    return collect(
        list(columns[column]),
        values.reshape(len(rows), len(chosen)),
        tuple(chosen),
        on_error=on_error,
        numbers=numbers,
        flaws=flaws,
        ignored=tuple(ignored),
    )


def tox21() -> Molecules:
    """The Tox21 data of MoleculeNet: toxicity in 12 assays, blanks where a molecule was not measured.

    Of its 7,831 rows those that cannot be used are left out and listed in `rejected`. Looked for as
    `molecules/tox21.csv` in `$PELLUCID_DATA`, then in the cache, and otherwise downloaded.
    """
    return read(datasets.TOX21.fetch(), targets=datasets.TOX21_TARGETS, on_error="skip")


def moses(part: Literal["train", "test"] = "train") -> Path:
    """The file of MOSES (Polykovskiy et al. 2020), 1,584,663 or 176,074 SMILES of ZINC; see `vae.Corpus.build`.

    Looked for as `molecules/moses_<part>.csv.gz` in `$PELLUCID_DATA`, then in the cache, and otherwise downloaded.
    """
    if part not in datasets.MOSES:
        raise InputError(f'`part` of MOSES must be "train" or "test". Got {part!r}.')
    return datasets.MOSES[part].fetch()


def nav17() -> Molecules:
    """The series that comes with RDKit: 1,017 sulfonamides with their measured activity against the channel Nav1.7.

    ChEMBL document 2321810; the activity is a negative decimal logarithm of a molar concentration.
    """
    folder = Path(RDConfig.RDContribDir) / "FreeWilson" / "data"
    if not folder.is_dir():
        raise InputError(f"RDKit's folder of examples must be installed. Got none at {folder}; install rdkit with pip.")
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


def smiles_column(header: Sequence[str], given: str | None, source: str) -> str:
    if given is not None:
        if given not in header:
            raise InputError(
                f"`smiles` must be a column of {source}. Got {given!r}; its columns are {', '.join(header)}."
            )
        return given
    lowered = {name.lower().replace(" ", "_"): name for name in reversed(header)}
    for name in SMILES_NAMES:
        if name in lowered:
            return lowered[name]
    raise InputError(
        f"{source} must have a column of SMILES, named {', '.join(SMILES_NAMES[:3])} or the like. Got "
        f"{', '.join(header)}; say which one it is with `smiles=`."
    )


def _first_flaw(cells: Sequence[str], numbers: Sequence[int], comma: bool) -> str:
    """Why a column holds no measured values."""
    values = [value_of(cell, comma) for cell in cells]
    for cell, number, value in zip(cells, numbers, values, strict=True):
        if value is None:
            return f"{cell.strip()[:20]!r} in row {number}"
    return "blank" if all(np.isnan(value) for value in values if value is not None) else ""
