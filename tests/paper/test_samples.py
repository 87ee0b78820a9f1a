"""The study of samples: its cells and its table."""

import pytest
from paper import samples
from paper.runs import load_config

pytestmark = pytest.mark.paper


def test_a_table_has_a_row_for_each_model_and_the_published_one():
    config = load_config("samples", "cpu")
    assert samples.table(config, {}) == "Not run yet."
    row = dict.fromkeys(samples.TITLES, 0.125)
    head, _, ours, published, *_ = samples.table(config, {"train": row}).splitlines()
    assert ours == "| train | " + " | ".join(["0.125"] * len(samples.TITLES)) + " |"
    assert head.count("|") == ours.count("|") == published.count("|")
    assert published.split(" | ")[5] == "0.395"  # FCD, as published


def test_models_are_those_of_the_study_of_rates():
    from paper import rates

    trained = {cell["name"] for cell in rates.cells(load_config("rates", "cpu"))}
    names = [cell["name"] for cell in samples.cells(load_config("samples", "cpu"))]
    assert names[0] == "train"
    assert set(names[1:]) <= trained


def test_wheels_must_be_the_published_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_PAPER_WHEELS", str(tmp_path))
    cell = samples.cells(load_config("samples", "smoke"))[0]
    (tmp_path / cell["molsets"]).write_bytes(b"something else")
    with pytest.raises(SystemExit, match="must be the published wheel; pip download"):
        samples.molecules(cell, "test")
