"""Users' files that are damaged: they are read, or refused in a sentence."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from fuzz.cases import limits
from fuzz.mutations import mutated_bytes

from pellucid import InputError, registry
from pellucid.auditing.reading import read_predictions
from pellucid.tables import read_range, read_table, table_ranges
from pellucid.tables.parquet import write_parquet

pytestmark = pytest.mark.slow
ROWS = [["smiles", "name", "y", "predicted: y"]] + [
    ["C" * (1 + i) + "O", f'"{i}; a', i / 7, 1.5 + i % 3] for i in range(40)
]
VALUES = np.sin(np.arange(600.0)).reshape(300, 2)
# Headers of .npy files are Python's literals, which are parsed.
HEADER = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (300, 2), }"
SIGNS = b"()[]{}',: \n\\0123456789<>fOVui8\xff\x00"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each kind that is read, with what the commands read it as."""
    folder = tmp_path_factory.mktemp("data")
    text = "\n".join(",".join(map(str, row)).replace('"', "") for row in ROWS)
    (folder / "a.csv").write_text(text)
    (folder / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "a.smi").write_text("".join(f"{row[0]} {row[1]}\n" for row in ROWS[1:]))
    write_parquet(folder / "a.parquet", ROWS)
    np.savetxt(folder / "b.csv", VALUES, delimiter=";", header="left;right", comments="")
    np.save(folder / "b.npy", VALUES)
    np.savez(folder / "b.npz", x=VALUES, names=["one"], channels=["left", "right"])
    np.savez_compressed(folder / "c.npz", x=VALUES)
    write_parquet(folder / "b.parquet", [["left", "right"], *VALUES.tolist()])
    return sorted(folder.iterdir())


def use_series(path):
    """Read a file as recordings."""
    series = registry.domain_named("series")
    series.read(path, series.Reading())


def use(path):
    """Read a file as the commands do."""
    if path.name[0] in "bc":
        use_series(path)
        return
    molecules, table = map(registry.domain_named, ("molecules", "table"))
    read_table(path)
    if path.suffix != ".smi":
        molecules.read(path, molecules.Reading(skip_bad_rows=True))
        ranges = table_ranges(path, 7)
        for part in ranges.ranges:
            read_range(**ranges.place(part))
        table.read(path, table.Reading(target="y"))
        read_predictions(path, structures=registry.structure_features)


def damaged(content, suffix, random):
    """Bytes changed somewhere; the headers of arrays in signs that they have, too."""
    if suffix == ".npy" and random.random() < 0.6:
        content = bytearray(content)
        for place in random.integers(8, len(HEADER), size=random.integers(1, 4)):
            content[place] = SIGNS[random.integers(len(SIGNS))]
        return bytes(content)
    return mutated_bytes(content, random)


def test_data_as_they_were_written_are_read(files):
    for path in files:
        use(path)


@pytest.mark.parametrize("large", [False, True])
def test_damaged_data(files, large, tmp_path, tally, monkeypatch):
    if large:
        monkeypatch.setattr("pellucid.series.mapped.LARGE", 0)
    chosen = [path for path in files if path.suffix == ".npy" or not large]
    for path in chosen:
        use(path)

    def prepare(random, number):
        path = chosen[number % len(chosen)]
        (tmp_path / path.name).write_bytes(damaged(path.read_bytes(), path.suffix, random))
        return tmp_path / path.name

    name, few, many = ("mapped data", 20, 400) if large else ("data of users", 45, 1600)
    tally(name, few, many).try_all(prepare, use).check()


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_of_more_numbers_than_there_are_take_no_memory(compressed, tmp_path):
    path = tmp_path / ("a.npz" if compressed else "a.npy")
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**11, 2)})
    if compressed:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", stream.getvalue())
    else:
        path.write_bytes(stream.getvalue())
    message = r"a.np[yz] must be a file of plain NumPy arrays. Got one .*\(100000000000, 2\), and not"
    with limits(memory=1 << 26), pytest.raises(InputError, match=message):
        use_series(path)
