"""Tables of molecules on disk, and those that come with RDKit."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rdkit import RDConfig

from pellucid._files import cache_folder, find_data
from pellucid.errors import InputError
from pellucid.molecules.table import Molecules, prepare

SMILES_NAMES = ("smiles", "canonical_smiles", "smi", "structure", "mol", "molecule")
"""Names of a column of SMILES, in the order in which they are looked for; capitals do not matter."""
_BLANKS = ("", "na", "n/a", "nan", "null", "none", "?")


def read(
    path: str | Path,
    *,
    smiles: str | None = None,
    targets: Sequence[str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Molecules:
    """Molecules and their measured values from a CSV file with a line of names; see `prepare`.

    Parameters
    ----------
    smiles : the column of SMILES; by default it is found by its name.
    targets : the columns of measured values; by default all others that hold numbers and blanks only.
    on_error : as in `prepare`. A cell of a target that is neither a number nor blank is an error, too.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"The table must be a CSV file. Got {path}, which is none; correct the path.")
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            header, *rows = csv.reader(stream)
    except (ValueError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path.name} must be a CSV file with a line of names. Got one that is not: {error}."
        ) from None
    header = [name.strip() for name in header]
    ragged = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if ragged is not None:
        raise InputError(
            f"Every row of {path.name} must have {len(header)} cells. Got {len(rows[ragged])} in row {ragged + 2}; "
            "mend it."
        )
    column = _smiles_column(header, smiles, path.name)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(header, ())
    if targets is None:
        names = [name for name in header if name != column and columns[name] and _numeric(columns[name])]
    else:
        names = [targets] if isinstance(targets, str) else list(targets)
        for name in names:
            if name not in columns:
                raise InputError(
                    f"Every target must be a column of {path.name}. Got {name!r}; its columns are {', '.join(header)}."
                )
    y = np.array([[_value(cell, name, i + 2, path.name) for i, cell in enumerate(columns[name])] for name in names])
    labels = y.T if names else None
    return prepare(columns[column], labels, targets=names if names else None, on_error=on_error, first_row=2)


TOX21_ADDRESS = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/tox21.csv.gz"


def tox21() -> Molecules:
    """The Tox21 data of MoleculeNet: toxicity in 12 assays, blanks where a molecule was not measured.

    Of its 7,831 rows those that cannot be used are left out and listed in `rejected`. Looked for as
    `molecules/tox21.csv` in `$PELLUCID_DATA`, then in the cache.
    """
    path = find_data("molecules/tox21.csv")
    if path is None:
        place = cache_folder() / "molecules" / "tox21.csv"
        raise InputError(
            f"The data of Tox21 must be on this computer. Got none: download {TOX21_ADDRESS}, unpack it as {place}, or "
            "set PELLUCID_DATA to the folder that holds molecules/tox21.csv."
        )
    return read(path, on_error="skip")


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


def _smiles_column(header: Sequence[str], given: str | None, source: str) -> str:
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


def _numeric(cells: Sequence[str]) -> bool:
    known = [cell.strip() for cell in cells if cell.strip().lower() not in _BLANKS]
    return bool(known) and all(_is_number(cell) for cell in known)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _value(cell: str, name: str, row: int, source: str) -> float:
    text = cell.strip()
    if text.lower() in _BLANKS:
        return float("nan")
    if not _is_number(text):
        raise InputError(
            f"Values of targets must be numbers or blank. Got {text!r} in {source}, column {name!r}, row {row}; mend "
            "it, or leave that target out."
        )
    return float(text)
