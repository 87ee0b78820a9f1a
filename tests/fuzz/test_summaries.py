"""Summaries of runs that are not as they were written: they are reported and compared, or refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.mutations import mutated_json
from report.summaries import with_bounds

from pellucid import InputError, registry, summaries
from pellucid.cli.compare import compare

SAVED = Path(__file__).parents[1] / "saved" / "v0.1"


MEMBERS = 12


@pytest.fixture(scope="module")
def written():
    """The content of summaries: of trees, of laws of recordings, and of contributions; with two explanations each."""
    return [small("molecules-run"), small("series-run"), contributions()]


def small(name):
    content = json.loads((SAVED / name / "summary.json").read_text())
    content["explanations"] = content["explanations"][:2]
    for example in content["explanations"]:
        if "members" in example["explanation"]:
            del example["explanation"]["members"][MEMBERS:]
    content["trade_off"] = {
        "trials": [
            {"weight": None, "loss": 0.27, "deviation": 0.17},
            {"weight": 0.3, "loss": 0.268, "deviation": 0.15},
        ],
        "tolerance": 0.02,
        "chosen": 0.3,
        "loss": "validation loss",
        "deviation": "deviation",
    }
    return with_bounds(content)


def contributions():
    model = registry.load(SAVED / "molecules-run")
    model = model.with_fitted(replace(model.fitted_, witness="contributions"))
    content = small("molecules-run")
    for example in content["explanations"]:
        example["explanation"] = json.loads(json.dumps(model.explain(example["explanation"]["smiles"]).to_dict()))
        del example["explanation"]["members"][MEMBERS:], example["explanation"]["terms"][MEMBERS:]
    return with_bounds(content)


def use(folder):
    """What is done with a summary: its report is written, and it is compared with itself."""
    summary = summaries.read(folder)
    registry.domain_named(summary.kind).write_report(summary, folder / "report.html")
    compare(folder, folder, {})


@pytest.mark.slow
def test_mutated_summaries(written, tmp_path, tally):
    def prepare(random, number):
        (tmp_path / summaries.FILE).write_bytes(mutated_json(written[number % len(written)], random))
        return tmp_path

    tally("summaries", 30, 1200).try_all(prepare, use).check()


@pytest.mark.slow
def test_summaries_as_they_were_written_are_used(written, tmp_path):
    for content in written:
        (tmp_path / summaries.FILE).write_text(json.dumps(content))
        use(tmp_path)


def test_a_kind_that_is_a_module_is_no_domain(written, tmp_path):
    (tmp_path / summaries.FILE).write_text(json.dumps({**written[0], "kind": "cli"}))
    with pytest.raises(InputError, match="must be of one of the domains molecules.* Got 'cli'"):
        use(tmp_path)


def test_a_game_that_is_no_name_is_refused(written, tmp_path):
    content = {**written[0], "settings": {**written[0]["settings"], "game": {"symmetric": 1}}}
    (tmp_path / summaries.FILE).write_text(json.dumps(content))
    with pytest.raises(InputError, match="The summary of a run must be as it was written.*the game of the settings"):
        use(tmp_path)
