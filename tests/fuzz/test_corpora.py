"""Corpora that are not as they were built: no compiled code reads them."""

import json
import shutil

import numpy as np
import pytest
from blockers import blockers
from fuzz.mutations import mutated_array, mutated_bytes, mutated_json

from pellucid import InputError
from pellucid.molecules.vae import Corpus
from pellucid.molecules.vae.batches import decoder_batch
from pellucid.molecules.vae.corpus_format import CONTENT, all_arrays


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora") / "built"
    Corpus.build([*blockers().smiles[:12], "C1CC", "CCO"], folder, jobs=1, progress=False)
    return folder


def use(folder):
    corpus = Corpus.open(folder)
    corpus.summary()
    vocabulary = corpus.vocabulary()
    for i in range(len(corpus)):
        corpus.smiles(i)
    if len(corpus):
        decoder_batch(corpus.packed(range(len(corpus)), vocabulary), vocabulary)


@pytest.mark.slow
def test_mutated_corpora(built, tmp_path, tally):
    use(built)
    folder = tmp_path / "corpus"

    def prepare(random, _):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(built, folder)
        mutate(folder, random)
        return folder

    tally("corpora", 60, 2000).try_all(prepare, use).check()


def mutate(folder, random):
    """Change one or two of the files: as bytes, or as the numbers that they are."""
    for _ in range(random.integers(1, 3)):
        files = sorted(path for path in folder.iterdir())
        file = files[random.integers(len(files))]
        kind = all_arrays().get(file.name)
        if file.name == CONTENT and random.random() < 0.7:
            try:
                file.write_bytes(mutated_json(json.loads(file.read_text()), random))
                continue
            except ValueError:  # mutated before
                pass
        elif kind is not None and file.stat().st_size % np.dtype(kind[0]).itemsize == 0 and random.random() < 0.7:
            array = np.fromfile(file, dtype=kind[0])
            file.write_bytes(mutated_array(array, random).astype(kind[0]).tobytes())
            continue
        file.write_bytes(mutated_bytes(file.read_bytes(), random))


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("parents", 3, 5, "molecule 0 is not one with its junction tree"),  # a cycle: schedules went on for ever
        ("parents", 0, 0, "molecule 0 is not one with its junction tree"),
        ("labels", 0, 10_000, "molecule 0 is not one with its junction tree"),
        ("members", 0, 255, "molecule 0 is not one with its junction tree"),
        ("bonds", 0, 255, "molecule 0 is not one with its junction tree"),
        ("sizes", 1, 200, "molecule 0 is not one with its junction tree"),
        ("atoms_ends", 0, -1, "atoms_ends has values outside"),
        ("atoms_ends", 0, 100, "atoms_ends are not ascending|junction tree"),
        ("texts", 0, 200, "not ASCII"),
    ],
)
def test_what_would_break_compiled_code_is_refused(name, place, value, message, built, tmp_path):
    folder = tmp_path / "corpus"
    shutil.copytree(built, folder)
    array = np.fromfile(folder / name, dtype=all_arrays()[name][0])
    array[place] = value
    (folder / name).write_bytes(array.tobytes())
    with pytest.raises(InputError, match=message):
        use(folder)


def test_a_corpus_as_it_was_built_is_used(built):
    use(built)
