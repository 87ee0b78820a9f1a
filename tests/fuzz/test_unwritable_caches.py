"""A cache that cannot be written: work goes on with a warning, and its results are those of any other."""

import os
import tempfile
import warnings
from pathlib import Path

import pytest
from fuzz.children import full, in_child
from fuzz.test_caches import SMILES, neighborhoods

from pellucid.molecules.vae import Corpus

pytestmark = pytest.mark.slow
NOBODY = 65_534


@pytest.fixture
def reachable():
    """A folder that any user may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_nobody():
    if os.geteuid() == 0:  # to whom all is permitted
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def file_in_its_place(folder):
    (folder / "cache").write_text("of a user")
    return lambda: None


def read_only(folder):
    (folder / "cache").mkdir(mode=0o555)
    return as_nobody


def unreadable(folder):
    (folder / "cache").mkdir()
    (folder / "cache").chmod(0o000)
    return as_nobody


def no_space(folder):
    (folder / "cache").mkdir()
    return full(10)


@pytest.mark.parametrize(
    ("unusable", "below"),
    [(file_in_its_place, "."), (file_in_its_place, "inner"), (read_only, "."), (unreadable, "."), (no_space, ".")],
)
def test_work_goes_on_without_a_cache(unusable, below, reachable, monkeypatch):
    right = neighborhoods("none")
    whole = Corpus.of(SMILES)
    prepare = unusable(reachable)
    folder = reachable / "cache" / below
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: folder)

    def work():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            corpus = Corpus.build(SMILES, jobs=1, progress=False)
            same = neighborhoods(folder) == right
        texts = [str(warning.message) for warning in caught]
        kept = all("so this will be made again next time" in text or "is made anew" in text for text in texts)
        smiles = [corpus.smiles(i) for i in range(len(corpus))]
        return same, smiles == [whole.smiles(i) for i in range(len(whole))], kept and len(texts) >= 2

    assert in_child(work, prepare) == "(True, True, True)"


def test_a_corpus_in_a_folder_of_the_user_is_not_elsewhere(tmp_path):
    (tmp_path / "file").write_text("of a user")
    with pytest.raises(OSError, match="file"):
        Corpus.build(SMILES, tmp_path / "file" / "corpus", jobs=1, progress=False)
