import gzip
from itertools import pairwise

import numpy as np
import pytest
from blockers import blockers

from pellucid import InputError
from pellucid.molecules.vae import Corpus, Vocabulary, decompose
from pellucid.tables.parquet import write_parquet

GOOD = list(blockers().smiles[:40])
ROWS = [*GOOD[:10], "nonsense", "CC.O", *GOOD[10:], "", "[13CH4]"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path / "cache")


def equal(a, b):
    return all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)


def test_what_cannot_be_used_is_told_and_the_rest_goes_on():
    corpus = Corpus.of(ROWS)
    assert len(corpus) == 40
    assert [(r.row, r.smiles) for r in corpus.rejected] == [(11, "nonsense"), (12, "CC.O"), (43, ""), (44, "[13CH4]")]
    assert corpus.reasons == {
        "not a valid SMILES": 1, "several parts that are not bonded to each other": 1, "no SMILES": 1, "an isotope": 1
    }  # fmt: skip
    assert "4 rejected rows: 1 not a valid SMILES" in str(corpus)
    assert corpus.arrays["rows"].tolist() == [*range(1, 11), *range(13, 43)]


def test_trees_come_back_as_they_were():
    corpus = Corpus.of(GOOD)
    labels = corpus.vocabulary()
    places = [7, 3, 3, 39]
    packed = corpus.packed(places, labels)
    for k, i in enumerate(places):
        tree = decompose(GOOD[i])
        atoms, bonds, nodes = (
            slice(*o[k : k + 2]) for o in (packed.atom_offsets, packed.bond_offsets, packed.node_offsets)
        )
        assert corpus.smiles(i) == tree.smiles
        assert np.array_equal(packed.atoms[atoms], tree.atoms)
        assert np.array_equal(packed.bonds[bonds], tree.bonds)
        assert tuple(labels.labels[n] for n in packed.labels[nodes]) == tree.labels
        assert tuple(packed.parents[nodes]) == tree.parents
        ends = packed.member_offsets[nodes.start : nodes.stop + 1]
        assert tuple(tuple(packed.members[a:b]) for a, b in pairwise(ends)) == tree.clusters


