import json

import pytest
from paper import nav17, runs

COMMITTED = runs.read_reports(nav17.REPORTS / "cpu")


def test_the_demo_runs(tmp_path, capsys):
    nav17.demo(runs.load_config("nav17", "smoke"), tmp_path)
    printed = capsys.readouterr().out
    assert "DEEP" in printed
    assert "<-- this molecule" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nav17.png", "nav17.svg"]


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


@pytest.mark.parametrize("name", ["DEEP", "GAME"])
def test_the_demo_table_shows_every_measure(name):
    measures = ("accuracy", "witness_accuracy", "local_auc", "global_auc", "variation")
    scores = {measure: 0.1 + 0.1 * k for k, measure in enumerate(measures)}
    text = nav17.demo_table({name: scores})
    assert text.splitlines()[-1].split() == [name, "0.100", "0.200", "0.300", "0.400", "0.500"]
