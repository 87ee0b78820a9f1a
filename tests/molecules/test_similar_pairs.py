"""Pairs of similar molecules in shards: those of RDKit, whoever computes them and in whatever parts."""

import numpy as np
import pytest
from rdkit import DataStructs

from pellucid.errors import InputError
from pellucid.molecules import fingerprint_files, fingerprint_jobs, similar_pairs
from pellucid.molecules.fingerprint_files import FingerprintFile
from pellucid.molecules.fingerprint_jobs import write_fingerprints
from pellucid.molecules.fingerprints import Fingerprints, Morgan


def sets(count=400, size=192, seed=0):
    """Bit sets in families that differ by a few bits, some equal, one empty."""
    rng = np.random.default_rng(seed)
    ancestors = rng.random((20, size)) < rng.uniform(0.05, 0.6, (20, 1))
    bits = ancestors[rng.integers(0, 20, count)] ^ (rng.random((count, size)) < rng.uniform(0, 0.15, (count, 1)))
    bits[7], bits[9] = 0, bits[8]
    return Fingerprints(np.packbits(bits, axis=1, bitorder="little").view("<u8"))


def rdkit_sets(fingerprints):
    bits = fingerprints.dense().numpy()
    return [DataStructs.CreateFromBitString("".join(map(str, row))) for row in bits.tolist()]


def pairs_of(folder, fingerprints, tmp_path, **settings):
    FingerprintFile.write(tmp_path / folder, fingerprints)
    paths = similar_pairs.find_pairs(tmp_path / folder, tmp_path / f"{folder}-pairs", progress=False, **settings)
    return paths, [similar_pairs.read_shard(path) for path in paths]


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.6, 2 / 3, 0.9])
def test_pairs_are_those_of_rdkit(threshold, tmp_path):
    fingerprints = sets()
    vectors = rdkit_sets(fingerprints)
    expected = {}
    for i, vector in enumerate(vectors):
        for j, value in enumerate(DataStructs.BulkTanimotoSimilarity(vector, vectors[:i])):
            if value > threshold and i != 7:
                expected[j, i] = value
    assert len(expected) > 100
    _, parts = pairs_of("sets", fingerprints, tmp_path, threshold=threshold, shards=7)
    pairs = [
        ((int(min(a, b)), int(max(a, b))), float(value)) for part in parts for a, b, value in zip(*part, strict=True)
    ]
    assert len(pairs) == len(expected)  # each once
    assert dict(pairs) == expected


def test_tiles_and_blocks_of_queries_change_nothing(tmp_path, monkeypatch):
    fingerprints = sets(5000, 64)  # more than a tile
    _, (whole,) = pairs_of("whole", fingerprints, tmp_path, shards=1)
    monkeypatch.setattr(similar_pairs, "_QUERIES", 37)
    _, parts = pairs_of("parts", fingerprints, tmp_path, shards=9)
    assert len(parts) == 9
    for name in whole._fields:
        np.testing.assert_array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name))


def test_neighbors_of_molecules_are_those_of_the_search_in_memory(tmp_path):
    smiles = ["C" * k + end for k in range(3, 20) for end in ("O", "N", "c1ccccc1", "C(=O)O")]
    fingerprints = Morgan(size=512)(smiles)
    _, parts = pairs_of("molecules", fingerprints, tmp_path, shards=5)
    hits = similar_pairs.neighbors_of(parts, len(smiles))
    expected = fingerprints.similar_to(fingerprints)
    for i in range(len(smiles)):
        members, similarity = (part[expected.offsets[i] : expected.offsets[i + 1]] for part in expected[1:])
        others = members != i
        here = slice(hits.offsets[i], hits.offsets[i + 1])
        np.testing.assert_array_equal(hits.members[here], members[others])
        np.testing.assert_array_equal(hits.similarity[here], similarity[others])


def test_shards_that_are_there_are_not_computed_again_and_have_the_same_bytes(tmp_path, monkeypatch):
    paths, _ = pairs_of("sets", sets(), tmp_path, shards=4)
    before = [path.read_bytes() for path in paths]
    paths[2].unlink()
    searched = []
    plain = similar_pairs._search
    monkeypatch.setattr(similar_pairs, "_search", lambda *a: (searched.append(a[2:]), plain(*a))[1])
    again = similar_pairs.find_pairs(tmp_path / "sets", tmp_path / "sets-pairs", shards=4, progress=False)
    assert again == paths
    assert len(searched) == 1
    assert [path.read_bytes() for path in paths] == before
    other = similar_pairs.find_pairs(
        tmp_path / "sets", tmp_path / "sets-pairs", shards=4, threshold=0.7, progress=False
    )
    assert not {*other} & {*paths}
    FingerprintFile.write(tmp_path / "sets", sets(seed=1))
    other = similar_pairs.find_pairs(tmp_path / "sets", tmp_path / "sets-pairs", shards=4, progress=False)
    assert not {path.name[:18] for path in other} & {path.name[:18] for path in paths}


def test_ranges_are_all_rows_at_about_the_same_cost(tmp_path):
    file = FingerprintFile.write(tmp_path / "sets", sets(3000, 64))
    parts = similar_pairs.ranges(file, 6)
    assert [a for a, _ in parts] == [0, *(b for _, b in parts[:-1])]
    assert parts[-1][1] == 3000
    ends = similar_pairs._ends(file, similar_pairs._need(file, 0.6))
    costs = [int((ends - np.arange(3000))[a:b].sum()) for a, b in parts]
    assert max(costs) < 1.2 * min(costs)


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(InputError, match="must hold fingerprints as `FingerprintFile.write` writes them"):
        FingerprintFile.open(tmp_path)
    FingerprintFile.write(tmp_path / "sets", sets())
    with pytest.raises(InputError, match="`threshold` must be between 0 and 1. Got 1.5"):
        similar_pairs.find_pairs(tmp_path / "sets", tmp_path, threshold=1.5)
    (tmp_path / "a.shard").write_bytes(b"no pairs")
    with pytest.raises(InputError, match=r"A shard must hold pairs as `find_pairs` writes them. Got .*a.shard"):
        similar_pairs.read_shard(tmp_path / "a.shard")
    (tmp_path / "sets" / "about.json").write_text('{"format": 0, "count": 400, "digest": "a"}')
    with pytest.raises(InputError, match="must hold fingerprints as .*format is 0, not one of 1"):
        FingerprintFile.open(tmp_path / "sets")


def test_fingerprints_of_a_table_are_written_in_ranges_and_sorted_on_the_disk(tmp_path, monkeypatch):
    smiles = ["C" * k + end for k in range(3, 12) for end in ("O", "N", "c1ccccc1", "C(=O)O")]
    (tmp_path / "all.csv").write_text("id,smiles\n" + "".join(f"{i},{text}\n" for i, text in enumerate(smiles)))
    whole = FingerprintFile.write(tmp_path / "whole", Morgan(size=512)(smiles))
    monkeypatch.setattr(fingerprint_jobs, "_PIECE", 7)
    monkeypatch.setattr(fingerprint_files, "_BLOCK", 5)
    parts = write_fingerprints(tmp_path / "all.csv", tmp_path / "parts", morgan=Morgan(size=512), progress=False)
    assert parts.digest == whole.digest
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == names
    for name in names:
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    (tmp_path / "some.smi").write_text("CCO a\nC1CC b\nCCN c\n")
    notes = []
    some = write_fingerprints(tmp_path / "some.smi", tmp_path / "some", progress=False, warn=notes.append)
    assert notes == ["1 of 3 rows hold no molecule; they are similar to none."]
    assert some.rows.tolist()[0] == 1
