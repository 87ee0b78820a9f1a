"""Tables of molecules on disk, and those that come with RDKit."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rdkit import RDConfig

from pellucid._files import cache_folder, find_data
from pellucid.errors import InputError
from pellucid.molecules.table import Molecules, collect, prepare

SMILES_NAMES = ("smiles", "canonical_smiles", "smi", "structure", "mol", "molecule")
"""Names of a column of SMILES, in the order in which they are looked for; capitals do not matter."""
_BLANKS = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "nd", "n.d.")


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
    header, rows, numbers, comma = _cells(path)
    name = Path(path).name
    column = _smiles_column(header, smiles, name)
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
    y = np.array([[_value(cell, comma) for cell in columns[title]] for title in chosen], dtype=object).T
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


def _cells(path: str | Path) -> tuple[list[str], list[list[str]], list[int], bool]:
    """The names, the rows, their numbers in the file, and whether numbers have a decimal comma."""
    if not isinstance(path, str | Path) or not Path(path).is_file():
        raise InputError(f"The table must be a CSV file. Got {path!r}, which is none; correct the path.")
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} must be text in UTF-8. Got other bytes: an Excel or compressed file, or another encoding; "
            "save it as CSV in UTF-8."
        ) from None
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    counted = [(i + 1, row) for i, row in enumerate(lines) if any(cell.strip() for cell in row)]
    if len(counted) < 2:
        raise InputError(
            f"{path.name} must have a line of names and at least one row. Got {len(counted)} lines; is it the "
            "right file?"
        )
    header = [title.strip() for title in counted[0][1]]
    twice = sorted({title for title in header if header.count(title) > 1})
    if twice:
        raise InputError(f"Every column of {path.name} must have its own name. Got {twice[0]!r} twice; rename one.")
    for number, row in counted[1:]:
        if len(row) != len(header):
            raise InputError(
                f"Every row of {path.name} must have {len(header)} cells, separated by {separator!r}. Got {len(row)} "
                f"in row {number}; mend it, and put texts that contain the separator in quotes."
            )
    return header, [row for _, row in counted[1:]], [number for number, _ in counted[1:]], separator == ";"


MOSES_ADDRESS = "https://media.githubusercontent.com/media/molecularsets/moses/master/data"
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


def moses(part: Literal["train", "test"] = "train") -> Path:
    """The file of MOSES (Polykovskiy et al. 2020), 1,584,663 or 176,074 SMILES of ZINC; see `vae.Corpus.build`.

    Read from `molecules/moses_<part>.csv.gz` in `$PELLUCID_DATA` or in the user's cache.
    """
    if part not in ("train", "test"):
        raise InputError(f'`part` of MOSES must be "train" or "test". Got {part!r}.')
    path = find_data(f"molecules/moses_{part}.csv.gz")
    if path is None:
        place = cache_folder() / "molecules" / f"moses_{part}.csv.gz"
        raise InputError(
            f"The data of MOSES must be on this computer. Got none: download {MOSES_ADDRESS}/{part}.csv, pack it with "
            f"gzip as {place}, or set PELLUCID_DATA to the folder that holds molecules/{place.name}."
        )
    return path


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


def _first_flaw(cells: Sequence[str], numbers: Sequence[int], comma: bool) -> str:
    """Why a column holds no measured values."""
    values = [_value(cell, comma) for cell in cells]
    for cell, number, value in zip(cells, numbers, values, strict=True):
        if value is None:
            return f"{cell.strip()[:20]!r} in row {number}"
    return "blank" if all(np.isnan(value) for value in values if value is not None) else ""


def _value(cell: str, comma: bool) -> float | None:
    """A number, NaN for a blank, None for anything else."""
    text = cell.strip()
    if text.lower() in _BLANKS:
        return float("nan")
    try:
        value = float(text.replace(",", ".") if comma else text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
