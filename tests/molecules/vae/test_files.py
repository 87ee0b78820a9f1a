"""Molecules of tables, lists and corpora."""

import csv
import gzip
import json

import pytest

from pellucid.errors import InputError
from pellucid.molecules.vae import Corpus
from pellucid.molecules.vae.domain import AutoencoderDomain, AutoencoderReading
from pellucid.molecules.vae.files import read_molecules, summary_of

DOMAIN = AutoencoderDomain()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path / "cache")


def write(path, texts, names=None):
    names = [f"m{i}" for i in range(len(texts))] if names is None else names
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["name", "smiles"], *zip(names, texts, strict=True)])
    return path


def test_molecules_are_read_from_tables_lists_and_corpora(tmp_path):
    # Two forms of alanine are one molecule for the encoder.
    texts = ["CCO", "C[C@H](N)C(=O)O", "oops", "C[C@@H](N)C(=O)O", "OCC"]
    table = read_molecules(write(tmp_path / "a.csv", texts, ["ethanol", "L", "", "D", ""]))
    assert table.smiles == ("CCO", "CC(N)C(=O)O")
    assert table.labels() == ["ethanol (row 2, 6)", "L, D (row 3, 5)"]
    (rejected,) = table.rejected
    assert rejected[:2] == (4, "oops")
    assert summary_of(table) == "2 molecules with a junction tree; 2 rows merged with others of the same molecule; " \
                               "1 row rejected; stereochemistry, which the encoder does not see, is dropped in " \
                               "2 of 4 rows"  # fmt: skip
    (tmp_path / "b.smi").write_text("\n".join(texts) + "\n")
    listed = read_molecules(tmp_path / "b.smi")
    assert listed.smiles == table.smiles
    assert listed.labels() == ["row 1, 5", "row 2, 4"]
    Corpus.build(texts, tmp_path / "corpus", jobs=1, progress=False)
    assert read_molecules(tmp_path / "corpus").smiles == table.smiles
    other = write(tmp_path / "c.csv", texts).read_text().replace("smiles", "drawn")
    (tmp_path / "c.csv").write_text(other)
    assert read_molecules(tmp_path / "c.csv", smiles="drawn").smiles == table.smiles
    with pytest.raises(InputError, match="At least 10 molecules are needed.* Got 2 in a.csv that have a junction tree"):
        DOMAIN.read(tmp_path / "a.csv", AutoencoderReading())


def test_gzipped_tables_have_the_columns_that_are_named(tmp_path):
    # Both columns hold molecules: only the option says which are meant.
    (tmp_path / "a.csv").write_text("mol,mol2,id\nCCO,CCN,a\nCCC,CCCl,b\n")
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write((tmp_path / "a.csv").read_bytes())
    for path in (tmp_path / "a.csv", tmp_path / "a.csv.gz"):
        assert read_molecules(path).smiles == ("CCO", "CCC")
        found = read_molecules(path, smiles="mol2", names="id")
        assert found.smiles == ("CCN", "CCCl")
        assert found.labels() == ["a (row 2)", "b (row 3)"]
        assert Corpus.build(path, smiles="mol2", jobs=1, progress=False).smiles(0) == "CCN"
        for options, message in (
            ({"smiles": "drawn"}, "smiles.* must be a column of a.csv.* Got 'drawn'"),
            ({"names": "title"}, "names.* must be a column of a.csv.* Got 'title'"),
        ):
            with pytest.raises(InputError, match=message):
                read_molecules(path, **options)


def test_a_corpus_has_no_columns_to_name(tmp_path):
    Corpus.build(["CCO"], tmp_path / "corpus", jobs=1, progress=False)
    with pytest.raises(InputError, match="`smiles` is for tables, one of whose columns it names. Got corpus, a corpus"):
        read_molecules(tmp_path / "corpus", smiles="drawn")
    with pytest.raises(InputError, match="`smiles` is for files, whose column of SMILES it names. Got a list"):
        Corpus.build(["CCO"], smiles="drawn", progress=False)


def test_dropped_stereochemistry_is_counted_wherever_molecules_come_from(tmp_path):
    # The second row has marks, too, but no junction tree.
    texts = ["C[C@H](N)C(=O)O", "F/C=C/[2H]", "CCO", "C/C=C/C"]
    plain = write(tmp_path / "a.csv", texts)
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write(plain.read_bytes())
    corpus = Corpus.build(texts, tmp_path / "corpus", jobs=1, progress=False)
    assert Corpus.of(texts).flattened == corpus.flattened == Corpus.open(tmp_path / "corpus").flattened == 2
    assert "stereochemistry dropped in 2; 1 rejected row" in str(corpus)
    for path in (plain, tmp_path / "a.csv.gz", tmp_path / "corpus"):
        assert summary_of(read_molecules(path)).endswith("is dropped in 2 of 3 rows")


def test_corpora_of_before_do_not_say_what_they_dropped(tmp_path):
    Corpus.build(["C[C@H](N)C(=O)O"], tmp_path / "corpus", jobs=1, progress=False)
    file = tmp_path / "corpus" / "corpus.json"
    content = json.loads(file.read_text())
    assert content.pop("flattened") == 1
    file.write_text(json.dumps(content))
    assert Corpus.open(tmp_path / "corpus").flattened == 0


def test_of_salts_the_largest_organic_fragment_is_read(tmp_path):
    texts = ["CC(=O)O", "[Na+].CC(=O)O", "[Na+].[Cl-]", "Cl.C[C@H](N)CC"]
    molecules = read_molecules(write(tmp_path / "a.csv", texts))
    assert molecules.smiles == ("CC(=O)O", "CCC(C)N")
    assert molecules.rows == ((2, 3), (5,))
    assert [(r.row, r.smiles) for r in molecules.rejected] == [(4, "[Na+].[Cl-]")]
    assert (molecules.stripped, molecules.flattened) == (2, 1)
    assert "2 salts or mixtures reduced to the largest organic fragment" in summary_of(molecules)
