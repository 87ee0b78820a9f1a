"""Files of fingerprints, and shards of pairs, that are not as they were written: no compiled code reads them."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from fuzz.mutations import mutated_array, mutated_bytes, mutated_json

from pellucid import InputError
from pellucid.molecules.fingerprint_files import FingerprintFile
from pellucid.molecules.fingerprints import Fingerprints
from pellucid.molecules.similar_pairs import find_pairs, read_shard
from pellucid.sharding.files import write_shard_file

FILES = ("about.json", "words.npy", "folds.npy", "counts.npy", "lost.npy", "rows.npy")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fingerprints") / "sets"
    bits = np.random.default_rng(0).integers(0, 2**63, (60, 2), dtype=np.uint64)
    FingerprintFile.write(folder, Fingerprints(bits & (bits >> np.uint64(1))))
    return folder


def search(folder):
    """All pairs, as a command that knows the folder alone looks for them."""
    shutil.rmtree(folder / "pairs", ignore_errors=True)
    return [read_shard(path) for path in find_pairs(folder, folder / "pairs", threshold=0.3, shards=2, progress=False)]


def copied(written, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(written, folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("verified", [True, False])
def test_mutated_fingerprints(written, verified, tmp_path, tally, monkeypatch):
    """With their digest, and without: what is out of bounds is refused in any case."""
    right = search(copied(written, tmp_path / "whole"))
    if not verified:
        monkeypatch.setattr(FingerprintFile, "verify", lambda _: None)

    def prepare(random, _):
        folder = copied(written, tmp_path / "sets")
        file = folder / FILES[random.integers(len(FILES))]
        if file.suffix == ".json":
            file.write_bytes(mutated_json(json.loads(file.read_text()), random))
        elif random.random() < 0.7:
            np.save(file, mutated_array(np.load(file), random))
        else:
            file.write_bytes(mutated_bytes(file.read_bytes(), random))
        return folder

    def use(folder):
        found = search(folder)
        for one, other in zip(found, right, strict=verified):
            if verified:
                assert all(map(np.array_equal, one, other))

    tally("fingerprints" if verified else "fingerprints, unverified", 40, 800).try_all(prepare, use).check()


@pytest.mark.slow
def test_mutated_shards_of_pairs(written, tmp_path, tally):
    """Their content is changed, and their digest is right."""
    file = FingerprintFile.open(written)
    (path, _) = find_pairs(copied(written, tmp_path / "sets"), tmp_path / "pairs", shards=2, progress=False)
    content = path.read_bytes().partition(b"\n")[2]

    def prepare(random, _):
        write_shard_file(tmp_path / "a.shard", file.digest, 0, 30, mutated_bytes(content, random))
        return tmp_path / "a.shard"

    tally("shards of pairs", 40, 800).try_all(prepare, read_shard).check()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("counts", lambda a: a + 10**6, "counts has values outside of 0 to 128"),
        ("counts", lambda a: a[::-1], "counts are not ascending"),
        ("counts", lambda a: a.astype(float), "counts has the type float64"),
        ("folds", lambda a: a[:3], r"folds has the shape \(3, 4\), not 60 x 4"),
        ("folds", lambda a: a.astype(np.int64), "have the types uint64 and int64"),
        ("words", lambda a: a[:, 0], r"words has the shape \(60,\), not 60 x 0"),
        ("rows", np.zeros_like, "rows has one of them twice"),
        ("lost", lambda a: a - 99, "lost has values outside"),
        ("lost", lambda a: a + (a == a.min()), "whose digest is another"),
        ("words", lambda a: a ^ np.uint64(1), "whose digest is another"),
    ],
)
def test_what_is_wrong_with_fingerprints_is_said(name, change, message, written, tmp_path):
    folder = copied(written, tmp_path / "sets")
    np.save(folder / f"{name}.npy", change(np.load(folder / f"{name}.npy")))
    with pytest.raises(InputError, match=message):
        search(folder)


def test_a_digest_of_nothing_is_not_theirs(written, tmp_path):
    folder = copied(written, tmp_path / "sets")
    about = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps({**about, "digest": hashlib.sha256().hexdigest()}))
    with pytest.raises(InputError, match="whose digest is another"):
        search(folder)
