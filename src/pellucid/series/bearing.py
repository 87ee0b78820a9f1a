"""The bearing recordings of the paper: the second run-to-failure test of the IMS data set, published by NASA."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import numpy as np

from pellucid import cache
from pellucid.datasets import DataSet, Published, find_data
from pellucid.errors import InputError
from pellucid.schemas import SchemaError
from pellucid.series.data import Recordings
from pellucid.series.files import read
from pellucid.series.mapped import unreadable
from pellucid.stored_arrays import read_arrays

BEARING_PACKED = "bearing/ims_set2_milli_i16.npz"
BEARING_FOLDER = "bearing/2nd_test"
CHANNELS = ("bearing 1", "bearing 2", "bearing 3", "bearing 4")
SHAPE = (984, 20_480, 4)
SHA256 = "5068ca06c892ca1a28436adbb618bb6d7556950c33d0b536b8a0457377284e8f"
"""Checksum of all samples in thousandths, as int16, file after file."""


def keep_archive(download: Path, draft: Path) -> None:
    """As it is. There is no published checksum; the archive has one for each of its files, checked when unpacked."""
    if not zipfile.is_zipfile(download):
        raise ValueError("it is no .zip archive")
    download.replace(draft)


BEARING = Published(
    title="the bearing test",
    name="bearing/4.Bearings.zip",
    address="https://phm-datasets.s3.amazonaws.com/NASA/4.+Bearings.zip",
    sha256=None,
    store=keep_archive,
    by_hand="unpack it, with its folder 2nd_test as bearing/2nd_test in the folder PELLUCID_DATA",
)


def load_bearing() -> Recordings:
    """The 984 recordings of four bearings, 20,480 samples each at 20 kHz, until the first bearing fails.

    They are looked for in `$PELLUCID_DATA` and in the user's cache: as the folder `bearing/2nd_test` of the
    published archive (packed threefold, as .zip, .7z and .rar: unpack it by hand once), or as the single file
    `bearing/ims_set2_milli_i16.npz` that the first reading of the folder leaves in the cache. The samples are
    compared with a checksum.
    """
    path = find_data(BEARING_PACKED) or find_data(BEARING_FOLDER)
    if path is None:
        raise InputError(
            f"The bearing data must be in $PELLUCID_DATA or in {cache.cache_folder()}, as {BEARING_FOLDER} or "
            f"{BEARING_PACKED}",
            got="neither",
            cure=(
                f"download {BEARING.address} (`pellucid data get bearing` does), unpack it, and put its "
                "folder 2nd_test there. `simulate_rig` needs no download"
            ),
        )
    if path.is_dir():
        thousandths, names = _read_folder(path)
        _pack(thousandths, names)
    else:
        try:
            with path.open("rb") as stream:
                content = read_arrays(stream)
        except SchemaError as error:
            raise unreadable(path, error) from None
        thousandths, names = (content.get(name, np.empty(0)) for name in ("x", "names"))
        _require_published(thousandths, path)
    values = thousandths.astype(np.float32) / 1000
    return Recordings(values=tuple(values), channels=CHANNELS, sources=tuple(str(name) for name in names))


def pack_bearing(folder: str | Path) -> Path:
    """Read the unpacked folder `2nd_test` once, compare it, and keep it in the cache as a single file.

    Parameters
    ----------
    folder : str or Path
        `2nd_test`, or the folder that holds it.
    """
    folder = Path(folder)
    inner = folder / "2nd_test"
    if not folder.is_dir():
        raise InputError(
            "The unpacked recordings must be a folder", got=f"{folder}, which is none", cure="correct the path"
        )
    return _pack(*_read_folder(inner if inner.is_dir() else folder))


def _read_folder(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Thousandths of all samples, and the names of the files."""
    source = read(folder, header=False)
    same = len({table.shape for table in source.values}) == 1
    thousandths = np.round((np.stack if same else np.concatenate)(source.values) * 1000).astype(np.int16)
    _require_published(thousandths, folder)
    return thousandths, np.array(source.sources)


def _require_published(thousandths: np.ndarray, path: Path) -> None:
    """Refuse samples that are not those of the published data set."""
    checksum = hashlib.sha256(np.ascontiguousarray(thousandths).data).hexdigest()
    if thousandths.shape != SHAPE or checksum != SHA256:
        raise InputError(
            f"The samples must be those published: {SHAPE[0]} files of {SHAPE[1]} rows and {SHAPE[2]} "
            f"columns, checksum {SHA256[:12]}..",
            got=f"{thousandths.shape}, {checksum[:12]}... in {path}",
            cure="unpack the archive anew",
        )


def _pack(thousandths: np.ndarray, names: np.ndarray) -> Path:
    """Write the samples into a single file in the cache."""
    packed = cache.cache_folder() / BEARING_PACKED
    with cache.new_file(packed) as draft:
        np.savez_compressed(draft, x=thousandths, names=names)
    return packed


BEARING_DATA = DataSet(
    name="bearing",
    what="984 recordings of four bearings until one fails (IMS, NASA)",
    size="96 MB",
    find=lambda: find_data(BEARING_PACKED) or find_data(BEARING_FOLDER),
    use="pellucid.series.load_bearing()",
    published=lambda: [BEARING],
    packed_folder="2nd_test",
    pack=pack_bearing,
)
