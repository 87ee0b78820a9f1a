"""The data sets that Pellucid knows: what they are, where they are published, where they are on this computer."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import final

from pellucid._files import Published, find_data

TOX21_TARGETS = (
    "NR-AR",
    "NR-AR-LBD",
    "NR-AhR",
    "NR-Aromatase",
    "NR-ER",
    "NR-ER-LBD",
    "NR-PPAR-gamma",
    "SR-ARE",
    "SR-ATAD5",
    "SR-HSE",
    "SR-MMP",
    "SR-p53",
)
BEARING_PACKED = "bearing/ims_set2_milli_i16.npz"
BEARING_FOLDER = "bearing/2nd_test"


def _store_tox21(download: Path, draft: Path) -> str:
    """Unpack it. The checksum is that of SMILES and labels, row after row: copies differ in the order of columns."""
    raw = download.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    missing = [name for name in ("smiles", *TOX21_TARGETS) if name not in (rows.fieldnames or [])]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    checksum = hashlib.sha256()
    for row in rows:
        labels = [(row[name] or "").removesuffix(".0") for name in TOX21_TARGETS]
        checksum.update(",".join([row["smiles"], *labels, "\n"]).encode())
    draft.write_text(text, encoding="utf-8", newline="")
    return checksum.hexdigest()


def _store_moses(download: Path, draft: Path) -> str:
    """Pack it. The checksum is that of the file as published."""
    with download.open("rb") as source, gzip.GzipFile(draft, "wb", mtime=0) as target:
        shutil.copyfileobj(source, target, 2**20)
    with download.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _store_zip(download: Path, draft: Path) -> str:
    """As it is. There is no published checksum; the archive has one for each of its files, checked when unpacked."""
    if not zipfile.is_zipfile(download):
        raise ValueError("it is no .zip archive")
    download.replace(draft)
    return ""


TOX21 = Published(
    title="Tox21",
    name="molecules/tox21.csv",
    address="https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/tox21.csv.gz",
    store=_store_tox21,
    sha256="a4b8c87ae56a287216a63da82c1ecb0fe408cd0d85c6dc7220f360d01b915979",
    by_hand="unpack it as {place}, or as molecules/tox21.csv in the folder PELLUCID_DATA",
)
MOSES = {
    part: Published(
        title="MOSES",
        name=f"molecules/moses_{part}.csv.gz",
        address=f"https://media.githubusercontent.com/media/molecularsets/moses/master/data/{part}.csv",
        store=_store_moses,
        sha256=sha256,
        by_hand=f"pack it with gzip as {{place}}, or as molecules/moses_{part}.csv.gz in the folder PELLUCID_DATA",
    )
    for part, sha256 in {
        "train": "49fe1aae29604ec0f5023ea34edc8789415f954138f2903dabd005a4b888a961",
        "test": "257165e8f1e1be2d5712db51c93d2b1544564b782dc303d7d19c887c21a858e6",
    }.items()
}
BEARING = Published(
    title="the bearing test",
    name="bearing/4.Bearings.zip",
    address="https://phm-datasets.s3.amazonaws.com/NASA/4.+Bearings.zip",
    store=_store_zip,
    sha256=None,
    by_hand="unpack it, and run pellucid data get bearing --from 2nd_test",
)


@final
@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One line of `pellucid data list`."""

    name: str
    what: str
    size: str
    find: Callable[[], Path | None]
    """Where it is on this computer."""
    use: str
    """How it is read in Python."""


def _installed(package: str, *below: str) -> Path | None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*below)
    return path if path.exists() else None


def _moses() -> Path | None:
    found = [published.find() for published in MOSES.values()]
    return None if None in found else found[0]


DATA_SETS = (
    DataSet(
        name="nav17",
        what="1,017 sodium-channel blockers with their activity; comes with rdkit",
        size="0.1 MB",
        find=lambda: _installed("rdkit", "Contrib", "FreeWilson", "data", "CHEMBL2321810.smi"),
        use="pellucid.molecules.nav17()",
    ),
    DataSet(
        name="eeg",
        what="an electroencephalogram, 4 channels of 800 samples; comes with matplotlib",
        size="0.03 MB",
        find=lambda: _installed("matplotlib", "mpl-data", "sample_data", "eeg.dat"),
        use="numpy.fromfile(...).reshape(800, 4)",
    ),
    DataSet(
        name="tox21",
        what="7,831 molecules with their toxicity in 12 assays (MoleculeNet)",
        size="0.5 MB",
        find=TOX21.find,
        use="pellucid.molecules.tox21()",
    ),
    DataSet(
        name="moses",
        what="1,584,663 molecules for training and 176,074 for tests (ZINC)",
        size="12 MB",
        find=_moses,
        use="pellucid.molecules.moses()",
    ),
    DataSet(
        name="bearing",
        what="984 recordings of four bearings until one fails (IMS, NASA)",
        size="96 MB",
        find=lambda: find_data(BEARING_PACKED) or find_data(BEARING_FOLDER),
        use="pellucid.series.load_bearing()",
    ),
)