def test_counts_are_those_of_all_trees():
    counts = Corpus.of(GOOD).vocabulary().counts
    trees = [decompose(text) for text in GOOD]
    assert sum(counts.values()) == sum(len(tree) for tree in trees)
    assert counts["C1=CC=CC=C1"] == sum(tree.labels.count("C1=CC=CC=C1") for tree in trees)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_corpus_on_disk_is_the_one_in_memory(tmp_path, jobs, monkeypatch):
    monkeypatch.setattr("pellucid.molecules.vae.corpus._CHUNK", 7)
    built = Corpus.build(ROWS, tmp_path / "here", jobs=jobs, progress=False)
    assert equal(built, Corpus.of(ROWS))
    assert isinstance(built.arrays["atoms"], np.memmap)
    assert (built.labels, built.counts) == (Corpus.of(ROWS).labels, Corpus.of(ROWS).counts)
    assert [r.row for r in built.rejected] == [11, 12, 43, 44]
    assert equal(Corpus.open(tmp_path / "here"), built)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,SMILES,split\n" + "".join(f"{i},{text},train\n" for i, text in enumerate(GOOD))),
        ("a.smi", "".join(f"{text} name {i}\n" for i, text in enumerate(GOOD))),
        ("a.txt", "\n".join(GOOD)),
        ("a.csv.gz", "SMILES\n" + "\n".join(GOOD) + "\n"),
    ],
)
def test_files_of_smiles(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    corpus = Corpus.build(path, jobs=1, progress=False)
    assert [corpus.smiles(i) for i in range(len(corpus))] == [decompose(text).smiles for text in GOOD]
    assert corpus.arrays["rows"][0] == (2 if "csv" in name else 1)  # as lines of the file
    assert len(Corpus.build(path, limit=5, jobs=1, progress=False)) == 5


def test_a_corpus_is_built_once(tmp_path, monkeypatch):
    first = Corpus.build(GOOD, jobs=1, progress=False)
    monkeypatch.setattr("pellucid.molecules.vae.corpus.pack", None)
    again = Corpus.build(GOOD, jobs=1, progress=False)
    assert equal(again, first)
    assert first.key() == again.key()


@pytest.mark.parametrize("file", ["atoms", "corpus.json"])
def test_a_damaged_corpus_of_the_cache_is_made_anew(tmp_path, file):
    first = Corpus.build(GOOD, jobs=1, progress=False)
    (folder,) = (tmp_path / "cache" / "molecules").iterdir()
    del first
    (folder / file).unlink()
    with pytest.warns(UserWarning, match="trees-.* could not be read and is made anew"):
        again = Corpus.build(GOOD, jobs=1, progress=False)
    assert equal(again, Corpus.of(GOOD))
    assert equal(Corpus.build(GOOD, jobs=1, progress=False), again)  # mended


def test_an_interrupted_build_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pellucid.molecules.vae.corpus.write_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Corpus.build(GOOD, tmp_path / "new" / "here", jobs=1, progress=False)
    assert list((tmp_path / "new").iterdir()) == []


def test_folders_of_something_else_are_refused(tmp_path):
    Corpus.build(GOOD, tmp_path / "here", jobs=1, progress=False)
    with pytest.raises(InputError, match="which holds others; choose another folder"):
        Corpus.build(GOOD[:5], tmp_path / "here", jobs=1, progress=False)
    with pytest.raises(InputError, match="must be a folder that `Corpus.build` wrote"):
        Corpus.open(tmp_path)
    with pytest.raises(InputError, match="which is not a file; correct the path, or put a single SMILES into a list"):
        Corpus.build(tmp_path / "absent.csv", progress=False)


def test_molecules_outside_of_a_vocabulary():
    corpus = Corpus.of(["CCO", "CC[SiH](C)C", "CCN"])
    known = Vocabulary({"CC": 1, "CO": 1, "CN": 1})
    places, missing = corpus.encodable(known)
    assert places.tolist() == [0, 2]
    assert all("Si" in label for label in missing)
    assert "Si" in corpus.unknown_label(1, known)
    assert len(corpus.packed(places, known).atom_offsets) == 3
    with pytest.raises(InputError, match=r"Every cluster must be in the vocabulary. Got 'CC\[SiH\]\(C\)C' with"):
        corpus.packed([0, 1], known)


def test_a_folder_of_the_users_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for folder in ("mine", "mine/thesis.txt"):
        with pytest.raises(InputError, match="must be new or empty"):
            Corpus.build(GOOD, tmp_path / folder, progress=False)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    assert len(Corpus.build(GOOD[:3], tmp_path / "empty", jobs=1, progress=False)) == 3


def test_keys_tell_sources_apart(tmp_path):
    assert Corpus.of(["CC", "O"]).key() != Corpus.of(["C", "CO"]).key()
    (tmp_path / "a.csv").write_text("smiles\nCCCl\nbad")
    assert len(Corpus.build(tmp_path / "a.csv", jobs=1, progress=False).rejected) == 1
    assert len(Corpus.build(["smiles", "CCCl", "bad"], jobs=1, progress=False).rejected) == 2
    text = gzip.compress(b"CCO\nCCN\n")
    for name, molecules in (("b.smi", 0), ("b.smi.gz", 2)):
        (tmp_path / name).write_bytes(text)
        assert len(Corpus.build(tmp_path / name, jobs=1, progress=False)) == molecules


def test_a_parquet_file_without_a_column_of_smiles_is_refused(tmp_path):
    write_parquet(tmp_path / "a.parquet", [["id", "mol2"], ["a", "CCO"]])
    with pytest.raises(InputError, match="a.parquet must have a column of SMILES.* Got id, mol2; say which"):
        Corpus.build(tmp_path / "a.parquet", jobs=1, progress=False)
    assert Corpus.build(tmp_path / "a.parquet", smiles="mol2", jobs=1, progress=False).smiles(0) == "CCO"


def test_rows_are_lines_and_blank_ones_do_not_count(tmp_path):
    (tmp_path / "a.csv").write_text('note,smiles\n"a\nb",CCO\n\nx,bad\n\n')
    corpus = Corpus.build(tmp_path / "a.csv", jobs=1, progress=False)
    assert corpus.arrays["rows"].tolist() == [2]  # the line on which the row begins
    assert [r.row for r in corpus.rejected] == [5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Corpus.of("CCO"), "put it into a list"),
        (lambda: Corpus.of(["CCO"], largest=1000), "largest"),
        (lambda: Corpus.build(GOOD, limit=-1), "limit"),
        (lambda: Corpus.build(GOOD, jobs="a"), "jobs"),
        (lambda: Corpus.build(None), "Got NoneType"),
    ],
)
def test_arguments_are_checked(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_broken_files_are_told(tmp_path):
    whole = gzip.compress("\n".join(GOOD).encode())
    for content in (whole[:100], b"CCO\n"):
        (tmp_path / "a.gz").write_bytes(content)
        with pytest.raises(InputError, match="a gzipped one if it is called .gz"):
            Corpus.build(tmp_path / "a.gz", jobs=1, progress=False)
    Corpus.build(GOOD, tmp_path / "here", jobs=1, progress=False)
    (tmp_path / "here" / "atoms").write_bytes((tmp_path / "here" / "atoms").read_bytes()[:40])
    with pytest.raises(InputError, match="the length of the file atoms is not that"):
        Corpus.open(tmp_path / "here")


def test_two_processes_may_build_the_same_corpus(tmp_path, monkeypatch):
    from pellucid.molecules.vae import corpus as module

    write_parts = module.write_parts

    def meanwhile(folder, parts, key):
        write_parts(folder, parts, key)
        monkeypatch.setattr(module, "write_parts", write_parts)
        Corpus.build(GOOD, tmp_path / "here", jobs=1, progress=False)

    monkeypatch.setattr(module, "write_parts", meanwhile)
    assert len(Corpus.build(GOOD, tmp_path / "here", jobs=1, progress=False)) == len(GOOD)
    assert [path.name for path in tmp_path.iterdir() if "draft" in path.name] == []
