"""A corpus that is written in shards is the folder that one process writes at once."""

import pytest
from blockers import blockers

from pellucid.errors import InputError
from pellucid.molecules.vae import Corpus, corpus_jobs
from pellucid.molecules.vae.corpus_jobs import write_corpus
from pellucid.sharding import executor_of
from pellucid.sharding.executors import Cluster

GOOD = list(blockers().smiles[:40])


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file with rows that are no molecules, and one without SMILES; several parts."""
    monkeypatch.setattr(corpus_jobs, "_PIECE", 7)
    cells = [*GOOD[:10], "nonsense", "CC.O", *GOOD[10:], "", "[13CH4]"]
    path = tmp_path / "all.csv"
    path.write_text("id,SMILES,split\n" + "".join(f"{i},{text},train\n" for i, text in enumerate(cells)))
    return path


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_corpus_in_shards_is_the_one_that_is_built_at_once(table, tmp_path):
    whole = Corpus.build(table, tmp_path / "whole", jobs=1, progress=False)
    corpus = write_corpus(table, tmp_path / "shards", progress=False)
    assert files(tmp_path / "shards") == files(tmp_path / "whole")
    assert len(corpus) == len(whole) == 40
    assert corpus.rejected == whole.rejected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.csv", "shards", "whole"]
    assert len(write_corpus(table, tmp_path / "whole", progress=False)) == 40  # it is there
    table.write_text("smiles\nCCO\n")
    with pytest.raises(InputError, match="which holds others; choose another folder"):
        write_corpus(table, tmp_path / "whole", progress=False)


def test_another_column_is_another_corpus(tmp_path):
    (tmp_path / "a.csv").write_text("mol,mol2\nCCO,CCN\nCCC,CCCl\n")
    write_corpus(tmp_path / "a.csv", tmp_path / "corpus", smiles="mol", progress=False)
    with pytest.raises(InputError, match="`folder` must be new, or hold the corpus of the same molecules"):
        write_corpus(tmp_path / "a.csv", tmp_path / "corpus", smiles="mol2", progress=False)


def test_lists_of_smiles(tmp_path):
    (tmp_path / "a.smi").write_text("".join(f"{text} name {i}\n" for i, text in enumerate(GOOD)))
    Corpus.build(tmp_path / "a.smi", tmp_path / "whole", jobs=1, progress=False)
    write_corpus(tmp_path / "a.smi", tmp_path / "shards", progress=False)
    assert files(tmp_path / "shards") == files(tmp_path / "whole")


def test_what_is_interrupted_goes_on(table, tmp_path, monkeypatch):
    made = []
    work = corpus_jobs._trees_range

    def counted(begin, end, **arguments):
        made.append(begin)
        if len(made) == 4:
            raise KeyboardInterrupt
        return work(begin, end, **arguments)

    monkeypatch.setattr(corpus_jobs, "_trees_range", counted)
    with pytest.raises(KeyboardInterrupt, match="Stopped. 3 of 7 parts are kept in .*shards.parts"):
        write_corpus(table, tmp_path / "shards", progress=False)
    assert not (tmp_path / "shards").exists()
    assert len(write_corpus(table, tmp_path / "shards", progress=False)) == 40
    assert made == [0, 7, 14, 21, 21, 28, 35, 42]
    assert not (tmp_path / "shards.parts").exists()


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: executor_of(2), lambda: Cluster("local", 2)])
def test_processes_and_a_cluster_write_the_same_bytes(table, tmp_path, make):
    Corpus.build(table, tmp_path / "whole", jobs=1, progress=False)
    with make() as executor:
        write_corpus(table, tmp_path / "shards", executor=executor, progress=False)
    assert files(tmp_path / "shards") == files(tmp_path / "whole")
