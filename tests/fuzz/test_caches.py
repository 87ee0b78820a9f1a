"""Damaged caches: they never stop work, and nothing of them is used."""

import shutil
import warnings

import numpy as np
import pytest
from fuzz.mutations import mutate_npz, mutated_bytes

from pellucid import cache
from pellucid.molecules import SimilarityRule
from pellucid.molecules.neighborhood_jobs import neighborhood_rows, write_neighborhoods
from pellucid.molecules.vae import Corpus

SMILES = ["CCOc1ccccc1", "CCNc1ccccc1", "CCSc1ccccc1", "CCOc1ccccc1C", "CCOc1ccccc1Cl", "CCCOc1ccccc1"]


def neighborhoods(folder):
    """Neighborhoods with analogs, as the cache in this folder has them."""
    rule = SimilarityRule(threshold=0.5)
    found = rule.neighborhoods(SMILES[:3], SMILES, rule.groups(SMILES), jobs=1, progress=False, cache=folder)
    return [found.neighbors(i) for i in range(len(found))]


@pytest.mark.slow
def test_mutated_arrays(tmp_path, tally):
    right = neighborhoods("none")
    neighborhoods(tmp_path / "whole")
    (whole,) = (tmp_path / "whole").iterdir()
    path = tmp_path / "cache" / whole.name
    path.parent.mkdir()

    def prepare(random, _):
        shutil.copy(whole, path)
        mutate_npz(path, random)

    def use(_):
        assert neighborhoods(path.parent) == right
        assert path.read_bytes() == whole.read_bytes()

    tally("caches of arrays", 60, 800).try_all(prepare, use).check(refused=False)


@pytest.mark.slow
def test_mutated_corpora_of_the_cache(tmp_path, tally, monkeypatch):
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path)
    whole = Corpus.build(SMILES, jobs=1, progress=False)
    (folder,) = (tmp_path / "molecules").iterdir()
    shutil.copytree(folder, tmp_path / "whole")

    def prepare(random, _):
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "whole", folder)
        files = sorted(folder.iterdir())
        file = files[random.integers(len(files))]
        file.write_bytes(mutated_bytes(file.read_bytes(), random))

    def use(_):
        again = Corpus.build(SMILES, jobs=1, progress=False)
        assert len(again) == len(whole)
        assert again.key() == whole.key()

    tally("caches of corpora", 20, 600).try_all(prepare, use).check(refused=False)


@pytest.mark.slow
def test_mutated_files_of_a_search(tmp_path, tally):
    """What neighborhoods in shards are looked for among: made anew if it is damaged."""
    (tmp_path / "a.smi").write_text("".join(f"{text}\n" for text in SMILES))
    rule = SimilarityRule(threshold=0.5)

    def found(folder):
        return list(neighborhood_rows(write_neighborhoods(tmp_path / "a.smi", folder, similar=rule, progress=False)))

    right = found(tmp_path / "whole")
    assert len(right) > 2 * len(SMILES)
    given = sorted(path.relative_to(tmp_path) for path in (tmp_path / "whole" / "given").rglob("*") if path.is_file())
    assert len(given) == 10
    folder = tmp_path / "damaged"

    def prepare(random, number):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole" / "given", folder / "given")
        file = tmp_path / "damaged" / given[number % len(given)].relative_to("whole")
        file.write_bytes(mutated_bytes(file.read_bytes(), random))

    def use(_):
        assert found(folder) == right
        shards = [path for path in folder.iterdir() if path.suffix == ".shard"]
        shards[0].write_bytes(mutated_bytes(shards[0].read_bytes(), np.random.default_rng(0)))
        assert found(folder) == right

    tally("caches of searches", 10, 400).try_all(prepare, use).check(refused=False)


def test_what_belongs_to_another_key_is_not_used(tmp_path):
    for seed in (0, 1):
        cache.cached_arrays(tmp_path, "a", {"seed": seed}, lambda seed=seed: {"x": np.array([seed])})
    first, second = (tmp_path / f"a-{cache.key_of({'seed': seed})}.npz" for seed in (0, 1))
    shutil.copy(second, first)
    with pytest.warns(UserWarning, match="is made anew: it is not as it was written, or belongs to another key"):
        arrays = cache.cached_arrays(tmp_path, "a", {"seed": 0}, lambda: {"x": np.array([0])})
    assert arrays["x"].tolist() == [0]


def test_a_corpus_of_other_molecules_in_the_cache_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path)
    Corpus.build(SMILES, jobs=1, progress=False)
    (folder,) = (tmp_path / "molecules").iterdir()
    shutil.rmtree(folder)
    Corpus.build(SMILES[:2], folder, jobs=1, progress=False)
    with pytest.warns(UserWarning, match="made anew: .*a corpus of other molecules"):
        corpus = Corpus.build(SMILES, jobs=1, progress=False)
    assert len(corpus) == len(SMILES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Corpus.build(SMILES, jobs=1, progress=False)) == len(SMILES)
