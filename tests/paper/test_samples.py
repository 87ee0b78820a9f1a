"""The study of samples: its cells and its table."""

from collections import Counter

import numpy as np
import pytest
from blockers import blockers
from paper import samples
from paper.runs import load_config

pytestmark = pytest.mark.paper


def test_a_table_has_a_row_for_each_model_and_the_published_one():
    config = load_config("samples", "cpu")
    assert samples.table(config, {}) == "Not run yet."
    row = dict.fromkeys(samples.TITLES, 0.125)
    head, _, ours, published, *_ = samples.table(config, {"train": row}).splitlines()
    assert ours == "| training molecules | " + " | ".join(["0.125"] * len(samples.TITLES)) + " |"
    assert head.count("|") == ours.count("|") == published.count("|")
    assert published.split(" | ")[5] == "0.395"  # FCD, as published


def test_models_are_those_of_the_study_of_rates():
    from paper import rates

    trained = {cell["name"] for cell in rates.cells(load_config("rates", "cpu"))}
    first, *others = samples.cells(load_config("samples", "cpu"))
    assert (first["name"], first["model"]) == ("train", None)
    assert {cell["model"] for cell in others} <= trained
    assert {cell["prior"] for cell in others} == {"standard", "fitted"}
    assert len({cell["name"] for cell in others}) == len(others)
    assert samples.title(others[0]) == "10 nats free, 300,000 molecules: N(0, I)"


class Planted:
    """A model that draws molecules of a list."""

    drawn = None

    @classmethod
    def load(cls, folder):
        return cls()

    def sample(self, count, *, seed, prior):
        type(self).drawn = (count, seed, prior)
        return list(blockers().smiles[:count])


def test_a_cell_compares_its_samples_with_references_that_are_made_once(monkeypatch, tmp_path):
    texts = {
        "train": blockers().smiles[10:30],
        "test": blockers().smiles[:40],
        "test_scaffolds": blockers().smiles[40:70],
    }
    calls = Counter()

    def activations(cell, chosen):
        calls[len(chosen)] += 1
        yield np.array([[text.count("C"), text.count("c"), len(text)] for text in chosen], dtype=float)

    monkeypatch.setattr(samples, "CACHE", tmp_path)
    monkeypatch.setattr(samples, "activations", activations)
    monkeypatch.setattr(samples, "filters", lambda cell: [])
    monkeypatch.setattr(
        samples, "molecules", lambda cell, part, count=0: samples.measures.canonical(texts[part])[: count or None]
    )
    monkeypatch.setattr("pellucid.molecules.vae.JunctionTreeVAE", Planted)
    config = {**load_config("samples", "smoke"), "models": [["a", "fitted"]], "reference": 0, "samples": 40}
    cell = samples.cells(config)[1]
    report = samples.run({**cell, "activations": 0})
    assert Planted.drawn == (40, 0, "fitted")
    # The samples are the test set: they cannot be told apart.
    assert report["fcd_test"] == pytest.approx(0, abs=1e-6)
    assert [report[f"{name}_test"] for name in ("snn", "frag", "scaf")] == pytest.approx([1, 1, 1])
    assert report["fcd_scaffolds"] > 0.01
    assert report["snn_scaffolds"] < 1
    different = set(samples.measures.canonical(texts["test"]))
    assert report["novel"] == pytest.approx(
        1 - len(different & set(samples.measures.canonical(texts["train"]))) / len(different)
    )
    assert calls == {40: 2, 30: 1}
    assert samples.run({**cell, "activations": 0}) == report
    assert calls == {40: 3, 30: 1}
    samples.run({**cell, "activations": 20})
    assert calls == {40: 4, 30: 1, 20: 2}


def test_wheels_must_be_the_published_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_PAPER_WHEELS", str(tmp_path))
    cell = samples.cells(load_config("samples", "smoke"))[0]
    (tmp_path / cell["molsets"]).write_bytes(b"something else")
    with pytest.raises(SystemExit, match="must be the published wheel; pip download"):
        samples.molecules(cell, "test")
