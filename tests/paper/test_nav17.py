import json

import pytest
from paper import nav17, runs

from pellucid.domains import Source
from pellucid.molecules import nav17 as nav17_series
from pellucid.molecules.domain import MoleculeDomain, MoleculeSettings
from pellucid.molecules.splitting import split
from pellucid.runs import train

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(nav17.REPORTS / "cpu")


def test_the_demo_is_the_study_with_one_seed():
    config = runs.load_config("nav17", "cpu")
    table = nav17_series()
    study = nav17.untrained(config, config["seed"], config["weight"])
    demo = MoleculeDomain().demo(smoke=False)
    model = MoleculeDomain().plan(demo.source, demo.settings, weight=demo.weight).model
    assert model.settings() == study.settings()
    for ours, its in zip(split(table, 0), nav17.split(config, 0), strict=True):
        assert ours.smiles == its.smiles


def test_the_figure_of_a_demo(tmp_path):
    settings = MoleculeSettings(witness="contributions", analogs="no", epochs=1, width=8, depth=2)
    train(MoleculeDomain(), Source(nav17_series()), settings, tmp_path, title="demo", progress=False)
    figure = nav17.figure(tmp_path)
    width, height = figure.get_size_inches() * nav17.DPI
    upper, lower = (axis.images[0].get_array().shape for axis in figure.axes)
    assert (max(upper[1], lower[1]), upper[0] + lower[0]) == (round(width), round(height))


def test_the_study_runs():
    config = runs.load_config("nav17", "smoke")
    reports = {cell["name"]: nav17.run(cell) for cell in nav17.cells(config)}
    assert reports["deep-seed0"]["molecules"] == {"train": 814, "validation": 101, "test": 102}
    assert f"{reports['deep-seed0']['test']['accuracy']:.3f}" in nav17.table(config, reports)


def test_what_the_validation_sets_choose():
    config = {"seeds": [0, 1], "weights": [1, 2, 3], "tolerance": 0.1}
    errors = {"deep": (1.0, 2.0), "game-1": (1.0, 2.0), "game-2": (1.2, 2.0), "game-3": (1.4, 2.0)}
    reports = {
        f"{name}-seed{seed}": {"validation": {"accuracy": value}}
        for name, values in errors.items()
        for seed, value in enumerate(values)
    }
    assert nav17.chosen(config, reports) == 2


def test_the_readmes_show_what_was_measured():
    config = runs.load_config("nav17", "cpu")
    assert nav17.table(config, COMMITTED) in nav17.README.read_text()
    assert nav17.committed_demo(config, COMMITTED) in (runs.ROOT / "README.md").read_text()
    assert nav17.chosen(config, COMMITTED) == config["weight"]


def test_the_committed_reports_are_of_the_committed_configuration():
    cells = nav17.cells(runs.load_config("nav17", "cpu"))
    assert {cell["name"] for cell in cells} == set(COMMITTED)
    for cell in cells:
        assert COMMITTED[cell["name"]]["config"] == json.loads(json.dumps(cell))


def test_the_demo_table_shows_every_measure():
    names = ("relative_error", "accuracy", "held_out_variance_explained", "bound", "witness_accuracy", "explained",
             "deviation", "local_auc", "global_auc")  # fmt: skip
    text = nav17.demo_table({"DEEP": {"neighborhoods": 7} | {name: 0.1 * (k + 1) for k, name in enumerate(names)}})
    ends = [line.split()[-1] for line in text.splitlines()]
    assert text.startswith("on 7 test molecules ")
    assert ends[2:] == [f"0.{k}000" for k in range(1, 10)]
