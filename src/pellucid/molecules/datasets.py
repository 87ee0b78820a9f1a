"""The molecules that are published, or come with a package: where they are, and what makes a download the right one."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import shutil
from pathlib import Path

from pellucid import downloading
from pellucid.datasets import DataSet, Published, installed

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
TOX21_CHECKSUM = "a4b8c87ae56a287216a63da82c1ecb0fe408cd0d85c6dc7220f360d01b915979"
"""Of its SMILES and labels, see `tox21_checksum`."""


def unpack_tox21(download: Path, draft: Path, checksum: str = TOX21_CHECKSUM) -> None:
    """Unpack it, and compare SMILES and labels, row after row: copies differ in the order of columns."""
    raw = download.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    if tox21_checksum(text) != checksum:
        raise downloading.OtherContentError
    draft.write_text(text, encoding="utf-8", newline="")


def tox21_checksum(text: str) -> str:
    """SHA-256 of SMILES and labels, row after row."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    missing = [name for name in ("smiles", *TOX21_TARGETS) if name not in (rows.fieldnames or [])]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    checksum = hashlib.sha256()
    for row in rows:
        labels = [(row[name] or "").removesuffix(".0") for name in TOX21_TARGETS]
        checksum.update(",".join([row["smiles"], *labels, "\n"]).encode())
    return checksum.hexdigest()


def pack(download: Path, draft: Path) -> None:
    """Pack it with gzip."""
    with download.open("rb") as source, gzip.GzipFile(draft, "wb", mtime=0) as target:
        shutil.copyfileobj(source, target, 2**20)


TOX21 = Published(
    title="Tox21",
    name="molecules/tox21.csv",
    address="https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/tox21.csv.gz",
    sha256=None,
    store=unpack_tox21,
    by_hand="unpack it as {place}, or as molecules/tox21.csv in the folder PELLUCID_DATA",
)
MOSES = {
    part: Published(
        title="MOSES",
        name=f"molecules/moses_{part}.csv.gz",
        address=f"https://media.githubusercontent.com/media/molecularsets/moses/master/data/{part}.csv",
        sha256=sha256,
        store=pack,
        by_hand=f"pack it with gzip as {{place}}, or as molecules/moses_{part}.csv.gz in the folder PELLUCID_DATA",
    )
    for part, sha256 in {
        "train": "49fe1aae29604ec0f5023ea34edc8789415f954138f2903dabd005a4b888a961",
        "test": "257165e8f1e1be2d5712db51c93d2b1544564b782dc303d7d19c887c21a858e6",
    }.items()
}


def _moses() -> Path | None:
    paths = [published.find() for published in MOSES.values()]
    return None if None in paths else paths[0]


DATA_SETS = (
    DataSet(
        name="nav17",
        what="1,017 sodium-channel blockers with their activity; comes with rdkit",
        size="0.1 MB",
        find=lambda: installed("rdkit", "Contrib", "FreeWilson", "data", "CHEMBL2321810.smi"),
        use="pellucid.molecules.nav17()",
    ),
    DataSet(
        name="tox21",
        what="7,831 molecules with their toxicity in 12 assays (MoleculeNet)",
        size="0.5 MB",
        find=TOX21.find,
        use="pellucid.molecules.tox21()",
        published=lambda: [TOX21],
    ),
    DataSet(
        name="moses",
        what="1,584,663 molecules for training and 176,074 for tests (ZINC)",
        size="12 MB",
        find=_moses,
        use="pellucid.molecules.moses()",
        published=lambda: list(MOSES.values()),
    ),
)
