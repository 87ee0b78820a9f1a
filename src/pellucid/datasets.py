"""The data sets that Pellucid knows: what they are, where they are published, where they are on this computer."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import final

from pellucid import cache, downloading
from pellucid.errors import InputError

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
BEARING_PACKED = "bearing/ims_set2_milli_i16.npz"
BEARING_FOLDER = "bearing/2nd_test"


def find_data(name: str) -> Path | None:
    """A file or folder of this name in `$PELLUCID_DATA`, or else in the cache."""
    chosen = os.environ.get("PELLUCID_DATA")
    folders = [*([Path(chosen)] if chosen else []), cache.cache_folder()]
    return next((folder / name for folder in folders if (folder / name).exists()), None)


@final
@dataclass(frozen=True, kw_only=True)
class Published:
    """A file that is published at an address, and kept on this computer once it has been downloaded."""

    title: str
    name: str
    """Below `$PELLUCID_DATA` and the cache."""
    address: str
    sha256: str | None
    """Checksum of the file as it is published; None where copies differ, and `store` compares what they say."""
    store: downloading.Store
    """Makes of the download what is used."""
    by_hand: str
    """What to do after a download by hand, with {place} for where it is kept."""

    @property
    def place(self) -> Path:
        """Where it is kept after a download."""
        return cache.cache_folder() / self.name

    def find(self) -> Path | None:
        """Where it is on this computer."""
        return find_data(self.name)

    def fetch(self, *, progress: bool = True) -> Path:
        """Where it is on this computer, after a download if need be: whole and compared, or not at all.

        Parameters
        ----------
        progress : bool
            Show a progress bar, where there is a terminal.
        """
        path = self.find()
        if path is not None:
            return path
        with cache.new_file(self.place) as draft:
            flaw = downloading.fetch(self.address, draft, sha256=self.sha256, store=self.store, progress=progress)
            if flaw is not None:
                raise InputError(
                    f"The data of {self.title} must be on this computer",
                    got=f"none, and {self.address} could not be downloaded: {flaw}. Try again, or download it by hand "
                    f"and {self.by_hand.format(place=self.place)}",
                )
        return self.place


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


def keep_archive(download: Path, draft: Path) -> None:
    """As it is. There is no published checksum; the archive has one for each of its files, checked when unpacked."""
    if not zipfile.is_zipfile(download):
        raise ValueError("it is no .zip archive")
    download.replace(draft)


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
BEARING = Published(
    title="the bearing test",
    name="bearing/4.Bearings.zip",
    address="https://phm-datasets.s3.amazonaws.com/NASA/4.+Bearings.zip",
    sha256=None,
    store=keep_archive,
    by_hand="unpack it, with its folder 2nd_test as bearing/2nd_test in the folder PELLUCID_DATA",
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
    published: Callable[[], Sequence[Published]] = tuple
    """The files to download; none of what comes with a package."""
    packed_folder: str | None = None
    """The folder of the archive to unpack by hand, where Python cannot read its formats."""


def _installed(package: str, *below: str) -> Path | None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*below)
    return path if path.exists() else None


def _moses() -> Path | None:
    paths = [published.find() for published in MOSES.values()]
    return None if None in paths else paths[0]


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
    DataSet(
        name="bearing",
        what="984 recordings of four bearings until one fails (IMS, NASA)",
        size="96 MB",
        find=lambda: find_data(BEARING_PACKED) or find_data(BEARING_FOLDER),
        use="pellucid.series.load_bearing()",
        published=lambda: [BEARING],
        packed_folder="2nd_test",
    ),
)
